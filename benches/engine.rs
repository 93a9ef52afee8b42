//! Criterion benchmarks: append, open, path, context, each beside its floor.
//!
//! `cargo bench --bench engine`. These machines differ; `ratios` measures pairs in turn and is what documents quote.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leaflog::{AppendOptions, ContextOptions, Durability, Session};

#[path = "workload.rs"]
mod workload;
use workload::{BATCH, OPEN_ENTRIES, RawLog, entry, long_session, scan, session};

fn append(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut raw = RawLog::new(folder.path());
    let mut group = criterion.benchmark_group("append");
    group.throughput(Throughput::Elements(1));
    group.bench_function("floor: lock, stat, write", |bencher| bencher.iter(|| raw.append()));
    let os = session(folder.path(), Durability::Os);
    group.bench_function("os", |bencher| bencher.iter(|| os.append(entry(1)).expect("appended")));
    group.bench_function("floor: write, fdatasync", |bencher| bencher.iter(|| raw.append_durably()));
    let disk = session(folder.path(), Durability::Disk);
    group.bench_function("disk", |bencher| bencher.iter(|| disk.append(entry(1)).expect("appended")));
    group.throughput(Throughput::Elements(BATCH as u64));
    let batched = session(folder.path(), Durability::Os);
    group.bench_function("batch of 100", |bencher| {
        bencher
            .iter(|| batched.append_batch((0..BATCH).map(entry).collect(), &AppendOptions::new()).expect("appended"));
    });
    group.finish();
}

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = long_session(folder.path());
    let bytes = std::fs::metadata(&path).expect("the log is there").len();
    let mut group = criterion.benchmark_group("open 100,000 entries");
    group.sample_size(20).throughput(Throughput::Bytes(bytes));
    group.bench_function("floor: newline scan, CRC", |bencher| {
        bencher.iter(|| assert_eq!(scan(&path), OPEN_ENTRIES + 1));
    });
    group.bench_function("open", |bencher| {
        bencher.iter(|| assert_eq!(Session::open(&path).expect("opened").entries().size_hint().0, 0));
    });
    group.finish();
    let session = Session::open(&path).expect("opened");
    let mut group = criterion.benchmark_group("read 100,000 entries");
    group.sample_size(20).throughput(Throughput::Elements(OPEN_ENTRIES as u64));
    group.bench_function("path ids", |bencher| {
        bencher.iter(|| assert_eq!(black_box(session.path_ids(None)).expect("a path").len(), OPEN_ENTRIES));
    });
    group.bench_function("floor: reading the bytes", |bencher| {
        bencher.iter(|| assert_eq!(workload::read(&path) as u64, bytes));
    });
    group.bench_function("context", |bencher| {
        bencher.iter(|| {
            assert_eq!(session.context(&ContextOptions::new()).expect("a context").messages.len(), OPEN_ENTRIES);
        });
    });
    group.finish();
}

criterion_group!(benches, append, read);
criterion_main!(benches);
