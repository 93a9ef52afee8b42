//! Each measure beside its floor, in turn and in one run: the median ratio and its spread.
//!
//! `cargo bench --bench ratios`. Machines are noisy and differ, so only the ratios mean anything.

use std::time::{Duration, Instant};

use leaflog::{AppendOptions, ContextOptions, Durability, Session};

#[path = "workload.rs"]
mod workload;
use workload::{BATCH, OPEN_ENTRIES, RawLog, entry, long_session, read, scan, session};

const ROUNDS: usize = 15;

/// Runs `measure` and `floor` in turn and prints the times of one of `count` and the ratio.
fn compare(name: &str, count: usize, mut measure: impl FnMut(), mut floor: impl FnMut()) {
    let mut times = Vec::new();
    measure();
    floor();
    for _ in 0..ROUNDS {
        let (ours, theirs) = (time(&mut measure), time(&mut floor));
        times.push((ours.as_secs_f64() / theirs.as_secs_f64(), ours, theirs));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, ours, theirs) = times[ROUNDS / 2];
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let each = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
    println!(
        "| {name} | {:.0} ns | {:.0} ns | {ratio:.2} | {:.2} to {:.2} |",
        each(ours),
        each(theirs),
        times[0].0,
        times[ROUNDS - 1].0
    );
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("| measure | leaflog, each | floor, each | median ratio | spread of {ROUNDS} |");
    println!("|---|---|---|---|---|");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut raw = RawLog::new(folder.path());
    let append = |session: &Session, count: usize| {
        for _ in 0..count {
            session.append(entry(1)).expect("appended");
        }
    };
    let os = session(folder.path(), Durability::Os);
    compare("append `Os` / lock, stat, write", 2_000, || append(&os, 2_000), || (0..2_000).for_each(|_| raw.append()));
    let batched = session(folder.path(), Durability::Os);
    let batch = || {
        for _ in 0..20 {
            batched.append_batch((0..BATCH).map(entry).collect(), &AppendOptions::new()).expect("appended");
        }
    };
    compare("entry in a batch of 100, `Os` / lock, stat, write", 2_000, batch, || {
        (0..2_000).for_each(|_| raw.append());
    });
    let disk = session(folder.path(), Durability::Disk);
    compare(
        "append `Disk` / write, fdatasync",
        200,
        || append(&disk, 200),
        || {
            (0..200).for_each(|_| raw.append_durably());
        },
    );
    let path = long_session(folder.path());
    let open = || drop(Session::open(&path).expect("opened"));
    compare("open 100,000 entries / newline scan, CRC", OPEN_ENTRIES, open, || {
        assert_eq!(scan(&path), OPEN_ENTRIES + 1);
    });
    let opened = Session::open(&path).expect("opened");
    compare(
        "context of 100,000 messages / reading the bytes",
        OPEN_ENTRIES,
        || {
            assert_eq!(opened.context(&ContextOptions::new()).expect("a context").messages.len(), OPEN_ENTRIES);
        },
        || assert!(read(&path) > 0),
    );
    compare(
        "path ids, depth 100,000 / an array of numbers",
        OPEN_ENTRIES,
        || {
            assert_eq!(opened.path_ids(None).expect("a path").len(), OPEN_ENTRIES);
        },
        || assert_eq!(std::hint::black_box((0..OPEN_ENTRIES).rev().collect::<Vec<_>>()).len(), OPEN_ENTRIES),
    );
}
