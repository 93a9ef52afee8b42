//! What is acknowledged as durable is synced: on the memory backend, which loses the rest when the power is cut.

use std::sync::Arc;

use leaflog::journal::Memory;
use leaflog::{
    AppendOptions, BranchSummary, Compaction, CreateOptions, Durability, EntryId, Fork, ForkOptions, NavigateOptions,
    Navigation, Navigator, NewEntry, Session, SessionOptions, Store,
};

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn log(session: &Session) -> Vec<u8> {
    let mut log = Vec::new();
    std::io::copy(&mut session.log(), &mut log).unwrap();
    log
}

fn store(memory: &Memory, durability: Durability) -> Store {
    Store::with_backend(Arc::new(memory.clone())).with_options(SessionOptions::new().durability(durability))
}

type Write = fn(&Session, &EntryId);

/// Everything that writes.
const WRITES: [(&str, Write); 11] = [
    ("append", |session, _| drop(session.append(next()).unwrap())),
    ("append aside", |session, first| {
        drop(session.append_with(next(), &AppendOptions::new().side(Some(first.clone()))).unwrap());
    }),
    ("batch", |session, _| {
        drop(session.append_batch(vec![next(), next()], &AppendOptions::new().to_leaf()).unwrap());
    }),
    ("move", |session, first| drop(session.move_to(Some(first)).unwrap())),
    ("move before the first", |session, _| drop(session.move_to(None).unwrap())),
    ("move with a summary", |session, first| {
        let summary = BranchSummary::new("left");
        drop(session.move_with(Some(first), Some(summary), &AppendOptions::new()).unwrap());
    }),
    ("label", |session, first| drop(session.set_label(first, "label").unwrap())),
    ("name", |session, _| drop(session.set_name("name").unwrap())),
    ("relocate", |session, _| drop(session.set_cwd("/elsewhere".as_ref()).unwrap())),
    ("compact", |session, _| drop(session.compact(Compaction::new("short").keep_settings(true)).unwrap())),
    ("retry", |session, _| {
        let entry = || next().with_id("0000000a".parse().unwrap());
        session.append_with(entry(), &AppendOptions::new().durability(Durability::Os)).unwrap();
        // What is confirmed is as durable as what is stored.
        assert!(session.append(entry()).unwrap().already_stored);
    }),
];

#[test]
fn every_durable_write_is_there_after_the_power_was_cut() {
    for (name, write) in WRITES {
        let memory = Memory::new();
        let session = store(&memory, Durability::Disk).create(CreateOptions::new("/project")).unwrap();
        let first = session.append(next()).unwrap().id;
        write(&session, &first);
        let written = log(&session);
        memory.crash();
        let again = store(&memory, Durability::Disk).open(session.id().as_str()).unwrap();
        assert!(log(&again) == written, "{name}: {} of {} bytes are left", log(&again).len(), written.len());
        assert_eq!(again.leaf(), session.stored_leaf(), "{name}");
    }
}

#[test]
fn a_navigation_a_fork_and_a_copy_are_durable_too() {
    let memory = Memory::new();
    let store = store(&memory, Durability::Disk);
    let session = Arc::new(store.create(CreateOptions::new("/project")).unwrap());
    let first = session.append(next()).unwrap().id;
    session.append(NewEntry::assistant("answer")).unwrap();
    let navigation = Navigator::new(Arc::clone(&session)).navigate(&first, &NavigateOptions::new()).unwrap();
    assert!(matches!(navigation, Navigation::Moved(_)));
    let fork = store.fork(&session, &Fork::At(first), ForkOptions::new()).unwrap().session;
    let other = Store::in_memory().create(CreateOptions::new("/project")).unwrap();
    let copy = store.copy(&other).unwrap();
    let before = [log(&session), log(&fork), log(&copy)];
    memory.crash();
    let open = |session: &Session| log(&store.open(session.id().as_str()).unwrap());
    assert!([open(&session), open(&fork), open(&copy)] == before);
}

#[test]
fn what_is_not_durable_is_lost_at_most_from_the_last_sync_on_and_a_handle_learns_of_it() {
    let memory = Memory::new();
    let session = store(&memory, Durability::Os).create(CreateOptions::new("/project")).unwrap();
    let kept = session.append(next()).unwrap().id;
    session.sync().unwrap();
    let lost = session.append(next()).unwrap().id;
    memory.crash();
    let refresh = session.refresh().unwrap();
    assert!(refresh.reloaded && session.entry(&lost).is_err());
    assert_eq!(session.leaf(), Some(kept.clone()));
    // The session goes on from what is left, and a durable append makes durable what was before it.
    let os = session.append(next()).unwrap().id;
    let disk = session.append_with(next(), &AppendOptions::new().durability(Durability::Disk)).unwrap().id;
    memory.crash();
    let again = store(&memory, Durability::Os).open(session.id().as_str()).unwrap();
    assert_eq!(again.path_ids(None).unwrap(), [kept, os, disk]);
}
