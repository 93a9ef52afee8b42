//! Torn, flipped, fused and foreign lines: what is whole is kept, what is not is reported, and the session goes on
//! (SPEC 2.1, 2.2, 2.3).

mod common;

use std::fs;
use std::path::Path;

use common::{HEADER, Log, View, assert_reopens_alike, entry, follow_chain, id, ids, kind, leaf, lines, options, user};
use leaflog::{
    AppendOptions, DamageKind, Doubt, EntryKind, ErrorKind, Fork, ForkOptions, GapReason, NewEntry, Session,
};

type Attempt<'a> = &'a dyn Fn(&Session) -> leaflog::Result<leaflog::Receipt>;

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn damage(session: &Session) -> Vec<(DamageKind, u64)> {
    session.damage().0.iter().map(|damage| (damage.kind, damage.line)).collect()
}

/// Some text that looks like the edges of records; `times` 11 bytes.
fn confusing(times: usize) -> String {
    "long } { \" ".repeat(times)
}

/// Three logs whose last three records are a leaf entry, a label and a message in another order each.
fn sealed_logs(long: &[usize; 3]) -> Vec<Vec<u8>> {
    let log = |order: [usize; 3], long: usize| {
        let (_folder, _, session) = common::session();
        let first = session.append(NewEntry::user("first")).unwrap().id;
        session.append(NewEntry::assistant("second")).unwrap();
        session.append(NewEntry::user("third \u{2028} \u{1f600} \"\\")).unwrap();
        for step in order {
            match step {
                0 => drop(session.move_to(Some(&first)).unwrap().unwrap()),
                1 => drop(session.set_label(&first, "label").unwrap()),
                _ => drop(session.append(NewEntry::assistant(confusing(long))).unwrap()),
            }
        }
        fs::read(session.path()).unwrap()
    };
    let orders = [[0, 1, 2], [2, 0, 1], [1, 2, 0]];
    orders.into_iter().zip(long).map(|(order, long)| log(order, *long)).collect()
}

/// The same without seals, as other programs write.
fn unsealed_log(long: usize) -> Vec<u8> {
    let lines = [
        user("e1", None),
        common::message("e2", Some("e1"), "assistant", "second"),
        user("e3", Some("e2")),
        common::message("e4", Some("e3"), "assistant", &confusing(long)),
        entry("label", "e5", Some("e4"), r#","targetId":"e1","label":"l""#),
        entry("leaf", "e6", Some("e1"), r#","targetId":"e1","fromId":"e5""#),
    ];
    Log::with(lines).bytes()
}

/// Where each line starts.
fn starts(log: &[u8]) -> Vec<usize> {
    let ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).filter(|start| *start < log.len()).collect()
}

/// Cuts `log` at every byte of its last three records and hands each cut to `check`, with what whole lines say.
fn cut_everywhere(log: &[u8], mut check: impl FnMut(&[u8], &View)) {
    let starts = starts(log);
    for (number, start) in starts.iter().enumerate().skip(starts.len() - 3) {
        let end = starts.get(number + 1).copied().unwrap_or(log.len());
        let before = View::of(&Log::of(&log[..*start]).open());
        let with = View::of(&Log::of(&log[..end]).open());
        for cut in *start..end {
            // A record is whole with its last brace; the line feed may be missing.
            check(&log[..cut], if cut == end - 1 { &with } else { &before });
        }
    }
}

#[test]
fn a_cut_at_any_byte_leaves_all_whole_records_and_the_next_append_works() {
    check_cuts(sealed_logs(&[5, 150, 5]));
}

#[test]
fn a_cut_at_any_byte_of_unsealed_records_leaves_all_whole_ones_and_the_next_append_works() {
    check_cuts([unsealed_log(150)]);
}

fn check_cuts(logs: impl IntoIterator<Item = Vec<u8>>) {
    let sealed = |bytes: &[u8]| follow_chain(bytes).sealed;
    for log in logs {
        let file = Log::of("");
        cut_everywhere(&log, |cut, whole| {
            fs::write(&file.path, cut).unwrap();
            let session = file.open();
            assert_eq!(&View::of(&session), whole, "cut at {}", cut.len());
            assert_eq!(file.bytes(), cut, "opening writes nothing");
            let receipt = session.append(next()).unwrap();
            let after = file.bytes();
            let unfinished = cut.last() != Some(&b'\n');
            assert!(after.starts_with(cut) && after.ends_with(b"}\n"));
            assert_eq!(lines(&file.path).len(), starts(cut).len() + 1);
            assert_eq!((receipt.end, receipt.interleaved), (after.len() as u64, false));
            let again = assert_reopens_alike(&session);
            let mut records = whole.records.clone();
            records.push(lines(&file.path).pop().unwrap());
            assert_eq!(common::records(&again), records);
            let stored = again.entry(&receipt.id).unwrap();
            assert_eq!(stored.parent_id().map(ToString::to_string), whole.leaf, "cut at {}", cut.len());
            assert_eq!(again.stored_leaf(), Some(receipt.id));
            let torn = unfinished && records.len() == lines(&file.path).len() - 2;
            assert_eq!(again.damage().1, u64::from(torn));
            assert!(again.damage().0.iter().all(|damage| damage.kind == DamageKind::Torn));
            let chained = follow_chain(&after);
            assert_eq!((chained.wrong, chained.broken), (vec![], vec![]), "cut at {}", cut.len());
            assert_eq!(chained.sealed, sealed(cut) + 1);
        });
    }
}

#[test]
fn a_program_that_appends_behind_a_cut_without_a_line_feed_loses_nothing_but_the_torn_record() {
    let foreign = user("foreign", None);
    for log in [&sealed_logs(&[30; 3])[0], &unsealed_log(30)] {
        let file = Log::of("");
        cut_everywhere(log, |cut, whole| {
            fs::write(&file.path, [cut, foreign.as_bytes(), b"\n"].concat()).unwrap();
            let session = file.open();
            let mut records = whole.records.clone();
            records.push(foreign.clone().into_bytes());
            assert_eq!(common::records(&session), records, "cut at {}", cut.len());
            assert_eq!(leaf(&session).as_deref(), Some("foreign"));
            assert_eq!(session.damage().1, u64::from(cut.last() != Some(&b'\n')));
            session.append(next()).unwrap();
            assert_eq!(ids(&open(&file.path)).len(), records.len() + 1);
        });
    }
}

fn open(path: &Path) -> Session {
    common::open(path)
}

#[test]
fn a_handle_that_saw_unfinished_bytes_sees_the_record_once_it_is_whole() {
    let log = unsealed_log(30);
    let start = *starts(&log).last().unwrap();
    for cut in (start + 1..log.len()).step_by(7).chain([log.len() - 1]) {
        let file = Log::of(&log[..cut]);
        let session = file.open();
        file.push(&log[cut..log.len() - 1]);
        session.refresh().unwrap();
        assert_eq!(ids(&session).last().unwrap(), "e6");
        assert!(session.refresh().unwrap().new_entries.is_empty());
        file.push("\n");
        assert!(session.refresh().unwrap().new_entries.is_empty());
        assert_eq!(session.reloads(), 0);
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
        assert_eq!(session.damage().1, 0);
    }
}

#[test]
fn a_whole_record_without_a_line_feed_that_becomes_another_one_of_equal_length_is_not_taken_for_it() {
    for end in ["", "\n"] {
        let file = Log::with([user("e1", None)]);
        let before = file.bytes();
        file.push(user("e2", Some("e1")));
        let session = file.open();
        assert_eq!(ids(&session), ["e1", "e2"]);
        fs::write(&file.path, &before).unwrap();
        file.push(user("x2", Some("e1")) + end);
        session.refresh().unwrap();
        assert_eq!(ids(&session), ["e1", "x2"]);
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
    }
}

#[test]
fn a_file_cut_within_its_header_is_no_session_and_is_left_alone() {
    for cut in 0..HEADER.len() {
        let file = Log::of(&HEADER[..cut]);
        let error = Session::open(&file.path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotASession, "cut at {cut}");
        assert_eq!(file.bytes(), HEADER.as_bytes()[..cut]);
    }
    let file = Log::of(HEADER);
    let session = file.open();
    session.append(next()).unwrap();
    assert_eq!(lines(&file.path)[0], HEADER.as_bytes());
    assert_reopens_alike(&session);
}

/// Five records, the third of which is changed, and the bytes of that one.
struct Flips {
    log: Vec<u8>,
    at: std::ops::Range<usize>,
    /// The records of the others.
    others: Vec<Vec<u8>>,
    original: Vec<u8>,
}

impl Flips {
    fn of(log: Vec<u8>, line: usize) -> Self {
        let starts = starts(&log);
        let at = starts[line]..starts.get(line + 1).map_or(log.len(), |next| *next);
        let file = Log::of(&log);
        let mut others = lines(&file.path);
        let original = others.remove(line);
        others.remove(0);
        Self { log, at, others, original }
    }

    fn each(&self, values: impl Fn(u8) -> Vec<u8>, mut check: impl FnMut(&Session, usize, u8)) {
        let file = Log::of("");
        let mut log = self.log.clone();
        for at in self.at.clone() {
            for value in values(self.log[at]) {
                log[at] = value;
                fs::write(&file.path, &log).unwrap();
                let session = file.open();
                assert_eq!(file.bytes(), log);
                check(&session, at, value);
            }
            log[at] = self.log[at];
        }
    }
}

fn every_bit(byte: u8) -> Vec<u8> {
    (0..8).map(|bit| byte ^ (1 << bit)).collect()
}

fn some_bits(byte: u8) -> Vec<u8> {
    [0, 1, 5, 7].map(|bit| byte ^ (1 << bit)).to_vec()
}

fn sealed_chain() -> Vec<u8> {
    let (_folder, _, session) = common::session();
    let first = session.append(NewEntry::user("first").with_id(id("0000aaaa"))).unwrap().id;
    session.append(NewEntry::assistant("second \"x\" \\").with_id(id("5555bbbb"))).unwrap();
    session.append(NewEntry::user("third {} [] \"").with_id(id("9999cccc"))).unwrap();
    session.append_with(NewEntry::assistant("fourth").with_id(id("ddddffff")), &AppendOptions::new()).unwrap();
    session.set_label(&first, "label").unwrap();
    fs::read(session.path()).unwrap()
}

#[test]
fn any_flipped_bit_of_a_sealed_record_in_the_middle_shows_and_hurts_no_other_record() {
    let flips = Flips::of(sealed_chain(), 3);
    flips.each(every_bit, |session, at, value| {
        let found = common::records(session);
        let case = format!("byte {at} = {value}");
        for other in &flips.others {
            assert_eq!(found.iter().filter(|record| *record == other).count(), 1, "{case}");
        }
        // The line feed is no part of the record: both neighbours survive its loss.
        let intact = found.contains(&flips.original);
        assert_eq!(intact, at == flips.at.end - 1, "{case}");
        for entry in session.entries().map(Result::unwrap) {
            let own = flips.others.iter().any(|other| other == entry.as_bytes()) || intact;
            assert!(own || entry.is_suspect(), "{case}: {:?}", entry.as_json());
        }
        assert!(session.damage().1 > 0, "{case}");
        assert_eq!(session.doubt(), None, "{case}");
        // What stands behind the damage still reaches what stands before it.
        let path = common::path(session, Some("ddddffff"));
        assert!(path.starts_with(&["0000aaaa".to_owned(), "5555bbbb".to_owned()]), "{case}: {path:?}");
        let receipt = session.append(next()).unwrap();
        assert!(session.is_ancestor(&id("ddddffff"), &receipt.id).unwrap());
        if at % 16 == 0 {
            assert_reopens_alike(session);
            let strict = Session::open_with(session.path(), options().strict(true));
            assert_eq!(kind(strict), ErrorKind::Corrupt, "{case}");
        }
    });
}

#[test]
fn any_flipped_bit_of_an_unsealed_record_hurts_no_other_record() {
    let log = Log::with([
        user("0000aaaa", None),
        user("5555bbbb", Some("0000aaaa")),
        user("9999cccc", Some("5555bbbb")),
        user("ddddffff", Some("9999cccc")),
    ]);
    let flips = Flips::of(log.bytes(), 3);
    flips.each(some_bits, |session, at, value| {
        let found = common::records(session);
        for other in &flips.others {
            assert_eq!(found.iter().filter(|record| *record == other).count(), 1, "byte {at} = {value}");
        }
        assert!(found.len() == 4 || session.damage().1 > 0, "byte {at} = {value}");
        let path = common::path(session, Some("ddddffff"));
        assert!(path.len() >= 2, "byte {at} = {value}: {path:?}");
        session.append(next()).unwrap();
    });
}

#[test]
fn any_flipped_bit_of_the_last_record_leaves_it_suspect_or_the_leaf_in_doubt() {
    let flips = Flips::of(sealed_chain(), 5);
    flips.each(every_bit, |session, at, value| {
        let case = format!("byte {at} = {value}");
        let found = common::records(session);
        assert!(flips.others.iter().all(|other| found.contains(other)), "{case}");
        if at == flips.at.end - 1 {
            // The line feed: what stands there now is skipped once it is a line of its own.
            session.append(next()).unwrap();
            assert!(common::records(&open(&session.path())).contains(&flips.original), "{case}");
            return;
        }
        let last = session.entries().last().unwrap().unwrap();
        if found.len() == flips.others.len() {
            assert!(matches!(session.doubt(), Some(Doubt::DamageBehindLeaf { line: 6, .. })), "{case}");
            let before = fs::read(session.path()).unwrap();
            assert_eq!(kind(session.append(next())), ErrorKind::LeafInDoubt, "{case}");
            assert_eq!(fs::read(session.path()).unwrap(), before, "{case}");
            session.append_with(next(), &AppendOptions::new().under(Some(id("ddddffff")))).unwrap();
        } else {
            assert!(last.is_suspect(), "{case}");
            session.append(next()).unwrap();
        }
        assert_eq!(session.doubt(), None, "{case}");
    });
}

#[test]
fn any_value_in_any_byte_of_a_leaf_entry_never_panics_and_keeps_the_session_usable() {
    let (_folder, _, session) = common::session();
    let first = session.append(NewEntry::user("first").with_id(id("0000aaaa"))).unwrap().id;
    session.append(NewEntry::assistant("second").with_id(id("5555bbbb"))).unwrap();
    session.move_to(Some(&first)).unwrap().unwrap();
    let flips = Flips::of(fs::read(session.path()).unwrap(), 3);
    flips.each(
        |byte| [b'\n', b'"', b'{', b'0', 0xFF].into_iter().filter(|value| *value != byte).collect(),
        |session, at, value| {
            let found = common::records(session);
            assert!(flips.others.iter().all(|other| found.contains(other)), "byte {at} = {value}");
            let result = session.append(next());
            if let Err(error) = &result {
                assert_eq!(error.kind(), ErrorKind::LeafInDoubt, "byte {at} = {value}");
                session.append_with(next(), &AppendOptions::new().under(Some(first.clone()))).unwrap();
            }
            session.append(next()).unwrap();
        },
    );
}

/// A line between `e2` and `e3` of a chain of four, and what it is reported as.
#[test]
fn odd_lines_between_records_are_reported_and_hide_nothing() {
    let deep = "[".repeat(100_000);
    let cases: Vec<(&str, Vec<u8>, Option<DamageKind>)> = vec![
        ("an empty line", b"".to_vec(), None),
        ("white space", b" \t\r".to_vec(), None),
        ("garbage", b"no JSON at all".to_vec(), Some(DamageKind::Corrupt)),
        ("512 NULs", vec![0; 512], Some(DamageKind::Padding)),
        ("an array", b"[1,2]".to_vec(), Some(DamageKind::NotAnEntry)),
        ("a number", b"12".to_vec(), Some(DamageKind::NotAnEntry)),
        ("null", b"null".to_vec(), Some(DamageKind::NotAnEntry)),
        ("a string", b"\"text\"".to_vec(), Some(DamageKind::NotAnEntry)),
        ("no id", br#"{"type":"message","parentId":"e2"}"#.to_vec(), Some(DamageKind::NotAnEntry)),
        ("an empty id", br#"{"type":"message","id":""}"#.to_vec(), Some(DamageKind::NotAnEntry)),
        ("a number as id", br#"{"type":"message","id":7}"#.to_vec(), Some(DamageKind::NotAnEntry)),
        ("no type", br#"{"id":"x","parentId":"e2"}"#.to_vec(), Some(DamageKind::NotAnEntry)),
        ("an empty object", b"{}".to_vec(), Some(DamageKind::NotAnEntry)),
        ("a second header", HEADER.as_bytes().to_vec(), Some(DamageKind::SecondHeader)),
        ("a torn record", br#"{"type":"message","id":"x","par"#.to_vec(), Some(DamageKind::Torn)),
        ("a brace", b"}".to_vec(), Some(DamageKind::Corrupt)),
        ("open brackets", deep.clone().into_bytes(), Some(DamageKind::Torn)),
        ("invalid UTF-8", vec![0xFF, 0xFE, 0x80], Some(DamageKind::Corrupt)),
        ("a lone U+2028", "\u{2028}".as_bytes().to_vec(), Some(DamageKind::Corrupt)),
    ];
    for (name, line, expected) in cases {
        let records = common::chain(4).into_iter().map(String::into_bytes).collect::<Vec<_>>();
        let mut all = records.clone();
        all.insert(2, line);
        let file = Log::with(&all);
        let before = file.bytes();
        let session = file.open();
        assert_eq!(common::records(&session), records, "{name}");
        assert_eq!(common::path(&session, None), ["e1", "e2", "e3", "e4"], "{name}");
        assert_eq!(common::texts(&session), ["e1", "e2", "e3", "e4"], "{name}");
        assert_eq!(damage(&session), Vec::from_iter(expected.map(|kind| (kind, 4))), "{name}");
        assert_eq!(session.doubt(), None, "{name}");
        assert_eq!(file.open_strict().is_ok(), expected.is_none(), "{name}");
        session.append(next()).unwrap();
        assert!(file.bytes().starts_with(&before), "{name}");
        let again = assert_reopens_alike(&session);
        let fork = file.store().fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
        assert_eq!(common::records(&fork), common::records(&again), "{name}");
        let fork = file.store().fork(&again, &Fork::At(id("e4")), ForkOptions::new()).unwrap().session;
        assert_eq!(common::records(&fork), records, "{name}");
        assert_eq!(fork.damage().1, 0, "{name}");
    }
}

#[test]
fn damage_names_its_line_and_offset() {
    let file = Log::with([user("e1", None), "garbage".to_owned(), user("e2", Some("e1"))]);
    let damage = file.open().damage().0.remove(0);
    let offset = HEADER.len() + 1 + user("e1", None).len() + 1;
    assert_eq!((damage.kind, damage.line, damage.offset), (DamageKind::Corrupt, 3, offset as u64));
    assert!(!damage.detail.is_empty() && !damage.detail.contains("garbage"));
    let error = file.open_strict().unwrap_err();
    assert_eq!((error.kind(), error.line(), error.offset()), (ErrorKind::Corrupt, Some(3), Some(offset as u64)));
    assert_eq!(error.path(), Some(&*file.path));
}

/// Records that are odd, but records all the same.
fn odd_records() -> Vec<Vec<u8>> {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = |text: &[u8]| {
        let head =
            br#"{"type":"message","id":"odd","parentId":"e2","timestamp":"t","message":{"role":"user","content":""#;
        [&head[..], text, br#""}}"#].concat()
    };
    let custom = |data: &str| entry("custom", "odd", Some("e2"), &format!(r#","customType":"x","data":{data}"#));
    vec![
        text(b"\\ud99c and \\udc00"),
        text("\u{2028}\u{2029}\u{85}\u{feff}".as_bytes()),
        text(b"\xFF\xFE\x80 broken"),
        text(b"\\u0000\\u001f"),
        custom("123456789012345678901234567890123456789012345678901234567890").into_bytes(),
        custom(r#"{"a":1e3,"a":1000,"a":-0,"b":1E+400}"#).into_bytes(),
        custom(&deep).into_bytes(),
        custom(" [ 1 ,\t2 ] ").into_bytes(),
        entry("from_the_future", "odd", Some("e2"), r#","x":{"id":"y","parentId":"z"}"#).into_bytes(),
        br#"{ "id" : "odd" , "parentId":"e2", "type":"custom" }"#.to_vec(),
        br#"{"type":"message","id":"odd","parentId":"e2","timestamp":5,"message":"text"}"#.to_vec(),
        br#"{"type":"message","id":"odd","parentId":"e2","message":[[]],"id":"other","parentId":"e1"}"#.to_vec(),
        br#"{"type":"message","id":"odd","parentId":"e2","message":null,"":{"":[]}}"#.to_vec(),
        entry("session_info", "odd", Some("e2"), r#","name":{"not":"text"}"#).into_bytes(),
        entry("label", "odd", Some("e2"), r#","targetId":7"#).into_bytes(),
        entry("compaction", "odd", Some("e2"), "").into_bytes(),
        entry("branch_summary", "odd", Some("e2"), r#","summary":[]"#).into_bytes(),
    ]
}

#[test]
fn odd_records_come_out_byte_for_byte_from_reads_and_forks() {
    for odd in odd_records() {
        let name = String::from_utf8_lossy(&odd[..odd.len().min(120)]).into_owned();
        let records =
            [user("e1", None).into_bytes(), user("e2", Some("e1")).into_bytes(), odd, user("e3", Some("odd")).into()];
        let file = Log::with(&records);
        let session = file.open();
        assert_eq!(common::records(&session), records, "{name}");
        assert_eq!((session.damage().1, session.gaps().len()), (0, 0), "{name}");
        assert_eq!(common::path(&session, None), ["e1", "e2", "odd", "e3"], "{name}");
        assert_eq!(session.entry(&id("odd")).unwrap().as_bytes(), records[2], "{name}");
        let context = session.context(&leaflog::ContextOptions::new()).unwrap();
        assert_eq!(context.messages.last().unwrap().text(), "e3", "{name}");
        session.tree(&leaflog::TreeOptions::new()).unwrap().for_each(|node| drop(node.unwrap()));
        session.stats().unwrap();
        for fork in [Fork::Whole, Fork::At(id("e3"))] {
            let copy = file.store().fork(&session, &fork, ForkOptions::new()).unwrap().session;
            assert_eq!(common::records(&copy), records, "{name}");
        }
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
    }
}

#[test]
fn messages_of_a_context_keep_their_stored_bytes() {
    let message = r#"{"role":"user","content":[{"type":"text","text":"\ud99c"}],"n":1e3,"n":123456789012345678901234567890123456789012345678901234567890 , "z" : {"role":"x"}}"#;
    let record =
        format!(r#"{{"type":"message","id":"e2","parentId":"e1","timestamp":"t","message":{message},"later":1}}"#);
    let file = Log::with([user("e1", None), record]);
    let context = file.open().context(&leaflog::ContextOptions::new()).unwrap();
    assert_eq!(context.messages[1].as_json(), message);
    assert_eq!(context.messages[1].text(), "\u{fffd}");
}

#[test]
fn payloads_of_a_caller_are_stored_byte_for_byte() {
    let (_folder, store, session) = common::session();
    let payloads = [
        r#"{"a":1e3,"a":1000,"n":123456789012345678901234567890123456789012345678901234567890}"#.to_owned(),
        r#""\ud99c \u0000 \u2028""#.to_owned(),
        "\"\u{2028}\u{2029}\u{85}\u{7f}\"".to_owned(),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
    ];
    for payload in &payloads {
        let receipt = session.append(NewEntry::custom("x", payload).unwrap()).unwrap();
        let entry = open(&session.path()).entry(&receipt.id).unwrap();
        assert_eq!(entry.member("data").as_ref(), Some(payload));
        assert!(entry.as_json().contains(&format!(r#""customType":"x","data":{payload},"prev":""#)));
    }
    let text = "\0\u{1}\n\r\u{1f}\u{7f}\u{2028}\u{fffd}\u{1f600}";
    let receipt = session.append(NewEntry::user(text)).unwrap();
    let again = assert_reopens_alike(&session);
    assert_eq!(again.entry(&receipt.id).unwrap().text(), text);
    assert_eq!(lines(session.path()).len(), 6);
    let fork = store.fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
    assert_eq!(common::records(&fork), common::records(&again));
}

#[test]
fn line_breaks_between_tokens_of_a_payload_become_spaces() {
    let (_folder, _, session) = common::session();
    let receipt = session.append(NewEntry::custom("x", "{\r\n \"a\" :\n[1,\n2]}").unwrap()).unwrap();
    assert_eq!(session.entry(&receipt.id).unwrap().member("data").unwrap(), "{   \"a\" : [1, 2]}");
    assert_eq!(lines(session.path()).len(), 2);
    assert_reopens_alike(&session);
}

#[test]
fn a_very_long_line_hides_neither_itself_nor_its_neighbours() {
    let long = |id: &str, parent: &str, megabytes: usize| {
        common::message(id, Some(parent), "user", &"0123456789abcdef".repeat(megabytes << 16))
    };
    // Parsing takes its time without optimisation; what a seal vouches for is not parsed.
    let (sealed, unsealed) = (common::seal(&long("l1", "e1", 64), 0), long("l2", "e2", 4));
    let file = Log::with([user("e1", None), sealed.clone(), user("e2", Some("l1")), unsealed, user("e3", Some("l2"))]);
    let session = file.open();
    assert_eq!(ids(&session), ["e1", "l1", "e2", "l2", "e3"]);
    assert_eq!(common::path(&session, None).len(), 5);
    assert!(session.entry(&id("l1")).unwrap().as_bytes() == sealed.as_bytes());
    session.append(next()).unwrap();
    assert_eq!(session.damage().1, 0);
    assert_eq!(open(&file.path).stored_leaf(), session.leaf());
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_read_over() {
    let records = common::chain(3);
    let text = format!("\u{feff}{HEADER}\r\n{}\r\n{}\r\n\r\n{}\r\n", records[0], records[1], records[2]);
    let file = Log::of(&text);
    let session = file.open();
    assert_eq!(common::records(&session), records.iter().map(|record| record.as_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!(session.damage().1, 0);
    session.append(next()).unwrap();
    assert!(file.bytes().starts_with(text.as_bytes()));
    assert!(!file.bytes()[text.len()..].contains(&b'\r'));
    let fork = file.store().fork(&session, &Fork::At(id("e3")), ForkOptions::new()).unwrap().session;
    assert!(!fs::read(fork.path()).unwrap().contains(&b'\r'));
    assert_reopens_alike(&session);
}

#[test]
fn fused_records_are_salvaged_at_the_edges_of_their_line() {
    let [e1, e2, e3, e4] = <[String; 4]>::try_from(common::chain(4)).unwrap();
    let sealed = common::seal(&e3, 7);
    let cases = [
        ("a torn record before a whole one", format!("{}{e2}", &e3[..60]), vec!["e1", "e2", "e4"]),
        ("a torn record that ends in a string", format!("{}{e2}", &e3[..e3.len() - 20]), vec!["e1", "e2", "e4"]),
        ("two whole records", format!("{e2}{e3}"), vec!["e1", "e2", "e3", "e4"]),
        ("two records with a space", format!("{e2} {e3}"), vec!["e1", "e2", "e3", "e4"]),
        ("a whole and a sealed record", format!("{e2}{sealed}"), vec!["e1", "e2", "e3", "e4"]),
        ("a record before garbage", format!("{e2}garbage"), vec!["e1", "e2", "e4"]),
        ("a record behind NULs", format!("{}{e2}", "\0".repeat(700)), vec!["e1", "e2", "e4"]),
        ("a record before NULs", format!("{e2}{}", "\0".repeat(700)), vec!["e1", "e2", "e4"]),
        ("a record within garbage", format!("x{e2}x"), vec!["e1", "e4"]),
    ];
    for (name, line, expected) in cases {
        let file = Log::with([&e1, &line, &e4]);
        let session = file.open();
        assert_eq!(ids(&session), expected, "{name}");
        assert_eq!(damage(&session).iter().map(|(_, line)| *line).collect::<Vec<_>>(), [3], "{name}");
        for (id, record) in [("e2", &e2), ("e4", &e4)] {
            if expected.contains(&id) {
                assert_eq!(session.entry(&common::id(id)).unwrap().as_bytes(), record.as_bytes(), "{name}");
            }
        }
        assert!(common::path(&session, None).starts_with(&["e1".to_owned()]), "{name}");
        session.append(next()).unwrap();
        let again = assert_reopens_alike(&session);
        let fork = file.store().fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
        assert_eq!(common::records(&fork), common::records(&again), "{name}");
    }
}

#[test]
fn trailing_nuls_after_a_crash_are_skipped() {
    for nuls in [1, 512, 1_206, 143_000] {
        for torn in ["", r#"{"type":"message","id":"e3","parentId":"e2","#] {
            let file = Log::with(common::chain(2));
            file.push(torn);
            file.push(vec![0; nuls]);
            let before = file.bytes();
            let session = file.open();
            assert_eq!(ids(&session), ["e1", "e2"]);
            session.append(next()).unwrap();
            assert!(file.bytes().starts_with(&before));
            let again = assert_reopens_alike(&session);
            assert_eq!((again.damage().1, ids(&again).len()), (1, 3));
            again.append(next()).unwrap();
        }
    }
}

#[test]
fn damage_behind_the_last_record_puts_the_leaf_in_doubt_until_the_caller_says_where_to_go() {
    let doubtful = |log: &Log| {
        let session = log.open();
        assert!(matches!(session.doubt(), Some(Doubt::DamageBehindLeaf { line: 4, .. })), "{:?}", session.doubt());
        assert_eq!(leaf(&session).as_deref(), Some("e2"));
        session
    };
    let log = || {
        let file = Log::with(common::chain(2));
        file.push("garbage\n");
        file
    };
    let refused: [Attempt<'_>; 5] = [
        &|session| session.append(next()),
        &|session| session.append_with(next(), &AppendOptions::new().to_leaf()),
        &|session| session.append_with(next(), &AppendOptions::new().side(Some(id("e1")))),
        &|session| session.set_label(&id("e1"), "label"),
        &|session| session.set_name("name"),
    ];
    for attempt in refused {
        let file = log();
        let before = file.bytes();
        let session = doubtful(&file);
        let error = attempt(&session).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LeafInDoubt);
        assert!(!error.to_string().contains("garbage"));
        assert_eq!(file.bytes(), before);
        assert_eq!(kind(attempt(&session)), ErrorKind::LeafInDoubt);
    }
    let cures: [&dyn Fn(&Session); 5] = [
        &|session| drop(session.append_with(next(), &AppendOptions::new().under(Some(id("e2")))).unwrap()),
        &|session| drop(session.append_with(next(), &AppendOptions::new().under(None)).unwrap()),
        &|session| drop(session.move_to(Some(&id("e2"))).unwrap().unwrap()),
        &|session| drop(session.move_to(Some(&id("e1"))).unwrap().unwrap()),
        &|session| {
            session.branch(Some(&id("e1"))).unwrap();
            session.append(next()).unwrap();
        },
    ];
    for cure in cures {
        let file = log();
        let session = doubtful(&file);
        cure(&session);
        assert_eq!(session.doubt(), None);
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
    }
}

#[test]
fn a_leaf_entry_with_an_unknown_target_moves_nothing_and_puts_the_leaf_in_doubt() {
    let file = Log::with(common::chain(2));
    file.push(entry("leaf", "e3", Some("zz"), r#","targetId":"zz","fromId":"e2""#) + "\n");
    let session = file.open();
    assert_eq!(leaf(&session).as_deref(), Some("e2"));
    assert!(matches!(session.doubt(), Some(Doubt::UnknownTarget { target, line: 4 }) if target == id("zz")));
    assert_eq!(kind(session.append(next())), ErrorKind::LeafInDoubt);
    session.move_to(Some(&id("e2"))).unwrap().unwrap();
    session.append(next()).unwrap();
    let again = assert_reopens_alike(&session);
    assert_eq!(again.doubt(), None);
    // A record of another program behind it says where the session stands, too.
    let file = Log::with(common::chain(2));
    file.push(entry("leaf", "e3", None, r#","targetId":"zz""#) + "\n" + &user("e4", Some("e2")) + "\n");
    assert_eq!(file.open().doubt(), None);
    file.open().append(next()).unwrap();
}

#[test]
fn a_running_handle_learns_of_doubt_before_it_appends() {
    let file = Log::with(common::chain(2));
    let session = file.open();
    file.push("garbage\n");
    let before = file.bytes();
    assert_eq!(kind(session.append(next())), ErrorKind::LeafInDoubt);
    assert_eq!(file.bytes(), before);
    assert!(session.doubt().is_some());
}

#[test]
fn a_suspect_record_stays_in_the_tree_and_is_marked_wherever_it_shows() {
    let (_folder, store, session) = common::session();
    let first = session.append(NewEntry::user("first 1000")).unwrap().id;
    session.append(NewEntry::assistant("second")).unwrap();
    let text = String::from_utf8(fs::read(session.path()).unwrap()).unwrap();
    fs::write(session.path(), text.replace("first 1000", "first 1e3 ")).unwrap();
    let again = open(&session.path());
    assert!(again.entry(&first).unwrap().is_suspect());
    assert_eq!(damage(&again), [(DamageKind::Suspect, 2)]);
    let context = again.context(&leaflog::ContextOptions::new()).unwrap();
    assert_eq!((context.suspects, context.messages.len()), (vec![first.clone()], 2));
    let fork = store.fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
    assert!(fork.entry(&first).unwrap().is_suspect());
    // A seal that another program re-wrote is suspect too.
    fs::write(session.path(), text.replacen(r#","prev":"#, r#", "prev":"#, 2)).unwrap();
    assert_eq!(damage(&open(&session.path())), [(DamageKind::Suspect, 2)]);
    assert_eq!(kind(Session::open_with(session.path(), options().strict(true))), ErrorKind::Corrupt);
}

#[test]
fn of_two_records_with_one_id_the_first_counts_and_the_other_body_stays_in_reach() {
    let other = common::message("e2", Some("e1"), "user", "other body");
    let [e1, e2, e3] = <[String; 3]>::try_from(common::chain(3)).unwrap();
    let file = Log::with([&e1, &e2, &e2, &e3, &other, &e2]);
    let session = file.open();
    assert_eq!(ids(&session), ["e1", "e2", "e3", "e2"]);
    assert_eq!(damage(&session), [(DamageKind::DuplicateId, 6)]);
    assert_eq!(session.entry(&id("e2")).unwrap().text(), "e2");
    assert_eq!(common::records(&session)[3], other.as_bytes());
    assert_eq!(leaf(&session).as_deref(), Some("e3"), "a repeated record moves nothing");
    assert_eq!(common::path(&session, None), ["e1", "e2", "e3"]);
    assert_eq!(session.children(Some(&id("e1"))).unwrap(), [id("e2")]);
    assert_eq!(session.tips().unwrap().len(), 1);
    session.append(next()).unwrap();
    let again = assert_reopens_alike(&session);
    let fork = file.store().fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
    assert_eq!(common::records(&fork), common::records(&again));
    assert_eq!(kind(file.open_strict()), ErrorKind::Corrupt);
}

#[test]
fn a_deleted_or_damaged_line_is_bridged_and_the_gap_is_reported() {
    let chain = common::chain(10);
    let without = |line: Option<&str>| {
        let mut lines = chain.clone();
        match line {
            Some(line) => lines[4] = line.to_owned(),
            None => drop(lines.remove(4)),
        }
        Log::with(lines)
    };
    let nested = chain[4].replace(r#""role""#, "\"role");
    let cases = [
        ("deleted", without(None), GapReason::LeafBefore, 6),
        ("unreadable", without(Some("garbage")), GapReason::LeafBefore, 7),
        ("NULs", without(Some(&"\0".repeat(300))), GapReason::LeafBefore, 7),
        ("damaged behind its envelope", without(Some(&nested)), GapReason::NamedByDamage, 7),
        ("torn behind its envelope", without(Some(&chain[4][..90])), GapReason::NamedByDamage, 7),
    ];
    for (name, file, reason, line) in cases {
        let session = file.open();
        let expected = ["e1", "e2", "e3", "e4", "e6", "e7", "e8", "e9", "e10"];
        assert_eq!(common::path(&session, None), expected, "{name}");
        assert_eq!(common::texts(&session), expected, "{name}");
        let gaps = session.gaps();
        assert_eq!(gaps.len(), 1, "{name}");
        let gap = &gaps[0];
        assert_eq!((&gap.entry, &gap.missing, gap.reason), (&id("e6"), &id("e5"), reason), "{name}");
        assert_eq!((gap.line, &gap.bridged_to), (line, &Some(id("e4"))), "{name}");
        assert_eq!(session.context(&leaflog::ContextOptions::new()).unwrap().gaps, gaps, "{name}");
        assert_eq!(session.path_gaps(None).unwrap(), gaps, "{name}");
        assert_eq!(session.path_gaps(Some(&id("e4"))).unwrap(), [], "{name}");
        assert_eq!(session.doubt(), None, "{name}");
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
        let fork = file.store().fork(&session, &Fork::At(id("e10")), ForkOptions::new()).unwrap();
        assert_eq!(fork.gaps, gaps, "{name}");
        assert_eq!(common::path(&fork.session, None), expected, "{name}");
        match file.open_strict() {
            Ok(strict) => assert_eq!(kind(strict.path_ids(None)), ErrorKind::Corrupt, "{name}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}"),
        }
    }
}

#[test]
fn a_damaged_line_on_another_branch_is_bridged_to_the_parent_that_it_names() {
    let mut lines = common::chain(4);
    lines.push(user("b1", Some("e2")).replace(r#""role""#, "\"role"));
    lines.push(user("b2", Some("b1")).replace(r#""role""#, "\"role"));
    lines.push(user("b3", Some("b2")));
    let session = Log::with(lines).open();
    assert_eq!(common::path(&session, None), ["e1", "e2", "b3"]);
    assert_eq!(session.gaps()[0].reason, GapReason::NamedByDamage);
}

#[test]
fn old_damage_does_not_pull_a_later_gap_far_back() {
    let mut lines = common::chain(20);
    lines.remove(14);
    lines.insert(2, "garbage".to_owned());
    let session = Log::with(&lines).open();
    assert_eq!(common::path(&session, None).len(), 19, "{:?}", session.gaps());
    // Nor does damage that was bridged already.
    lines.remove(3);
    let session = Log::with(&lines).open();
    assert_eq!(common::path(&session, None).len(), 18, "{:?}", session.gaps());
    assert_eq!(session.gaps().len(), 2);
}

#[test]
fn children_of_one_missing_parent_stay_siblings() {
    let mut lines = common::chain(6);
    lines.push(user("s1", Some("e3")));
    lines.remove(2);
    let session = Log::with(lines).open();
    assert_eq!(common::path(&session, Some("e6")), ["e1", "e2", "e4", "e5", "e6"]);
    assert_eq!(common::path(&session, Some("s1")), ["e1", "e2", "s1"]);
    assert_eq!(session.gaps().len(), 2);
}

#[test]
fn twenty_two_dangling_parents_are_twenty_two_gaps() {
    let lines: Vec<_> = (0..22).map(|number| user(&format!("e{number}"), Some(&format!("lost{number}")))).collect();
    let file = Log::with(lines);
    let session = file.open();
    assert_eq!(session.gaps().len(), 22);
    assert_eq!(session.gaps()[0].reason, GapReason::Ends);
    assert_eq!(session.gaps()[0].bridged_to, None);
    assert_eq!(ids(&session).len(), 22);
    assert_eq!(session.damage().1, 0);
    assert_eq!(kind(file.open_strict().unwrap().context(&leaflog::ContextOptions::new())), ErrorKind::Corrupt);
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_name_or_label_that_is_no_utf8_is_still_an_entry() {
    let mut record = br#"{"type":"session_info","id":"e2","parentId":"e1","timestamp":"t","name":"a"#.to_vec();
    record.extend(b"\xFF\"}");
    let file = Log::with([user("e1", None).into_bytes(), record.clone(), user("e3", Some("e2")).into_bytes()]);
    let session = file.open();
    assert_eq!(common::records(&session)[1], record);
    assert_eq!(session.name().as_deref(), Some("a\u{fffd}"));
    assert_eq!(session.damage().1, 0);
}

#[test]
fn kinds_that_nobody_knows_yet_take_part() {
    let file = Log::with([user("e1", None), entry("from_the_future", "e2", Some("e1"), r#","x":1"#)]);
    let session = file.open();
    assert_eq!(session.entry(&id("e2")).unwrap().kind(), EntryKind::Unknown);
    assert_eq!(leaf(&session).as_deref(), Some("e2"));
    session.append(next()).unwrap();
    assert_eq!(common::path(&open(&file.path), None).len(), 3);
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    let foreign = r#"{"kind":"header","version":4,"id":"x"}"#.to_owned() + "\n";
    let cases = [
        (String::new(), ErrorKind::NotASession),
        ("\n\n".to_owned(), ErrorKind::NotASession),
        ("plain text\n".repeat(50), ErrorKind::NotASession),
        (r#"{"log":"line"}"#.to_owned() + "\n", ErrorKind::NotASession),
        (user("e1", None) + "\n", ErrorKind::NotASession),
        ("{broken\n".to_owned() + &user("e1", None) + "\n", ErrorKind::NotASession),
        (foreign, ErrorKind::Unsupported),
    ];
    for (text, expected) in cases {
        let file = Log::of(&text);
        let error = Session::open(&file.path).unwrap_err();
        assert_eq!(error.kind(), expected, "{text}");
        assert!(error.to_string().lines().count() == 1 && !error.to_string().contains("plain text"), "{error}");
        assert_eq!(file.bytes(), text.as_bytes());
    }
    let newer = Log::of(HEADER.replace("\"version\":3", "\"version\":4") + "\n" + &user("e1", None) + "\n");
    let session = newer.open();
    assert_eq!(ids(&session), ["e1"]);
    let before = newer.bytes();
    assert_eq!(kind(session.append(next())), ErrorKind::Unsupported);
    assert_eq!(kind(session.move_to(None)), ErrorKind::Unsupported);
    assert_eq!(newer.bytes(), before);
    assert_eq!(kind(Session::open("/")), ErrorKind::NotASession);
    assert_eq!(kind(Session::open("/nowhere/x.jsonl")), ErrorKind::NotFound);
}
