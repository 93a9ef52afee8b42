//! Forks: what a copy holds, that every reference in it resolves, and that its source is never touched (SPEC 5).

mod common;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{BACKEND, Backend, HEADER, Log, View, assert_reopens_alike, bytes, entry, follow_chain, id, ids, kind};
use common::{leaf, lines, message, open, path, texts, user};
use leaflog::{
    AppendOptions, Compaction, ContextOptions, CreateOptions, EntryId, EntryKind, ErrorKind, Fork, ForkOptions, Forked,
    NewEntry, Position, Scope, Session, SessionId, Store,
};
use serde_json::Value;

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn fork(store: &Store, session: &Session, fork: &Fork) -> Forked {
    store.fork(session, fork, ForkOptions::new()).unwrap()
}

fn at(store: &Store, session: &Session, target: &str) -> Session {
    fork(store, session, &Fork::At(id(target))).session
}

/// What a fork of the session names as its parent (SPEC 1.1).
fn name_for_forks(session: &Session) -> String {
    match BACKEND {
        Backend::Files => session.path().to_string_lossy().into_owned(),
        _ => session.id().to_string(),
    }
}

fn json(session: &Session) -> Vec<Value> {
    lines(session.path()).iter().skip(1).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Fails unless every reference in the copy resolves (SPEC 5.3); `inert` are targets that stayed behind.
#[track_caller]
fn assert_resolves(copy: &Session, context_scope: bool, inert: &[&str]) {
    let records = json(copy);
    let ids: HashSet<_> = records.iter().map(|record| record["id"].as_str().unwrap()).collect();
    for (number, record) in records.iter().enumerate() {
        for member in ["parentId", "firstKeptEntryId", "targetId"] {
            let Some(named) = record[member].as_str() else { continue };
            let first = context_scope && number == 0 && member == "parentId";
            assert!(first || ids.contains(named) || inert.contains(&named), "{member} of {record}");
        }
    }
    assert_eq!((copy.gaps(), copy.doubt()), (vec![], None));
    // Whoever resumes at the last line resumes at the leaf.
    let last = records.last();
    let resumed = last
        .and_then(|record| if record["type"] == "leaf" { record["targetId"].as_str() } else { record["id"].as_str() });
    assert_eq!(resumed.map(str::to_owned), leaf(copy));
    let chained = follow_chain(&bytes(copy.path()));
    assert_eq!(chained.wrong, Vec::<usize>::new());
}

/// Runs `act` and fails if the log at `path` is another one behind it; a file must not be touched either.
fn untouched<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let modified = || (BACKEND == Backend::Files).then(|| fs::metadata(path).unwrap().modified().unwrap());
    let (before, time) = (bytes(path), modified());
    let result = act();
    assert_eq!((bytes(path), modified()), (before, time));
    result
}

#[test]
fn a_whole_fork_replays_to_the_same_leaf_labels_name_and_context() {
    let (_folder, store, session) = common::session();
    let mut random = common::Random::new(11);
    let mut entries: Vec<EntryId> = vec![session.append(next()).unwrap().id];
    for step in 0..60 {
        let any = entries[random.below(entries.len())].clone();
        match random.below(8) {
            0 | 1 => drop(session.move_to(Some(&any)).unwrap()),
            2 => drop(session.set_label(&any, &"label".repeat(step % 2)).unwrap()),
            3 => drop(session.set_name(&format!("name {step}")).unwrap()),
            4 => drop(session.compact(Compaction::new("summary").first_kept(any)).ok()),
            5 => drop(session.append_with(next(), &AppendOptions::new().side(Some(any))).unwrap()),
            _ => entries.push(session.append(NewEntry::assistant(format!("{step}"))).unwrap().id),
        }
        if step % 6 == 0 {
            let copy = untouched(&session.path(), || fork(&store, &session, &Fork::Whole));
            assert!(copy.gaps.is_empty() && copy.editor_text.is_none());
            assert_eq!(View::of(&copy.session), View::of(&session), "step {step}");
            assert_eq!(lines(copy.session.path())[1..], lines(session.path())[1..]);
            let origin = copy.session.header().origin.unwrap();
            assert_eq!((origin.session, origin.entry), (session.id().to_string(), None));
            assert_eq!((origin.position, origin.records), (Position::Whole, json(&session).len() as u64));
            assert_reopens_alike(&copy.session).append(next()).unwrap();
        }
    }
    session.append(next()).unwrap();
}

#[test]
fn a_fork_records_where_it_comes_from_and_takes_over_the_metadata() {
    let (_folder, store) = common::store();
    let options = CreateOptions::new("/project").metadata(r#"{"n":1e3,"s":"\ud99c"}"#);
    let session = store.create(options).unwrap();
    let first = session.append(next()).unwrap().id;
    let copy = at(&store, &session, &first.to_string());
    let header = copy.header();
    assert_eq!(header.parent_session, Some(name_for_forks(&session)));
    assert_eq!((header.cwd.as_str(), header.metadata.as_deref()), ("/project", Some(r#"{"n":1e3,"s":"\ud99c"}"#)));
    assert_ne!(header.id, session.id());
    let origin = header.origin.unwrap();
    assert_eq!((origin.entry, origin.position), (Some(first.to_string()), Position::At));
    assert_eq!((origin.scope, origin.records), (Scope::Path, 1));
    let options =
        ForkOptions::new().cwd("/other").id(SessionId::parse("mine").unwrap()).parent("someone").metadata("{}");
    let copy = store.fork(&session, &Fork::Whole, options.clone()).unwrap().session;
    let header = copy.header();
    assert_eq!((header.id.as_str(), header.cwd.as_str()), ("mine", "/other"));
    assert_eq!((header.parent_session.as_deref(), header.metadata.as_deref()), (Some("someone"), Some("{}")));
    let files = || common::lines(copy.path()).len();
    let before = files();
    assert_eq!(kind(store.fork(&session, &Fork::Whole, options)), ErrorKind::AlreadyExists);
    assert_eq!(files(), before);
    assert_eq!(kind(store.fork(&session, &Fork::Whole, ForkOptions::new().metadata("[]"))), ErrorKind::Invalid);
}

/// A log with everything that a path fork must get right.
///
/// The main path is e1 to e6; labels and names are set on it and off it; another program took leaf entries for parents.
fn rich() -> Log {
    let label = |id: &str, parent: &str, target: &str, text: &str| {
        entry("label", id, Some(parent), &format!(r#","targetId":"{target}","label":"{text}""#))
    };
    let clear =
        |id: &str, parent: &str, target: &str| entry("label", id, Some(parent), &format!(r#","targetId":"{target}""#));
    let name =
        |id: &str, parent: &str, name: &str| entry("session_info", id, Some(parent), &format!(r#","name":"{name}""#));
    let leaf_entry = |id: &str, target: &str| entry("leaf", id, Some(target), &format!(r#","targetId":"{target}""#));
    let compaction =
        entry("compaction", "c1", Some("e4"), r#","summary":"short","firstKeptEntryId":"l2","tokensBefore":1"#);
    let edit = entry("context_edit", "x1", Some("c1"), r#","targetId":"e4","replacement":{"content":"edited"}"#);
    Log::with([
        user("e1", None),
        label("l1", "e1", "e1", "old"),
        message("e2", Some("l1"), "assistant", "e2"),
        label("l2", "e2", "e2", "kept"),
        name("n1", "l2", "on the path"),
        user("e3", Some("n1")),
        // A branch with labels and a name for what is on the path and for itself.
        message("b1", Some("e3"), "assistant", "b1"),
        label("b2", "b1", "e1", "new"),
        clear("b3", "b2", "e2"),
        label("b4", "b3", "b1", "own"),
        label("b5", "b4", "e3", "off"),
        name("n2", "b5", "off the path"),
        leaf_entry("m1", "e3"),
        leaf_entry("m2", "m1"),
        message("e4", Some("m2"), "assistant", "e4"),
        compaction,
        edit,
        user("e5", Some("x1")),
        leaf_entry("m3", "e5"),
        message("e6", Some("m3"), "assistant", "e6"),
        label("l3", "e6", "e5", "late"),
    ])
}

#[test]
fn a_path_fork_carries_labels_and_the_name_over_and_resolves_every_reference() {
    let file = rich();
    let (session, store) = (file.open(), file.store());
    for target in ["e1", "l1", "e2", "l2", "e3", "b1", "b5", "n2", "e4", "c1", "x1", "e5", "e6", "l3"] {
        let forked = untouched(&file.path, || fork(&store, &session, &Fork::At(id(target))));
        let copy = forked.session;
        assert_resolves(&copy, false, &[]);
        assert_eq!(leaf(&copy).as_deref(), Some(target), "{target}");
        assert_eq!(path(&copy, None), path(&session, Some(target)), "{target}");
        let from = |session: &Session| {
            let context = session.context(&ContextOptions::new().from(id(target))).unwrap();
            (context.messages, context.settings, context.off_path_first_kept)
        };
        assert_eq!(from(&copy), from(&session), "{target}");
        assert_eq!(copy.name(), session.name(), "{target}");
        let copied: HashSet<_> = ids(&copy).into_iter().collect();
        let expected: Vec<_> =
            session.labels().into_iter().filter(|(target, _)| copied.contains(&target.to_string())).collect();
        assert_eq!(copy.labels(), expected, "{target}: with their times");
        // What was copied is byte for byte what it was.
        let records = common::records(&session);
        let count = usize::try_from(copy.header().origin.unwrap().records).unwrap();
        assert!(common::records(&copy)[..count].iter().all(|record| records.contains(record)), "{target}");
        assert_eq!(count, common::records(&copy).iter().filter(|record| records.contains(record)).count(), "{target}");
        let again = assert_reopens_alike(&copy);
        let receipt = again.append(next()).unwrap();
        assert_eq!(again.entry(&receipt.id).unwrap().parent_id(), Some(&id(target)));
    }
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_fork_of_a_fork_is_the_same_again() {
    let file = rich();
    let (session, store) = (file.open(), file.store());
    let first = at(&store, &session, "e6");
    let second = at(&store, &first, "e6");
    assert_eq!(second.labels(), first.labels());
    assert_eq!(second.name(), first.name());
    assert_eq!(path(&second, None), path(&first, None));
    assert_resolves(&second, false, &[]);
    let whole = fork(&store, &second, &Fork::Whole).session;
    assert_eq!(View::of(&whole), View::of(&second));
    assert_eq!(whole.header().parent_session, Some(name_for_forks(&second)));
}

#[test]
fn a_context_fork_starts_where_the_context_starts_and_is_known_to_be_whole() {
    let file = rich();
    let (session, store) = (file.open(), file.store());
    let scope = || ForkOptions::new().scope(Scope::Context);
    for target in ["e6", "c1", "e4", "l3"] {
        let copy = store.fork(&session, &Fork::At(id(target)), scope()).unwrap().session;
        assert_resolves(&copy, true, &["e2"]);
        assert_eq!(copy.header().origin.unwrap().scope, Scope::Context);
        let context = |session: &Session| session.context(&ContextOptions::new().from(id(target))).unwrap().messages;
        assert_eq!(context(&copy), context(&session), "{target}");
        let expected = common::strings(session.context_path(Some(&id(target))).unwrap());
        assert_eq!(path(&copy, None), expected, "{target}");
        assert_eq!((copy.gaps(), assert_reopens_alike(&copy).gaps()), (vec![], vec![]), "{target}");
        copy.append(next()).unwrap();
        // A fork of it is whole, too.
        let second = at(&store, &copy, target);
        assert_eq!(path(&second, None), expected, "{target}");
    }
    let before = store.fork(&session, &Fork::Before(id("e5")), scope()).unwrap();
    assert_eq!(before.editor_text.as_deref(), Some("e5"));
    assert_eq!(leaf(&before.session).as_deref(), Some("x1"));
    assert_eq!(path(&before.session, None)[0], "l2");
    // Nothing kept: the copy starts at the compaction.
    let (_folder, store, session) = common::session();
    session.append(next()).unwrap();
    let compaction = session.compact(Compaction::new("short").retained_tail("[]")).unwrap().id;
    let copy = store.fork(&session, &Fork::At(compaction.clone()), scope()).unwrap().session;
    assert_eq!(path(&copy, None), [compaction.to_string()]);
    assert_eq!(texts(&copy), ["short"]);
    assert_eq!(assert_reopens_alike(&copy).gaps(), []);
}

#[test]
fn before_a_user_message_ends_at_its_parent_and_returns_its_text() {
    let file = rich();
    let (session, store) = (file.open(), file.store());
    let forked = fork(&store, &session, &Fork::Before(id("e5")));
    assert_eq!(forked.editor_text.as_deref(), Some("e5"));
    assert_eq!(leaf(&forked.session).as_deref(), Some("x1"));
    assert_eq!(forked.session.header().origin.unwrap().position, Position::Before);
    assert_resolves(&forked.session, false, &[]);
    for target in ["e2", "l1", "n1", "c1", "x1", "m1", "unknown"] {
        let count = store.backend().sessions().unwrap().len();
        let error = untouched(&file.path, || store.fork(&session, &Fork::Before(id(target)), ForkOptions::new()));
        let error = error.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid), "{target}: {error}");
        assert!(error.to_string().contains("invalid fork target"), "{target}: {error}");
        assert_eq!(store.backend().sessions().unwrap().len(), count, "{target}");
    }
    for target in ["m1", "m2", "unknown"] {
        let error = store.fork(&session, &Fork::At(id(target)), ForkOptions::new()).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("invalid fork target"), "{error}");
    }
    // Several blocks, a lone surrogate, an image: the text blocks joined.
    let content = r#"[{"type":"text","text":"a\ud99c"},{"type":"image","data":"x"},{"type":"text","text":"b"}]"#;
    let record = user("e1", None).replace(r#""content":"e1""#, &format!(r#""content":{content}"#));
    let file = Log::with([record]);
    let forked = fork(&file.store(), &file.open(), &Fork::Before(id("e1")));
    assert_eq!(forked.editor_text.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn before_the_first_message_nothing_is_copied_but_the_name() {
    let file = rich();
    let (session, store) = (file.open(), file.store());
    let forked = fork(&store, &session, &Fork::Before(id("e1")));
    assert_eq!(forked.editor_text.as_deref(), Some("e1"));
    let copy = forked.session;
    assert_eq!((copy.leaf(), copy.stored_leaf(), texts(&copy)), (None, None, vec![]));
    assert_eq!(copy.name(), session.name());
    assert_eq!(copy.header().origin.unwrap().records, 0);
    assert_resolves(&copy, false, &[]);
    let receipt = copy.append(next()).unwrap();
    assert_eq!(copy.entry(&receipt.id).unwrap().parent_id(), None);
    assert_reopens_alike(&copy);
    let file = Log::with([user("e1", None)]);
    let copy = fork(&file.store(), &file.open(), &Fork::Before(id("e1"))).session;
    assert_eq!(lines(copy.path()).len(), 1);
    assert_reopens_alike(&copy).append(next()).unwrap();
}

#[test]
fn an_empty_session_forks_whole_and_nothing_else_is_a_target() {
    let (_folder, store, session) = common::session();
    let copy = fork(&store, &session, &Fork::Whole).session;
    assert_eq!((copy.leaf(), lines(copy.path()).len()), (None, 1));
    copy.append(next()).unwrap();
    assert_reopens_alike(&copy);
    assert_eq!(lines(session.path()).len(), 1);
    assert_eq!(kind(store.fork(&session, &Fork::At(id("x")), ForkOptions::new())), ErrorKind::Invalid);
    // A session whose leaf is before the first entry keeps it there.
    let first = session.append(next()).unwrap().id;
    session.move_to(None).unwrap();
    let copy = fork(&store, &session, &Fork::Whole).session;
    assert_eq!((copy.leaf(), ids(&copy).len()), (None, 2));
    assert_eq!(at(&store, &session, &first.to_string()).leaf(), Some(first));
}

#[test]
fn references_that_stay_behind_are_kept_and_known_as_inert() {
    let file = Log::with([
        user("e1", None),
        user("b1", Some("e1")),
        entry("label", "l1", Some("e1"), r#","targetId":"b1","label":"branch""#),
        entry("context_edit", "x1", Some("l1"), r#","targetId":"b1","replacement":null"#),
        entry("compaction", "c1", Some("x1"), r#","summary":"s","firstKeptEntryId":"b1","tokensBefore":1"#),
        entry("branch_summary", "s1", Some("c1"), r#","summary":"left","fromId":"b1""#),
        user("e2", Some("s1")),
    ]);
    let session = file.open();
    let copy = at(&file.store(), &session, "e2");
    assert_eq!(common::records(&copy)[..6], [0, 2, 3, 4, 5, 6].map(|at| common::records(&session)[at].clone()));
    assert_resolves(&copy, false, &["b1"]);
    let context = |session: &Session| {
        let context = session.context(&ContextOptions::new()).unwrap();
        (context.messages, context.off_path_first_kept)
    };
    assert_eq!(context(&copy), context(&session));
    assert_eq!(context(&copy).1, Some(id("b1")));
    assert_eq!(copy.label(&id("e1")), None);
    assert_reopens_alike(&copy).append(next()).unwrap();
}

#[test]
fn side_and_lane_records_on_a_path_do_not_take_the_leaf_of_the_copy() {
    let side = user("s1", Some("e1")).replace(r#","message":{"#, r#","side":true,"message":{"#);
    let lane = user("a1", Some("s1")).replace(r#","message""#, r#","lane":"agent","message""#);
    let file = Log::with([user("e1", None), side, lane, user("e2", Some("e1"))]);
    let session = file.open();
    for target in ["s1", "a1"] {
        let copy = at(&file.store(), &session, target);
        assert_eq!(leaf(&copy).as_deref(), Some(target));
        assert_resolves(&copy, false, &[]);
        let receipt = copy.append(next()).unwrap();
        assert_eq!(copy.entry(&receipt.id).unwrap().parent_id(), Some(&id(target)));
        assert_reopens_alike(&copy);
    }
}

#[test]
fn forks_of_damaged_sessions_keep_what_is_there_and_report_the_rest() {
    let [e1, e2, e3, e4, e5] = <[String; 5]>::try_from(common::chain(5)).unwrap();
    let fused = format!("{}{e3}", &e2[..70]);
    let duplicate = message("e1", None, "user", "another body");
    let cases: Vec<(&str, Vec<&str>, Vec<&str>)> = vec![
        ("a lost line", vec![&e1, &e2, &e4, &e5], vec!["e1", "e2", "e4", "e5"]),
        ("garbage", vec![&e1, "garbage", &e3, &e4, &e5], vec!["e1", "e3", "e4", "e5"]),
        ("a fused line", vec![&e1, &fused, &e4, &e5], vec!["e1", "e3", "e4", "e5"]),
        ("a lost root", vec![&e2, &e3, &e4, &e5], vec!["e2", "e3", "e4", "e5"]),
        ("a duplicate", vec![&e1, &e2, &e3, &duplicate, &e4, &e5], vec!["e1", "e2", "e3", "e4", "e5"]),
        ("a second header", vec![&e1, &e2, HEADER, &e3, &e4, &e5], vec!["e1", "e2", "e3", "e4", "e5"]),
    ];
    for (name, lines, expected) in cases {
        let file = Log::with(&lines);
        let (session, store) = (file.open(), file.store());
        let gaps = session.gaps();
        let whole = untouched(&file.path, || fork(&store, &session, &Fork::Whole));
        assert_eq!((&whole.gaps, whole.session.gaps()), (&gaps, gaps.clone()), "{name}");
        assert_eq!(common::lines(whole.session.path())[1..], common::lines(&file.path)[1..], "{name}");
        assert_eq!(whole.session.damage().1, session.damage().1, "{name}");
        let path_fork = fork(&store, &session, &Fork::At(id("e5")));
        assert_eq!(path(&path_fork.session, None), expected, "{name}");
        assert_eq!(path_fork.gaps.len(), gaps.len(), "{name}");
        let own = path_fork.session.gaps();
        assert_eq!(own.len(), gaps.len(), "{name}");
        assert!(own.iter().zip(&gaps).all(|(own, gap)| own.missing == gap.missing), "{name}");
        assert_eq!(path_fork.session.damage().1, 0, "{name}");
        for copy in [whole.session, path_fork.session] {
            assert_eq!(texts(&copy), expected, "{name}");
            copy.append(next()).unwrap();
            assert_reopens_alike(&copy);
        }
        let strict = file.open_strict();
        if let Ok(strict) = strict.inspect_err(|error| assert_eq!(error.kind(), ErrorKind::Corrupt)) {
            let count = store.backend().sessions().unwrap().len();
            assert_eq!(
                kind(store.fork(&strict, &Fork::At(id("e5")), ForkOptions::new())),
                ErrorKind::Corrupt,
                "{name}"
            );
            assert_eq!(store.backend().sessions().unwrap().len(), count, "{name}");
        }
    }
}

#[test]
fn a_torn_tail_stays_behind_and_a_whole_record_without_a_line_feed_comes_along() {
    for (tail, count) in [(r#"{"type":"mess"#.to_owned(), 2), (user("e3", Some("e2")), 3)] {
        let chain = common::chain(2);
        let file = Log::of([HEADER, &chain[0], &chain[1], &tail].join("\n"));
        let session = file.open();
        for kind in [Fork::Whole, Fork::At(session.leaf().unwrap())] {
            let copy = untouched(&file.path, || fork(&file.store(), &session, &kind)).session;
            assert_eq!((ids(&copy).len(), copy.damage().1), (count, 0));
            assert!(bytes(copy.path()).ends_with(b"}\n"));
            assert_reopens_alike(&copy).append(next()).unwrap();
        }
    }
}

#[test]
fn a_leaf_in_doubt_stays_in_doubt_in_a_whole_copy_and_not_in_a_path() {
    let file = Log::with(common::chain(2));
    file.push("garbage\n");
    let session = file.open();
    let whole = fork(&file.store(), &session, &Fork::Whole).session;
    assert!(whole.doubt().is_some() && session.doubt().is_some());
    assert_eq!(kind(whole.append(next())), ErrorKind::LeafInDoubt);
    at(&file.store(), &session, "e2").append(next()).unwrap();
}

#[test]
fn the_source_and_the_copy_go_their_own_ways() {
    let (_folder, store, session) = common::session();
    let first = session.append(next()).unwrap().id;
    let copy = untouched(&session.path(), || at(&store, &session, &first.to_string()));
    untouched(&session.path(), || {
        (0..10).for_each(|_| drop(copy.append(next()).unwrap()));
        copy.set_label(&first, "copy").unwrap();
    });
    let in_copy = bytes(copy.path());
    session.append(NewEntry::user("source")).unwrap();
    assert_eq!(bytes(copy.path()), in_copy);
    assert_eq!(texts(&session), ["next", "source"]);
    assert_eq!(session.label(&first), None);
}

#[test]
fn a_fork_takes_the_branched_position_only_if_it_is_named() {
    let file = Log::with(common::chain(4));
    let session = file.open();
    session.branch(Some(&id("e2"))).unwrap();
    let clone = at(&file.store(), &session, &session.leaf().unwrap().to_string());
    assert_eq!(path(&clone, None), ["e1", "e2"]);
    let whole = fork(&file.store(), &session, &Fork::Whole).session;
    assert_eq!(leaf(&whole).as_deref(), Some("e4"));
    assert_eq!(session.leaf(), Some(id("e2")));
}

#[test]
fn a_fork_taken_while_others_append_is_a_consistent_prefix() {
    let (_folder, store, session) = common::session();
    session.append(next()).unwrap();
    let path = session.path();
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let writer = open(&path);
            for number in 0.. {
                if finished.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
                let entry = NewEntry::user("x".repeat(number * 7 % 3_000));
                match number % 5 {
                    0 => drop(writer.append_batch(vec![entry.clone(), entry], &AppendOptions::new()).unwrap()),
                    1 => {
                        let target = writer.leaf();
                        drop(writer.append_with(entry, &AppendOptions::new().side(target)).unwrap());
                    }
                    _ => drop(writer.append(entry).unwrap()),
                }
            }
        });
        let mut sizes = Vec::new();
        while sizes.len() < 8 && !writer.is_finished() {
            session.refresh().unwrap();
            let copy = fork(&store, &session, &Fork::Whole).session;
            assert_eq!((copy.damage().1, copy.gaps(), copy.doubt()), (0, vec![], None));
            let (copied, source) = (lines(copy.path()), lines(&path));
            assert_eq!(copied[1..], source[1..copied.len()]);
            assert_eq!(copy.stored_leaf(), session.stored_leaf());
            let clone = at(&store, &session, &session.leaf().unwrap().to_string());
            assert_eq!(common::path(&clone, None), common::path(&session, None));
            sizes.push(copied.len());
        }
        finished.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert!(sizes.is_sorted() && sizes.len() == 8, "{sizes:?}");
    });
    session.refresh().unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn kinds_of_settings_survive_a_path_fork() {
    let (_folder, store, session) = common::session();
    session.append(NewEntry::model_change("p", "m")).unwrap();
    session.append(NewEntry::thinking_level_change("high")).unwrap();
    session.append(NewEntry::active_tools_change(&["read"])).unwrap();
    let leaf = session.append(next()).unwrap().id;
    let copy = at(&store, &session, &leaf.to_string());
    let settings = |session: &Session| session.context(&ContextOptions::new()).unwrap().settings;
    assert_eq!(settings(&copy), settings(&session));
    assert_eq!(copy.entries().filter(|entry| entry.as_ref().unwrap().kind() == EntryKind::ModelChange).count(), 1);
}
