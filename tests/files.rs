//! What is about files: full disks, permissions, and what is left in folders (SPEC 1.5, 1.7, 5.4, 8.1).

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::{Log, argument, check_receipt, follow_chain, id, ids, kind, open, store};
use leaflog::{AppendOptions, CreateOptions, ErrorKind, Fork, ForkOptions, NewEntry, Receipt, Store};

fn next() -> NewEntry {
    NewEntry::user("next")
}

/// Runs `act` and fails if the file at `path` is another one behind it, or was touched.
fn untouched<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let (before, status) = (fs::read(path).unwrap(), fs::metadata(path).unwrap());
    let result = act();
    assert_eq!(fs::read(path).unwrap(), before);
    assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), status.modified().unwrap());
    result
}

fn files(store: &Store) -> usize {
    let mut count = 0;
    let mut folders = vec![store.root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { count += 1 }
        }
    }
    count
}

#[test]
fn a_full_disk_costs_nothing_and_the_next_append_works() {
    let file = Log::with(common::chain(2));
    // The limit counts blocks of 512 or 1024 bytes; a record of 300,000 bytes fits into neither, small ones into both.
    let setup = "trap '' XFSZ; ulimit -f 100";
    let mut child = common::child_in_shell(setup, "fill", &[("PATH", &file.path.display())]);
    assert!(child.status().unwrap().success());
    let session = file.open();
    assert_eq!(session.damage().1, 0);
    let texts: Vec<_> = common::texts(&session);
    assert_eq!(texts, ["e1", "e2", "small 0", "small 1", "small 2", "small 3"]);
    let chained = follow_chain(&file.bytes());
    assert_eq!((chained.sealed, chained.wrong, chained.broken), (4, vec![], vec![]));
}

/// Appends under a limit of the file's size.
fn fill() {
    let session = open(argument("PATH"));
    for number in 0..4 {
        let before = fs::read(session.path()).unwrap();
        let leaf = session.leaf();
        let big = || NewEntry::user("x".repeat(300_000)).with_id(id("big"));
        assert_eq!(kind(session.append(big())), ErrorKind::StorageFull);
        let batch = vec![next(), big(), next()];
        assert_eq!(kind(session.append_batch(batch, &AppendOptions::new())), ErrorKind::StorageFull);
        assert_eq!(fs::read(session.path()).unwrap(), before, "cut back");
        assert_eq!(session.leaf(), leaf);
        assert_eq!(open(session.path()).damage().1, 0);
        let receipt = session.append(NewEntry::user(format!("small {number}"))).unwrap();
        check_receipt(&session.path(), &receipt);
    }
}

#[test]
fn a_torn_line_is_closed_even_if_the_record_behind_it_does_not_fit() {
    let file = Log::with(common::chain(2));
    file.push(r#"{"type":"message","id":"torn"#);
    let before = file.bytes();
    let setup = "trap '' XFSZ; ulimit -f 100";
    let mut child = common::child_in_shell(setup, "overflow", &[("PATH", &file.path.display())]);
    assert!(child.status().unwrap().success());
    assert!(file.bytes().starts_with(&before));
    file.open().append(next()).unwrap();
    assert_eq!(ids(&file.open()).len(), 3);
}

#[test]
fn a_child_plays_its_role() {
    match common::role().as_deref() {
        Some("fill") => fill(),
        Some("make") => make(),
        Some("overflow") => {
            let session = open(argument("PATH"));
            assert_eq!(kind(session.append(NewEntry::user("x".repeat(300_000)))), ErrorKind::StorageFull);
        }
        _ => {}
    }
}

#[test]
fn files_and_folders_are_private_whatever_the_umask_is() {
    for umask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("deep/store");
        let mut child = common::child_in_shell(&format!("umask {umask}"), "make", &[("ROOT", &root.display())]);
        assert!(child.status().unwrap().success());
        let mut seen = 0;
        let mut folders = vec![folder.path().join("deep")];
        while let Some(path) = folders.pop() {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "umask {umask}: {}", path.display());
            seen += 1;
            if path.is_dir() {
                folders.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        assert_eq!(seen, 7, "umask {umask}");
    }
}

/// Makes a file of every sort: sessions, forks, trash.
fn make() {
    let store = Store::new(argument("ROOT")).with_options(common::options());
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let Receipt { id, .. } = session.append(next()).unwrap();
    store.fork(&session, &Fork::Whole, ForkOptions::new()).unwrap();
    let copy = store.fork(&session, &Fork::At(id), ForkOptions::new()).unwrap().session;
    copy.append(next()).unwrap();
    store.delete(copy.id().as_str()).unwrap();
}

#[test]
fn a_fork_that_fails_leaves_nothing_behind() {
    let file = Log::with(common::chain(50));
    let session = file.open();
    let store = file.store();
    let count = files(&store);
    // The copy would go into a folder that is a file.
    let folder = store.root().join("--project--");
    fs::write(&folder, "").unwrap();
    for kind in [Fork::Whole, Fork::At(id("e50"))] {
        assert!(untouched(&file.path, || store.fork(&session, &kind, ForkOptions::new())).is_err());
    }
    fs::remove_file(&folder).unwrap();
    assert_eq!(files(&store), count);
    // A record of the source changes before it is copied.
    let text = String::from_utf8(file.bytes()).unwrap();
    fs::write(&file.path, text.replacen(r#""id":"e7""#, r#""id":"x7""#, 1)).unwrap();
    assert_eq!(kind(store.fork(&session, &Fork::At(id("e50")), ForkOptions::new())), ErrorKind::Gone);
    assert_eq!(files(&store), count);
    session.append(next()).unwrap();
}

#[test]
fn the_latest_session_is_never_a_file_that_is_none() {
    let (folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    std::fs::write(folder.path().join("zz.jsonl"), "{\"a\":1}\n").unwrap();
    std::fs::write(folder.path().join("zzz.jsonl"), "{\"kind\":\"header\",\"version\":4}\n").unwrap();
    assert_eq!(store.latest(None).unwrap(), session.path());
    assert_eq!(store.list(&leaflog::ListOptions::new()).unwrap().len(), 3);
}
