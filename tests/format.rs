//! `docs/format.md` is kept honest: its example is a valid session, and its reader in Python, run on sessions of every
//! sort, sees what the library sees.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use leaflog::{
    AppendOptions, Compaction, CreateOptions, DamageKind, Durability, EntryId, NewEntry, Session, SessionOptions, Store,
};
use serde_json::Value;

/// The fifteen lines that were promised.
const READER_LINES_MAX: usize = 15;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/format.md");
    fs::read_to_string(page).expect("docs/format.md can be read")
}

/// The only code block of `language` on the page.
fn block(language: &str) -> String {
    let page = page();
    let mut blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(language));
    let block = blocks.next().and_then(|block| block.strip_prefix('\n')).expect("the page has such a block");
    assert!(blocks.next().is_none(), "one {language} block");
    block.to_owned()
}

/// What the reader in Python prints.
#[derive(Debug, PartialEq)]
struct Seen {
    entries: Vec<String>,
    path: Vec<String>,
    odd: Vec<(u64, String)>,
}

impl Seen {
    fn odd_offsets(&self, what: &str) -> Vec<u64> {
        self.odd.iter().filter(|(_, odd)| odd == what).map(|(offset, _)| *offset).collect()
    }
}

fn python(log: &Path) -> Seen {
    let output = Command::new("python3").arg("-c").arg(block("python")).arg(log).output();
    let output = output.expect("python3 can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("the reader prints JSON");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|text| text.as_str().expect("an id").to_owned()).collect()
    };
    let odd = seen["odd"].as_array().into_iter().flatten();
    let odd = odd.map(|odd| (odd[0].as_u64().expect("an offset"), odd[1].as_str().expect("a finding").to_owned()));
    Seen { entries: texts(&seen["entries"]), path: texts(&seen["path"]), odd: odd.collect() }
}

/// Asserts that the reader in Python and the library see the same, and returns what they see.
fn same(log: &Path) -> Seen {
    let seen = python(log);
    let session = Session::open(log).unwrap();
    let entries: Vec<_> = session.entries().map(|entry| entry.unwrap().id().to_string()).collect();
    let path: Vec<_> = session.path_ids(None).unwrap().iter().map(EntryId::to_string).collect();
    assert_eq!((&seen.entries, &seen.path), (&entries, &path));
    seen
}

fn new_session() -> (tempfile::TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path()).with_options(SessionOptions::new().durability(Durability::Os));
    let session = store.create(CreateOptions::new("/projects/login")).unwrap();
    (folder, session)
}

/// A session with branches, a moved leaf, a side record, a label, a name, a compaction, and odd text.
fn full_session() -> (tempfile::TempDir, Session) {
    let (folder, session) = new_session();
    let first = session.append(NewEntry::user("plan A\u{2028}or \"B\"? \u{1f600}")).unwrap().id;
    let answer = session.append(NewEntry::assistant("plan A")).unwrap().id;
    session.set_label(&first, "start").unwrap();
    session.set_name("plans").unwrap();
    session.move_to(Some(&first)).unwrap().unwrap();
    session.append(NewEntry::message(r#"{"role":"user","content":"\ud99c 1e3","n":1e3,"n":2}"#).unwrap()).unwrap();
    let batch = vec![NewEntry::assistant("one"), NewEntry::user("two"), NewEntry::assistant("three")];
    session.append_batch(batch, &AppendOptions::new()).unwrap();
    session.append_with(NewEntry::user("aside"), &AppendOptions::new().side(Some(answer))).unwrap();
    session.compact(Compaction::new("short").first_kept(first)).unwrap();
    session.append(NewEntry::custom("todo", r#"{"side":true,"id":"x"}"#).unwrap()).unwrap();
    (folder, session)
}

/// Appends as a program that knows nothing of leaflog does.
fn append_foreign(log: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(log).unwrap();
    file.write_all(bytes).unwrap();
}

fn foreign(id: &str, parent: Option<&EntryId>) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:05.006Z","message":{{"role":"user","content":"{id}"}}}}"#
    )
}

fn size(log: &Path) -> u64 {
    fs::metadata(log).unwrap().len()
}

#[test]
fn the_example_on_the_page_is_a_sealed_session_without_damage() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("example.jsonl");
    fs::write(&log, block("jsonl")).unwrap();
    let session = Session::open_with(&log, SessionOptions::new().strict(true)).unwrap();
    assert_eq!(session.entries().count(), 3);
    assert_eq!(session.leaf().unwrap().to_string(), "5f0d1c2a");
    assert_eq!(session.stats().unwrap().unchecked, 0);
    // What is appended now fits: the chain on the page is the one that the library computes.
    let next = session.append(NewEntry::assistant("Plan B.")).unwrap();
    let lines = fs::read(&log).unwrap();
    let last = lines.split(|byte| *byte == b'\n').rev().nth(1).unwrap();
    let last_of_page = block("jsonl").lines().last().unwrap().to_owned() + "\n";
    let prev = format!(r#","prev":"{}","crc":"{}"}}"#, leaflog::Checksum::of(last_of_page.as_bytes()), next.crc);
    assert!(last.ends_with(prev.as_bytes()));
}

#[test]
fn the_reader_on_the_page_is_at_most_fifteen_lines() {
    assert!(block("python").lines().count() <= READER_LINES_MAX);
}

#[test]
#[ignore = "needs python3"]
fn the_example_on_the_page_passes_the_reader_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("example.jsonl");
    fs::write(&log, block("jsonl")).unwrap();
    assert_eq!(same(&log).odd, []);
}

#[test]
#[ignore = "needs python3"]
fn python_sees_a_sealed_session_as_the_library_does() {
    let (_folder, session) = full_session();
    let seen = same(&session.path());
    assert_eq!(seen.odd, []);
    assert!(seen.entries.len() >= 12 && seen.path.len() < seen.entries.len());
}

#[test]
#[ignore = "needs python3"]
fn a_fork_shows_what_it_copied_and_its_own_records_chain_behind_it() {
    let (folder, session) = full_session();
    let store = Store::new(folder.path());
    let whole = store.fork(&session, &leaflog::Fork::Whole, leaflog::ForkOptions::new()).unwrap().session;
    whole.append(NewEntry::user("on")).unwrap();
    let log = whole.path();
    let seen = same(&log);
    // Only the first copied record has another one before it than it had in the source.
    assert_eq!(seen.odd.len(), 1);
    assert_eq!(seen.odd[0].1, "prev");
}

#[test]
#[ignore = "needs python3"]
fn foreign_lines_are_unsealed_and_vouched_for_by_the_next_sealed_one() {
    let (_folder, session) = full_session();
    let log = session.path();
    let first = size(&log);
    append_foreign(&log, format!("{}\r\n\n  \n", foreign("f0000001", session.leaf().as_ref())).as_bytes());
    let second = size(&log);
    append_foreign(&log, format!("\u{feff}{}\n", foreign("not an eight digit id", None)).as_bytes());
    let refreshed = session.refresh().unwrap();
    assert_eq!(refreshed.new_entries.len(), 2);
    session.append(NewEntry::user("sealed again")).unwrap();
    let seen = same(&log);
    assert_eq!(seen.odd, [(first, "unsealed".to_owned()), (second, "unsealed".to_owned())]);

    // One changed byte in a foreign line shows in the seal behind it.
    let mut bytes = fs::read(&log).unwrap();
    let at = usize::try_from(first).unwrap() + foreign("f0000001", None).find("user").unwrap();
    bytes[at] ^= 1;
    fs::write(&log, bytes).unwrap();
    assert_eq!(same(&log).odd_offsets("prev").len(), 1);
}

#[test]
#[ignore = "needs python3"]
fn a_torn_tail_is_closed_by_the_next_append_and_the_chain_holds() {
    let (_folder, session) = full_session();
    let log = session.path();
    let torn = size(&log);
    append_foreign(&log, br#"{"type":"mess"#);
    assert_eq!(same(&log).odd, [(torn, "unsealed".to_owned())]);
    session.append(NewEntry::user("behind the torn line")).unwrap();
    let seen = same(&log);
    assert_eq!(seen.odd, [(torn, "unsealed".to_owned())]);
    assert_eq!(seen.path.last(), session.leaf().map(|leaf| leaf.to_string()).as_ref());

    // A whole record without its line feed is shown, and kept by the next append.
    append_foreign(&log, foreign("f0000002", session.leaf().as_ref()).as_bytes());
    assert_eq!(same(&log).path.last().unwrap(), "f0000002");
    session.refresh().unwrap();
    session.append(NewEntry::user("behind the whole one")).unwrap();
    let seen = same(&log);
    assert_eq!(seen.odd_offsets("prev"), [0; 0]);
    assert_eq!(seen.odd_offsets("crc"), [0; 0]);
    assert!(seen.path.contains(&"f0000002".to_owned()));
}

#[test]
#[ignore = "needs python3"]
fn a_flipped_byte_is_found_wherever_it_is() {
    let (folder, session) = full_session();
    let bytes = fs::read(session.path()).unwrap();
    let log: PathBuf = folder.path().join("flipped.jsonl");
    for at in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        fs::write(&log, &flipped).unwrap();
        let seen = python(&log);
        assert!(!seen.odd.is_empty(), "byte {at}");
        // Both look at the same line, unless the flip hit the line feed or the header.
        let Ok(session) = Session::open(&log) else { continue };
        let suspects = session.damage().0.into_iter().filter(|damage| damage.kind == DamageKind::Suspect);
        let suspects: Vec<_> = suspects.map(|damage| damage.offset).collect();
        let wrong: Vec<_> = seen.odd.iter().filter(|(_, odd)| odd != "prev").map(|(offset, _)| *offset).collect();
        assert!(suspects.iter().all(|offset| wrong.contains(offset)), "byte {at}: {suspects:?} {wrong:?}");
    }
}
