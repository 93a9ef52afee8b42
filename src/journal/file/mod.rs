//! Logs as files: the only code that touches them.
//!
//! Bytes are safe without the lock, the lock only adds order (SPEC 0.2): every write is one `O_APPEND` write, and what
//! others may have written is never cut or overwritten.

mod file_system;
mod lock;
mod log_file;
mod publish;
mod reader;
mod swap;
mod tail;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{End, Journal, Span, Stored, Turn};
use crate::codec::scanner::Line;
use crate::error::{Error, ErrorKind, Result};
use log_file::LogFile;
pub(crate) use publish::{Draft, create_folders, rename_no_replace, sync_folder};

/// How a file journal behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileOptions {
    /// How long an append waits for the lock.
    pub(crate) lock_wait: Duration,
    /// Whether to write on file systems whose locks or caches other machines may not see (SPEC 7.1).
    pub(crate) allow_shared_file_system: bool,
}

/// A log in a file.
pub(crate) struct FileJournal {
    path: PathBuf,
    options: FileOptions,
    opened: Mutex<Arc<LogFile>>,
    syncs: Mutex<Syncs>,
}

/// What became of the syncs of one handle. The kernel tells of a failure once, to whichever thread asks first, so the
/// threads of a handle sync one after the other and share what they were told (SPEC 1.6).
#[derive(Debug, Default)]
struct Syncs {
    /// Up to where records may be lost although a later sync succeeds: none of them counts unless written again.
    failed_up_to: u64,
    /// A failed sync could not be made good: no append is called durable any more.
    undecided: bool,
}

impl FileJournal {
    /// Opens the log at `path` for reading; appending opens it for writing when it comes to that.
    pub(crate) fn open(path: &Path, options: FileOptions) -> Result<Self> {
        let opened = Arc::new(LogFile::open(path, 0)?);
        let path = std::path::absolute(path).map_err(|error| Error::io("cannot resolve", path, error))?;
        Ok(Self { path, options, opened: Mutex::new(opened), syncs: Mutex::new(Syncs::default()) })
    }

    /// The file that the path names now, opened again if it was replaced.
    fn current(&self) -> Result<(Arc<LogFile>, u64)> {
        let mut opened = self.opened.lock();
        let status = log_file::status(&self.path).map_err(|error| gone_or(error, &self.path))?;
        if status.identity != opened.identity() {
            let generation = opened.generation() + 1;
            *opened = Arc::new(LogFile::open(&self.path, generation).map_err(|error| gone_or(error, &self.path))?);
            let status = opened.status()?;
            return Ok((Arc::clone(&opened), status.size));
        }
        Ok((Arc::clone(&opened), status.size))
    }

    /// The size of the log; fails unless `file` is still what the path names.
    fn check_in_place(&self, file: &LogFile) -> Result<u64> {
        match log_file::status(&self.path) {
            Ok(status) if status.identity == file.identity() => Ok(status.size),
            Ok(_) => Err(replaced(&self.path)),
            Err(error) => Err(gone_or(error, &self.path)),
        }
    }
}

fn replaced(path: &Path) -> Error {
    Error::new(ErrorKind::Gone, "the log was replaced while it was written; open it again").at(path)
}

fn gone_or(error: Error, path: &Path) -> Error {
    if error.kind() == ErrorKind::NotFound {
        return Error::new(ErrorKind::Gone, "the log is no longer at its path: it was moved or deleted").at(path);
    }
    error
}

impl Journal for FileJournal {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn end(&self) -> Result<End> {
        let (file, size) = self.current()?;
        Ok(End { position: size, generation: file.generation() })
    }

    fn scan(&self, from: u64, visit: &mut dyn FnMut(Line<'_>) -> Result<()>) -> Result<()> {
        let file = Arc::clone(&self.opened.lock());
        reader::scan(&file, from, visit)
    }

    fn read(&self, spans: &[Span], visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let file = Arc::clone(&self.opened.lock());
        reader::read(&file, spans, visit)
    }

    fn turn(&self) -> Result<Box<dyn Turn + '_>> {
        Ok(Box::new(writer::FileTurn::take(self)?))
    }

    fn sync(&self, stored: &Stored, records: &[Vec<u8>]) -> Result<()> {
        writer::sync(self, stored, records)
    }

    fn sync_all(&self, generation: u64) -> Result<()> {
        writer::sync_all(self, generation)
    }
}
