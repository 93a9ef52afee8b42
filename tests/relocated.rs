//! Sessions whose project moved, and sessions that move from store to store (SPEC 8.1, 8.3; field report G17).

mod common;

use common::{BACKEND, Backend, assert_reopens_alike, bytes, id, kind, open, store};
use leaflog::{AppendOptions, CreateOptions, ErrorKind, Fork, ForkOptions, ListOptions, NewEntry, Session, Store};

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn listed(store: &Store, cwd: &str) -> Vec<String> {
    let sessions = store.list(&ListOptions::new().cwd(cwd)).unwrap();
    sessions.into_iter().map(|session| session.id.to_string()).collect()
}

fn relocate(store: &Store, session: &Session, cwd: &str) -> Session {
    open(store.relocate(session.id().as_str(), cwd).unwrap())
}

#[test]
fn a_relocated_session_is_one_of_its_new_project_under_its_old_id() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/old/project")).unwrap();
    let stays = store.create(CreateOptions::new("/old/project")).unwrap();
    session.append(next()).unwrap();
    session.set_name("a name").unwrap();
    let before = bytes(session.path());
    let moved = relocate(&store, &session, "/new/project/");
    assert_eq!(moved.cwd().to_str(), Some("/new/project"));
    assert_eq!((moved.id(), moved.name().as_deref()), (session.id(), Some("a name")));
    assert!(bytes(moved.path()).starts_with(&before), "nothing is rewritten");
    assert_eq!(listed(&store, "/old/project"), [stays.id().to_string()]);
    assert_eq!(listed(&store, "/new/project"), [session.id().to_string()]);
    assert_eq!(store.latest(Some("/new/project".as_ref())).unwrap(), moved.path());
    assert_eq!(store.open(session.id().as_str()).unwrap().path(), moved.path());
    // A name that is set later, by a program that knows nothing of this, changes nothing.
    moved.set_name("another").unwrap();
    assert_eq!(assert_reopens_alike(&moved).cwd().to_str(), Some("/new/project"));
    // And once more, and back.
    let again = relocate(&store, &moved, "/newest");
    assert_eq!((again.cwd().to_str(), again.name().as_deref()), (Some("/newest"), Some("another")));
    let back = relocate(&store, &again, "/old/project");
    assert_eq!(back.path(), session.path());
    assert_eq!(listed(&store, "/old/project").len(), 2);
}

#[test]
fn to_where_it_is_nothing_is_relocated_and_nothing_is_written() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let before = bytes(session.path());
    assert_eq!(store.relocate(session.id().as_str(), "/project").unwrap(), session.path());
    assert_eq!(bytes(session.path()), before);
    session.append(next()).unwrap();
}

#[test]
fn a_relocation_far_from_both_ends_of_a_long_log_is_found() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/old")).unwrap();
    let long = || NewEntry::user("x".repeat(100_000));
    for _ in 0..10 {
        session.append(long()).unwrap();
    }
    let moved = relocate(&store, &session, "/new");
    for _ in 0..10 {
        moved.append(long()).unwrap();
    }
    assert_eq!(listed(&store, "/new"), [moved.id().to_string()]);
    assert!(listed(&store, "/old").is_empty());
}

#[test]
fn forks_are_made_in_the_project_where_their_source_is_now() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/old")).unwrap();
    let first = session.append(next()).unwrap().id;
    let moved = relocate(&store, &session, "/new");
    let last = moved.append(next()).unwrap().id;
    let elsewhere = || ForkOptions::new().cwd("/elsewhere");
    for fork in [Fork::Whole, Fork::At(first.clone()), Fork::At(last.clone())] {
        let copy = store.fork(&moved, &fork, ForkOptions::new()).unwrap().session;
        assert_eq!((copy.header().cwd.as_str(), copy.cwd().to_str()), ("/new", Some("/new")), "{fork:?}");
        let copy = store.fork(&moved, &fork, elsewhere()).unwrap().session;
        assert_eq!(assert_reopens_alike(&copy).cwd().to_str(), Some("/elsewhere"), "{fork:?}");
        assert!(listed(&store, "/elsewhere").contains(&copy.id().to_string()), "{fork:?}");
        let leaf = if fork == Fork::At(first.clone()) { &first } else { &last };
        assert_eq!(copy.leaf().as_ref(), Some(leaf), "{fork:?}");
    }
}

#[test]
fn a_relocation_is_no_conflict_for_a_running_appender_but_keeps_the_name_of_others() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/old")).unwrap();
    session.append(next()).unwrap();
    let other = open(session.path());
    other.set_name("set by another").unwrap();
    session.set_cwd("/new".as_ref()).unwrap();
    other.append(next()).unwrap();
    let again = open(session.path());
    assert_eq!((again.cwd().to_str(), again.name().as_deref()), (Some("/new"), Some("set by another")));
    // Said to be elsewhere, though nobody has put it there: found all the same.
    assert_eq!(listed(&store, "/new"), [session.id().to_string()]);
    assert!(listed(&store, "/old").is_empty());
    assert_eq!(kind(store.relocate("nobody", "/new")), ErrorKind::NotFound);
}

#[test]
fn a_copied_session_is_the_same_in_the_other_store_and_at_home_there() {
    let (_folder, here) = store();
    let session = here.create(CreateOptions::new("/old").metadata(r#"{"n":1e3}"#)).unwrap();
    let first = session.append(next()).unwrap().id;
    session.append_with(next().with_id(id("mine")), &AppendOptions::new().side(Some(first.clone()))).unwrap();
    let session = relocate(&here, &session, "/new");
    let stores = [Store::in_memory(), common::store().1, Store::in_memory()];
    let mut source = open(session.path());
    for there in &stores {
        let copy = there.copy(&source).unwrap();
        assert_eq!(copy.cwd().to_str(), Some("/new"));
        assert_eq!(listed(there, "/new"), [session.id().to_string()]);
        let mut log = Vec::new();
        std::io::copy(&mut copy.log(), &mut log).unwrap();
        assert_eq!(log, bytes(session.path()));
        assert_eq!(copy.leaf(), session.leaf());
        assert_eq!(kind(there.copy(&source)), ErrorKind::AlreadyExists);
        source = copy;
    }
    // The copies go their own ways.
    source.append(next()).unwrap();
    assert_ne!(source.leaf(), session.leaf());
}

#[test]
fn damage_and_an_unfinished_record_are_copied_as_they_are() {
    let log = common::Log::of([&b"\xEF\xBB\xBF"[..], common::HEADER.as_bytes(), b"\r\n\nno JSON\n{\"torn\":"].concat());
    let there = Store::in_memory();
    let copy = there.copy(&log.open()).unwrap();
    let mut copied = Vec::new();
    std::io::copy(&mut copy.log(), &mut copied).unwrap();
    assert_eq!(copied, log.bytes());
    copy.append_with(next(), &AppendOptions::new().under(None)).unwrap();
    let again = there.open("pi-session").unwrap();
    assert_eq!(common::ids(&again).len(), 1);
}

#[test]
fn an_id_that_could_leave_the_store_is_not_copied() {
    for bad in ["../../etc", "a/b", "..", "a b"] {
        let log = common::Log::of(common::HEADER.replace("pi-session", bad) + "\n");
        assert_eq!(kind(common::store().1.copy(&log.open())), ErrorKind::Invalid, "{bad}");
    }
    let log = common::Log::of(common::HEADER.replace("2026-01-02T03:04:05.006Z", "/../../x\\u0000") + "\n");
    let (folder, there) = common::store();
    let copy = there.copy(&log.open()).unwrap();
    assert_eq!(copy.id().as_str(), "pi-session");
    if BACKEND == Backend::Files {
        assert!(copy.path().starts_with(folder.path()) && !copy.path().to_string_lossy().contains(".."));
    }
}

#[test]
fn a_name_that_is_set_at_the_very_moment_of_a_relocation_stays() {
    let (_folder, store) = store();
    let session = store.create(CreateOptions::new("/old")).unwrap();
    session.append(next()).unwrap();
    let (other, calls) = (open(session.path()), std::sync::atomic::AtomicUsize::new(0));
    // The hook runs after the name was read and before the entry that states it again is written.
    let hook = move |entry: NewEntry| {
        if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            other.set_name("just now")?;
        }
        Ok(entry)
    };
    let session = common::open_with(session.path(), common::options().before_write(hook)).unwrap();
    session.set_cwd("/new".as_ref()).unwrap();
    let again = assert_reopens_alike(&session);
    assert_eq!((again.cwd().to_str(), again.name().as_deref()), (Some("/new"), Some("just now")));
}
