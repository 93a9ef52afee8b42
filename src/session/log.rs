//! The log as it is, byte for byte: for copies, exports and other stores (SPEC 1.3).

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use super::{Session, SessionOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{Contents, Memory};

/// Reads a session's log from its first byte to the end that its handle had replayed.
pub struct LogReader {
    contents: Arc<dyn Contents>,
    position: u64,
    end: u64,
}

impl LogReader {
    /// How many bytes are left.
    pub fn remaining(&self) -> u64 {
        self.end - self.position
    }
}

impl Read for LogReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.remaining()).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.contents.read_at(&mut buffer[..wanted], self.position).map_err(io::Error::other)?;
        if count == 0 {
            let message = "the log is shorter than it was when it was replayed";
            return Err(io::Error::other(Error::new(ErrorKind::Gone, message).at_offset(self.position)));
        }
        self.position += count as u64;
        Ok(count)
    }
}

impl fmt::Debug for LogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogReader").field("position", &self.position).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens the session whose log is `bytes`, in memory: an upload, a pipe, a file inside of another one.
    /// [`Store::copy`](crate::Store::copy) makes it one of a store; what is appended without that is lost.
    ///
    /// # Errors
    ///
    /// As [`Session::open_with`].
    pub fn from_log(bytes: impl Into<Vec<u8>>, options: SessionOptions) -> Result<Self> {
        Self::from_journal(Memory::journal_of(bytes.into()), options)
    }

    /// The log's bytes as they are, with the header, other programs' lines, and whatever is damaged: all that this
    /// handle has replayed. What others append meanwhile is not among them, so they are a consistent prefix.
    ///
    /// # Examples
    ///
    /// ```
    /// # let store = leaflog::Store::in_memory();
    /// # let session = store.create(leaflog::CreateOptions::new("/home/me/project"))?;
    /// let mut log = Vec::new();
    /// std::io::copy(&mut session.log(), &mut log).expect("memory can be read");
    /// assert!(log.starts_with(br#"{"type":"session","version":3"#));
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    pub fn log(&self) -> LogReader {
        let state = self.state.lock();
        let end = self.journal.stored_position(state.replay.seen());
        LogReader { contents: self.journal.stored_contents(), position: 0, end }
    }
}
