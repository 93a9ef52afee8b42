//! The tree and the leaf: where a session stands after replay, what leaf entries do and do not do, and walks that end
//! on any input (SPEC 2.4, 3.1 to 3.6, 3.9).

pub(crate) mod common;

use common::{HEADER, Log, View, assert_reopens_alike, entry, id, ids, kind, leaf, lines, path, strings, user};
use leaflog::{
    ActivePath, AppendOptions, BranchSummary, Compaction, ContextOptions, EntryId, EntryKind, ErrorKind, Fork,
    ForkOptions, GapReason, NewEntry, Session, TreeNode, TreeOptions,
};

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn tips(session: &Session) -> Vec<String> {
    session.tips().unwrap().into_iter().map(|tip| tip.id.to_string()).collect()
}

fn children(session: &Session, parent: Option<&str>) -> Vec<String> {
    strings(session.children(parent.map(id).as_ref()).unwrap())
}

fn tree(session: &Session, options: &TreeOptions) -> Vec<TreeNode> {
    session.tree(options).unwrap().map(Result::unwrap).collect()
}

/// The tree as lines: two spaces for each level, the id.
fn drawn(session: &Session, options: &TreeOptions) -> Vec<String> {
    tree(session, options).iter().map(|node| format!("{}{}", "  ".repeat(node.depth as usize), node.id)).collect()
}

/// A user message of `lane`, as a program writes it that knows lanes.
fn in_lane(id: &str, parent: Option<&str>, lane: &str) -> String {
    user(id, parent).replace(r#","message""#, &format!(r#","lane":"{lane}","message""#))
}

fn side(id: &str, parent: Option<&str>) -> String {
    user(id, parent).replace(r#","message""#, r#","side":true,"message""#)
}

fn leaf_entry(id: &str, target: Option<&str>, members: &str) -> String {
    let quoted = target.map_or_else(|| "null".to_owned(), |target| format!("\"{target}\""));
    entry("leaf", id, target, &format!(r#"{members},"targetId":{quoted},"fromId":null"#))
}

#[test]
fn the_leaf_after_replay_follows_from_the_kind_of_the_last_record() {
    let base = common::chain(3);
    let cases: Vec<(&str, Vec<String>, Option<&str>)> = vec![
        ("no records", vec![], Some("e3")),
        ("a message elsewhere", vec![user("x", Some("e1"))], Some("x")),
        ("a root", vec![user("x", None)], Some("x")),
        ("a label", vec![entry("label", "x", Some("e3"), r#","targetId":"e1","label":"l""#)], Some("x")),
        ("a name", vec![entry("session_info", "x", Some("e3"), r#","name":"n""#)], Some("x")),
        ("an unknown kind", vec![entry("future", "x", Some("e2"), "")], Some("x")),
        ("a move", vec![leaf_entry("x", Some("e1"), "")], Some("e1")),
        ("a move before the first entry", vec![leaf_entry("x", None, "")], None),
        ("a move and a message", vec![leaf_entry("x", Some("e1"), ""), user("y", Some("e1"))], Some("y")),
        ("a move to a leaf entry", vec![leaf_entry("x", Some("e1"), ""), leaf_entry("y", Some("x"), "")], Some("e1")),
        ("a move of 0.83", vec![entry("leaf", "x", Some("e3"), r#","targetId":"e2""#)], Some("e2")),
        ("a side record", vec![side("x", Some("e1"))], Some("e3")),
        ("side records and a move", vec![side("x", Some("e1")), leaf_entry("y", Some("e3"), "")], Some("e3")),
        ("a child of a side record", vec![side("x", Some("e1")), user("y", Some("x"))], Some("y")),
        ("a record of a lane", vec![in_lane("x", Some("e1"), "agent")], Some("e3")),
        ("a side record of a lane", vec![side("x", None).replace(r#""side""#, r#""lane":"a","side""#)], Some("e3")),
        ("side in the payload", vec![user("x", Some("e1")).replace("}}", r#"},"side":true}"#)], Some("x")),
        ("lane in the payload", vec![user("x", Some("e1")).replace("}}", r#"},"lane":"l"}"#)], Some("x")),
        ("side that is no true", vec![side("x", Some("e1")).replace(":true", ":1")], Some("x")),
    ];
    for (name, more, expected) in cases {
        let file = Log::with(base.iter().chain(&more));
        let session = file.open();
        assert_eq!(leaf(&session).as_deref(), expected, "{name}");
        assert_eq!(session.leaf(), session.stored_leaf(), "{name}");
        let end = expected.map(|leaf| path(&session, Some(leaf)));
        assert_eq!(path(&session, None), end.unwrap_or_default(), "{name}");
        // The next append goes there, and a reader of today that knows only the last line agrees.
        let receipt = session.append(next()).unwrap();
        let parent = session.entry(&receipt.id).unwrap().parent_id().map(ToString::to_string);
        assert_eq!(parent.as_deref(), expected, "{name}");
        assert_reopens_alike(&session);
    }
}

#[test]
fn lanes_in_the_file_have_leaves_of_their_own() {
    let file = Log::with([
        user("e1", None),
        in_lane("a1", Some("e1"), "a"),
        leaf_entry("m1", Some("e1"), ""),
        user("e2", Some("e1")),
        in_lane("b1", Some("e2"), "b"),
        in_lane("a2", Some("a1"), "a"),
        leaf_entry("m2", Some("e2"), ""),
        leaf_entry("m3", Some("e1"), r#","lane":"b""#),
    ]);
    let session = file.open();
    let lanes: Vec<_> =
        session.lanes().into_iter().map(|(lane, leaf)| (lane, leaf.map(|leaf| leaf.to_string()))).collect();
    assert_eq!(lanes, [("a".to_owned(), Some("a2".to_owned())), ("b".to_owned(), Some("e1".to_owned()))]);
    assert_eq!(leaf(&session).as_deref(), Some("e2"));
    assert_eq!(path(&session, Some("a2")), ["e1", "a1", "a2"]);
    session.append(next()).unwrap();
    let again = assert_reopens_alike(&session);
    let fork = file.store().fork(&again, &Fork::Whole, ForkOptions::new()).unwrap().session;
    assert_eq!((fork.lanes(), leaf(&fork)), (again.lanes(), leaf(&again)));
    // A gap is bridged within its lane.
    let file = Log::with([
        user("e1", None),
        in_lane("a1", Some("e1"), "a"),
        user("e2", Some("e1")),
        in_lane("a3", Some("lost"), "a"),
        user("e3", Some("e2")),
    ]);
    let session = file.open();
    assert_eq!(path(&session, Some("a3")), ["e1", "a1", "a3"]);
    assert_eq!(session.gaps()[0].bridged_to, Some(id("a1")));
    assert_eq!(path(&session, None), ["e1", "e2", "e3"]);
}

#[test]
fn leaf_entries_are_transparent() {
    let file = Log::with([
        user("e1", None),
        user("e2", Some("e1")),
        leaf_entry("m1", Some("e1"), ""),
        leaf_entry("m2", Some("m1"), ""),
        user("e3", Some("m2")),
        user("e4", Some("e3")),
        leaf_entry("m3", None, ""),
        user("r", Some("m3")),
        leaf_entry("m4", Some("r"), ""),
    ]);
    let session = file.open();
    assert_eq!(ids(&session), ["e1", "e2", "m1", "m2", "e3", "e4", "m3", "r", "m4"]);
    assert_eq!(children(&session, None), ["e1", "r"]);
    assert_eq!(children(&session, Some("e1")), ["e2", "e3"]);
    assert_eq!(tips(&session), ["e2", "e4", "r"]);
    let depths: Vec<_> = session.tips().unwrap().into_iter().map(|tip| tip.depth).collect();
    assert_eq!(depths, [1, 2, 0]);
    assert_eq!(path(&session, Some("e4")), ["e1", "e3", "e4"]);
    assert_eq!(path(&session, Some("m2")), ["e1"], "a leaf entry stands for its nearest entry");
    assert_eq!(drawn(&session, &TreeOptions::new()), ["e1", "  e2", "  e3", "    e4", "r"]);
    assert_eq!(session.stats().unwrap().depth, 3);
    assert_eq!(session.gaps(), []);
    assert_eq!(session.entry(&id("e3")).unwrap().parent_id(), Some(&id("m2")), "entries show the record");
    assert_eq!(session.common_ancestor(&id("e2"), &id("e4")).unwrap(), Some(id("e1")));
    assert_eq!(session.common_ancestor(&id("e2"), &id("r")).unwrap(), None);
    for target in ["m1", "m2", "m3", "m4"] {
        let before = file.bytes();
        assert_eq!(kind(session.move_to(Some(&id(target)))), ErrorKind::Invalid);
        assert_eq!(kind(session.branch(Some(&id(target)))), ErrorKind::Invalid);
        assert_eq!(
            kind(session.append_with(next(), &AppendOptions::new().under(Some(id(target))))),
            ErrorKind::Invalid
        );
        assert_eq!(kind(session.append_with(next(), &AppendOptions::new().side(Some(id(target))))), ErrorKind::Invalid);
        assert_eq!(file.bytes(), before);
    }
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn moves_are_stored_with_the_target_as_parent_and_the_old_leaf_as_origin() {
    let (_folder, _, session) = common::session();
    let first = session.append(next()).unwrap().id;
    let second = session.append(next()).unwrap().id;
    let moved = session.move_to(Some(&first)).unwrap().unwrap();
    let stored = session.entry(&moved.id).unwrap();
    assert_eq!((stored.kind(), stored.parent_id()), (EntryKind::Leaf, Some(&first)));
    assert_eq!(stored.text_member("targetId"), Some(first.to_string()));
    assert_eq!(stored.text_member("fromId"), Some(second.to_string()));
    let moved = session.move_to(None).unwrap().unwrap();
    let stored = session.entry(&moved.id).unwrap();
    assert_eq!((stored.parent_id(), stored.member("targetId").as_deref()), (None, Some("null")));
    assert_eq!((session.leaf(), session.stored_leaf()), (None, None));
    assert_eq!(common::texts(&session), Vec::<String>::new());
    let again = assert_reopens_alike(&session);
    assert_eq!(again.leaf(), None);
    let root = again.append(next()).unwrap().id;
    assert_eq!(again.entry(&root).unwrap().parent_id(), None);
    assert_eq!(again.children(None).unwrap(), [first, root]);
}

#[test]
fn a_move_to_where_the_leaf_is_writes_nothing() {
    let (_folder, _, session) = common::session();
    let before = lines(session.path());
    assert_eq!(session.move_to(None).unwrap(), None);
    assert_eq!(lines(session.path()), before);
    let first = session.append(next()).unwrap().id;
    let second = session.append(next()).unwrap().id;
    let before = lines(session.path());
    assert_eq!(session.move_to(Some(&second)).unwrap(), None);
    assert_eq!(lines(session.path()), before);
    session.move_to(Some(&first)).unwrap().unwrap();
    assert_eq!(session.move_to(Some(&first)).unwrap(), None);
    assert_eq!(common::open(session.path()).move_to(Some(&first)).unwrap(), None);
    assert_eq!(lines(session.path()).len(), before.len() + 1);
    // A position of this handle only is given up for it.
    session.branch(Some(&second)).unwrap();
    assert_eq!(session.move_to(Some(&first)).unwrap(), None);
    assert_eq!(session.leaf(), Some(first));
    assert_eq!(kind(session.move_to(Some(&id("unknown")))), ErrorKind::NotFound);
}

#[test]
fn a_move_with_a_summary_is_one_record_under_the_target() {
    let (_folder, _, session) = common::session();
    let first = session.append(next()).unwrap().id;
    let second = session.append(next()).unwrap().id;
    let move_with = |target: Option<&EntryId>| {
        let before = lines(session.path()).len();
        let summary = BranchSummary::new("left").details(r#"{"n":1e3}"#).from_hook(true);
        let receipt = session.move_with(target, Some(summary), &AppendOptions::new()).unwrap().unwrap();
        assert_eq!(lines(session.path()).len(), before + 1);
        assert_eq!(session.leaf(), Some(receipt.id.clone()));
        session.entry(&receipt.id).unwrap()
    };
    let summary = move_with(Some(&first));
    assert_eq!((summary.kind(), summary.parent_id()), (EntryKind::BranchSummary, Some(&first)));
    assert_eq!(summary.text_member("fromId"), Some(second.to_string()));
    assert_eq!(summary.member("details").as_deref(), Some(r#"{"n":1e3}"#));
    assert_eq!(summary.member("fromHook").as_deref(), Some("true"));
    assert_eq!(common::texts(&session), ["next", "left"]);
    session.move_to(None).unwrap().unwrap();
    let summary = move_with(None);
    assert_eq!((summary.parent_id(), summary.text_member("fromId").as_deref()), (None, Some("root")));
    assert_reopens_alike(&session);
    // With a summary even a move to the leaf is a record.
    let leaf = session.leaf();
    let summary = move_with(leaf.as_ref());
    assert_eq!(summary.parent_id(), leaf.as_ref());
}

#[test]
fn a_branch_moves_this_handle_only_until_an_append_makes_it_real() {
    let file = Log::with(common::chain(4));
    let (session, other) = (file.open(), file.open());
    let before = file.bytes();
    session.branch(Some(&id("e2"))).unwrap();
    assert_eq!(file.bytes(), before);
    assert_eq!((session.leaf(), leaf(&session).as_deref()), (Some(id("e2")), Some("e4")));
    assert_eq!(common::texts(&session), ["e1", "e2"]);
    assert_eq!(path(&session, None), ["e1", "e2"]);
    assert_eq!(other.leaf(), Some(id("e4")));
    assert_eq!(file.open().leaf(), Some(id("e4")), "reopening forgets it");
    // It survives a refresh that brings others' entries.
    let added = other.append(next()).unwrap().id;
    assert_eq!(session.refresh().unwrap().new_entries, std::slice::from_ref(&added));
    assert_eq!((session.leaf(), session.stored_leaf()), (Some(id("e2")), Some(added)));
    let real = session.append(next()).unwrap().id;
    assert_eq!(session.entry(&real).unwrap().parent_id(), Some(&id("e2")));
    assert_eq!(assert_reopens_alike(&session).leaf(), Some(real.clone()));
    // It is real now: a refresh follows the leaf again.
    let added = file.open().append(next()).unwrap().id;
    session.refresh().unwrap();
    assert_eq!(session.leaf(), Some(added));
    // Before the first entry is a position, too.
    session.branch(None).unwrap();
    session.refresh().unwrap();
    assert_eq!((session.leaf(), common::texts(&session)), (None, vec![]));
    let root = session.append(next()).unwrap().id;
    assert_eq!(session.entry(&root).unwrap().parent_id(), None);
    assert_eq!(file.open().leaf(), Some(root));
    assert_eq!(kind(session.branch(Some(&id("unknown")))), ErrorKind::NotFound);
}

#[test]
fn a_branched_handle_still_expects_the_leaf_and_keeps_its_position_when_it_labels() {
    let file = Log::with(common::chain(4));
    let (session, other) = (file.open(), file.open());
    session.branch(Some(&id("e2"))).unwrap();
    session.set_label(&id("e1"), "label").unwrap();
    session.set_name("name").unwrap();
    assert_eq!(session.leaf(), Some(id("e2")));
    other.refresh().unwrap();
    let moved = other.append(next()).unwrap().id;
    let before = file.bytes();
    let error = session.append(next()).unwrap_err();
    assert_eq!((error.kind(), error.actual_leaf()), (ErrorKind::Conflict, Some(Some(&moved))));
    assert_eq!(file.bytes(), before);
    assert_eq!(session.leaf(), Some(id("e2")));
    let real = session.append(next()).unwrap().id;
    assert_eq!(session.entry(&real).unwrap().parent_id(), Some(&id("e2")));
    assert_reopens_alike(&session);
}

#[test]
fn going_back_to_the_leaf_ends_a_branch() {
    let file = Log::with(common::chain(4));
    let (session, other) = (file.open(), file.open());
    session.branch(Some(&id("e2"))).unwrap();
    session.branch(Some(&id("e4"))).unwrap();
    let added = other.append(next()).unwrap().id;
    session.refresh().unwrap();
    assert_eq!(session.leaf(), Some(added));
}

#[test]
fn labels_and_names_are_the_last_in_file_order_over_all_branches() {
    let (_folder, _, session) = common::session();
    let first = session.append(next()).unwrap().id;
    let second = session.append(next()).unwrap().id;
    session.set_label(&first, "one").unwrap();
    session.set_label(&second, "  two\r\n\nlines \u{feff}").unwrap();
    session.set_name("name one").unwrap();
    session.move_to(Some(&first)).unwrap();
    session.append(next()).unwrap();
    let label = session.label(&second).unwrap();
    assert_eq!(label.text, "two lines");
    session.set_label(&first, "three").unwrap();
    session.set_name(" name\ntwo ").unwrap();
    let again = assert_reopens_alike(&session);
    assert_eq!(again.label(&first).unwrap().text, "three");
    assert_eq!(again.label(&second), Some(label));
    assert_eq!(again.name().as_deref(), Some("name two"));
    again.set_label(&first, " \n ").unwrap();
    again.set_name("").unwrap();
    let again = assert_reopens_alike(&again);
    assert_eq!((again.label(&first), again.name()), (None, None));
    assert_eq!(again.labels().len(), 1);
    let before = lines(again.path());
    assert_eq!(kind(again.set_label(&id("unknown"), "x")), ErrorKind::NotFound);
    let label = NewEntry::from_json(r#"{"type":"label","targetId":"unknown","label":"x"}"#).unwrap();
    assert_eq!(kind(again.append(label)), ErrorKind::NotFound);
    assert_eq!(lines(again.path()), before);
}

#[test]
fn every_write_ends_with_a_record_from_which_a_reader_of_the_last_line_resumes_on_main() {
    // What today's pi does: the last line is where it stands, and `parentId` leads up.
    let resumed = |session: &Session| {
        let records: Vec<serde_json::Value> =
            lines(session.path()).iter().skip(1).map(|line| serde_json::from_slice(line).unwrap()).collect();
        let by_id = |id: &serde_json::Value| records.iter().find(|record| record["id"] == *id);
        let mut chain = Vec::new();
        let mut at = records.last();
        while let Some(record) = at {
            if record["type"] != "leaf" {
                chain.push(record["id"].as_str().unwrap().to_owned());
            }
            at = by_id(&record["parentId"]);
        }
        chain.reverse();
        chain
    };
    let (_folder, store, session) = common::session();
    let mut entries = vec![session.append(next()).unwrap().id];
    let mut random = common::Random::new(7);
    for step in 0..200 {
        let any = entries[random.below(entries.len())].clone();
        let add = |entries: &mut Vec<EntryId>, id| entries.push(id);
        match random.below(10) {
            0 => drop(session.move_to(Some(&any)).unwrap()),
            1 => drop(session.move_to(None).unwrap()),
            2 => add(&mut entries, session.append_with(next(), &AppendOptions::new().side(Some(any))).unwrap().id),
            3 => add(&mut entries, session.append_with(next(), &AppendOptions::new().under(Some(any))).unwrap().id),
            4 => drop(session.set_label(&any, "label").unwrap()),
            5 => drop(session.set_name("name").unwrap()),
            6 => session.branch(Some(&any)).unwrap(),
            7 => drop(session.compact(Compaction::new("summary").keep_settings(true)).unwrap()),
            8 => {
                let summary = BranchSummary::new("summary");
                drop(session.move_with(Some(&any), Some(summary), &AppendOptions::new()).unwrap());
            }
            _ => {
                let batch = vec![next(), NewEntry::model_change("p", "m"), next()];
                session.append_batch(batch, &AppendOptions::new()).unwrap();
            }
        }
        let leaf = session.stored_leaf();
        let expected = leaf.map_or_else(Vec::new, |leaf| path(&session, Some(&leaf.to_string())));
        assert_eq!(resumed(&session), expected, "step {step}");
    }
    let again = assert_reopens_alike(&session);
    let target = again.tips().unwrap().pop().unwrap().id;
    for fork in [Fork::Whole, Fork::At(target.clone()), Fork::At(entries[entries.len() / 2].clone())] {
        let copy = store.fork(&again, &fork, ForkOptions::new()).unwrap().session;
        let expected = copy.leaf().map_or_else(Vec::new, |leaf| path(&copy, Some(&leaf.to_string())));
        assert_eq!(resumed(&copy), expected, "{fork:?}");
    }
}

#[test]
fn a_side_append_moves_no_leaf_and_states_main_again_in_the_same_write() {
    let file = Log::with(common::chain(3));
    let (session, owner) = (file.open(), file.open());
    let before = lines(&file.path);
    let options = AppendOptions::new().side(Some(id("e1")));
    let receipts = session.append_batch(vec![next(), next()], &options).unwrap();
    let added: Vec<_> = lines(&file.path).split_off(before.len());
    assert_eq!(added.len(), 3);
    let records: Vec<serde_json::Value> = added.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    assert_eq!((&records[0]["side"], &records[1]["side"]), (&true.into(), &true.into()));
    assert_eq!((&records[0]["parentId"], &records[1]["parentId"]), (&"e1".into(), &records[0]["id"]));
    assert_eq!(records[2]["type"], "leaf");
    assert_eq!((&records[2]["parentId"], &records[2]["targetId"]), (&"e3".into(), &"e3".into()));
    assert_eq!(receipts.len(), 2);
    assert_eq!((session.leaf(), session.stored_leaf()), (Some(id("e3")), Some(id("e3"))));
    // The owner is not disturbed.
    let next_id = owner.append(next()).unwrap().id;
    assert_eq!(owner.entry(&next_id).unwrap().parent_id(), Some(&id("e3")));
    assert_eq!(tips(&owner), [receipts[1].id.to_string(), next_id.to_string()]);
    // And in an empty session main is before the first entry.
    let empty = Log::of(HEADER.to_owned() + "\n");
    let session = empty.open();
    session.append_with(next(), &AppendOptions::new().side(None)).unwrap();
    let again = assert_reopens_alike(&session);
    assert_eq!((again.leaf(), again.tips().unwrap().len()), (None, 1));
    assert_eq!(again.doubt(), None);
}

#[test]
fn parents_must_be_known() {
    let file = Log::with(common::chain(2));
    let session = file.open();
    let before = file.bytes();
    for options in [AppendOptions::new().under(Some(id("lost"))), AppendOptions::new().side(Some(id("lost")))] {
        assert_eq!(kind(session.append_with(next(), &options)), ErrorKind::NotFound);
    }
    assert_eq!(kind(session.path_ids(Some(&id("lost")))), ErrorKind::NotFound);
    assert_eq!(kind(session.entry(&id("lost"))), ErrorKind::NotFound);
    assert_eq!(kind(session.children(Some(&id("lost")))), ErrorKind::NotFound);
    assert_eq!(kind(session.context(&ContextOptions::new().from(id("lost")))), ErrorKind::NotFound);
    assert_eq!(kind(session.is_ancestor(&id("lost"), &id("e1"))), ErrorKind::NotFound);
    assert_eq!(file.bytes(), before);
}

/// Logs whose parents lead in circles, and the entries that take part.
fn circles() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("a self-parent", vec![user("a", Some("a"))]),
        ("a self-parent with a tail", vec![user("a", Some("a")), user("b", Some("a")), user("c", Some("b"))]),
        ("two", vec![user("a", Some("b")), user("b", Some("a"))]),
        ("two with a tail", vec![user("a", Some("b")), user("b", Some("a")), user("c", Some("a"))]),
        ("a tail before them", vec![user("c", Some("a")), user("a", Some("b")), user("b", Some("a"))]),
        ("three", vec![user("a", Some("c")), user("b", Some("a")), user("c", Some("b"))]),
        (
            "three behind a chain",
            vec![user("r", None), user("a", Some("c")), user("b", Some("a")), user("c", Some("b"))],
        ),
        ("two circles", ["ab", "ba", "cd", "dc"].map(|pair| user(&pair[..1], Some(&pair[1..]))).to_vec()),
        ("leaf entries", vec![leaf_entry("a", Some("b"), ""), leaf_entry("b", Some("a"), ""), user("c", Some("b"))]),
        ("a leaf entry in it", vec![user("a", Some("b")), entry("leaf", "b", Some("a"), r#","targetId":"a""#)]),
    ]
}

#[test]
fn circles_of_parents_end_every_walk_and_are_reported() {
    for (name, lines) in circles() {
        let file = Log::with(&lines);
        let session = file.open();
        let count = lines.iter().filter(|line| !line.contains(r#""leaf""#)).count();
        assert_eq!(ids(&session).len(), lines.len(), "{name}");
        assert_eq!(tree(&session, &TreeOptions::new()).len(), count, "{name}");
        for entry in ids(&session) {
            let path = path(&session, Some(&entry));
            let mut unique = path.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), path.len(), "{name}: {path:?}");
            for other in ids(&session) {
                session.common_ancestor(&id(&entry), &id(&other)).unwrap();
                session.is_ancestor(&id(&entry), &id(&other)).unwrap();
            }
            session.context(&ContextOptions::new().from(id(&entry))).unwrap();
        }
        let cycles = session.gaps().iter().filter(|gap| gap.reason == GapReason::Cycle).count();
        assert!(cycles > 0 || name.contains("leaf"), "{name}: {:?}", session.gaps());
        for gap in session.gaps() {
            let record = &lines[usize::try_from(gap.line).unwrap() - 2];
            assert!(
                record.contains(&format!(r#""id":"{}","parentId":"{}""#, gap.entry, gap.missing)),
                "{name}: {gap:?}"
            );
        }
        session.stats().unwrap();
        file.store().fork(&session, &Fork::Whole, ForkOptions::new()).unwrap();
        if let Some(leaf) = session.leaf() {
            file.store().fork(&session, &Fork::At(leaf.clone()), ForkOptions::new()).unwrap();
            session.append_with(next(), &AppendOptions::new().under(Some(leaf))).unwrap();
        }
        assert_reopens_alike(&session);
    }
}

#[test]
fn a_reversed_file_gives_the_same_tree() {
    let mut lines = common::chain(30);
    lines.push(user("b1", Some("e10")));
    lines.push(user("b2", Some("b1")));
    lines.reverse();
    let file = Log::with(&lines);
    let session = file.open();
    assert_eq!(session.gaps(), []);
    assert_eq!(path(&session, Some("e30")).len(), 30);
    assert_eq!(path(&session, Some("b2")).len(), 12);
    assert_eq!(children(&session, Some("e10")), ["b1", "e11"]);
    assert_eq!(children(&session, None), ["e1"]);
    assert_eq!(leaf(&session).as_deref(), Some("e1"), "the last line moves the leaf");
    assert_reopens_alike(&session);
    // Read in pieces it is the same.
    let pieces = Log::of(HEADER.to_owned() + "\n");
    let running = pieces.open();
    for line in &lines {
        pieces.push(line.clone() + "\n");
        running.refresh().unwrap();
    }
    assert_eq!(View::of(&running), View::of(&session));
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_real_parent_that_comes_late_wins_over_a_bridge() {
    // `b` is bridged to `a`, and `a` turns out to be below it.
    let file = Log::with([user("a", Some("x")), user("b", Some("lost")), user("x", Some("b"))]);
    let session = file.open();
    assert_eq!(path(&session, Some("a")), ["b", "x", "a"], "{:?}", session.gaps());
    assert_eq!(session.gaps().len(), 1);
    assert_eq!(session.gaps()[0].missing, id("lost"));
    // A reversed chain whose root is lost.
    let mut lines = common::chain(5);
    lines.remove(0);
    lines.reverse();
    let session = Log::with(&lines).open();
    assert_eq!(path(&session, Some("e5")), ["e2", "e3", "e4", "e5"], "{:?}", session.gaps());
    assert_eq!(session.gaps()[0].missing, id("e1"));
}

#[test]
fn what_hidden_entries_leave_hangs_under_the_nearest_shown_one() {
    let file = Log::with([
        entry("model_change", "m0", None, r#","provider":"p","modelId":"m""#),
        user("e1", Some("m0")),
        entry("label", "l1", Some("e1"), r#","targetId":"e1","label":"l""#),
        user("e2", Some("l1")),
        user("e3", Some("lost")),
        user("o", Some("e2")),
    ]);
    let session = file.open();
    let hide = TreeOptions::new().hide([EntryKind::ModelChange, EntryKind::Label]);
    assert_eq!(drawn(&session, &hide), ["e1", "  e2", "    e3", "    o"]);
    let nodes = tree(&session, &hide);
    assert_eq!((nodes[0].label.as_deref(), nodes[0].children), (Some("l"), 1));
    assert_eq!((nodes[1].parent_id.as_ref(), nodes[1].children), (Some(&id("e1")), 2));
    let active: Vec<_> = nodes.iter().filter(|node| node.active).map(|node| node.id.to_string()).collect();
    assert_eq!(active, ["e1", "e2", "o"]);
    assert_eq!(nodes.iter().filter(|node| node.leaf).count(), 1);
}

#[test]
fn the_active_path_is_the_context_path_or_the_whole_chain() {
    let (_folder, _, session) = common::session();
    let ids: Vec<_> = (0..4).map(|_| session.append(next()).unwrap().id).collect();
    session.compact(Compaction::new("summary").first_kept(ids[2].clone())).unwrap();
    let active = |options: &TreeOptions| tree(&session, options).iter().filter(|node| node.active).count();
    assert_eq!(active(&TreeOptions::new()), 3);
    assert_eq!(active(&TreeOptions::new().active(ActivePath::Full)), 5);
    session.branch(Some(&ids[1])).unwrap();
    assert_eq!(active(&TreeOptions::new()), 2);
    assert_eq!(tree(&session, &TreeOptions::new()).iter().position(|node| node.leaf), Some(1));
}

#[test]
fn pages_of_entries_follow_the_file() {
    let file = Log::with(common::chain(10));
    let session = file.open();
    let page = |after: Option<&str>, limit| {
        let after = after.map(id);
        let entries = session.entries_after(after.as_ref(), limit).unwrap();
        entries.map(|entry| entry.unwrap().id().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(page(None, Some(3)), ["e1", "e2", "e3"]);
    assert_eq!(page(Some("e3"), Some(2)), ["e4", "e5"]);
    assert_eq!(page(Some("e9"), None), ["e10"]);
    assert_eq!(page(Some("e10"), Some(5)), Vec::<String>::new());
    assert_eq!(page(None, Some(0)), Vec::<String>::new());
    assert_eq!(kind(session.entries_after(Some(&id("lost")), None).map(|_| ())), ErrorKind::NotFound);
}

/// A chain of `count` entries, appended in batches, opened, walked, forked and shown.
fn long_chain(count: usize, batch: usize) {
    let (_folder, store, session) = common::session();
    for _ in 0..count / batch {
        let entries = (0..batch).map(|_| NewEntry::user("x")).collect();
        session.append_batch(entries, &AppendOptions::new()).unwrap();
    }
    let again = common::open(session.path());
    let leaf = again.leaf().unwrap();
    assert_eq!(leaf, session.leaf().unwrap());
    let path = again.path_ids(None).unwrap();
    assert_eq!(path.len(), count);
    assert_eq!(again.common_ancestor(&leaf, &path[count / 2]).unwrap(), Some(path[count / 2].clone()));
    assert!(again.is_ancestor(&path[0], &leaf).unwrap());
    assert_eq!(again.context_path(None).unwrap().len(), count);
    assert_eq!(again.tips().unwrap()[0].depth as usize, count - 1);
    assert_eq!(again.entries().fold(0, |sum, entry| sum + usize::from(entry.is_ok())), count);
    let deepest = again.tree(&TreeOptions::new()).unwrap().map(|node| node.unwrap().depth).max();
    assert_eq!(deepest.map(|depth| depth as usize), Some(count - 1));
    for fork in [Fork::Whole, Fork::At(leaf.clone()), Fork::Before(leaf.clone())] {
        let copy = store.fork(&again, &fork, ForkOptions::new()).unwrap().session;
        let expected = count - usize::from(matches!(fork, Fork::Before(_)));
        assert_eq!(copy.path_ids(None).unwrap().len(), expected);
    }
    again.compact(Compaction::new("summary").first_kept(path[count - 2].clone())).unwrap();
    assert_eq!(common::texts(&common::open(session.path())), ["summary", "x", "x"]);
}

#[test]
fn a_chain_of_a_hundred_thousand_entries_works_on_the_default_stack() {
    long_chain(100_000, 10_000);
}

#[test]
#[ignore = "takes a minute without optimisation"]
fn a_chain_of_a_million_entries_works_on_the_default_stack() {
    long_chain(1_000_000, 100_000);
}

#[test]
fn a_reversed_chain_and_a_circle_of_a_hundred_thousand_entries_open() {
    const COUNT: usize = 100_000;
    let name = |number: usize| format!("{number:08x}");
    let custom = |number: usize, parent: usize| entry("custom", &name(number), Some(&name(parent)), "");
    let file = Log::with((0..COUNT).rev().map(|number| custom(number + 1, number)));
    let session = file.open();
    assert_eq!(path(&session, Some(&name(COUNT))).len(), COUNT);
    let file = Log::with((0..COUNT).map(|number| custom(number, (number + 1) % COUNT)));
    let session = file.open();
    assert_eq!(path(&session, Some(&name(0))).len(), COUNT);
    assert_eq!(session.gaps().iter().filter(|gap| gap.reason == GapReason::Cycle).count(), 1);
}
