//! Every backend passes the suite, each case on data of its own.

use std::sync::Arc;

use leaflog::conformance::{CASES, Factory};
use leaflog::journal::{Backend, Memory, Sqlite};

/// Runs every case and says all that fail, not only the first.
fn run_on(factory: impl Fn() -> Box<Factory<'static>>) {
    let failed = |(name, case): &(&'static str, fn(&Factory<'_>))| {
        let factory = factory();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&*factory)));
        outcome.err().map(|_| *name)
    };
    let failures: Vec<_> = CASES.iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Files, by way of a store: their backend is not public.
#[test]
fn files_pass() {
    run_on(|| {
        let folder = tempfile::tempdir().unwrap();
        Box::new(move || leaflog::Store::new(folder.path()).backend())
    });
}

#[test]
fn memory_passes() {
    run_on(|| {
        let memory = Memory::new();
        Box::new(move || Arc::new(memory.clone()) as Arc<dyn Backend>)
    });
}

#[test]
fn sqlite_passes() {
    run_on(|| {
        let folder = tempfile::tempdir().unwrap();
        Box::new(move || Arc::new(Sqlite::new(folder.path().join("sessions.db")).unwrap()) as Arc<dyn Backend>)
    });
}

/// All cases on one database, one after the other.
#[test]
fn the_cases_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    leaflog::conformance::run(&|| Arc::new(Sqlite::new(folder.path().join("sessions.db")).unwrap()));
}
