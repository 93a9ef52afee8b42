//! The life of a session, from the library.

mod common;

use common::{bytes, open, options, store};
use leaflog::{
    AppendOptions, Compaction, ContextOptions, CreateOptions, ErrorKind, Fork, ForkOptions, NewEntry, Session,
    TreeOptions,
};

fn texts(session: &Session) -> Vec<String> {
    session.context(&ContextOptions::new()).unwrap().messages.iter().map(leaflog::Message::text).collect()
}

#[test]
fn two_plans_live_in_one_session_and_either_is_a_move_away() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    session.append(NewEntry::user("hello")).unwrap();
    let hello = session.append(NewEntry::assistant("hi")).unwrap().id;
    session.append(NewEntry::user("plan A")).unwrap();
    let a = session.append(NewEntry::assistant("A done")).unwrap().id;
    session.move_to(Some(&hello)).unwrap().unwrap();
    session.append(NewEntry::user("plan B")).unwrap();
    let b = session.append(NewEntry::assistant("B done")).unwrap().id;
    assert_eq!(texts(&session), ["hello", "hi", "plan B", "B done"]);
    let again = open(session.path());
    assert_eq!(again.leaf(), Some(b.clone()));
    assert_eq!(texts(&again), ["hello", "hi", "plan B", "B done"]);
    again.move_to(Some(&a)).unwrap();
    assert_eq!(texts(&again), ["hello", "hi", "plan A", "A done"]);
    let tips: Vec<_> = again.tips().unwrap().into_iter().map(|tip| tip.id).collect();
    assert_eq!(tips, [a.clone(), b.clone()]);
    assert_eq!(again.common_ancestor(&a, &b).unwrap(), Some(hello));
    // The other handle did not see the move: its append is a conflict that names the leaf.
    let error = session.append(NewEntry::user("more")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.actual_leaf(), Some(Some(&a)));
    assert_eq!(session.leaf(), Some(a));
    session.append(NewEntry::user("more")).unwrap();
    assert_eq!(again.tree(&TreeOptions::new()).unwrap().count(), 6);
    let damage = common::open_with(session.path(), options().strict(true)).unwrap().damage();
    assert_eq!(damage.1, 0);
}

#[test]
fn forks_and_compactions_survive_reopening() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let first = session.append(NewEntry::user("one")).unwrap().id;
    let second = session.append(NewEntry::assistant("two")).unwrap().id;
    let third = session.append(NewEntry::user("three")).unwrap().id;
    session.set_label(&first, " start\n here ").unwrap();
    session.set_name("named").unwrap();
    session.append(NewEntry::assistant("four")).unwrap();
    session.compact(Compaction::new("short").first_kept(third.clone())).unwrap();
    assert_eq!(texts(&session), ["short", "three", "four"]);
    let whole = store.fork(&session, &Fork::Whole, ForkOptions::new()).unwrap().session;
    assert_eq!(whole.leaf(), session.leaf());
    assert_eq!(texts(&whole), texts(&session));
    let before = store.fork(&session, &Fork::Before(third.clone()), ForkOptions::new()).unwrap();
    assert_eq!(before.editor_text.as_deref(), Some("three"));
    assert_eq!(before.session.leaf(), Some(second.clone()));
    assert_eq!(before.session.label(&first).unwrap().text, "start  here");
    assert_eq!(before.session.name().as_deref(), Some("named"));
    let at = store.fork(&session, &Fork::At(third.clone()), ForkOptions::new()).unwrap().session;
    assert_eq!(at.leaf(), Some(third));
    assert_eq!(texts(&at), ["one", "two", "three"]);
    at.append(NewEntry::assistant("other")).unwrap();
    assert_eq!(store.list(&leaflog::ListOptions::new()).unwrap().len(), 4);
    let side = session.append_with(NewEntry::user("aside"), &AppendOptions::new().side(Some(second))).unwrap();
    assert_ne!(session.stored_leaf(), Some(side.id));
}

#[test]
fn a_leaf_entry_without_a_usable_target_moves_nothing_and_leaves_the_leaf_in_doubt() {
    for target in ["", r#","targetId":7"#] {
        let (_folder, store) = store();
        let session = store.create(CreateOptions::new("/project")).unwrap();
        let id = session.append(NewEntry::user("one")).unwrap().id;
        let line = format!("{{\"type\":\"leaf\",\"id\":\"x\",\"parentId\":null,\"timestamp\":\"t\"{target}}}\n");
        let log = common::Log::of([bytes(session.path()), line.into_bytes()].concat());
        let again = log.open();
        assert_eq!(again.leaf(), Some(id.clone()));
        assert!(again.doubt().is_some());
        assert_eq!(again.append(NewEntry::user("two")).unwrap_err().kind(), ErrorKind::LeafInDoubt);
        again.move_to(Some(&id)).unwrap().unwrap();
        again.append(NewEntry::user("two")).unwrap();
    }
}
