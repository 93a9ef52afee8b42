//! Sessions in memory: for tests, and for agents whose sessions need not outlive them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::backend::{already_exists, not_found};
use super::{
    APPEND_BYTES_MAX, Backend, Batch, Contents, Deleted, End, Journal, Listed, NewJournal, OpenOptions, Outcome, Sink,
    Stored, Turn,
};
use crate::error::{Error, ErrorKind, Result};

/// Tells the incarnations of logs apart.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// What the paths of sessions in memory begin with.
const SCHEME: &str = "memory:";

/// A backend that keeps sessions in memory. Clones share them.
///
/// It is stricter than files, so that tests on it find more: there is no lock to hide behind, so an append really can
/// find that the end has moved; and what was not synced is lost in a [`Memory::crash`].
#[derive(Clone, Default)]
pub struct Memory {
    logs: Arc<Mutex<Logs>>,
}

#[derive(Default)]
struct Logs {
    live: BTreeMap<PathBuf, Arc<Log>>,
    deleted: BTreeMap<PathBuf, Arc<Log>>,
}

#[derive(Default)]
struct Log {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// How many of them survive a crash.
    durable: usize,
    generation: u64,
    gone: bool,
    cwd: String,
}

impl Memory {
    /// A backend without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal of these bytes that no backend lists.
    pub(crate) fn journal_of(bytes: Vec<u8>) -> Box<dyn Journal> {
        let state = State { durable: bytes.len(), bytes, generation: next_generation(), ..State::default() };
        let log = Mutex::new(Arc::new(Log { state: Mutex::new(state), moved: Condvar::new() }));
        Box::new(MemoryJournal { memory: Self::new(), path: PathBuf::from(SCHEME), log })
    }

    fn live(&self, path: &Path) -> Option<Arc<Log>> {
        self.logs.lock().live.get(path).cloned()
    }

    /// Cuts the power: whatever was stored but not synced is gone, for open handles too.
    pub fn crash(&self) {
        for log in self.logs.lock().live.values() {
            let mut state = log.state.lock();
            let durable = state.durable;
            if durable < state.bytes.len() {
                state.bytes.truncate(durable);
                state.generation = next_generation();
            }
            log.moved.notify_all();
        }
    }
}

fn next_generation() -> u64 {
    GENERATIONS.fetch_add(1, Ordering::Relaxed)
}

impl Backend for Memory {
    fn root(&self) -> PathBuf {
        PathBuf::from(SCHEME)
    }

    fn is_path(&self, name: &str) -> bool {
        name.starts_with(SCHEME)
    }

    fn sessions(&self) -> Result<Vec<Listed>> {
        let logs = self.logs.lock();
        let listed = |(path, log): (&PathBuf, &Arc<Log>)| {
            let state = log.state.lock();
            Listed::new(path, Some(id_of(path)), None, state.bytes.len() as u64).cwd(state.cwd.clone())
        };
        Ok(logs.live.iter().map(listed).collect())
    }

    fn open(&self, path: &Path, options: OpenOptions) -> Result<Box<dyn Journal>> {
        // Nobody is ever waited for.
        let _ = options.lock_wait;
        let log = self.live(path).ok_or_else(|| not_found(path))?;
        Ok(Box::new(MemoryJournal { memory: self.clone(), path: path.to_owned(), log: Mutex::new(log) }))
    }

    fn create(&self, journal: &NewJournal<'_>, write: &mut dyn FnMut(&mut Sink<'_>) -> Result<()>) -> Result<PathBuf> {
        let mut bytes = Vec::new();
        write(&mut |more| {
            bytes.extend_from_slice(more);
            Ok(())
        })?;
        let path = PathBuf::from(format!("{SCHEME}{}", journal.header.id));
        let (durable, cwd) = (bytes.len(), journal.cwd.to_owned());
        let state = State { durable, bytes, generation: next_generation(), gone: false, cwd };
        let log = Arc::new(Log { state: Mutex::new(state), moved: Condvar::new() });
        let mut logs = self.logs.lock();
        if logs.live.contains_key(&path) {
            return Err(already_exists(&path));
        }
        logs.live.insert(path.clone(), log);
        Ok(path)
    }

    fn relocate(&self, path: &Path, cwd: &str) -> Result<PathBuf> {
        let log = self.live(path).ok_or_else(|| not_found(path))?;
        cwd.clone_into(&mut log.state.lock().cwd);
        Ok(path.to_owned())
    }

    fn delete(&self, path: &Path) -> Result<PathBuf> {
        let mut logs = self.logs.lock();
        let log = take(&mut logs.live, path)?;
        log.go(true);
        let mut place = PathBuf::from(format!("{}~", path.display()));
        while logs.deleted.contains_key(&place) {
            place = PathBuf::from(format!("{}~", place.display()));
        }
        logs.deleted.insert(place.clone(), log);
        Ok(place)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        take(&mut self.logs.lock().live, path)?.go(true);
        Ok(())
    }

    fn deleted(&self) -> Result<Vec<Deleted>> {
        let logs = self.logs.lock();
        let deleted = |place: &PathBuf| {
            let original = original(place);
            Deleted::new(id_of(&original), place, original)
        };
        Ok(logs.deleted.keys().map(deleted).collect())
    }

    fn restore(&self, path: &Path) -> Result<PathBuf> {
        let original = original(path);
        let mut logs = self.logs.lock();
        if logs.deleted.contains_key(path) && logs.live.contains_key(&original) {
            return Err(already_exists(&original));
        }
        let log = take(&mut logs.deleted, path)?;
        log.go(false);
        logs.live.insert(original.clone(), log);
        Ok(original)
    }
}

fn take(logs: &mut BTreeMap<PathBuf, Arc<Log>>, path: &Path) -> Result<Arc<Log>> {
    logs.remove(path).ok_or_else(|| not_found(path))
}

/// Where a deleted session was.
fn original(place: &Path) -> PathBuf {
    PathBuf::from(place.to_string_lossy().trim_end_matches('~'))
}

fn id_of(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches(SCHEME).to_owned()
}

impl Log {
    fn go(&self, gone: bool) {
        self.state.lock().gone = gone;
        self.moved.notify_all();
    }
}

impl State {
    fn end(&self) -> End {
        End { position: self.bytes.len() as u64, generation: self.generation }
    }
}

impl Contents for Log {
    fn size(&self) -> Result<u64> {
        Ok(self.state.lock().bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize> {
        let state = self.state.lock();
        let from = usize::try_from(position).unwrap_or(usize::MAX).min(state.bytes.len());
        let count = buffer.len().min(state.bytes.len() - from);
        buffer[..count].copy_from_slice(&state.bytes[from..from + count]);
        Ok(count)
    }
}

struct MemoryJournal {
    memory: Memory,
    path: PathBuf,
    log: Mutex<Arc<Log>>,
}

impl MemoryJournal {
    /// The log that the path names now.
    fn current(&self) -> Result<Arc<Log>> {
        let mut log = self.log.lock();
        if log.state.lock().gone {
            *log = self.memory.live(&self.path).ok_or_else(|| self.gone("the session was deleted:"))?;
        }
        Ok(Arc::clone(&log))
    }

    fn gone(&self, message: &str) -> Error {
        Error::new(ErrorKind::Gone, message).at(&self.path)
    }

    fn sync_up_to(&self, end: Option<u64>, generation: u64) -> Result<()> {
        let log = self.current()?;
        let mut state = log.state.lock();
        if state.generation != generation {
            return Err(self.gone("the log was replaced while it was written:"));
        }
        let end = end.map_or(state.bytes.len(), |end| usize::try_from(end).unwrap_or(usize::MAX));
        state.durable = state.durable.max(end.min(state.bytes.len()));
        Ok(())
    }
}

impl Journal for MemoryJournal {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn end(&self) -> Result<End> {
        Ok(self.current()?.state.lock().end())
    }

    fn contents(&self) -> Arc<dyn Contents> {
        Arc::clone(&*self.log.lock()) as Arc<dyn Contents>
    }

    fn turn(&self, _durable: bool) -> Result<Box<dyn Turn + '_>> {
        Ok(Box::new(MemoryTurn { journal: self, log: self.current()? }))
    }

    fn sync(&self, stored: &Stored, _records: &[Vec<u8>]) -> Result<()> {
        self.sync_up_to(Some(stored.end), stored.generation)
    }

    fn sync_all(&self, generation: u64) -> Result<()> {
        self.sync_up_to(None, generation)
    }

    fn watch(&self, seen: End, wait: Duration) -> Result<End> {
        let deadline = Instant::now() + wait;
        let log = self.current()?;
        let mut state = log.state.lock();
        while !state.gone && state.end() == seen && !log.moved.wait_until(&mut state, deadline).timed_out() {}
        drop(state);
        self.end()
    }
}

/// No turn at all: whoever appends first goes on.
struct MemoryTurn<'a> {
    journal: &'a MemoryJournal,
    log: Arc<Log>,
}

impl Turn for MemoryTurn<'_> {
    fn end(&self) -> End {
        self.log.state.lock().end()
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<Outcome> {
        batch.check_size(APPEND_BYTES_MAX)?;
        let mut state = self.log.state.lock();
        if state.gone {
            return Err(self.journal.gone("the session was deleted:"));
        }
        let End { position: end, generation } = state.end();
        if end != batch.expected {
            return Ok(Outcome::Moved);
        }
        if state.bytes.last().is_some_and(|last| *last != b'\n') {
            state.bytes.push(b'\n');
        }
        let position = state.bytes.len() as u64;
        for record in batch.records {
            state.bytes.extend_from_slice(record);
            state.bytes.push(b'\n');
        }
        if let Some(cwd) = batch.cwd {
            cwd.clone_into(&mut state.cwd);
        }
        self.log.moved.notify_all();
        let end = state.bytes.len() as u64;
        Ok(Outcome::Stored(Stored { position, end, generation, interleaved: false, durable: false }))
    }
}
