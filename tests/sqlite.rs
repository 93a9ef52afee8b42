//! What is about the SQLite backend alone: what the database holds for others to see, several processes on it, and
//! databases that are not as they should be (SPEC 8.3; C12, section 5).

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Random, argument, id, ids, kind, options};
use leaflog::{
    AppendOptions, BranchSummary, Compaction, CreateOptions, Durability, ErrorKind, Fork, ForkOptions, ListOptions,
    NewEntry, Session, SessionOptions, Store,
};
use rusqlite::Connection;
use tempfile::TempDir;

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn database() -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let store = Store::sqlite(&file).unwrap().with_options(options());
    (folder, file, store)
}

fn reopen(session: &Session) -> Session {
    Session::open_with(session.path(), options()).unwrap()
}

fn row_leaf(file: &Path, session: &Session) -> Option<String> {
    let connection = Connection::open(file).unwrap();
    let query = "SELECT leaf FROM sessions WHERE id = ?1 AND deleted IS NULL";
    connection.query_row(query, [session.id().as_str()], |row| row.get(0)).unwrap()
}

#[test]
fn the_row_of_a_session_says_its_leaf_whatever_was_done() {
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    assert_eq!(row_leaf(&file, &session), None);
    let mut random = Random::new(5);
    let mut entries = vec![session.append(next()).unwrap().id];
    for step in 0..200 {
        let any = entries[random.below(entries.len())].clone();
        let to_leaf = AppendOptions::new().to_leaf();
        let handle = reopen(&session);
        match random.below(9) {
            0 => drop(handle.move_to(Some(&any)).unwrap()),
            1 => drop(handle.move_to(None).unwrap()),
            2 => drop(handle.move_with(Some(&any), Some(BranchSummary::new("left")), &to_leaf).unwrap()),
            3 => drop(handle.append_with(next(), &AppendOptions::new().side(Some(any))).unwrap()),
            4 => drop(handle.set_label(&any, "label").unwrap()),
            5 => drop(session.set_name("from a handle that may be behind").unwrap()),
            6 => drop(handle.compact(Compaction::new("short").keep_settings(true)).unwrap()),
            7 => drop(handle.append_batch(vec![next(), next()], &to_leaf).unwrap()),
            _ => entries.push(handle.append_with(next(), &AppendOptions::new().under(Some(any))).unwrap().id),
        }
        let leaf = reopen(&session).leaf().map(|leaf| leaf.to_string());
        assert_eq!(row_leaf(&file, &session), leaf, "step {step}");
        if step % 20 == 0 {
            for fork in [Fork::Whole, Fork::At(entries[0].clone())] {
                let copy = store.fork(&reopen(&session), &fork, ForkOptions::new()).unwrap().session;
                assert_eq!(row_leaf(&file, &copy), copy.leaf().map(|leaf| leaf.to_string()), "step {step} {fork:?}");
            }
        }
    }
}

#[test]
fn other_programs_read_the_records_with_sql() {
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    session.append(NewEntry::user("方案 A")).unwrap();
    session.append(NewEntry::assistant("done")).unwrap();
    let connection = Connection::open(&file).unwrap();
    let query = "SELECT record ->> '$.message.content' FROM log WHERE session = ?1 AND record ->> 'type' = 'message'";
    let mut statement = connection.prepare(query).unwrap();
    let contents = statement.query_map([session.id().as_str()], |row| row.get::<_, String>(0)).unwrap();
    assert!(contents.map(Result::unwrap).any(|content| content.contains("方案 A")));
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_session_is_opened_by_its_path_alone() {
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let receipt = session.append(next()).unwrap();
    assert_eq!(session.path().to_str().unwrap(), format!("sqlite:{}#{}", file.display(), session.id()));
    assert_eq!(reopen(&session).leaf(), Some(receipt.id));
    // From a store that is somewhere else too.
    let elsewhere = database().2;
    assert_eq!(elsewhere.open(session.path().to_str().unwrap()).unwrap().id(), session.id());
    assert_eq!(kind(Session::open(format!("sqlite:{}#nobody", file.display()))), ErrorKind::NotFound);
    assert_eq!(kind(Session::open(format!("sqlite:{}.no#nobody", file.display()))), ErrorKind::NotFound);
}

#[test]
fn nothing_is_made_by_looking() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(folder.path().join("deep/sessions.db")).unwrap();
    assert!(store.list(&ListOptions::new()).unwrap().is_empty() && store.deleted().unwrap().is_empty());
    assert_eq!(kind(store.open("x")), ErrorKind::NotFound);
    assert_eq!(kind(store.restore("x")), ErrorKind::NotFound);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_database_and_its_side_files_are_private() {
    let (folder, _, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    session.append(next()).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn what_is_no_database_of_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(
        &text,
        "these are notes, and long enough to be taken for the header of a database file, which has 100 bytes",
    )
    .unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let newer = folder.path().join("newer.db");
    Store::sqlite(&newer).unwrap().create(CreateOptions::new("/project")).unwrap();
    Connection::open(&newer).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    for (file, expected) in
        [(&text, ErrorKind::NotASession), (&other, ErrorKind::NotASession), (&newer, ErrorKind::Unsupported)]
    {
        let before = fs::read(file).unwrap();
        let store = Store::sqlite(file).unwrap();
        assert_eq!(kind(store.list(&ListOptions::new())), expected, "{}", file.display());
        assert_eq!(kind(store.create(CreateOptions::new("/project"))), expected, "{}", file.display());
        assert!(fs::read(file).unwrap() == before, "{} was changed", file.display());
    }
    // A folder, and a file in something that is no folder.
    assert!(Store::sqlite(folder.path()).unwrap().create(CreateOptions::new("/p")).is_err());
    assert!(Store::sqlite(text.join("x.db")).unwrap().create(CreateOptions::new("/p")).is_err());
}

#[test]
fn a_writer_that_does_not_end_costs_the_others_their_patience_and_nothing_else() {
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let first = session.append(next()).unwrap().id;
    let hog = Connection::open(&file).unwrap();
    hog.execute_batch("BEGIN IMMEDIATE").unwrap();
    let hasty = Session::open_with(session.path(), options().lock_wait(Duration::from_millis(50))).unwrap();
    assert_eq!(kind(hasty.append(next())), ErrorKind::Locked);
    assert_eq!(reopen(&session).leaf(), Some(first), "readers go on");
    std::thread::scope(|scope| {
        let patient = scope.spawn(|| session.append(next()).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        hog.execute_batch("COMMIT").unwrap();
        patient.join().unwrap();
    });
    assert_eq!(ids(&reopen(&session)).len(), 2);
}

#[test]
fn an_append_into_a_database_that_is_no_longer_at_its_path_is_never_acknowledged() {
    let (folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    session.append(next()).unwrap();
    for durability in [Durability::Os, Durability::Disk] {
        let aside = folder.path().join(format!("aside-{durability:?}.db"));
        fs::rename(&file, &aside).unwrap();
        assert_eq!(kind(session.append_with(next(), &AppendOptions::new().durability(durability))), ErrorKind::Gone);
        assert_eq!(kind(session.refresh()), ErrorKind::Gone);
        assert_eq!(kind(session.sync()), ErrorKind::Gone);
        fs::rename(&aside, &file).unwrap();
        session.append_with(next(), &AppendOptions::new().durability(durability)).unwrap();
    }
    // Another database is there now: the open handle does not write to it, the store finds it.
    fs::rename(&file, folder.path().join("aside.db")).unwrap();
    for side in ["sessions.db-wal", "sessions.db-shm"] {
        drop(fs::remove_file(folder.path().join(side)));
    }
    assert!(store.list(&ListOptions::new()).unwrap().is_empty());
    let new = store.create(CreateOptions::new("/project")).unwrap();
    assert_eq!(kind(session.append(next())), ErrorKind::Gone);
    assert_eq!(new.append(next()).map(|_| ids(&new).len()).unwrap(), 1);
}

#[test]
fn a_live_database_is_opened_through_sqlite_only() {
    // Under a name of a session's file, in a folder that a store of files lists.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.jsonl");
    let store = Store::sqlite(&file).unwrap();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    // POSIX locks are dropped when a process closes any descriptor of the file; this lock would be lost then.
    let hog = Connection::open(&file).unwrap();
    hog.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = Session::open(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotASession);
    assert!(error.to_string().contains("sqlite:FILE#ID"), "{error}");
    let listed = Store::new(folder.path()).list(&ListOptions::new()).unwrap();
    assert!(listed.len() == 1 && listed[0].damaged);
    let mut child = common::child("try", &[("PATH", &session.path().display())]);
    assert!(child.status().unwrap().success(), "the lock is still held");
    hog.execute_batch("COMMIT").unwrap();
    drop((hog, session, store));
    // Closed, it is a file like any other that is no session.
    assert_eq!(kind(Session::open(&file)), ErrorKind::NotASession);
}

#[test]
fn a_damaged_line_is_reported_as_in_a_file() {
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    for number in 0..3 {
        session.append(next().with_id(id(&format!("e{number}")))).unwrap();
    }
    let connection = Connection::open(&file).unwrap();
    let query =
        "UPDATE records SET bytes = replace(bytes, '\"content\"', '\"cuntent\"') WHERE bytes LIKE '%\"e1\"%user%'";
    assert!(connection.execute(query, []).unwrap() >= 1);
    let damaged = reopen(&session);
    assert!(damaged.damage().1 >= 1);
    assert_eq!(ids(&damaged), ["e0", "e1", "e2"]);
    let strict = Session::open_with(session.path(), options().strict(true));
    assert_eq!(kind(strict), ErrorKind::Corrupt);
}

#[test]
fn processes_share_a_database_and_one_that_is_killed_loses_only_what_it_was_writing() {
    const CHILDREN: usize = 4;
    let (_folder, file, store) = database();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let mut children: Vec<_> = (0..CHILDREN)
        .map(|number| {
            let path = session.path();
            common::child("append", &[("PATH", &path.display()), ("NAME", &number)]).spawn().unwrap()
        })
        .collect();
    let started = std::time::Instant::now();
    while ids(&reopen(&session)).len() < 40 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let entries = reopen(&session);
    assert!(ids(&entries).len() >= 40 && entries.damage().1 == 0);
    // Each wrote its numbers one after the other, two in a batch.
    for child in 0..CHILDREN {
        let texts: Vec<_> = entries.entries().map(|entry| entry.unwrap().text()).collect();
        let own: Vec<_> = texts.iter().filter_map(|text| text.strip_prefix(&format!("{child} "))).collect();
        let expected: Vec<_> = (0..own.len()).map(|number| number.to_string()).collect();
        assert_eq!(own, expected);
        assert_eq!(own.len() % 2, 0, "a batch is there whole or not at all");
    }
    entries.append(next()).unwrap();
    assert_eq!(row_leaf(&file, &session), reopen(&session).leaf().map(|leaf| leaf.to_string()));
}

#[test]
fn a_child_plays_its_role() {
    if common::role().as_deref() == Some("try") {
        let options = SessionOptions::new().lock_wait(Duration::from_millis(50));
        let session = Session::open_with(argument("PATH"), options).unwrap();
        assert_eq!(kind(session.append(next())), ErrorKind::Locked);
    }
    if common::role().as_deref() == Some("append") {
        let session = Session::open_with(argument("PATH"), SessionOptions::new()).unwrap();
        let (name, mut number) = (argument("NAME"), 0);
        loop {
            let batch = (number..number + 2).map(|number| NewEntry::user(format!("{name} {number}"))).collect();
            session.append_batch(batch, &AppendOptions::new().to_leaf()).unwrap();
            number += 2;
        }
    }
}
