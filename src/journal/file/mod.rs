//! Logs as files: the only code that touches them.
//!
//! Bytes are safe without the lock, the lock only adds order (SPEC 0.2): every write is one `O_APPEND` write, and what
//! others may have written is never cut or overwritten.

#[cfg(feature = "sqlite")]
mod database_file;
mod file_system;
mod folder;
mod lock;
mod log_file;
mod naming;
mod publish;
mod swap;
mod tail;
mod trash;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Contents, End, Journal, OpenOptions, Stored, Turn};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "sqlite")]
pub(crate) use database_file::{
    LiveDatabase, check_database_file_system, check_database_in_place, create_database_file, database_identity,
};
pub(crate) use folder::FileBackend;
#[cfg(feature = "sqlite")]
pub(crate) use log_file::Identity;
use log_file::LogFile;

/// A log in a file.
pub(crate) struct FileJournal {
    path: PathBuf,
    options: OpenOptions,
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
    pub(crate) fn open(path: &Path, options: OpenOptions) -> Result<Self> {
        let opened = Arc::new(LogFile::open(path, 0)?);
        let path = super::absolute(path)?;
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

    fn path_is_file(&self) -> bool {
        true
    }

    fn end(&self) -> Result<End> {
        let (file, size) = self.current()?;
        Ok(End { position: size, generation: file.generation() })
    }

    fn contents(&self) -> Arc<dyn Contents> {
        Arc::clone(&*self.opened.lock()) as Arc<dyn Contents>
    }

    fn turn(&self, _durable: bool) -> Result<Box<dyn Turn + '_>> {
        Ok(Box::new(writer::FileTurn::take(self)?))
    }

    fn sync(&self, stored: &Stored, records: &[Vec<u8>]) -> Result<()> {
        writer::sync(self, stored, records)
    }

    fn sync_all(&self, generation: u64) -> Result<()> {
        writer::sync_all(self, generation)
    }
}
