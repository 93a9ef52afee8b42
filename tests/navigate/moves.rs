//! Where the leaf goes without a summary (SPEC 6.1).

use std::sync::Arc;

use leaflog::{Compaction, EntryKind, ErrorKind, NavigateOptions, Navigation, Navigator, NewEntry};

use super::common::{self, Log, entry, id, kind, message, user};
use super::support::{moved, scene};

#[test]
fn a_user_message_moves_the_leaf_to_its_parent_and_its_text_goes_to_the_editor() {
    let scene = scene();
    let gone = moved(scene.navigator().navigate(&scene.plan_a, &NavigateOptions::new()));
    assert_eq!(gone.editor_text.as_deref(), Some("Use plan A."));
    assert_eq!((&gone.leaf, &gone.summary_entry), (&Some(scene.answer.clone()), &None));
    scene.assert_leaf(Some(&scene.answer));
    // What is sent now becomes a sibling of plan A, which stays.
    let plan_b = scene.add(NewEntry::user("Use plan B."));
    assert_eq!(scene.session.children(Some(&scene.answer)).unwrap(), [scene.plan_a.clone(), plan_b]);
}

#[test]
fn the_first_user_message_moves_the_leaf_before_all_entries() {
    let scene = scene();
    let gone = moved(scene.navigator().navigate(&scene.question, &NavigateOptions::new()));
    assert_eq!((gone.leaf, gone.editor_text.as_deref()), (None, Some("How do we do it?")));
    scene.assert_leaf(None);
}

#[test]
fn the_editor_gets_the_text_blocks_of_custom_messages_joined_with_replaced_surrogates() {
    let scene = scene();
    let content =
        r#"[{"type":"text","text":"a\ud83d"},{"type":"image","data":"x"},{"type":"text","text":"\ude00\ude00b"}]"#;
    let note = scene.add(NewEntry::custom_message("note", content, true).unwrap());
    scene.add(NewEntry::assistant("noted"));
    let gone = moved(scene.navigator().navigate(&note, &NavigateOptions::new()));
    assert_eq!(gone.editor_text.as_deref(), Some("a😀\u{fffd}b"));
    scene.assert_leaf(Some(&scene.result_a));
    // Without text there is an empty editor, not none.
    let image = scene.add(NewEntry::message(r#"{"role":"user","content":[{"type":"image","data":"x"}]}"#).unwrap());
    scene.add(NewEntry::assistant("seen"));
    let gone = moved(scene.navigator().navigate(&image, &NavigateOptions::new()));
    assert_eq!(gone.editor_text.as_deref(), Some(""));
}

#[test]
fn anything_else_becomes_the_leaf_itself() {
    let scene = scene();
    let mut targets = vec![scene.answer.clone()];
    for entry in [
        NewEntry::tool_result("c", "read", "text"),
        NewEntry::system("be brief"),
        NewEntry::message(r#"{"role":"custom","content":"by an extension"}"#).unwrap(),
        NewEntry::message(r#"{"role":"bashExecution","command":"ls","output":""}"#).unwrap(),
        NewEntry::model_change("p", "m"),
        NewEntry::custom("state", "1").unwrap(),
        NewEntry::from_json(r#"{"type":"branch_summary","fromId":"root","summary":"s"}"#).unwrap(),
        NewEntry::from_json(r#"{"type":"from_the_future"}"#).unwrap(),
    ] {
        targets.push(scene.add(entry));
    }
    targets.push(scene.session.compact(Compaction::new("sum")).unwrap().id);
    targets.push(scene.session.set_label(&scene.answer, "here").unwrap().id);
    scene.add(NewEntry::assistant("the end"));
    for target in targets {
        let gone = moved(scene.navigator().navigate(&target, &NavigateOptions::new()));
        assert_eq!((gone.leaf.as_ref(), gone.editor_text), (Some(&target), None));
        scene.assert_leaf(Some(&target));
    }
}

#[test]
fn the_current_leaf_is_no_journey_even_if_it_is_a_user_message() {
    let scene = scene();
    let asked = scene.add(NewEntry::user("and now?"));
    let before = scene.bytes();
    let navigator = scene.navigator().before(|_| panic!("nothing is asked")).after(|_| panic!("nothing is told"));
    let options = NavigateOptions::new().summarize(true).label("here");
    assert!(matches!(navigator.navigate(&asked, &options), Ok(Navigation::Unchanged)));
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&asked));
}

#[test]
fn a_user_message_right_behind_the_leaf_gives_its_text_and_nothing_is_written() {
    let scene = scene();
    scene.session.move_to(Some(&scene.answer)).unwrap();
    let before = scene.bytes();
    let gone = moved(scene.navigator().navigate(&scene.plan_a, &NavigateOptions::new()));
    assert_eq!((gone.leaf.as_ref(), gone.editor_text.as_deref()), (Some(&scene.answer), Some("Use plan A.")));
    assert_eq!(scene.bytes(), before);
}

#[test]
fn leaf_entries_and_unknown_ids_are_no_targets() {
    let scene = scene();
    let control = scene.session.move_to(Some(&scene.answer)).unwrap().unwrap().id;
    assert_eq!(scene.session.entry(&control).unwrap().kind(), EntryKind::Leaf);
    let before = scene.bytes();
    let navigator = scene.navigator();
    assert_eq!(kind(navigator.navigate(&control, &NavigateOptions::new())), ErrorKind::Invalid);
    assert_eq!(kind(navigator.navigate(&id("nobody"), &NavigateOptions::new())), ErrorKind::NotFound);
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.answer));
    assert_eq!(navigator.phase(), leaflog::Phase::Idle);
}

#[test]
fn the_parent_of_a_user_message_is_its_nearest_entry_even_behind_a_leaf_entry_or_a_gap() {
    let file = Log::with([
        user("e1", None),
        message("e2", Some("e1"), "assistant", "two"),
        entry("leaf", "m1", Some("e2"), r#","targetId":"e2""#),
        // A program that takes a leaf entry for an entry like any other, and one that names what was lost.
        user("e3", Some("m1")),
        user("e4", Some("lost")),
        message("e5", Some("e4"), "assistant", "five"),
    ]);
    for (target, parent) in [("e3", "e2"), ("e4", "e3")] {
        let session = Arc::new(file.open());
        let gone = moved(Navigator::new(Arc::clone(&session)).navigate(&id(target), &NavigateOptions::new()));
        assert_eq!((gone.leaf, gone.editor_text.as_deref()), (Some(id(parent)), Some(target)));
        assert_eq!(common::assert_reopens_alike(&session).leaf(), Some(id(parent)));
    }
}

#[test]
fn a_label_goes_to_the_new_leaf_in_the_same_write() {
    let scene = scene();
    let before = common::lines(scene.session.path()).len();
    let gone = moved(scene.navigator().navigate(&scene.plan_a, &NavigateOptions::new().label(" plan\nB ")));
    assert_eq!(common::lines(scene.session.path()).len(), before + 1);
    assert_eq!(scene.session.label(&scene.answer).unwrap().text, "plan B");
    let leaf = scene.session.entry(gone.leaf.as_ref().unwrap()).unwrap();
    assert_eq!((leaf.kind(), leaf.parent_id()), (EntryKind::Label, Some(&scene.answer)));
    scene.assert_leaf(gone.leaf.as_ref());
    assert_eq!(common::texts(&scene.session), ["How do we do it?", "There are two plans."]);
}

#[test]
fn before_the_first_entry_there_is_nothing_to_label_and_a_blank_label_is_none() {
    let scene = scene();
    let gone = moved(scene.navigator().navigate(&scene.question, &NavigateOptions::new().label("start")));
    assert_eq!(gone.leaf, None);
    let gone = moved(scene.navigator().navigate(&scene.answer, &NavigateOptions::new().label(" \n")));
    assert_eq!(gone.leaf, Some(scene.answer.clone()));
    assert!(scene.session.labels().is_empty());
    scene.assert_leaf(Some(&scene.answer));
}

#[test]
fn a_handle_that_has_branched_leaves_from_where_it_stands() {
    let scene = scene();
    scene.session.branch(Some(&scene.question)).unwrap();
    assert!(matches!(scene.navigator().navigate(&scene.question, &NavigateOptions::new()), Ok(Navigation::Unchanged)));
    moved(scene.navigator().navigate(&scene.answer, &NavigateOptions::new()));
    scene.assert_leaf(Some(&scene.answer));
}
