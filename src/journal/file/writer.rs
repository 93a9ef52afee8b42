//! Writing logs: one `O_APPEND` write in a turn, and syncs outside of it (SPEC 1.5, 1.6).

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::lock::LogLock;
use super::log_file::{self, LogFile, Status};
use super::tail::{Aftermath, Tail};
use super::{FileJournal, file_system};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{APPEND_BYTES_MAX, Batch, Contents as _, End, Outcome, Stored, Turn};

/// The lock on a log, and where the log ended when it was taken.
pub(super) struct FileTurn<'a> {
    journal: &'a FileJournal,
    file: Arc<LogFile>,
    lock: LogLock,
    end: End,
}

impl<'a> FileTurn<'a> {
    /// Takes the lock on the file that the path names, and makes sure that it still names it then.
    pub(super) fn take(journal: &'a FileJournal) -> Result<Self> {
        Self::take_if(journal, &|status| status.hard_links <= 1)
    }

    /// As [`FileTurn::take`], with another view of which names a log may have.
    pub(super) fn take_if(journal: &'a FileJournal, may_be_written: &dyn Fn(&Status) -> bool) -> Result<Self> {
        let deadline = Instant::now() + journal.options.lock_wait;
        loop {
            let file = Arc::clone(&journal.opened.lock());
            let appending = file.appending(|file| check_file_system(journal, file));
            let Some(appending) = appending.map_err(|error| super::gone_or(error, &journal.path))? else {
                journal.current()?;
                continue;
            };
            let lock = LogLock::acquire(appending, file.identity(), deadline, &journal.path)?;
            // ORDER: looked at after the lock, so that a swap that held the lock before us is seen.
            let status = log_file::status(&journal.path).map_err(|error| super::gone_or(error, &journal.path))?;
            if status.identity != file.identity() {
                drop(lock);
                journal.current()?;
                continue;
            }
            if !may_be_written(&status) {
                let message = "the log has several hard links and is read-only; copy it to a file of its own";
                return Err(Error::new(ErrorKind::Denied, message).at(&journal.path));
            }
            let end = End { position: status.size, generation: file.generation() };
            return Ok(Self { journal, file, lock, end });
        }
    }

    /// The file that is locked.
    pub(super) fn log_file(&self) -> &LogFile {
        &self.file
    }

    fn opening(&self, end: u64) -> Result<&'static [u8]> {
        let mut last = [0];
        let tail = match end.checked_sub(1) {
            Some(at) if self.file.read_at(&mut last, at)? == 1 => Tail::of(Some(last[0])),
            _ => Tail::of(None),
        };
        Ok(tail.opening())
    }

    /// Writes `bytes` once, all or (as far as can be) nothing; returns where they start.
    fn write(&self, bytes: &[u8], expected: u64) -> Result<u64> {
        let failed = |error| self.file.error("cannot append to", error);
        let (written, cause) = match log_file::write_once(self.lock.file(), bytes) {
            Ok(count) if count == bytes.len() => {
                let size = self.journal.check_in_place(&self.file)?;
                // Only if others wrote too is it asked where the descriptor stands.
                let end = expected + count as u64;
                let end = if size == end { end } else { log_file::position(self.lock.file()).map_err(failed)? };
                return Ok(end - count as u64);
            }
            Ok(count) => (count, io::Error::new(io::ErrorKind::StorageFull, "the record did not fit")),
            Err(error) => (0, error),
        };
        let end = log_file::position(self.lock.file()).map_err(failed)?;
        self.clean_up(end - written as u64, written as u64);
        Err(failed(cause))
    }

    /// Undoes what a failed write left. Its own failure changes nothing for readers: they skip a torn line.
    fn clean_up(&self, start: u64, written: u64) {
        let file = self.lock.file();
        let size = file.metadata().map_or(u64::MAX, |metadata| metadata.len());
        let cut = match Aftermath::of(start, written, size) {
            Aftermath::Nothing => true,
            Aftermath::CutBackTo(size) => file.set_len(size).is_ok(),
            Aftermath::Close => false,
        };
        if !cut {
            // Best effort; if the disk has no room for a byte, the next append closes the line.
            let _ = log_file::write_once(file, b"\n");
        }
    }
}

impl Turn for FileTurn<'_> {
    fn end(&self) -> End {
        self.end
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<Outcome> {
        batch.check_size(APPEND_BYTES_MAX)?;
        let Batch { expected, records, .. } = *batch;
        // Who has read further than the end at the time of the lock has seen what another program wrote since.
        if expected < self.end.position {
            return Ok(Outcome::Moved);
        }
        let bytes = lines(self.opening(expected)?, records);
        let start = self.write(&bytes, expected)?;
        self.end.position = start + bytes.len() as u64;
        let opening = bytes.len() as u64 - batch.bytes();
        let stored = self.stored(start + opening, start != expected);
        if stored.interleaved && opening == 0 && !self.opening(start)?.is_empty() {
            return self.write_unfused(records, expected);
        }
        Ok(Outcome::Stored(stored))
    }
}

impl FileTurn<'_> {
    /// A foreign writer has left an unfinished line just before our records. The same records again, on lines of
    /// their own, change nothing for us and make them readable for everybody.
    fn write_unfused(&mut self, records: &[Vec<u8>], expected: u64) -> Result<Outcome> {
        let bytes = lines(b"\n", records);
        let start = self.write(&bytes, expected)?;
        self.end.position = start + bytes.len() as u64;
        Ok(Outcome::Stored(self.stored(start + 1, true)))
    }

    fn stored(&self, position: u64, interleaved: bool) -> Stored {
        // No sync runs within the turn (SPEC 1.6).
        Stored { position, end: self.end.position, generation: self.end.generation, interleaved, durable: false }
    }
}

/// The records as they are written: each with its line feed, behind `opening`.
fn lines(opening: &[u8], records: &[Vec<u8>]) -> Vec<u8> {
    let length: usize = records.iter().map(|record| record.len() + 1).sum();
    let mut bytes = Vec::with_capacity(opening.len() + length);
    bytes.extend_from_slice(opening);
    for record in records {
        bytes.extend_from_slice(record);
        bytes.push(b'\n');
    }
    bytes
}

fn check_file_system(journal: &FileJournal, file: &File) -> Result<()> {
    if journal.options.allow_shared_file_system {
        return Ok(());
    }
    match file_system::shared_file_system(file) {
        Some(name) => Err(file_system::not_safe(name).at(&journal.path)),
        None => Ok(()),
    }
}

/// Syncs, and if that fails makes it good or says that the outcome is unknown.
pub(super) fn sync(journal: &FileJournal, stored: &Stored, records: &[Vec<u8>]) -> Result<()> {
    let file = current(journal, stored.generation)?;
    let mut syncs = journal.syncs.lock();
    if syncs.undecided {
        return Err(undecided(&journal.path));
    }
    let synced = if stored.position < syncs.failed_up_to { Ok(false) } else { file.sync().map(|()| true) };
    if !matches!(synced, Ok(true)) {
        // A later successful sync would prove nothing: the kernel drops the error with the page (SPEC 1.6).
        if synced.is_err() {
            syncs.failed_up_to = syncs.failed_up_to.max(file.status()?.size);
        }
        if let Err(error) = file.write_again(&lines(b"", records), stored.position) {
            syncs.undecided = true;
            return Err(undecided(&journal.path).with_source(synced.err().unwrap_or(error)));
        }
    }
    drop(syncs);
    journal.check_in_place(&file).map(|_| ())
}

/// Syncs what was appended so far. What a failed sync may have lost cannot be made good here.
pub(super) fn sync_all(journal: &FileJournal, generation: u64) -> Result<()> {
    let file = current(journal, generation)?;
    let mut syncs = journal.syncs.lock();
    if syncs.undecided || syncs.failed_up_to > 0 {
        return Err(undecided(&journal.path));
    }
    if let Err(error) = file.sync() {
        syncs.undecided = true;
        return Err(undecided(&journal.path).with_source(error));
    }
    drop(syncs);
    journal.check_in_place(&file).map(|_| ())
}

/// The open log, if it is still the one that was appended to.
fn current(journal: &FileJournal, generation: u64) -> Result<Arc<LogFile>> {
    let file = Arc::clone(&journal.opened.lock());
    if file.generation() == generation { Ok(file) } else { Err(super::replaced(&journal.path)) }
}

pub(super) fn undecided(path: &Path) -> Error {
    let message = "a sync failed, so nobody knows what is on the disk; check the disk, reopen, retry with the same id";
    Error::new(ErrorKind::Undecided, message).at(path)
}
