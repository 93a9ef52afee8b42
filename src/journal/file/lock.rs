//! The writer's lock: a fair mutex within the process, then `flock` on the log itself (SPEC 7.1).
//!
//! The kernel frees the lock with the process that held it, so nothing is ever judged by age or pid. It is held for
//! one append, never while a caller thinks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::lock_api::ArcMutexGuard;
use parking_lot::{FairMutex, Mutex, RawFairMutex};

use super::log_file::Identity;
use crate::error::{Error, ErrorKind, Result};

/// The longest pause between two attempts (SPEC 7.1).
const BACK_OFF_MAX: Duration = Duration::from_millis(1);

/// The mutex of each log that this process has a handle on, whatever path it was opened by.
static QUEUES: Mutex<BTreeMap<Identity, Weak<FairMutex<()>>>> = Mutex::new(BTreeMap::new());

/// How many entries of [`QUEUES`] may be dead before they are swept.
const DEAD_QUEUES_MAX: usize = 64;

fn queue(identity: Identity) -> Arc<FairMutex<()>> {
    let mut queues = QUEUES.lock();
    if let Some(queue) = queues.get(&identity).and_then(Weak::upgrade) {
        return queue;
    }
    if queues.len() > DEAD_QUEUES_MAX {
        queues.retain(|_, queue| queue.strong_count() > 0);
    }
    let queue = Arc::new(FairMutex::new(()));
    queues.insert(identity, Arc::downgrade(&queue));
    queue
}

/// The held lock.
pub(super) struct LogLock {
    file: Arc<File>,
    // Dropped after `file` is unlocked, so the next thread of this process does not find the kernel's lock taken.
    _queue: ArcMutexGuard<RawFairMutex, ()>,
}

impl LogLock {
    /// Waits until `deadline` for the lock on `file`.
    pub(super) fn acquire(file: Arc<File>, identity: Identity, deadline: Instant, path: &Path) -> Result<Self> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let queue = queue(identity).try_lock_arc_for(remaining).ok_or_else(|| timed_out(path))?;
        let mut pause = Duration::from_micros(20);
        loop {
            // By path, so that it is clear that fs2's flock runs, not the standard library's.
            match fs2::FileExt::try_lock_exclusive(&*file) {
                Ok(()) => return Ok(Self { file, _queue: queue }),
                Err(error) if is_contended(&error) => {}
                Err(error) => return Err(Error::io("cannot lock", path, error)),
            }
            if Instant::now() >= deadline {
                return Err(timed_out(path));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(BACK_OFF_MAX);
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for LogLock {
    fn drop(&mut self) {
        // An unlock can only fail if the descriptor is bad; the kernel then has nothing locked either.
        let _ = fs2::FileExt::unlock(&*self.file);
    }
}

fn is_contended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted || error.raw_os_error() == fs2::lock_contended_error().raw_os_error()
}

fn timed_out(path: &Path) -> Error {
    Error::new(ErrorKind::Locked, "another writer holds the lock; try again").at(path)
}
