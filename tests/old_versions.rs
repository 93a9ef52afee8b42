//! Versions 1 and 2 of pi's format: read as version 3, never changed by reading, migrated on request (SPEC 8.4).
//!
//! What pi itself makes of such files is the oracle in `tests/pi_old_versions.rs`.

mod common;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use common::{Log, View, assert_chained, child, ids, kind, lines, open, options, path, push, texts};
use leaflog::{
    AppendOptions, CreateOptions, EntryId, ErrorKind, Fork, ForkOptions, ListOptions, NewEntry, Scope, Session, Store,
    TreeOptions, migrate,
};

const FIRST: &str = r#"{"type":"session","id":"pi-session","timestamp":"2025-11-02T03:04:05.006Z","cwd":"/project"}"#;
const SECOND: &str =
    r#"{"type":"session","version":2,"id":"pi-session","timestamp":"2025-12-02T03:04:05.006Z","cwd":"/project"}"#;

/// A message as pi wrote it in version 1.
fn said(role: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","timestamp":"2025-11-02T03:04:06.007Z","message":{{"role":"{role}","content":"{text}","timestamp":1762052646007}}}}"#
    )
}

fn compaction(summary: &str, first_kept: &str) -> String {
    format!(
        r#"{{"type":"compaction","timestamp":"2025-11-02T03:04:06.007Z","summary":"{summary}","firstKeptEntryIndex":{first_kept},"tokensBefore":1e3}}"#
    )
}

/// A log of version 1: the header is line 0 for the numbers in compactions.
fn first_with<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Log {
    log_with(FIRST, lines)
}

fn log_with<L: AsRef<[u8]>>(header: &str, lines: impl IntoIterator<Item = L>) -> Log {
    let log = Log::of(format!("{header}\n"));
    for line in lines {
        log.push(line);
        log.push("\n");
    }
    log
}

fn first() -> Log {
    first_with([
        said("user", "one"),
        said("assistant", "two"),
        r#"{"type":"model_change","timestamp":"2025-11-02T03:04:06.007Z","provider":"p","modelId":"m"}"#.to_owned(),
        said("user", "three"),
        compaction("so far", "4"),
        said("hookMessage", "four"),
        said("assistant", "five"),
    ])
}

fn second() -> Log {
    let message = |id: &str, parent: Option<&str>, role: &str| common::message(id, parent, role, id);
    log_with(
        SECOND,
        [
            message("00000001", None, "user"),
            message("00000002", Some("00000001"), "hookMessage"),
            message("00000003", Some("00000001"), "assistant"),
            common::entry("label", "00000004", Some("00000003"), r#","targetId":"00000001","label":"start""#),
        ],
    )
}

/// What must not change when a log is looked at.
fn print(path: &Path) -> (Vec<u8>, i64, i64, u64, Vec<PathBuf>) {
    let status = fs::metadata(path).unwrap();
    let mut beside: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    beside.sort();
    (fs::read(path).unwrap(), status.mtime(), status.mtime_nsec(), status.ino(), beside)
}

fn look_at_everything(log: &Log) -> View {
    let session = log.open();
    let view = View::of(&session);
    session.refresh().unwrap();
    session.last_complete_turn().unwrap();
    session.tree(&TreeOptions::new()).unwrap().for_each(|node| drop(node.unwrap()));
    let store = log.store();
    store.list(&ListOptions::new()).unwrap();
    store.list(&ListOptions::new().exact(true)).unwrap();
    assert_eq!(store.find("pi-session").unwrap(), log.path);
    view
}

fn backup(log: &Log, mark: &str) -> PathBuf {
    let mut name = log.path.clone().into_os_string();
    name.push(format!(".{mark}"));
    name.into()
}

fn migrated(log: &Log) -> leaflog::Migrated {
    migrate(&log.path, &options()).unwrap().unwrap()
}

#[test]
fn a_log_of_version_1_reads_as_a_chain_with_compactions_and_roles_of_today() {
    let log = first();
    let session = log.open();
    assert_eq!(session.header().version, 1);
    assert_eq!((session.damage().1, session.gaps().len(), session.doubt()), (0, 0, None));
    assert_eq!(ids(&session).len(), 7);
    assert_eq!(path(&session, None), ids(&session));
    assert_eq!(texts(&session), ["so far", "three", "four", "five"]);
    assert_eq!(session.tips().unwrap().len(), 1);
    let custom = session.entry(&common::id(&ids(&session)[5])).unwrap();
    assert_eq!(custom.role(), Some(leaflog::Role::Custom));
    assert!(custom.as_json().contains(r#""message":{"role":"custom","content":"four","timestamp":1762052646007}"#));
    let compaction = session.entry(&common::id(&ids(&session)[4])).unwrap();
    assert!(compaction.as_json().ends_with(r#""tokensBefore":1e3}"#));
    assert_eq!(session.stats().unwrap().unchecked, 7);
}

#[test]
fn a_log_of_version_2_reads_as_it_is_but_for_the_role_of_custom_messages() {
    let log = second();
    let session = log.open();
    assert_eq!(session.header().version, 2);
    assert_eq!(ids(&session), ["00000001", "00000002", "00000003", "00000004"]);
    assert_eq!(path(&session, None), ["00000001", "00000003", "00000004"]);
    assert_eq!(session.label(&common::id("00000001")).unwrap().text, "start");
    let old = lines(&log.path);
    let new = common::records(&session);
    assert_eq!((&new[0], &new[2], &new[3]), (&old[1], &old[3], &old[4]));
    let renamed = String::from_utf8(old[2].clone()).unwrap().replace("hookMessage", "custom");
    assert_eq!(new[1], renamed.as_bytes());
}

#[test]
fn a_compaction_counts_lines_as_pi_does_and_one_that_points_nowhere_keeps_nothing() {
    let texts_with = |index: &str| {
        let log =
            first_with([said("user", "one"), said("user", "two"), compaction("sum", index), said("user", "four")]);
        texts(&log.open())
    };
    assert_eq!(texts_with("1"), ["sum", "one", "two", "four"]);
    assert_eq!(texts_with("2"), ["sum", "two", "four"]);
    // The header, the compaction itself, later entries, and what is no number of a line.
    for nowhere in ["0", "3", "4", "5", "99", "-1", "1.5", "1e99", "\"1\"", "null"] {
        assert_eq!(texts_with(nowhere), ["sum", "four"], "{nowhere}");
    }
}

#[test]
fn with_several_compactions_the_newest_counts_and_may_keep_an_older_one() {
    let log = first_with([
        said("user", "one"),
        said("assistant", "two"),
        compaction("first", "2"),
        said("user", "four"),
        compaction("second", "3"),
        said("user", "six"),
        compaction("third", "6"),
        said("user", "eight"),
    ]);
    let session = log.open();
    assert_eq!(texts(&session), ["third", "six", "eight"]);
    let at = |line: usize| Some(common::id(&ids(&session)[line - 1]));
    let context = |line| session.context(&leaflog::ContextOptions::new().from(at(line).unwrap())).unwrap();
    let texts: Vec<_> = context(6).messages.iter().map(leaflog::Message::text).collect();
    // The kept range begins with the first compaction, which is silent.
    assert_eq!(texts, ["second", "four", "six"]);
}

#[test]
fn opening_reading_and_listing_change_nothing() {
    for log in [first(), second()] {
        fs::File::open(&log.path)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000))
            .unwrap();
        let before = print(&log.path);
        let view = look_at_everything(&log);
        assert_eq!(view, look_at_everything(&log));
        let session = log.open();
        assert_eq!(kind(session.append(NewEntry::user("x"))), ErrorKind::Unsupported);
        session.sync().unwrap();
        assert_eq!(print(&log.path), before);
    }
}

#[test]
fn ids_are_the_same_at_every_opening_and_stay_when_an_old_program_appends() {
    let log = first();
    let session = log.open();
    let before = ids(&session);
    log.push(said("user", "six") + "\n" + &said("user", "seven") + "\n");
    let refresh = session.refresh().unwrap();
    assert_eq!((refresh.new_entries.len(), refresh.reloaded), (2, false));
    let after = ids(&session);
    assert_eq!(after[..7], before);
    assert_eq!(ids(&log.open()), after);
    assert_eq!(path(&session, None), after);
    // Half a line is nobody's entry, and the other half makes it one.
    let (half, rest) = (said("user", "eight"), said("user", "nine"));
    log.push(&half[..30]);
    assert_eq!(session.refresh().unwrap().new_entries, []);
    log.push(&half[30..]);
    assert_eq!(session.refresh().unwrap().new_entries.len(), 1);
    log.push(format!("\n{rest}\n"));
    let refresh = session.refresh().unwrap();
    assert_eq!((refresh.new_entries.len(), refresh.reloaded), (1, false));
    common::assert_reopens_alike(&session);
    // Another session with the same lines has other ids.
    let other = Log::of(String::from_utf8(log.bytes()).unwrap().replace("pi-session", "other"));
    assert!(ids(&other.open()).iter().all(|id| !after.contains(id)));
}

#[test]
fn what_is_torn_or_unreadable_in_a_log_of_version_1_costs_that_line_only() {
    let log = first_with([
        said("user", "one").as_bytes(),
        b"{\"type\":\"message\",\"timesta",
        b"",
        &[0; 20],
        said("assistant", "two").as_bytes(),
        b"{broken}",
        b"{\"no\":\"type\"}",
        said("user", "three").as_bytes(),
        // The header, one, two, and the object without a type are counted before it.
        compaction("sum", "4").as_bytes(),
        said("user", "four").as_bytes(),
    ]);
    let session = log.open();
    assert_eq!(path(&session, None), ids(&session));
    assert_eq!(ids(&session).len(), 5);
    assert_eq!(texts(&session), ["sum", "three", "four"]);
    assert_eq!((session.gaps().len(), session.doubt()), (0, None));
    let (damage, count) = session.damage();
    assert_eq!((damage.len(), count), (4, 4));
    // Lines and offsets are those of the file, not those of what is read.
    let bytes = log.bytes();
    for damage in damage {
        let before = &bytes[..usize::try_from(damage.offset).unwrap()];
        assert_eq!(before.split_inclusive(|byte| *byte == b'\n').count() as u64, damage.line - 1, "{damage:?}");
        assert!(before.ends_with(b"\n"), "{damage:?}");
    }
    let strict = log.open_strict().unwrap_err();
    assert_eq!((strict.kind(), strict.line()), (ErrorKind::Corrupt, Some(3)));
    assert_eq!(session.bytes(), bytes.len() as u64);
}

#[test]
fn appending_says_how_to_migrate_and_writes_nothing() {
    for (log, version) in [(first(), "1"), (second(), "2")] {
        let session = log.open();
        let before = print(&log.path);
        let id = common::id(&ids(&session)[0]);
        let errors = [
            session.append(NewEntry::user("x")).unwrap_err(),
            session.append_with(NewEntry::user("x"), &AppendOptions::new().to_leaf()).unwrap_err(),
            session.move_to(None).unwrap_err(),
            session.set_label(&id, "x").unwrap_err(),
            session.set_name("x").unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let text = error.to_string();
            assert!(text.contains(&format!("version {version}")) && text.contains("leaflog migrate"), "{text}");
        }
        // A move of this handle only writes nothing, so it works.
        session.branch(Some(&id)).unwrap();
        assert_eq!(session.leaf(), Some(id));
        assert_eq!(print(&log.path), before);
    }
}

#[test]
fn lists_show_old_sessions_as_what_they_are() {
    for (log, version, messages, first_message) in [(first(), 1, 5, "one"), (second(), 2, 3, "00000001")] {
        for exact in [false, true] {
            let listed = log.store().list(&ListOptions::new().exact(exact)).unwrap();
            assert_eq!(listed.len(), 1);
            let info = &listed[0];
            assert_eq!((info.version, info.damaged, info.messages), (Some(version), false, Some(messages)));
            assert_eq!(info.first_message.as_deref(), Some(first_message));
            assert_eq!(info.cwd, "/project");
            assert!(info.modified > info.created.unwrap());
            assert_eq!(info.bytes, log.bytes().len() as u64);
        }
        assert_eq!(log.store().latest(Some(Path::new("/project"))).unwrap(), log.path);
    }
}

#[test]
fn a_long_old_log_is_listed_from_its_ends() {
    let text = "x".repeat(1000);
    let log = first_with((0..1000).map(|number| said("user", &format!("{number} {text}"))));
    let info = log.store().list(&ListOptions::new()).unwrap().remove(0);
    assert!(!info.damaged && info.first_message.unwrap().starts_with("0 x"));
    assert_eq!(info.messages, None);
    let exact = log.store().list(&ListOptions::new().exact(true)).unwrap().remove(0);
    assert_eq!((exact.messages, exact.damaged), (Some(1000), false));
}

#[test]
fn forks_of_old_sessions_are_sessions_of_today() {
    let log = first();
    let source = log.open();
    let before = log.bytes();
    let all = ids(&source);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path()).with_options(options());
    let whole = store.fork(&source, &Fork::Whole, ForkOptions::new()).unwrap().session;
    let at = store.fork(&source, &Fork::At(common::id(&all[3])), ForkOptions::new()).unwrap().session;
    let context = ForkOptions::new().scope(Scope::Context);
    let context = store.fork(&source, &Fork::At(common::id(&all[6])), context).unwrap().session;
    assert_eq!(ids(&whole), all);
    assert_eq!(ids(&at), all[..4]);
    assert_eq!(texts(&context), texts(&source));
    for fork in [whole, at, context] {
        assert_eq!(fork.header().version, 3);
        assert_eq!(fork.header().parent_session.as_deref(), log.path.to_str());
        assert_eq!((fork.damage().1, fork.gaps().len()), (0, 0));
        fork.append(NewEntry::user("on")).unwrap();
        common::assert_reopens_alike(&fork);
    }
    assert_eq!(log.bytes(), before);
}

#[test]
fn migrating_keeps_ids_and_payloads_seals_what_changed_and_keeps_the_original() {
    for (log, mark, sealed) in [(first(), "v1", 8), (second(), "v2", 2)] {
        let before = log.bytes();
        let seen = View::of(&log.open());
        let done = migrated(&log);
        assert_eq!((done.path.as_path(), done.entries), (log.path.as_path(), seen.records.len() as u64));
        assert_eq!(done.backup, backup(&log, mark));
        assert_eq!(fs::read(&done.backup).unwrap(), before);
        for path in [&log.path, &done.backup] {
            let status = fs::metadata(path).unwrap();
            assert_eq!((status.permissions().mode() & 0o777, status.nlink()), (0o600, 1));
        }
        assert_eq!(print(&log.path).4.len(), 2);
        let session = log.open_strict().unwrap();
        assert_eq!(session.header().version, 3);
        assert_eq!(session.id().as_str(), "pi-session");
        let now = View::of(&session);
        assert_eq!(
            (&now.tree, &now.tips, &now.path, &now.context, &now.labels, &now.leaf, &now.name),
            (&seen.tree, &seen.tips, &seen.path, &seen.context, &seen.labels, &seen.leaf, &seen.name)
        );
        for (new, old) in now.records.iter().zip(&seen.records) {
            let (new, old) = (String::from_utf8_lossy(new), String::from_utf8_lossy(old));
            assert!(new == old || new.starts_with(&old[..old.len() - 1]), "{new}\n{old}");
        }
        assert_chained(&log.path, sealed);
        session.append(NewEntry::user("on")).unwrap();
        assert_chained(&log.path, sealed + 1);
        assert_eq!(log.store().list(&ListOptions::new()).unwrap().len(), 1);
    }
}

#[test]
fn a_migrated_session_belongs_to_whom_it_belonged() {
    let log = first();
    // Only the superuser can give files away.
    if std::os::unix::fs::chown(&log.path, Some(65_534), Some(65_534)).is_err() {
        return;
    }
    let done = migrated(&log);
    for path in [&log.path, &done.backup] {
        let status = fs::metadata(path).unwrap();
        assert_eq!((status.uid(), status.gid(), status.mode() & 0o777), (65_534, 65_534, 0o600));
    }
}

#[test]
fn a_second_migration_finds_nothing_to_do_and_changes_nothing() {
    let log = first();
    migrated(&log);
    let before = print(&log.path);
    assert_eq!(migrate(&log.path, &options()).unwrap(), None);
    assert_eq!(log.store().migrate("pi-session").unwrap(), None);
    assert_eq!(print(&log.path), before);
    let (_folder, store, session) = common::session();
    assert_eq!(store.migrate(session.id().as_str()).unwrap(), None);
}

#[test]
fn an_original_that_is_there_already_is_never_replaced() {
    let log = first();
    fs::write(backup(&log, "v1"), "mine").unwrap();
    let before = log.bytes();
    assert_eq!(migrated(&log).backup, backup(&log, "v1-2"));
    assert_eq!(fs::read(backup(&log, "v1")).unwrap(), b"mine");
    assert_eq!(fs::read(backup(&log, "v1-2")).unwrap(), before);
}

#[test]
fn a_header_is_found_however_long_it_is_and_behind_damage() {
    for length in [10, 4 << 10, 40 << 10, 3 << 20] {
        let note = "x".repeat(length);
        let long = FIRST.replace('}', &format!(r#","note":"{note}"}}"#));
        let behind = format!("{{\"torn\":\"{}\n{FIRST}", &note[..length.min(500 << 10)]);
        for header in [long, behind] {
            let log = log_with(&header, [said("user", "one"), said("assistant", "two")]);
            assert_eq!(texts(&log.open()), ["one", "two"]);
            let done = migrated(&log);
            assert_eq!((done.from, done.entries), (1, 2));
            assert_eq!(texts(&log.open()), ["one", "two"]);
        }
    }
    let far = format!("{{\"torn\":\"{}\n{FIRST}", "x".repeat(3 << 20));
    let log = log_with(&far, [said("user", "one")]);
    assert_eq!(kind(migrate(&log.path, &options())), ErrorKind::NotASession);
    assert_eq!(kind(Session::open(&log.path)), ErrorKind::NotASession);
}

#[test]
fn what_cannot_be_migrated_is_refused_and_left_alone() {
    let newer = Log::of(common::HEADER.replace("\"version\":3", "\"version\":4") + "\n");
    let other = Log::of("{\"kind\":\"header\",\"version\":4,\"id\":\"x\"}\n");
    let none = Log::of("{\"some\":\"log\"}\n");
    for (log, expected) in
        [(newer, ErrorKind::Unsupported), (other, ErrorKind::Unsupported), (none, ErrorKind::NotASession)]
    {
        let before = print(&log.path);
        assert_eq!(kind(migrate(&log.path, &options())), expected);
        assert_eq!(print(&log.path), before);
    }
    let linked = first();
    let elsewhere = linked.path.with_file_name("elsewhere");
    fs::hard_link(&linked.path, &elsewhere).unwrap();
    let before = print(&linked.path);
    assert_eq!(kind(migrate(&linked.path, &options())), ErrorKind::Denied);
    assert_eq!(print(&linked.path), before);
    assert_eq!(kind(migrate("/nowhere/x.jsonl", &options())), ErrorKind::NotFound);
}

#[test]
fn damaged_lines_are_migrated_byte_for_byte() {
    let torn = "{\"type\":\"message\",\"timesta";
    let log =
        first_with([said("user", "one").as_bytes(), b"{broken\xFF}", b"", &[0; 5], said("user", "two").as_bytes()]);
    log.push(torn);
    let seen = View::of(&log.open());
    migrated(&log);
    let now = lines(&log.path);
    assert_eq!((&now[2], &now[3], &now[4]), (&b"{broken\xFF}".to_vec(), &Vec::new(), &vec![0; 5]));
    assert_eq!(now[6], torn.as_bytes());
    let session = log.open();
    let view = View::of(&session);
    assert_eq!((view.tree, view.context, view.damage.1), (seen.tree, seen.context, seen.damage.1));
    session.append(NewEntry::user("on")).unwrap();
    common::assert_reopens_alike(&session);
    assert_eq!(texts(&session), ["one", "two", "on"]);
}

#[test]
fn a_last_line_that_lacks_only_its_line_feed_is_migrated_as_the_record_that_it_is() {
    for header in [FIRST, SECOND] {
        let log = Log::of(header);
        assert_eq!(migrated(&log).entries, 0);
        assert_chained(&log.path, 1);
        log.open().append(NewEntry::user("on")).unwrap();
        assert_chained(&log.path, 2);
    }
    let log = first_with([said("user", "one")]);
    log.push(said("user", "two"));
    let seen = ids(&log.open());
    assert_eq!(migrated(&log).entries, 2);
    assert_eq!(ids(&log.open_strict().unwrap()), seen);
    assert_chained(&log.path, 3);
}

#[test]
fn a_handle_on_an_old_session_goes_on_when_it_was_migrated() {
    for log in [first(), second()] {
        let (reader, writer) = (log.open(), log.open());
        let before = ids(&reader);
        migrated(&log);
        let refresh = reader.refresh().unwrap();
        assert!(refresh.reloaded);
        assert_eq!((ids(&reader), reader.header().version), (before.clone(), 3));
        // This one has not looked since.
        let receipt = writer.append(NewEntry::user("on")).unwrap();
        assert_eq!(writer.leaf(), Some(receipt.id.clone()));
        writer
            .append_with(NewEntry::user("and on"), &AppendOptions::new().durability(leaflog::Durability::Disk))
            .unwrap();
        writer.sync().unwrap();
        assert_eq!(reader.refresh().unwrap().new_entries.len(), 2);
        assert_eq!(ids(&reader)[..before.len()], before);
        common::assert_reopens_alike(&reader);
    }
}

#[test]
fn a_log_that_pi_rewrites_in_its_place_is_read_anew_and_can_be_appended_to() {
    let log = first();
    let session = log.open();
    // As pi does: emptied, then written line by line, and a reader looks at every moment.
    let new: Vec<_> = std::iter::once(common::HEADER.to_owned()).chain(common::chain(9)).collect();
    fs::write(&log.path, "").unwrap();
    assert_eq!(kind(session.refresh()), ErrorKind::NotASession);
    for line in new {
        log.push(&line[..20]);
        let _ = session.refresh();
        log.push(format!("{}\n", &line[20..]));
        let _ = session.refresh();
    }
    session.refresh().unwrap();
    assert_eq!((ids(&session).len(), session.header().version), (9, 3));
    session.append(NewEntry::user("on")).unwrap();
    common::assert_reopens_alike(&session);
    // Going back in time is another matter: how a log is read is decided when it is opened.
    fs::write(&log.path, first().bytes()).unwrap();
    assert_eq!(kind(session.refresh()), ErrorKind::Gone);
}

#[test]
fn a_log_that_was_rewritten_in_its_place_between_two_looks_is_noticed_whatever_its_size() {
    // Longer than before.
    let log = first();
    let session = log.open();
    fs::write(&log.path, [common::HEADER.to_owned(), common::chain(30).join("\n"), String::new()].join("\n")).unwrap();
    assert!(session.refresh().unwrap().reloaded);
    assert_eq!((ids(&session).len(), session.header().version), (30, 3));

    // As long as before: pi changes one digit where nothing else differs.
    let log = log_with(SECOND, common::chain(3));
    let session = log.open();
    let text = String::from_utf8(log.bytes()).unwrap();
    fs::write(&log.path, text.replace("\"version\":2", "\"version\":3")).unwrap();
    session.append_with(NewEntry::user("on"), &AppendOptions::new()).unwrap();
    assert_eq!((ids(&session).len(), session.header().version), (4, 3));

    // Still of version 1, and the last line alone is another.
    let log = first_with([said("user", "one"), said("user", "two")]);
    let session = log.open();
    let before = ids(&session);
    let text = String::from_utf8(log.bytes()).unwrap();
    fs::write(&log.path, text.replace("two", "six")).unwrap();
    assert!(session.refresh().unwrap().reloaded);
    assert_eq!(texts(&session), ["one", "six"]);
    assert!(ids(&session)[0] == before[0] && ids(&session)[1] != before[1]);
}

/// Appends lines of version 1 through one descriptor, as a program does that knows of no lock, until the path names
/// another file. Returns how many were certainly written before that.
fn write_until_swapped(path: &Path, pieces: bool, opened: &Sender<()>) -> usize {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    opened.send(()).unwrap();
    let inode = file.metadata().unwrap().ino();
    let mut certain = 0;
    // There is an end to it if the migration fails.
    for number in 0..100_000 {
        let line = said("user", &format!("late {number}")) + "\n";
        let (start, rest) = line.split_at(if pieces { 40 } else { 0 });
        file.write_all(start.as_bytes()).unwrap();
        file.write_all(rest.as_bytes()).unwrap();
        if fs::metadata(path).unwrap().ino() != inode {
            break;
        }
        certain = number + 1;
        std::thread::sleep(Duration::from_micros(50));
    }
    certain
}

#[test]
fn what_a_foreign_writer_appends_while_a_session_is_migrated_is_not_lost() {
    for round in 0..20 {
        let log = first_with((0..200 * round).map(|number| said("user", &format!("early {number}"))));
        let certain = std::thread::scope(|threads| {
            let (opened, is_open) = std::sync::mpsc::channel();
            let path = &log.path;
            let writer = threads.spawn(move || write_until_swapped(path, round % 2 == 1, &opened));
            is_open.recv().unwrap();
            std::thread::sleep(Duration::from_millis(round as u64 % 7));
            migrated(&log);
            writer.join().unwrap()
        });
        let session = log.open();
        let said: Vec<_> = session.entries().map(|entry| entry.unwrap().text()).collect();
        let late = said.iter().filter(|text| text.starts_with("late")).count();
        assert!(late >= certain, "round {round}: {late} of {certain}");
        assert_eq!(said[..200 * round], (0..200 * round).map(|number| format!("early {number}")).collect::<Vec<_>>());
        let expected: Vec<_> = (0..late).map(|number| format!("late {number}")).collect();
        assert_eq!(said[200 * round..], expected, "round {round}");
        assert_eq!(path(&session, None), ids(&session));
        // The original has all of it.
        let original = String::from_utf8(fs::read(backup(&log, "v1")).unwrap()).unwrap();
        assert!(original.matches("late").count() >= certain);
        session.append(NewEntry::user("on")).unwrap();
    }
}

#[test]
fn two_migrations_at_once_make_one() {
    let log = first_with((0..2000).map(|number| said("user", &number.to_string())));
    let before = log.bytes();
    let done = std::thread::scope(|threads| {
        let migrations: Vec<_> = (0..4).map(|_| threads.spawn(|| migrate(&log.path, &options()).unwrap())).collect();
        migrations.into_iter().filter_map(|migration| migration.join().unwrap()).count()
    });
    assert_eq!(done, 1);
    assert_eq!(fs::read(backup(&log, "v1")).unwrap(), before);
    assert_eq!(print(&log.path).4.len(), 2);
    assert_eq!(ids(&log.open_strict().unwrap()).len(), 2000);
}

#[test]
fn a_migration_that_is_killed_leaves_the_old_log_or_the_new_one() {
    let log = first_with((0..1000).map(|number| said("user", &format!("{number} {}", "x".repeat(300)))));
    let old = log.bytes();
    let seen = ids(&log.open());
    let again = || {
        // A log of its own inode.
        fs::remove_file(&log.path).unwrap();
        fs::remove_file(backup(&log, "v1")).unwrap();
        fs::write(&log.path, &old).unwrap();
    };
    let start = || child("migrate", &[("PATH", &log.path.display())]).spawn().unwrap();
    let started = Instant::now();
    assert!(start().wait().unwrap().success());
    let whole = usize::try_from(started.elapsed().as_micros()).unwrap();
    again();
    let mut random = common::Random::new(7);
    let (mut finished, mut linked) = (0, 0);
    for round in 0..30 {
        let mut child = start();
        // Mostly in the second half, where the files are.
        std::thread::sleep(Duration::from_micros((whole / 3 + random.below(whole)) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let session = log.open();
        assert_eq!(ids(&session), seen, "round {round}");
        if session.header().version == 1 {
            assert_eq!(log.bytes(), old, "round {round}");
            linked += usize::from(fs::metadata(&log.path).unwrap().nlink() == 2);
            continue;
        }
        finished += 1;
        assert_eq!(fs::read(backup(&log, "v1")).unwrap(), old, "round {round}");
        log.open_strict().unwrap();
        again();
    }
    // However it was stopped, doing it again works.
    migrated(&log);
    assert_eq!(ids(&log.open_strict().unwrap()), seen);
    assert_eq!(fs::metadata(&log.path).unwrap().nlink(), 1);
    println!("of 30 killed migrations {finished} were through; in {linked} the old log had its second name already");
}

#[test]
fn a_child_plays_its_role() {
    if common::role().as_deref() == Some("migrate") {
        migrate(common::argument("PATH"), &leaflog::SessionOptions::new()).unwrap();
    }
}

#[test]
fn sessions_of_today_are_not_looked_at_twice() {
    let (_folder, store) = common::store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let custom = NewEntry::message(r#"{"role":"hookMessage","content":"as it is"}"#).unwrap();
    let id: EntryId = session.append(custom).unwrap().id;
    // Version 3 keeps what it says, whatever the role is called.
    assert!(session.entry(&id).unwrap().as_json().contains("hookMessage"));
    let again: Session = open(session.path());
    assert_eq!(again.header().version, 3);
    push(&session.path(), "");
    assert_eq!(again.refresh().unwrap().new_entries, []);
}
