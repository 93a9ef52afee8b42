//! Cases on whole sessions: what the engine builds on a backend holds on this one.

use std::io::Read as _;

use super::Factory;
use crate::error::ErrorKind;
use crate::model::{EntryId, NewEntry};
use crate::session::{AppendOptions, Fork, Session};
use crate::store::{CreateOptions, ForkOptions, Store};

fn store(factory: &Factory<'_>) -> Store {
    Store::with_backend(factory())
}

fn session(factory: &Factory<'_>) -> Session {
    store(factory).create(CreateOptions::new("/conformance")).expect("a session can be created")
}

/// One more handle on a session, through a backend of its own.
fn again(factory: &Factory<'_>, session: &Session) -> Session {
    store(factory).open(session.id().as_str()).expect("the session can be opened by its id")
}

fn append(session: &Session, text: &str) -> EntryId {
    session.append(NewEntry::user(text)).expect("an entry can be appended").id
}

fn ids(session: &Session) -> Vec<EntryId> {
    session.entries().map(|entry| entry.expect("entries can be read").id().clone()).collect()
}

fn log(session: &Session) -> Vec<u8> {
    let mut log = Vec::new();
    session.log().read_to_end(&mut log).expect("the log can be read");
    log
}

pub(super) fn a_reopened_session_is_where_it_was(factory: &Factory<'_>) {
    let session = session(factory);
    let first = append(&session, "one");
    append(&session, "two");
    session.move_to(Some(&first)).expect("the leaf can be moved");
    let third = append(&session, "three");
    session.set_label(&first, "here").expect("a label can be set");
    session.set_name("a name").expect("a name can be set");
    let again = again(factory, &session);
    assert_eq!(again.leaf(), session.leaf());
    assert_eq!(ids(&again), ids(&session));
    assert_eq!(again.children(Some(&first)).expect("it is there").len(), 2);
    assert!(again.is_ancestor(&third, again.leaf().as_ref().expect("there is a leaf")).expect("both are there"));
    assert_eq!(again.name().as_deref(), Some("a name"));
    assert_eq!(log(&again), log(&session));
    assert_eq!(again.damage().1, 0);
}

pub(super) fn a_leaf_that_moved_is_a_conflict(factory: &Factory<'_>) {
    let session = session(factory);
    append(&session, "one");
    let other = again(factory, &session);
    let theirs = append(&other, "theirs");
    let before = log(&other);
    let conflict = session.append(NewEntry::user("ours")).expect_err("the leaf has moved");
    assert_eq!(conflict.kind(), ErrorKind::Conflict);
    assert_eq!(conflict.actual_leaf(), Some(Some(&theirs)));
    other.refresh().expect("it can be refreshed");
    assert_eq!(log(&other), before, "nothing was written");
    let ours = append(&session, "ours, knowing theirs");
    other.refresh().expect("it can be refreshed");
    assert_eq!(other.leaf(), Some(ours));
}

pub(super) fn a_retried_append_is_stored_once(factory: &Factory<'_>) {
    let session = session(factory);
    let entry = || NewEntry::user("once").with_id("0000000a".parse().expect("an id"));
    let first = session.append(entry()).expect("it is stored");
    let options = AppendOptions::new();
    let second = again(factory, &session).append_with(entry(), &options).expect("it is confirmed");
    assert!(second.already_stored && !first.already_stored);
    assert_eq!((second.id, second.end, second.crc), (first.id, first.end, first.crc));
    let other = session.append(NewEntry::user("other").with_id("0000000a".parse().expect("an id")));
    assert_eq!(other.expect_err("the id is taken").kind(), ErrorKind::AlreadyExists);
    assert_eq!(ids(&again(factory, &session)).len(), 1);
}

pub(super) fn a_deleted_session_acknowledges_nothing(factory: &Factory<'_>) {
    let session = session(factory);
    append(&session, "one");
    let before = log(&session);
    let store = store(factory);
    let place = store.delete(session.id().as_str()).expect("it can be deleted");
    let late = session.append(NewEntry::user("late")).expect_err("the session is gone");
    assert_eq!(late.kind(), ErrorKind::Gone);
    let missing = store.open(session.id().as_str()).expect_err("the session is gone");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let restored = store.restore(place.to_str().expect("a path that is text")).expect("it can be restored");
    assert_eq!(restored, session.path());
    assert_eq!(log(&again(factory, &session)), before);
}

pub(super) fn a_session_is_copied_in_and_out_byte_for_byte(factory: &Factory<'_>) {
    let memory = Store::in_memory();
    let original = memory.create(CreateOptions::new("/conformance")).expect("a session can be created");
    let first = append(&original, "方案 \u{0} \u{1F600}");
    append(&original, "two");
    original.move_to(Some(&first)).expect("the leaf can be moved");
    let here = store(factory).copy(&original).expect("a session can be copied in");
    assert_eq!(log(&here), log(&original));
    assert_eq!((here.id(), here.leaf()), (original.id(), original.leaf()));
    let twice = store(factory).copy(&original).expect_err("it is here already");
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
    append(&here, "on from there");

    let elsewhere = Store::in_memory().copy(&again(factory, &original)).expect("a session can be copied out");
    assert_eq!(log(&elsewhere), log(&here));
    let fork = store(factory).fork(&here, &Fork::At(first.clone()), ForkOptions::new()).expect("it can be forked");
    assert_eq!(again(factory, &fork.session).leaf(), Some(first));
}
