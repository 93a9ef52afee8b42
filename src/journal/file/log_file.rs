//! The system calls on one log file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::journal::Contents;

/// Which file it is, whatever its names are: device and inode.
pub(crate) type Identity = (u64, u64);

/// What `stat` says of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    pub(super) identity: Identity,
    pub(super) size: u64,
    pub(super) hard_links: u64,
}

impl Status {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { identity: (metadata.dev(), metadata.ino()), size: metadata.len(), hard_links: metadata.nlink() }
    }
}

/// What the file at `path` is now.
pub(super) fn status(path: &Path) -> Result<Status> {
    let metadata = fs::metadata(path).map_err(|error| Error::io("cannot open", path, error))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::NotASession, "not a session: not a regular file").at(path));
    }
    Ok(Status::of(&metadata))
}

/// An open log: a descriptor for reading, and one for appending once that is wanted.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    reading: File,
    appending: Mutex<Option<Arc<File>>>,
    identity: Identity,
    generation: u64,
}

impl LogFile {
    pub(super) fn open(path: &Path, generation: u64) -> Result<Self> {
        // Looking first keeps a pipe or a device from being opened, which could block or have effects.
        refuse_live_database(status(path)?.identity, path)?;
        let reading = File::open(path).map_err(|error| Error::io("cannot open", path, error))?;
        let metadata = reading.metadata().map_err(|error| Error::io("cannot open", path, error))?;
        let identity = Status::of(&metadata).identity;
        let appending = Mutex::new(None);
        Ok(Self { path: path.to_owned(), reading, appending, identity, generation })
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn status(&self) -> Result<Status> {
        let metadata = self.reading.metadata().map_err(|error| self.error("cannot read", error))?;
        Ok(Status::of(&metadata))
    }

    /// The user and the group that the file belongs to.
    pub(super) fn owner(&self) -> Result<(u32, u32)> {
        let metadata = self.reading.metadata().map_err(|error| self.error("cannot read", error))?;
        Ok((metadata.uid(), metadata.gid()))
    }

    /// The descriptor for appending, opened and put to the `check` at the first call. `None` if the path names another
    /// file by now.
    pub(super) fn appending(&self, check: impl Fn(&File) -> Result<()>) -> Result<Option<Arc<File>>> {
        let mut appending = self.appending.lock();
        if let Some(file) = appending.as_ref() {
            return Ok(Some(Arc::clone(file)));
        }
        let file = OpenOptions::new().read(true).append(true).open(&self.path);
        let file = file.map_err(|error| self.error("cannot write to", error))?;
        let metadata = file.metadata().map_err(|error| self.error("cannot write to", error))?;
        if Status::of(&metadata).identity != self.identity {
            return Ok(None);
        }
        check(&file)?;
        let file = Arc::new(file);
        *appending = Some(Arc::clone(&file));
        Ok(Some(file))
    }

    /// Makes what was written so far durable, through whichever descriptor wrote it.
    pub(super) fn sync(&self) -> io::Result<()> {
        let appending = self.appending.lock().clone();
        match appending {
            Some(file) => file.sync_data(),
            None => self.reading.sync_data(),
        }
    }

    /// Writes `bytes` over themselves at `offset` and syncs: the cure for a failed sync (SPEC 1.6).
    ///
    /// Through a descriptor of its own, since on Linux a positioned write on an `O_APPEND` descriptor appends.
    pub(super) fn write_again(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut found = vec![0; bytes.len()];
        self.reading.read_exact_at(&mut found, offset)?;
        if found != bytes {
            return Err(io::Error::other("the log no longer holds the record"));
        }
        let file = OpenOptions::new().write(true).open(&self.path)?;
        if Status::of(&file.metadata()?).identity != self.identity {
            return Err(io::Error::other("the log was replaced"));
        }
        file.write_all_at(bytes, offset)?;
        file.sync_data()
    }

    pub(super) fn error(&self, doing: &str, error: io::Error) -> Error {
        Error::io(doing, &self.path, error)
    }
}

/// Fails if this process has the file open as a database: closing it here would drop the locks of its connections.
#[cfg(feature = "sqlite")]
fn refuse_live_database(identity: Identity, path: &Path) -> Result<()> {
    if super::database_file::is_live_database(identity) {
        let message = "not a session but a database that is open here; name its sessions `sqlite:FILE#ID`:";
        return Err(Error::new(ErrorKind::NotASession, message).at(path));
    }
    Ok(())
}

/// Without SQLite there are no databases.
#[cfg(not(feature = "sqlite"))]
#[expect(clippy::unnecessary_wraps, reason = "as its namesake")]
fn refuse_live_database(_identity: Identity, _path: &Path) -> Result<()> {
    Ok(())
}

impl Contents for LogFile {
    fn size(&self) -> Result<u64> {
        self.status().map(|status| status.size)
    }

    // Never through a map: others may truncate the file.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reading.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error("cannot read", error)),
            }
        }
        Ok(filled)
    }
}

/// Writes once, at the end of the file; returns how much was written.
pub(super) fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => return written,
        }
    }
}

/// Where the descriptor stands: behind what it wrote last.
pub(super) fn position(mut file: &File) -> io::Result<u64> {
    file.stream_position()
}
