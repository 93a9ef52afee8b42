//! Several writers: processes, threads, programs that take no lock, and writers that are killed (SPEC 0.2, 1.5, 2.7, 7).

mod common;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{
    HEADER, Log, Random, argument, assert_reopens_alike, child, follow_chain, id, ids, kind, lines, open, options, user,
};
use leaflog::{
    AppendOptions, CreateOptions, DamageKind, ErrorKind, ListOptions, NewEntry, Receipt, Session, SessionOptions, Store,
};

fn next() -> NewEntry {
    NewEntry::user("next")
}

fn to_leaf() -> AppendOptions {
    AppendOptions::new().to_leaf()
}

/// The text of one writer's entry: its name, a number, and something behind it of a size that differs.
fn text(writer: &str, number: usize, random: &mut Random) -> String {
    let size = match random.below(100) {
        0..70 => random.below(200),
        70..96 => random.below(5_000),
        _ => random.below(200_000),
    };
    format!("{writer} {number} {}", "x".repeat(size))
}

/// Notes that an append was acknowledged, outside of the log.
fn acknowledge(file: &mut fs::File, receipt: &Receipt) {
    writeln!(file, "{} {} {}", receipt.id, receipt.end, receipt.crc).unwrap();
}

/// Whole lines only: the last one may have been cut off with its writer.
fn acknowledged(path: &Path) -> Vec<(String, u64, String)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| {
            let parts: Vec<_> = line.split(' ').collect();
            (parts[0].to_owned(), parts[1].parse().unwrap(), parts[2].to_owned())
        })
        .collect()
}

/// Appends `COUNT` entries and acknowledges each.
fn append_and_acknowledge() {
    let session = open(argument("PATH"));
    let (writer, count) = (argument("WRITER"), argument("COUNT").parse().unwrap());
    let mut acknowledgements = fs::OpenOptions::new().create(true).append(true).open(argument("ACKS")).unwrap();
    let mut random = Random::new(argument("SEED").parse().unwrap());
    for number in 0..count {
        let entry = NewEntry::user(text(&writer, number, &mut random));
        acknowledge(&mut acknowledgements, &session.append_with(entry, &to_leaf()).unwrap());
    }
}

fn start_writer(log: &Path, acks: &Path, writer: &str, count: usize, seed: usize) -> Child {
    let arguments: [(&str, &dyn std::fmt::Display); 5] =
        [("PATH", &log.display()), ("ACKS", &acks.display()), ("WRITER", &writer), ("COUNT", &count), ("SEED", &seed)];
    child("append", &arguments).spawn().unwrap()
}

/// Fails unless every acknowledged entry is in the log exactly once, where its receipt says.
#[track_caller]
fn assert_all_there(session: &Session, acknowledged: &[(String, u64, String)]) {
    let log = fs::read(session.path()).unwrap();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for id in ids(session) {
        *counts.entry(id).or_default() += 1;
    }
    for (id, end, crc) in acknowledged {
        assert_eq!(counts.get(id), Some(&1), "{id}");
        let end = usize::try_from(*end).unwrap();
        assert!(log[..end].ends_with(format!(r#","crc":"{crc}"}}{}"#, "\n").as_bytes()), "{id}");
        let stored = session.entry(&common::id(id)).unwrap();
        assert_eq!(usize::try_from(stored.position()).unwrap() + stored.as_bytes().len() + 1, end);
    }
}

/// Fails unless the entries of each writer are in order, from the first on without a hole.
#[track_caller]
fn assert_in_order(session: &Session) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in session.entries() {
        let text = entry.unwrap().text();
        let mut words = text.split(' ');
        let count = counts.entry(words.next().unwrap().to_owned()).or_default();
        assert_eq!(words.next().unwrap(), count.to_string());
        *count += 1;
    }
    counts
}

#[test]
fn a_child_plays_its_role() {
    match common::role().as_deref() {
        Some("append") => append_and_acknowledge(),
        Some("hold") => hold(),
        Some("create") => create(),
        Some("same") => {
            let session = open(argument("PATH"));
            let entry = NewEntry::user("same").with_id(id("same"));
            session.append_with(entry, &to_leaf()).unwrap();
        }
        Some("expect") => append_by_expectation(),
        _ => {}
    }
}

#[test]
fn eight_processes_append_to_one_session_and_nothing_is_lost_or_mixed() {
    const COUNT: usize = 300;
    let (folder, _, session) = common::session();
    let acks = |writer: usize| folder.path().join(format!("acks-{writer}"));
    let children: Vec<_> = (0..8)
        .map(|writer| start_writer(&session.path(), &acks(writer), &format!("w{writer}"), COUNT, writer))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    session.refresh().unwrap();
    assert_eq!((session.damage().1, session.reloads()), (0, 0));
    let counts = assert_in_order(&session);
    assert_eq!(counts.len(), 8);
    assert!(counts.values().all(|count| *count == COUNT), "{counts:?}");
    for writer in 0..8 {
        let acknowledged = acknowledged(&acks(writer));
        assert_eq!(acknowledged.len(), COUNT);
        assert_all_there(&session, &acknowledged);
    }
    let chained = follow_chain(&fs::read(session.path()).unwrap());
    assert_eq!((chained.sealed, chained.wrong, chained.broken), (8 * COUNT + 1, vec![], vec![]));
    assert_eq!(session.path_ids(None).unwrap().len(), 8 * COUNT, "one chain");
    session.append(next()).unwrap();
}

#[test]
fn writers_that_are_killed_at_any_time_lose_nothing_that_they_acknowledged() {
    let (folder, _, session) = common::session();
    let mut random = Random::new(5);
    let mut all = Vec::new();
    for round in 0..20 {
        let acks: Vec<PathBuf> = (0..2).map(|writer| folder.path().join(format!("acks-{round}-{writer}"))).collect();
        let name = |writer: usize| format!("r{round}w{writer}");
        let mut children: Vec<_> = acks
            .iter()
            .enumerate()
            .map(|(writer, acks)| start_writer(&session.path(), acks, &name(writer), 1_000_000, round))
            .collect();
        let deadline = Instant::now() + Duration::from_secs(20);
        while acks.iter().any(|acks| acknowledged(acks).is_empty()) {
            assert!(Instant::now() < deadline, "the writers did not start");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.next() % 15_000));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for (writer, acks) in acks.iter().enumerate() {
            let own = acknowledged(acks);
            all.extend(own.iter().cloned());
            // What is there of a writer is a prefix of what it wrote: at most one record more than it acknowledged.
            let again = open(session.path());
            let stored = again.entries().filter(|entry| entry.as_ref().unwrap().text().starts_with(&name(writer)));
            let stored = stored.count();
            assert!((own.len()..=own.len() + 1).contains(&stored), "{stored} stored, {} acknowledged", own.len());
        }
        let again = open(session.path());
        assert_all_there(&again, &all);
        let torn = again.damage().0;
        assert!(torn.iter().all(|damage| damage.kind == DamageKind::Torn), "{torn:?}");
        let started = Instant::now();
        again.append(NewEntry::user("after 0")).unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "the lock is free at once");
    }
    let chained = follow_chain(&fs::read(session.path()).unwrap());
    assert_eq!((chained.wrong, chained.broken), (vec![], vec![]));
    session.refresh().unwrap();
    assert_reopens_alike(&session);
}

/// Takes the lock as `docs/format.md` tells other programs to, says so, and keeps it.
fn hold() {
    let file = fs::OpenOptions::new().append(true).open(argument("PATH")).unwrap();
    fs2::FileExt::lock_exclusive(&file).unwrap();
    fs::write(argument("HELD"), "held").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_held_lock_is_waited_for_until_the_deadline_and_is_free_when_its_holder_dies() {
    let file = Log::with(common::chain(2));
    let held = file.path.with_extension("held");
    let mut holder = child("hold", &[("PATH", &file.path.display()), ("HELD", &held.display())]).spawn().unwrap();
    while !held.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = file.bytes();
    let session = Session::open_with(&file.path, options().lock_wait(Duration::from_millis(150))).unwrap();
    let attempts: [&dyn Fn() -> leaflog::Result<()>; 4] = [
        &|| session.append(next()).map(drop),
        &|| session.move_to(None).map(drop),
        &|| session.set_name("name").map(drop),
        &|| session.append(user_with_id("e1")).map(drop),
    ];
    for attempt in attempts {
        let started = Instant::now();
        assert_eq!(kind(attempt()), ErrorKind::Locked);
        let waited = started.elapsed();
        assert!((150..2_000).contains(&waited.as_millis()), "{waited:?}");
    }
    assert_eq!(file.bytes(), before);
    // Readers take no lock.
    assert_eq!(common::texts(&session), ["e1", "e2"]);
    session.refresh().unwrap();
    file.open();
    let waiting = Session::open_with(&file.path, options().lock_wait(Duration::from_secs(20))).unwrap();
    std::thread::scope(|scope| {
        let append = scope.spawn(|| waiting.append(next()).map(|_| Instant::now()));
        std::thread::sleep(Duration::from_millis(50));
        holder.kill().unwrap();
        holder.wait().unwrap();
        let freed = Instant::now();
        let appended = append.join().unwrap().unwrap();
        assert!(appended.saturating_duration_since(freed) < Duration::from_secs(3));
    });
    assert_reopens_alike(&waiting);
}

fn user_with_id(text: &str) -> NewEntry {
    NewEntry::user(text).with_id(id(text))
}

#[test]
fn a_lock_held_by_another_descriptor_of_this_process_counts_too() {
    let file = Log::with(common::chain(1));
    let holder = fs::File::open(&file.path).unwrap();
    fs2::FileExt::lock_exclusive(&holder).unwrap();
    let session = Session::open_with(&file.path, options().lock_wait(Duration::ZERO)).unwrap();
    assert_eq!(kind(session.append(next())), ErrorKind::Locked);
    fs2::FileExt::unlock(&holder).unwrap();
    session.append(next()).unwrap();
    // The lock is held for an append only.
    fs2::FileExt::try_lock_exclusive(&holder).unwrap();
    assert_eq!(kind(session.append(next())), ErrorKind::Locked);
    drop(holder);
    session.append(next()).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_refused_write_frees_the_lock() {
    let file = Log::with(common::chain(2));
    let holder = fs::File::open(&file.path).unwrap();
    let session = file.open();
    let refused: [&dyn Fn() -> leaflog::Result<()>; 5] = [
        &|| session.append_with(next(), &AppendOptions::new().under(Some(id("lost")))).map(drop),
        &|| session.append_with(next(), &AppendOptions::new().expecting(None)).map(drop),
        &|| session.append(NewEntry::user("other").with_id(id("e1"))).map(drop),
        &|| session.move_to(Some(&id("lost"))).map(drop),
        &|| session.compact(leaflog::Compaction::new("s").details("{broken")).map(drop),
    ];
    for refused in refused {
        refused().unwrap_err();
        fs2::FileExt::try_lock_exclusive(&holder).unwrap();
        fs2::FileExt::unlock(&holder).unwrap();
    }
}

#[test]
fn threads_share_one_handle_or_have_one_each() {
    const COUNT: usize = 200;
    for shared in [true, false] {
        let (_folder, _, session) = common::session();
        let receipts: Vec<Receipt> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|writer| {
                    let session = &session;
                    scope.spawn(move || {
                        let own = (!shared).then(|| open(session.path()));
                        let session = own.as_ref().unwrap_or(session);
                        let append = |number| {
                            let entry = NewEntry::user(format!("w{writer} {number}"));
                            session.append_with(entry, &to_leaf()).unwrap()
                        };
                        (0..COUNT).map(append).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        session.refresh().unwrap();
        let ends: HashSet<_> = receipts.iter().map(|receipt| receipt.end).collect();
        assert_eq!(ends.len(), 8 * COUNT);
        assert_eq!(assert_in_order(&session).len(), 8);
        let chained = follow_chain(&fs::read(session.path()).unwrap());
        assert_eq!((chained.sealed, chained.wrong, chained.broken), (8 * COUNT + 1, vec![], vec![]));
        assert_eq!(session.path_ids(None).unwrap().len(), 8 * COUNT);
        assert_reopens_alike(&session);
    }
}

#[test]
fn default_appends_of_threads_on_one_handle_never_conflict() {
    let (_folder, _, session) = common::session();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| drop(session.append(next()).unwrap())));
        }
    });
    assert_eq!(session.path_ids(None).unwrap().len(), 400);
    assert_reopens_alike(&session);
}

#[test]
fn eight_processes_that_append_the_same_id_at_once_store_it_once() {
    let (_folder, _, session) = common::session();
    let children: Vec<_> =
        (0..8).map(|_| child("same", &[("PATH", &session.path().display())]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(lines(session.path()).len(), 2);
    session.refresh().unwrap();
    assert_eq!(ids(&session), ["same"]);
}

/// Appends under the leaf that it expects; after a conflict it looks again.
fn append_by_expectation() {
    let session = open(argument("PATH"));
    let mut conflicts = 0;
    for _ in 0..50 {
        while let Err(error) = session.append(next()) {
            assert_eq!(error.kind(), ErrorKind::Conflict);
            assert!(error.actual_leaf().is_some());
            conflicts += 1;
        }
    }
    fs::write(argument("OUT"), format!("{conflicts}")).unwrap();
}

#[test]
fn processes_that_expect_a_leaf_build_one_chain_between_them() {
    let (folder, _, session) = common::session();
    let out = |number: usize| folder.path().join(format!("out-{number}"));
    let children: Vec<_> = (0..3)
        .map(|number| {
            let (path, out) = (session.path(), out(number));
            child("expect", &[("PATH", &path.display()), ("OUT", &out.display())]).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    session.refresh().unwrap();
    assert_eq!((session.path_ids(None).unwrap().len(), session.tips().unwrap().len()), (150, 1));
    assert_eq!((session.damage().1, session.gaps()), (0, vec![]));
}

fn create() {
    let store = Store::new(argument("ROOT")).with_options(options());
    for _ in 0..10 {
        store.create(CreateOptions::new("/project")).unwrap();
    }
}

#[test]
fn processes_that_create_sessions_at_once_get_one_file_each() {
    let (_folder, store) = common::store();
    let children: Vec<_> =
        (0..4).map(|_| child("create", &[("ROOT", &store.root().display())]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let sessions = store.list(&ListOptions::new()).unwrap();
    let ids: HashSet<_> = sessions.iter().map(|session| session.id.to_string()).collect();
    assert_eq!((sessions.len(), ids.len()), (40, 40));
    assert!(sessions.iter().all(|session| !session.damaged));
    let folder = sessions[0].path.parent().unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 40, "no temporary file stays");
}

// Programs that take no lock.

#[test]
fn whole_writes_of_a_program_without_locks_and_appends_lose_nothing_of_each_other() {
    let file = Log::with(common::chain(1));
    let foreign: Vec<String> = (0..12)
        .map(|number| common::message(&format!("f{number}"), Some("e1"), "assistant", &"pi".repeat(700_000)))
        .collect();
    let session = file.open();
    let (receipts, interleaved) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| foreign.iter().for_each(|line| file.push(line.clone() + "\n")));
        let mut receipts = Vec::new();
        while !writer.is_finished() {
            receipts.push(session.append_with(next(), &to_leaf()).unwrap());
        }
        let interleaved = receipts.iter().filter(|receipt| receipt.interleaved).count();
        (receipts, interleaved)
    });
    let again = open(&file.path);
    assert_eq!(again.damage(), (vec![], 0), "{interleaved} interleaved");
    let records = common::records(&again);
    assert!(foreign.iter().all(|line| records.iter().filter(|record| *record == line.as_bytes()).count() == 1));
    let stored = ids(&again);
    for receipt in &receipts {
        assert_eq!(stored.iter().filter(|id| **id == receipt.id.to_string()).count(), 1);
    }
    assert_eq!(stored.len(), 1 + foreign.len() + receipts.len());
    session.refresh().unwrap();
    assert_reopens_alike(&session);
}

/// A message of another program, in which every piece differs.
fn long_line(number: usize) -> String {
    let words: Vec<_> = (0..2_000).map(|at| format!("{number}.{at}")).collect();
    common::message(&format!("f{number}"), Some("e1"), "assistant", &words.join(" ")) + "\n"
}

#[test]
fn pieces_of_a_program_without_locks_are_kept_and_no_acknowledged_append_is_lost() {
    const PIECE: usize = 4_000;
    const COUNT: usize = 80;
    let file = Log::with(common::chain(1));
    let session = file.open();
    let finished = AtomicBool::new(false);
    let (foreign, receipts) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = Vec::new();
            while !finished.load(Ordering::Relaxed) {
                let line = long_line(written.len());
                for piece in line.as_bytes().chunks(PIECE) {
                    file.push(piece);
                    std::thread::sleep(Duration::from_micros(100));
                }
                written.push(line);
            }
            written
        });
        let mut receipts = Vec::new();
        while receipts.len() < COUNT && !writer.is_finished() {
            // The rest of a line that we split may be the last thing in the log: then we say where to go.
            let options =
                if session.doubt().is_some() { AppendOptions::new().under(session.leaf()) } else { to_leaf() };
            match session.append_with(next(), &options) {
                Ok(receipt) => receipts.push(receipt),
                Err(error) => assert_eq!(error.kind(), ErrorKind::LeafInDoubt),
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        finished.store(true, Ordering::Relaxed);
        (writer.join().unwrap(), receipts)
    });
    // SPEC 0.2: every byte of the other program is there, piece by piece, in order.
    let log = file.bytes();
    let mut from = 0;
    for piece in foreign.iter().flat_map(|line| line.as_bytes().chunks(PIECE)) {
        from += memchr::memmem::find(&log[from..], piece).expect("a piece is lost") + piece.len();
    }
    let again = open(&file.path);
    let stored = ids(&again);
    for receipt in &receipts {
        assert_eq!(stored.iter().filter(|id| **id == receipt.id.to_string()).count(), 1, "{receipt:?}");
        let entry = again.entry(&receipt.id).unwrap();
        assert!(!entry.is_suspect());
        // Fused with a piece, the same record was written again on a line of its own.
        let end = entry.position() + entry.as_bytes().len() as u64 + 1;
        assert!(end == receipt.end || receipt.interleaved, "{receipt:?}, first at {end}");
        let line = &log[..usize::try_from(receipt.end).unwrap()];
        assert!(line.ends_with(&[entry.as_bytes(), b"\n"].concat()), "{receipt:?}");
    }
    // A line of the other program is readable unless one of ours came between its pieces.
    let split = foreign.iter().filter(|line| memchr::memmem::find(&log, line.as_bytes()).is_none()).count();
    let readable = stored.iter().filter(|id| id.starts_with('f')).count();
    assert!(readable >= foreign.len() - split, "{readable} readable, {split} split");
    assert!(receipts.len() == COUNT && split > 0, "{} lines, {split} split", foreign.len());
    assert!(again.damage().1 >= split as u64);
    session.refresh().unwrap();
    assert_eq!(ids(&session), stored);
    let leaf = session.leaf();
    session.append_with(next(), &AppendOptions::new().under(leaf)).unwrap();
    assert_reopens_alike(&session);
}

#[test]
fn a_copy_of_a_log_that_is_being_written_is_a_valid_prefix_of_it() {
    let (folder, _, session) = common::session();
    let acks = folder.path().join("acks");
    let mut writer = start_writer(&session.path(), &acks, "w", 1_000_000, 9);
    let copy = Log::of("");
    let mut sizes = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while sizes.last().is_none_or(|size| *size < 200) {
        assert!(writer.try_wait().unwrap().is_none() && Instant::now() < deadline);
        let before = acknowledged(&acks);
        fs::copy(session.path(), &copy.path).unwrap();
        let copied = copy.open();
        assert_eq!((copied.damage().1, copied.gaps(), copied.doubt()), (0, vec![], None));
        assert_in_order(&copied);
        assert_all_there(&copied, &before);
        sizes.push(ids(&copied).len());
        copied.append(next()).unwrap();
        assert_reopens_alike(&copied);
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(sizes.is_sorted(), "{sizes:?}");
}

#[test]
fn a_reader_sees_every_entry_of_a_writer_once_and_in_order() {
    let (folder, _, session) = common::session();
    let mut writer = start_writer(&session.path(), &folder.path().join("acks"), "w", 300, 4);
    let mut seen = Vec::new();
    loop {
        let finished = writer.try_wait().unwrap().is_some();
        let refresh = session.refresh().unwrap();
        assert!(!refresh.reloaded);
        seen.extend(refresh.new_entries);
        if finished {
            break;
        }
    }
    assert_eq!(seen.len(), 300);
    assert_eq!(common::strings(seen), ids(&session));
    assert_in_order(&session);
    assert_eq!(session.reloads(), 0);
}

#[test]
fn a_handle_of_a_user_who_may_not_write_reads_and_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = Log::with(common::chain(2));
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o400)).unwrap();
    let session = file.open();
    assert_eq!(ids(&session), ["e1", "e2"]);
    // The superuser may write whatever the mode says.
    if fs::OpenOptions::new().append(true).open(&file.path).is_err() {
        assert_eq!(kind(session.append(next())), ErrorKind::Denied);
    }
    assert_eq!(lines(&file.path)[0], HEADER.as_bytes());
    let defaults = SessionOptions::new();
    assert_eq!(ids(&Session::open_with(&file.path, defaults).unwrap()).len(), 2);
    assert_eq!(user("e1", None).as_bytes(), common::records(&session)[0]);
}
