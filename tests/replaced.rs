//! What is at a path: logs that vanish, change or come back under an open handle, files that reading leaves as they
//! are, and the store's list, trash and names (SPEC 1.1, 1.4, 2.8, 7.1, 8.1, 8.5).

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use common::{HEADER, Log, View, assert_reopens_alike, entry, id, ids, kind, message, open, options, texts, user};
use leaflog::{
    AppendOptions, Compaction, ContextOptions, CreateOptions, ErrorKind, Fork, ForkOptions, ListOptions, NewEntry,
    Session, SessionId, SessionInfo, Store, Timestamp, TreeOptions,
};

fn next() -> NewEntry {
    NewEntry::user("next")
}

/// Every write that there is is refused with one of `kinds`, and so is a sync.
#[track_caller]
fn assert_refuses_writes(session: &Session, kinds: &[ErrorKind]) {
    assert_refuses_appends(session, kinds);
    assert!(kinds.contains(&kind(session.sync())));
}

#[track_caller]
fn assert_refuses_appends(session: &Session, kinds: &[ErrorKind]) {
    let writes: [(&str, &dyn Fn() -> leaflog::Result<()>); 7] = [
        ("append", &|| session.append(next()).map(drop)),
        ("to leaf", &|| session.append_with(next(), &AppendOptions::new().to_leaf()).map(drop)),
        ("side", &|| session.append_with(next(), &AppendOptions::new().side(None)).map(drop)),
        ("root", &|| session.append_with(next(), &AppendOptions::new().under(None)).map(drop)),
        ("move", &|| session.move_with(None, None, &AppendOptions::new().to_leaf()).map(drop)),
        ("name", &|| session.set_name("name").map(drop)),
        ("compact", &|| session.compact(Compaction::new("summary")).map(drop)),
    ];
    for (name, write) in writes {
        let error = write().expect_err(name);
        assert!(kinds.contains(&error.kind()), "{name}: {error}");
    }
}

/// All files below a folder with their bytes.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push((path.clone(), fs::read(path).unwrap())) }
        }
    }
    found.sort();
    found
}

// Under an open handle (2.8).

#[test]
fn a_deleted_log_is_gone_and_never_comes_back_as_a_headless_file() {
    let file = Log::with(common::chain(3));
    let (session, writer) = (file.open(), file.open());
    writer.append(next()).unwrap();
    fs::remove_file(&file.path).unwrap();
    for handle in [&session, &writer] {
        assert_refuses_writes(handle, &[ErrorKind::Gone]);
        assert_eq!(kind(handle.refresh()), ErrorKind::Gone);
        assert!(!file.path.exists());
    }
    assert_eq!(texts(&session), ["e1", "e2", "e3"], "what was read can still be read");
    fs::create_dir(&file.path).unwrap();
    assert!(session.append(next()).is_err() && session.refresh().is_err());
}

#[test]
fn a_log_that_was_moved_away_is_gone_and_no_append_follows_it() {
    let file = Log::with(common::chain(3));
    let session = file.open();
    session.append(next()).unwrap();
    let away = file.path.with_extension("away");
    fs::rename(&file.path, &away).unwrap();
    let before = fs::read(&away).unwrap();
    assert_refuses_writes(&session, &[ErrorKind::Gone]);
    assert_eq!(fs::read(&away).unwrap(), before);
    assert!(!file.path.exists());
    // Put back, it is as it was.
    fs::rename(&away, &file.path).unwrap();
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
    assert_eq!(session.reloads(), 0);
}

#[test]
fn another_session_at_the_path_is_never_written_to() {
    let file = Log::with(common::chain(3));
    let session = file.open();
    session.append(next()).unwrap();
    let other = HEADER.replace("pi-session", "another") + "\n" + &user("x1", None) + "\n";
    for in_place in [false, true] {
        if !in_place {
            fs::remove_file(&file.path).unwrap();
        }
        fs::write(&file.path, &other).unwrap();
        assert_refuses_appends(&session, &[ErrorKind::Gone]);
        assert_eq!(kind(session.refresh()), ErrorKind::Gone);
        assert_eq!(kind(session.sync()), ErrorKind::Gone);
        assert_eq!(file.bytes(), other.as_bytes());
        // Nothing of the other session is shown as this one's.
        assert_eq!(session.id().as_str(), "pi-session");
        for read in session.entries().chain(session.path_entries(None).unwrap()) {
            assert!(read.map_or_else(|error| error.kind() == ErrorKind::Gone, |entry| entry.id() != &id("x1")));
        }
    }
    for junk in ["", "no session\n", "{\"kind\":\"header\",\"version\":4}\n"] {
        fs::write(&file.path, junk).unwrap();
        let kinds = [ErrorKind::Gone, ErrorKind::NotASession, ErrorKind::Unsupported];
        assert_refuses_appends(&session, &kinds);
        assert_eq!(file.bytes(), junk.as_bytes());
    }
}

type Change = Box<dyn Fn(&Log)>;

/// Changes of a log of `e1` to `e4` under a handle that has read it, and the ids afterwards.
fn changes() -> Vec<(&'static str, Change, Vec<&'static str>)> {
    let log = |count: usize| Log::with(common::chain(count)).bytes();
    let swap = |bytes: Vec<u8>| {
        move |file: &Log| {
            let draft = file.path.with_extension("draft");
            fs::write(&draft, &bytes).unwrap();
            fs::rename(&draft, &file.path).unwrap();
        }
    };
    let write = |bytes: Vec<u8>| move |file: &Log| fs::write(&file.path, &bytes).unwrap();
    let with = |last: String| [log(3), last.into_bytes(), b"\n".to_vec()].concat();
    let other = with(user("x4", Some("e3")));
    assert_eq!(other.len(), log(4).len());
    let same_ids = with(user("e4", Some("e3")).replace(r#""content":"e4""#, r#""content":"zz""#));
    vec![
        ("replaced by an older copy", Box::new(swap(log(2))), vec!["e1", "e2"]),
        ("replaced by an equal copy", Box::new(swap(log(4))), vec!["e1", "e2", "e3", "e4"]),
        ("replaced by a longer copy", Box::new(swap(log(6))), vec!["e1", "e2", "e3", "e4", "e5", "e6"]),
        ("truncated", Box::new(write(log(2))), vec!["e1", "e2"]),
        ("truncated to its header", Box::new(write(log(0))), vec![]),
        ("torn", Box::new(write(log(4)[..log(4).len() - 5].to_vec())), vec!["e1", "e2", "e3"]),
        ("regrown to its length", Box::new(write(other)), vec!["e1", "e2", "e3", "x4"]),
        ("rewritten at its length", Box::new(write(same_ids)), vec!["e1", "e2", "e3", "e4"]),
        (
            "regrown beyond its length",
            Box::new(write([with(user("x4", Some("e3"))), user("x5", Some("x4")).into(), b"\n".to_vec()].concat())),
            vec!["e1", "e2", "e3", "x4", "x5"],
        ),
    ]
}

#[test]
fn a_log_that_changed_is_read_anew_and_the_handle_says_so() {
    for (name, change, expected) in changes() {
        let file = Log::with(common::chain(4));
        let session = file.open();
        change(&file);
        let refresh = session.refresh().unwrap();
        assert!(refresh.reloaded, "{name}");
        assert_eq!(session.reloads(), 1, "{name}");
        assert_eq!((common::strings(refresh.new_entries), ids(&session)), (ids(&session), own(&expected)), "{name}");
        assert_eq!(session.leaf().map(|leaf| leaf.to_string()).as_deref(), expected.last().copied(), "{name}");
        assert!(!session.refresh().unwrap().reloaded, "{name}");
        session.append(next()).unwrap();
        assert_reopens_alike(&session);
    }
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn an_append_to_a_log_that_changed_goes_to_the_log_that_is_there_or_fails() {
    for warm in [false, true] {
        for (name, change, expected) in changes() {
            let file = Log::with(common::chain(4));
            let session = file.open();
            if warm {
                // The descriptor for appending is open, too.
                session.append_with(next(), &AppendOptions::new().side(None)).unwrap();
                fs::write(&file.path, Log::with(common::chain(4)).bytes()).unwrap();
                session.refresh().unwrap();
            }
            let reloads = session.reloads();
            change(&file);
            let before = file.bytes();
            let moved = expected.last() != Some(&"e4");
            match session.append(next().with_id(id("new"))) {
                Ok(receipt) => {
                    assert!(!moved, "{name}");
                    assert_eq!(receipt.end, file.bytes().len() as u64, "{name}");
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{name}");
                    assert_eq!(error.actual_leaf(), Some(expected.last().map(|leaf| id(leaf)).as_ref()), "{name}");
                    assert_eq!(file.bytes(), before, "{name}");
                    session.append(next().with_id(id("new"))).unwrap();
                }
            }
            assert_eq!(session.reloads(), reloads + 1, "{name}");
            let mut ids_now = own(&expected);
            ids_now.push("new".to_owned());
            assert_eq!(ids(&open(&file.path)), ids_now, "{name}");
            assert!(file.bytes().starts_with(&before), "{name}");
            assert_reopens_alike(&session);
        }
    }
}

#[test]
fn a_sync_of_a_log_that_was_replaced_is_not_one_of_what_was_appended() {
    let file = Log::with(common::chain(2));
    let session = file.open();
    session.append(next()).unwrap();
    session.sync().unwrap();
    let draft = file.path.with_extension("draft");
    fs::copy(&file.path, &draft).unwrap();
    fs::rename(&draft, &file.path).unwrap();
    assert_eq!(kind(session.sync()), ErrorKind::Gone);
    assert!(session.refresh().unwrap().reloaded);
    session.sync().unwrap();
}

#[test]
fn reads_through_a_handle_whose_log_changed_give_the_entry_or_a_typed_error() {
    for (name, change, _) in changes() {
        let file = Log::with(common::chain(4));
        let session = file.open();
        change(&file);
        for number in 1..=4 {
            let wanted = id(&format!("e{number}"));
            match session.entry(&wanted) {
                Ok(entry) => assert_eq!(entry.id(), &wanted, "{name}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Gone, "{name}"),
            }
        }
        let walks: [&dyn Fn() -> leaflog::Result<()>; 5] = [
            &|| session.context(&ContextOptions::new()).map(drop),
            &|| session.entries().try_for_each(|entry| entry.map(drop)),
            &|| session.tree(&TreeOptions::new()).and_then(|mut tree| tree.try_for_each(|node| node.map(drop))),
            &|| session.tips().map(drop),
            &|| session.stats().map(drop),
        ];
        for walk in walks {
            assert!(walk().is_ok_and(|()| true) || kind(walk()) == ErrorKind::Gone, "{name}");
        }
        let fork = file.store().fork(&session, &Fork::At(id("e4")), ForkOptions::new());
        assert!(fork.as_ref().map_or_else(|error| error.kind() == ErrorKind::Gone, |_| true), "{name}: {fork:?}");
    }
}

#[test]
fn a_branched_position_that_is_no_longer_there_is_given_up() {
    let file = Log::with(common::chain(4));
    let session = file.open();
    session.branch(Some(&id("e3"))).unwrap();
    fs::write(&file.path, Log::with(common::chain(2)).bytes()).unwrap();
    session.refresh().unwrap();
    assert_eq!(session.leaf(), Some(id("e2")));
    session.append(next()).unwrap();
    session.branch(Some(&id("e1"))).unwrap();
    file.push("\n");
    fs::write(&file.path, Log::with(common::chain(3)).bytes()).unwrap();
    session.refresh().unwrap();
    assert_eq!(session.leaf(), Some(id("e1")), "one that is still there stays");
}

#[test]
fn appends_that_race_with_replacements_are_never_acknowledged_into_a_dead_file() {
    let file = Log::with(common::chain(1));
    let session = file.open();
    let finished = AtomicBool::new(false);
    let acknowledged = std::thread::scope(|scope| {
        // Swaps the log for a copy of itself under the lock, as repair does: nothing that is acknowledged may be lost.
        let swapper = scope.spawn(|| {
            while !finished.load(Ordering::Relaxed) {
                let locked = loop {
                    let locked = fs::OpenOptions::new().append(true).open(&file.path).unwrap();
                    fs2::FileExt::lock_exclusive(&locked).unwrap();
                    if locked.metadata().unwrap().ino() == fs::metadata(&file.path).unwrap().ino() {
                        break locked;
                    }
                };
                let draft = file.path.with_extension("draft");
                fs::copy(&file.path, &draft).unwrap();
                fs::rename(&draft, &file.path).unwrap();
                drop(locked);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let mut acknowledged = Vec::new();
        while (acknowledged.len() < 60 || session.reloads() < 10) && !swapper.is_finished() {
            match session.append_with(next(), &AppendOptions::new().to_leaf()) {
                Ok(receipt) => acknowledged.push(receipt.id.to_string()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Gone),
            }
        }
        finished.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        acknowledged
    });
    let stored = ids(&open(&file.path));
    assert_eq!(stored[1..], acknowledged[..]);
    assert_reopens_alike(&session);
}

// Aliases (7.1).

#[test]
fn a_log_with_several_hard_links_is_read_only_and_says_why() {
    let file = Log::with(common::chain(2));
    let session = file.open();
    session.append(next()).unwrap();
    let link = file.path.with_extension("link");
    fs::hard_link(&file.path, &link).unwrap();
    let before = file.bytes();
    for handle in [&session, &open(&link)] {
        let error = handle.append(next()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("hard link"), "{error}");
        assert_eq!(ids(handle).len(), 3);
        handle.refresh().unwrap();
    }
    assert_eq!(file.bytes(), before);
    fs::remove_file(&link).unwrap();
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_symbolic_link_is_the_log_that_it_names() {
    let file = Log::with(common::chain(2));
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.jsonl");
    symlink(&file.path, &link).unwrap();
    let (real, linked) = (file.open(), open(&link));
    let first = linked.append(next()).unwrap().id;
    assert_eq!(real.refresh().unwrap().new_entries, [first]);
    std::thread::scope(|scope| {
        for handle in [&real, &linked] {
            scope.spawn(|| {
                (0..100).for_each(|_| drop(handle.append_with(next(), &AppendOptions::new().to_leaf()).unwrap()));
            });
        }
    });
    real.refresh().unwrap();
    linked.refresh().unwrap();
    assert_eq!((ids(&real).len(), View::of(&real)), (203, View::of(&linked)));
    common::assert_chained(&file.path, 201);
    // The link turns to another session: that is not this one.
    let other = Log::of(HEADER.replace("pi-session", "another") + "\n");
    fs::remove_file(&link).unwrap();
    symlink(&other.path, &link).unwrap();
    assert_refuses_writes(&linked, &[ErrorKind::Gone]);
    assert_eq!(lines_of(&other), 1);
    fs::remove_file(&link).unwrap();
    assert_eq!(kind(linked.append(next())), ErrorKind::Gone);
}

fn lines_of(file: &Log) -> usize {
    common::lines(&file.path).len()
}

#[test]
fn a_relative_path_is_resolved_once() {
    let file = Log::with(common::chain(1));
    assert!(open(&file.path).path().is_absolute());
}

// Reading leaves everything as it was (1.4).

#[test]
fn opening_listing_and_reading_leave_every_byte_and_time_as_it_was() {
    let (folder, store, session) = common::session();
    session.append(next()).unwrap();
    session.compact(Compaction::new("short")).unwrap();
    let project = session.path().parent().unwrap().to_owned();
    let pi = [HEADER.replace("\"pi-session\"", "\"from-pi\""), user("e1", None), user("e2", Some("e1"))].join("\n");
    let files = [
        ("2026-01-02T03-04-05-006Z_from-pi.jsonl", pi.clone() + "\n"),
        ("2026-01-02T03-04-05-006Z_torn.jsonl", pi[..pi.len() - 9].to_owned()),
        ("2026-01-02T03-04-05-006Z_doubt.jsonl", pi.clone() + "\ngarbage\n"),
        ("2026-01-02T03-04-05-006Z_old.jsonl", HEADER.replace("\"version\":3", "\"version\":1") + "\n"),
        ("2026-01-02T03-04-05-006Z_new.jsonl", "{\"kind\":\"header\",\"version\":4}\n".to_owned()),
        ("2026-01-02T03-04-05-006Z_empty.jsonl", String::new()),
        ("notes.txt", "notes\n".to_owned()),
    ];
    for (name, text) in files {
        fs::write(project.join(name), text).unwrap();
    }
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (path, _) in everything(folder.path()) {
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let before = everything(folder.path());
    for exact in [false, true] {
        assert_eq!(store.list(&ListOptions::new().exact(exact)).unwrap().len(), 7);
    }
    for path in before.iter().map(|(path, _)| path) {
        let Ok(session) = Session::open_with(path, options()) else { continue };
        View::of(&session);
        session.refresh().unwrap();
        session.branch(None).unwrap();
        session.last_complete_turn().unwrap();
        drop(session.move_with(session.stored_leaf().as_ref(), None, &AppendOptions::new().expecting(Some(id("no")))));
        drop(session.append_with(next(), &AppendOptions::new().under(Some(id("unknown")))));
    }
    store.latest(None).unwrap();
    store.deleted().unwrap();
    drop(store.find("nothing"));
    assert_eq!(everything(folder.path()), before);
    for (path, _) in before {
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old, "{}", path.display());
    }
}

// The store (8.1).

fn put(store: &Store, folder: &str, name: &str, lines: &[String]) -> PathBuf {
    let folder = store.root().join(folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn header(id: &str, cwd: &str) -> String {
    format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-02T03:04:05.006Z","cwd":"{cwd}"}}"#)
}

/// A message at a time, in milliseconds since 1970.
fn timed(id: &str, role: &str, millis: i64) -> String {
    message(id, None, role, id).replace("1767323046007", &millis.to_string())
}

fn names(sessions: &[SessionInfo]) -> Vec<&str> {
    sessions.iter().map(|session| session.id.as_str()).collect()
}

#[test]
fn the_list_is_newest_first_by_the_last_message_and_does_not_believe_the_far_future() {
    let (_folder, store) = common::store();
    let now = Timestamp::now().as_millis();
    let hour = 3_600_000;
    let session = |id: &str, messages: &[(&str, i64)]| {
        let mut lines = vec![header(id, "/project")];
        lines.extend(messages.iter().enumerate().map(|(at, (role, time))| timed(&format!("e{at}"), role, *time)));
        put(&store, "--project--", &format!("2026-01-02T03-04-05-006Z_{id}.jsonl"), &lines);
    };
    session("middle", &[("user", now - 9 * hour), ("assistant", now - 5 * hour)]);
    session("newest", &[("user", now - hour), ("toolResult", now)]);
    session("oldest", &[("assistant", now - 8 * hour), ("user", now - 9 * hour)]);
    session("clock", &[("user", now - 3 * hour), ("assistant", now + 48 * hour)]);
    session("ahead", &[("user", now + 12 * hour)]);
    session("bare", &[]);
    let list = store.list(&ListOptions::new()).unwrap();
    assert_eq!(names(&list), ["ahead", "newest", "clock", "middle", "oldest", "bare"]);
    assert_eq!(list[2].modified.as_millis(), now - 3 * hour);
    assert_eq!(list[5].modified, list[5].created.unwrap());
    assert_eq!((list[3].messages, list[3].first_message.as_deref()), (Some(2), Some("e0")));
    // The file's own time says nothing.
    let latest = store.latest(Some(Path::new("/project"))).unwrap();
    assert_eq!(open(latest).id().as_str(), "ahead");
}

#[test]
fn a_project_is_known_by_its_header_and_not_by_its_folder() {
    let (_folder, store) = common::store();
    let one = store.create(CreateOptions::new("/a/b-c")).unwrap();
    let two = store.create(CreateOptions::new("/a-b/c")).unwrap();
    assert_eq!(one.path().parent(), two.path().parent(), "pi's names collide");
    one.append(next()).unwrap();
    for (session, cwd) in [(&one, "/a/b-c"), (&two, "/a-b/c")] {
        let list = store.list(&ListOptions::new().cwd(cwd)).unwrap();
        assert_eq!((list.len(), &list[0].id, list[0].cwd.as_str()), (1, &session.id(), cwd));
        assert_eq!(store.latest(Some(Path::new(cwd))).unwrap(), session.path());
    }
    assert_eq!(store.list(&ListOptions::new()).unwrap().len(), 2);
    assert_eq!(kind(store.latest(Some(Path::new("/a/b/c")))), ErrorKind::NotFound);
    // A session in a folder of another name is still of its project.
    let moved = store.root().join("elsewhere");
    fs::create_dir(&moved).unwrap();
    fs::rename(two.path(), moved.join("renamed.jsonl")).unwrap();
    assert_eq!(store.list(&ListOptions::new().cwd("/a-b/c")).unwrap().len(), 1);
    assert_eq!(store.open(two.id().as_str()).unwrap().id(), two.id());
}

#[test]
fn damaged_and_foreign_files_are_in_the_list_and_marked() {
    let (_folder, store) = common::store();
    let file =
        |name: &str, lines: &[String]| put(&store, "--p--", &format!("2026-01-02T03-04-05-006Z_{name}.jsonl"), lines);
    let good = [user("e1", None), user("e2", Some("e1"))];
    let with = |name: &str, line: &str| vec![header(name, "/p"), good[0].clone(), line.to_owned(), good[1].clone()];
    file("good", &with("good", ""));
    file("garbage", &with("garbage", "garbage"));
    file("suspect", &with("suspect", &common::seal(&user("x", None), 0).replace("\"x\"", "\"y\"")));
    file("no-header", &good);
    file("empty", &[]);
    file("version4", &[r#"{"kind":"header","version":4,"id":"x"}"#.to_owned()]);
    fs::write(store.root().join("--p--/2026-01-02T03-04-05-006Z_zero.jsonl"), "").unwrap();
    fs::create_dir(store.root().join("--p--/folder.jsonl")).unwrap();
    fs::write(store.root().join("--p--/.draft.tmp"), header("draft", "/p")).unwrap();
    let list = store.list(&ListOptions::new()).unwrap();
    let mut marks: Vec<_> = list.iter().map(|session| (session.id.as_str(), session.damaged)).collect();
    marks.sort_unstable();
    let expected = [
        ("empty", true),
        ("garbage", true),
        ("good", false),
        ("no-header", true),
        ("suspect", true),
        ("version4", false),
        ("zero", true),
    ];
    assert_eq!(marks, expected);
    let foreign = list.iter().find(|session| session.id.as_str() == "version4").unwrap();
    assert!(foreign.format.as_deref().is_some_and(|format| format.contains('4')));
    assert_eq!(list.iter().filter(|session| session.format.is_some()).count(), 1);
    store.open("good").unwrap();
    assert_eq!(kind(store.open("version4")), ErrorKind::NotFound);
    assert_eq!(kind(store.delete("2026-01-02T03-04-05-006Z_zero.jsonl")), ErrorKind::NotFound);
    let zero = list.iter().find(|session| session.id.as_str() == "zero").unwrap();
    assert_eq!(kind(store.delete(zero.path.to_str().unwrap())), ErrorKind::NotASession);
    assert!(zero.path.exists(), "nothing is deleted for being unreadable");
}

#[test]
fn names_and_counts_of_long_files_are_unknown_rather_than_wrong() {
    let (_folder, store, session) = common::session();
    session.append(NewEntry::user("first")).unwrap();
    let filler = || (0..30).map(|_| NewEntry::assistant("x".repeat(10_000))).collect();
    session.append_batch(filler(), &AppendOptions::new()).unwrap();
    session.set_name("in the middle").unwrap();
    session.append_batch(filler(), &AppendOptions::new()).unwrap();
    let quick = store.list(&ListOptions::new()).unwrap().remove(0);
    assert_eq!((quick.name, quick.messages, quick.first_message.as_deref()), (None, None, Some("first")));
    let exact = store.list(&ListOptions::new().exact(true)).unwrap().remove(0);
    assert_eq!((exact.name.as_deref(), exact.messages), (Some("in the middle"), Some(61)));
    assert_eq!(exact.bytes, fs::metadata(session.path()).unwrap().len());
    assert_eq!(exact.modified, quick.modified);
    session.set_name("at the end").unwrap();
    let quick = store.list(&ListOptions::new()).unwrap().remove(0);
    assert_eq!((quick.name.as_deref(), quick.damaged), (Some("at the end"), false));
    let fork = store.fork(&session, &Fork::Whole, ForkOptions::new()).unwrap().session;
    let list = store.list(&ListOptions::new()).unwrap();
    let child = list.iter().find(|session| session.id == fork.id()).unwrap();
    assert_eq!(child.parent, Some(session.path().to_string_lossy().into_owned()));
}

#[test]
fn a_session_is_found_by_path_id_prefix_and_suffix_and_never_by_guessing() {
    let (_folder, store) = common::store();
    let create = |id: &str| store.create(CreateOptions::new("/p").id(SessionId::parse(id).unwrap())).unwrap();
    let (one, two) = (create("aaaa-1111"), create("aaaa-2222"));
    let exact = create("aaaa");
    for (name, session) in [
        ("aaaa-1111", &one),
        ("aaaa-1", &one),
        ("1111", &one),
        ("-2222", &two),
        ("aaaa-2", &two),
        ("aaaa", &exact),
        (one.path().to_str().unwrap(), &one),
    ] {
        assert_eq!(store.open(name).unwrap().id(), session.id(), "{name}");
    }
    for name in ["aaa", "a", "aaaa-"] {
        let error = store.open(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        assert!(error.to_string().contains("aaaa-1111") && error.to_string().contains("aaaa-2222"), "{error}");
    }
    for name in ["b", "1112", "111-", "nowhere/x.jsonl"] {
        assert_eq!(kind(store.open(name)), ErrorKind::NotFound, "{name}");
    }
    assert_eq!(kind(store.open("")), ErrorKind::Invalid);
    let taken = CreateOptions::new("/other").id(SessionId::parse("aaaa-1111").unwrap());
    assert_eq!(kind(store.create(taken)), ErrorKind::AlreadyExists);
    // The header has the last word on the id, whatever the file is called.
    let renamed = one.path().with_file_name("2026-01-01T00-00-00-000Z_zzzz.jsonl");
    fs::rename(one.path(), &renamed).unwrap();
    assert_eq!(store.find("aaaa-1111").unwrap(), renamed);
    assert_eq!(open(&renamed).id().as_str(), "aaaa-1111");
}

#[test]
fn deleting_moves_to_the_trash_and_restoring_brings_back_byte_for_byte() {
    let (folder, store, session) = common::session();
    let kept = store.create(CreateOptions::new("/project")).unwrap();
    session.append(next()).unwrap();
    let (path, bytes) = (session.path(), fs::read(session.path()).unwrap());
    let id = session.id();
    let trashed = store.delete(id.as_str()).unwrap();
    assert!(!path.exists() && fs::read(&trashed).unwrap() == bytes);
    assert!(trashed.extension().is_none_or(|extension| extension != "jsonl"), "{}", trashed.display());
    assert_eq!(names(&store.list(&ListOptions::new()).unwrap()), [kept.id().as_str()]);
    assert_eq!(kind(store.open(id.as_str())), ErrorKind::NotFound);
    assert_eq!(kind(session.append(next())), ErrorKind::Gone);
    assert_eq!(fs::read(&trashed).unwrap(), bytes);
    let deleted = store.deleted().unwrap();
    assert_eq!((deleted.len(), &deleted[0].id, &deleted[0].original), (1, &id.to_string(), &path));
    assert_eq!(store.restore(&id.as_str()[..30]).unwrap(), path);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert!(store.deleted().unwrap().is_empty());
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
    // Restoring never replaces what took the place.
    let trashed = store.delete(id.as_str()).unwrap();
    fs::write(&path, "another").unwrap();
    assert_eq!(kind(store.restore(trashed.to_str().unwrap())), ErrorKind::AlreadyExists);
    assert!(trashed.exists() && fs::read(&path).unwrap() == b"another");
    fs::remove_file(&path).unwrap();
    store.restore(trashed.to_str().unwrap()).unwrap();
    // Deleted twice it is in the trash twice.
    let copy = fs::read(&path).unwrap();
    store.delete(id.as_str()).unwrap();
    std::thread::sleep(Duration::from_millis(3));
    fs::write(&path, &copy).unwrap();
    store.delete(id.as_str()).unwrap();
    assert_eq!(store.deleted().unwrap().len(), 2);
    assert_eq!(kind(store.restore(id.as_str())), ErrorKind::Invalid);
    assert_eq!(kind(store.restore("unknown")), ErrorKind::NotFound);
    assert_eq!(kind(store.delete("unknown")), ErrorKind::NotFound);
    let removed = store.remove(kept.id().as_str()).unwrap();
    assert!(!removed.exists());
    assert_eq!(everything(folder.path()).len(), 2);
}

#[test]
fn a_store_that_is_not_there_is_empty_and_stays_so_until_a_session_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("not/there");
    let store = Store::new(&root).with_options(options());
    assert!(store.list(&ListOptions::new()).unwrap().is_empty());
    assert!(store.deleted().unwrap().is_empty());
    assert_eq!(kind(store.open("x")), ErrorKind::NotFound);
    assert_eq!(kind(store.latest(None)), ErrorKind::NotFound);
    assert!(!folder.path().join("not").exists());
    assert_eq!(kind(store.create(CreateOptions::new("/p").metadata("no JSON"))), ErrorKind::Invalid);
    assert!(!folder.path().join("not").exists());
    store.create(CreateOptions::new("/p")).unwrap();
    assert_eq!(everything(folder.path()).len(), 1);
    fs::write(root.join("file"), "").unwrap();
    let broken = Store::new(root.join("file")).with_options(options());
    broken.create(CreateOptions::new("/p")).unwrap_err();
    broken.list(&ListOptions::new()).unwrap_err();
}

#[test]
fn long_and_odd_folders_get_names_that_every_file_system_takes() {
    let (_folder, store) = common::store();
    let cwds =
        ["/".to_owned(), "/a b/ü:\\x".to_owned(), format!("/{}", "目录/".repeat(80)), format!("/{}", "x".repeat(300))];
    for cwd in cwds {
        let session = store.create(CreateOptions::new(&cwd)).unwrap();
        session.append(next()).unwrap();
        for part in session.path().components() {
            assert!(part.as_os_str().len() <= 143, "{part:?}");
        }
        let again = assert_reopens_alike(&session);
        assert_eq!(again.header().cwd, cwd.trim_end_matches('/').to_owned() + if cwd == "/" { "/" } else { "" });
        assert_eq!(store.list(&ListOptions::new().cwd(&again.header().cwd)).unwrap().len(), 1);
    }
    let session = store.create(CreateOptions::new("/p").id(SessionId::parse(&"s".repeat(100)).unwrap())).unwrap();
    assert!(session.path().file_name().unwrap().len() <= 143);
}

#[test]
fn metadata_is_kept_as_it_was_given() {
    let (_folder, store) = common::store();
    let metadata = r#"{"n":1e3,"n":123456789012345678901234567890,"s":"\ud99c"}"#;
    let session = store.create(CreateOptions::new("/p").metadata(metadata).parent("someone")).unwrap();
    let header = assert_reopens_alike(&session).header();
    assert_eq!((header.metadata.as_deref(), header.parent_session.as_deref()), (Some(metadata), Some("someone")));
    assert!(header.created().is_some());
    common::assert_chained(&session.path(), 1);
    let crafted = r#"{"a":1},"id":"other""#;
    assert_eq!(kind(store.create(CreateOptions::new("/p").metadata(crafted))), ErrorKind::Invalid);
}

#[test]
fn usage_and_names_in_odd_shapes_do_not_disturb_the_list() {
    let (_folder, store) = common::store();
    let lines = [
        header("odd", "/p"),
        entry("session_info", "n1", None, r#","name":"  two\n lines ""#).replace('\n', "\\n"),
        r#"{"type":"message","id":"m1","parentId":"n1","timestamp":"t","message":{"role":"user","content":[{"type":"image"}]}}"#.to_owned(),
        r#"{"type":"message","id":"m2","parentId":"m1","timestamp":"t","message":"text"}"#.to_owned(),
        r#"{"type":"message","id":"m3","parentId":"m2","timestamp":"t","message":{"role":"user","content":null,"timestamp":"x"}}"#.to_owned(),
        message("m4", Some("m3"), "user", "the first text"),
    ];
    put(&store, "--p--", "odd.jsonl", &lines);
    let list = store.list(&ListOptions::new()).unwrap();
    assert_eq!(list[0].name.as_deref(), Some("two  lines"));
    assert_eq!((list[0].first_message.as_deref(), list[0].messages), (Some("the first text"), Some(4)));
    assert!(!list[0].damaged);
}
