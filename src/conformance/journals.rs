//! Cases on journals alone.

use std::thread;
use std::time::{Duration, Instant};

use super::Factory;
use super::support::{append, bytes, create, header, journal, lines, open};
use crate::error::{Error, ErrorKind};
use crate::journal::{Batch, NewJournal, OpenOptions, Outcome};

/// What is long enough not to be met by chance, and short enough to wait for.
const WATCH_WAIT: Duration = Duration::from_secs(20);

pub(super) fn records_come_back_in_order_and_byte_for_byte(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let records: Vec<Vec<u8>> = vec![
        b"{}".to_vec(),
        b"{\"text\":\"\xE6\x96\xB9\xE6\xA1\x88 \\u0000 \\ud800\"}\r".to_vec(),
        Vec::new(),
        b"\xEF\xBB\xBF not JSON, \xFF\xFE\x00 not UTF-8".to_vec(),
        vec![0; 100],
        b"   1e3   ".to_vec(),
    ];
    let stored = append(&*journal, &records, false).expect("records can be stored");
    assert!(!stored.interleaved, "nobody else wrote");
    assert_eq!(stored.position, 6, "the first record starts behind what was there");
    let mut position = 6;
    let mut expected = vec![(0, b"first".to_vec())];
    for record in records {
        let length = record.len() as u64;
        expected.push((position, record));
        position += length + 1;
    }
    assert_eq!(stored.end, position, "a record of n bytes at p ends at p + n + 1");
    for journal in [&journal, &open(factory, &path)] {
        assert_eq!(lines(&**journal), expected);
        assert_eq!(journal.end().expect("it is there").position, position);
        assert_eq!(journal.path(), path);
    }
}

pub(super) fn any_piece_of_a_log_can_be_read(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let records: Vec<_> = (0..50_usize).map(|number| vec![b'a' + u8::try_from(number % 26).unwrap(); number]).collect();
    append(&*journal, &records, false).expect("records can be stored");
    let whole = bytes(&*journal);
    let contents = open(factory, &path).contents();
    for from in 0..whole.len() + 2 {
        for length in [0, 1, 7, 200, whole.len() + 10] {
            let mut buffer = vec![0; length];
            let count = contents.read_at(&mut buffer, from as u64).expect("it can be read");
            let rest = whole.get(from..).unwrap_or_default();
            assert_eq!(buffer[..count], rest[..length.min(rest.len())], "{length} bytes from {from}");
        }
    }
}

pub(super) fn an_append_that_expects_an_older_end_stores_nothing(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let old = journal.end().expect("it is there").position;
    let other = open(factory, &path);
    append(&*other, &[b"theirs".to_vec()], false).expect("another handle can append");
    let mut turn = journal.turn(false).expect("it is free");
    let outcome = turn.append(&Batch::new(old, &[b"ours".to_vec()])).expect("it is decided");
    assert_eq!(outcome, Outcome::Moved, "the end was not where it was expected");
    let end = turn.end().position;
    let outcome = turn.append(&Batch::new(end, &[b"ours".to_vec()])).expect("it is decided");
    assert!(matches!(outcome, Outcome::Stored(_)), "the turn goes on with the end that it tells");
    drop(turn);
    assert_eq!(bytes(&*journal), b"first\ntheirs\nours\n");
}

pub(super) fn four_writers_each_keep_their_order_and_lose_nothing(factory: &Factory<'_>) {
    const WRITERS: usize = 4;
    const APPENDS: usize = 100;
    let (_, path, journal) = journal(factory);
    let name = |writer: usize, number: usize| format!("writer {writer} record {number}").into_bytes();
    let stored = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let path = &path;
                scope.spawn(move || {
                    let journal = open(factory, path);
                    let batch = |number| vec![name(writer, number), format!("and {writer} {number}").into_bytes()];
                    let appends = (0..APPENDS).map(|number| append(&*journal, &batch(number), false));
                    appends.collect::<Result<Vec<_>, _>>().expect("every append is stored")
                })
            })
            .collect();
        let join = |writer: thread::ScopedJoinHandle<'_, _>| writer.join().expect("a writer does not panic");
        writers.into_iter().map(join).collect::<Vec<_>>()
    });
    let lines = lines(&*journal);
    assert_eq!(lines.len(), 1 + WRITERS * APPENDS * 2, "every record is there once");
    for (writer, stored) in stored.iter().enumerate() {
        for (number, stored) in stored.iter().enumerate() {
            let at =
                lines.iter().position(|(position, _)| *position == stored.position).expect("it is where it was said");
            assert_eq!(lines[at].1, name(writer, number));
            assert_eq!(lines[at + 1].1, format!("and {writer} {number}").into_bytes(), "a batch stays together");
        }
        assert!(stored.is_sorted_by_key(|stored| stored.position), "a writer's order is kept");
    }
}

pub(super) fn a_new_journal_is_there_whole_or_not_at_all(factory: &Factory<'_>) {
    let backend = factory();
    let header = header();
    let failed = backend.create(&NewJournal::new(&header, None), &mut |sink| {
        sink(b"some\nof it")?;
        Err(Error::new(ErrorKind::Io, "the source broke"))
    });
    assert_eq!(failed.expect_err("the error is passed on").kind(), ErrorKind::Io);
    assert!(!is_listed(factory, header.id.as_str()), "nothing is left of it");
    let path = create(&*backend, &header, b"whole\n").expect("the id is still free");
    let again = create(&*factory(), &header, b"other\n").expect_err("the id is taken");
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    assert_eq!(bytes(&*open(factory, &path)), b"whole\n");
}

pub(super) fn an_open_line_is_closed_first(factory: &Factory<'_>) {
    let torn = b"whole\n{\"torn\":";
    let path = create(&*factory(), &header(), torn).expect("a journal can be made");
    let journal = open(factory, &path);
    assert_eq!(bytes(&*journal), torn);
    let stored = append(&*journal, &[b"next".to_vec()], false).expect("it can be appended to");
    assert_eq!(bytes(&*open(factory, &path)), b"whole\n{\"torn\":\nnext\n");
    assert_eq!(stored.position, torn.len() as u64 + 1);
}

pub(super) fn a_record_of_16_mb_is_stored_and_read(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let large: Vec<u8> = (0..16_u32 << 20).map(|number| b'a' + u8::try_from(number * 7 % 23).unwrap()).collect();
    let records = [b"before".to_vec(), large.clone(), b"behind".to_vec()];
    append(&*journal, &records, true).expect("large records can be stored");
    let lines = lines(&*open(factory, &path));
    assert_eq!(lines.len(), 4);
    assert!(lines[2].1 == large, "the large record is as it was");
    assert_eq!(lines[3].1, b"behind");
}

pub(super) fn a_hundred_thousand_records_are_stored_and_read(factory: &Factory<'_>) {
    const RECORDS: u32 = 100_000;
    let (_, path, journal) = journal(factory);
    let name = |number: u32| format!("{{\"number\":{number}}}").into_bytes();
    for start in (0..RECORDS).step_by(1000) {
        let batch: Vec<_> = (start..start + 1000).map(name).collect();
        append(&*journal, &batch, false).expect("records can be stored");
    }
    let lines = lines(&*open(factory, &path));
    assert_eq!(lines.len(), RECORDS as usize + 1);
    for (line, number) in lines[1..].iter().zip(0..) {
        assert_eq!(line.1, name(number));
    }
}

pub(super) fn watching_ends_when_the_end_moves_or_in_time(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let seen = journal.end().expect("it is there");
    let nothing = journal.watch(seen, Duration::from_millis(30)).expect("it is there");
    assert_eq!(nothing, seen, "nothing moved");
    let started = Instant::now();
    let moved = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            append(&*open(factory, &path), &[b"news".to_vec()], false).expect("another handle can append");
        });
        journal.watch(seen, WATCH_WAIT).expect("it is there")
    });
    assert_eq!(moved.position, seen.position + 5);
    assert!(started.elapsed() < WATCH_WAIT, "it does not wait longer than it must");
    assert_eq!(journal.watch(seen, WATCH_WAIT).expect("it is there"), moved, "what moved before is told at once");
}

pub(super) fn what_is_synced_is_acknowledged(factory: &Factory<'_>) {
    let (_, path, journal) = journal(factory);
    let stored = append(&*journal, &[b"durable".to_vec()], true).expect("it is durable");
    journal.sync_all(stored.generation).expect("all is durable");
    let gone = journal.sync_all(stored.generation.wrapping_add(1)).expect_err("that is another incarnation");
    assert_eq!(gone.kind(), ErrorKind::Gone);
    assert_eq!(bytes(&*open(factory, &path)), b"first\ndurable\n");
}

pub(super) fn a_deleted_journal_is_gone_and_comes_back(factory: &Factory<'_>) {
    let (backend, path, journal) = journal(factory);
    append(&*journal, &[b"kept".to_vec()], true).expect("it can be appended to");
    let id = id_of(factory, &path);
    let place = backend.delete(&path).expect("it can be deleted");
    assert!(!is_listed(factory, &id));
    assert_eq!(
        factory().open(&path, OpenOptions::default()).err().map(|error| error.kind()),
        Some(ErrorKind::NotFound)
    );
    assert_eq!(journal.end().expect_err("it is gone").kind(), ErrorKind::Gone);
    let late = append(&*journal, &[b"late".to_vec()], true).expect_err("it is gone");
    assert_eq!(late.kind(), ErrorKind::Gone);
    assert_eq!(backend.delete(&path).expect_err("it is gone").kind(), ErrorKind::NotFound);

    let deleted = factory().deleted().expect("the deleted can be listed");
    let found = deleted.iter().find(|session| session.path == place).expect("it is among them");
    assert_eq!((found.id.as_str(), &found.original), (id.as_str(), &path));
    assert_eq!(backend.restore(&place).expect("it can be restored"), path);
    assert_eq!(bytes(&*open(factory, &path)), b"first\nkept\n");
    assert_eq!(backend.restore(&place).expect_err("it is back").kind(), ErrorKind::NotFound);

    backend.remove(&path).expect("it can be removed");
    assert!(!is_listed(factory, &id));
    assert!(!factory().deleted().expect("the deleted can be listed").iter().any(|session| session.id == id));
}

pub(super) fn a_journal_made_anew_is_another_incarnation(factory: &Factory<'_>) {
    let backend = factory();
    let header = header();
    let path = create(&*backend, &header, b"old\n").expect("a journal can be made");
    let journal = open(factory, &path);
    let old = journal.end().expect("it is there");
    let place = backend.delete(&path).expect("it can be deleted");
    let again = create(&*backend, &header, b"new\n").expect("its id is free");
    assert_eq!(again, path);
    let new = journal.end().expect("there is one again");
    assert_ne!(new.generation, old.generation, "what was read before is void");
    assert_eq!(bytes(&*journal), b"new\n");
    let taken = backend.restore(&place).expect_err("another one is in its place");
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    assert_eq!(bytes(&*open(factory, &path)), b"new\n");
}

pub(super) fn sessions_are_listed_and_opened_by_their_paths(factory: &Factory<'_>) {
    let backend = factory();
    let headers = [header(), header(), header()];
    for (header, bytes) in headers.iter().zip([&b"a\n"[..], b"bb\n", b"ccc\n"]) {
        create(&*backend, header, bytes).expect("a journal can be made");
    }
    let listed = factory().sessions().expect("the sessions can be listed");
    for (header, size) in headers.iter().zip(2..) {
        let found: Vec<_> = listed.iter().filter(|session| session.id.as_deref() == Some(header.id.as_str())).collect();
        assert_eq!(found.len(), 1, "each is there once");
        assert_eq!(found[0].bytes, size);
        assert_eq!(bytes(&*open(factory, &found[0].path)).len() as u64, size);
        let name = found[0].path.to_str().expect("a path that is text");
        assert!(backend.is_path(name), "{name} is known for a path");
    }
    assert!(!backend.is_path(headers[0].id.as_str()), "an id is no path");
    let missing = headers[0].id.as_str().replace(|_| true, "0");
    let path = listed[0].path.to_str().expect("text").replace(listed[0].id.as_deref().expect("an id"), &missing);
    let error = backend.open(path.as_ref(), OpenOptions::default()).err().map(|error| error.kind());
    assert_eq!(error, Some(ErrorKind::NotFound));
}

fn is_listed(factory: &Factory<'_>, id: &str) -> bool {
    let listed = factory().sessions().expect("the sessions can be listed");
    listed.iter().any(|session| session.id.as_deref() == Some(id))
}

fn id_of(factory: &Factory<'_>, path: &std::path::Path) -> String {
    let listed = factory().sessions().expect("the sessions can be listed");
    let found = listed.into_iter().find(|session| session.path == path).expect("it is listed");
    found.id.expect("it has an id")
}
