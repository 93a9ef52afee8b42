//! The seam between the engine and what keeps records in order.
//!
//! A [`Journal`] is one session's log: a growing run of bytes, to be read at any position and to be appended to if its
//! end is still where the caller has read to. It knows nothing of trees. A [`Backend`] keeps the journals of many
//! sessions: files in folders ([`Store::new`](crate::Store::new)), a SQLite database
//! (`Store::sqlite`), or memory ([`Store::in_memory`](crate::Store::in_memory)). Anything else can be put behind
//! these traits and [`Store::with_backend`](crate::Store::with_backend); the feature `test-util` has the suite that
//! such a backend must pass.
//!
//! Positions count bytes: a record of `n` bytes at `p` is followed by its line feed, and the next record starts at
//! `p + n + 1`, whatever the backend keeps. So a session has the same positions, checksums and receipts everywhere,
//! and moves between backends byte for byte (SPEC 8.3).

mod backend;
mod file;
mod memory;
mod reader;
#[cfg(feature = "sqlite")]
mod sqlite;
mod upgraded;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use backend::{Backend, Deleted, Listed, NewJournal, OpenOptions, Sink};
pub(crate) use file::{FileBackend, FileJournal};
pub use memory::Memory;
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub(crate) use upgraded::UpgradedJournal;

use crate::codec::checksum::Checksum;
use crate::codec::scanner::Line;
use crate::error::{Error, ErrorKind, Result};
use crate::model::EntryId;

/// How much a record or a batch may hold, in bytes (SPEC 1.3). A longer line that is found is still read.
pub const APPEND_BYTES_MAX: u64 = 1 << 30;

/// How much of a record is read again to see whether a log is still the one that was read (SPEC 2.8), in bytes.
const FINGERPRINT_BYTES_MAX: u64 = 64 << 10;

/// The longest pause between two looks at a journal that is watched.
const WATCH_PAUSE_MAX: Duration = Duration::from_millis(20);

/// Where a journal ends, and which incarnation of it that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Behind the last byte.
    pub position: u64,
    /// Differs when the log was replaced: everything that was read before is void then (SPEC 2.8).
    pub generation: u64,
}

/// A piece of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) position: u64,
    pub(crate) length: u64,
}

impl Span {
    /// A line, without its line feed.
    pub(crate) fn of(line: Line<'_>) -> Self {
        Self { position: line.offset, length: line.bytes.len() as u64 }
    }

    pub(crate) fn end(self) -> u64 {
        self.position + self.length
    }

    /// What of it is read again to see whether it is still there: its last bytes.
    pub(crate) fn tail(self) -> Self {
        let length = self.length.min(FINGERPRINT_BYTES_MAX);
        Self { position: self.end() - length, length }
    }
}

/// What is to be appended, all of it or nothing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Batch<'a> {
    /// Where the journal must end for it.
    pub expected: u64,
    /// The records, without line feeds.
    pub records: &'a [Vec<u8>],
    /// Where the session's leaf is afterwards, for backends that keep it beside the log for others to see. The log
    /// itself says it too, and is the truth.
    pub leaf: Option<&'a EntryId>,
    /// Where the session's project is from then on, if the records say so; for the same backends.
    pub cwd: Option<&'a str>,
}

impl<'a> Batch<'a> {
    /// A batch for a journal that ends at `expected`, of a session whose leaf is before the first entry.
    pub fn new(expected: u64, records: &'a [Vec<u8>]) -> Self {
        Self { expected, records, leaf: None, cwd: None }
    }

    /// Says where the session's leaf is afterwards.
    #[must_use]
    pub fn leaf(mut self, leaf: Option<&'a EntryId>) -> Self {
        self.leaf = leaf;
        self
    }

    /// Says that the session's project moves.
    #[must_use]
    pub fn cwd(mut self, cwd: Option<&'a str>) -> Self {
        self.cwd = cwd;
        self
    }

    /// How many bytes the records are, with their line feeds.
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.len() as u64 + 1).sum()
    }

    /// Fails if the records are more than `bytes_max`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`].
    pub fn check_size(&self, bytes_max: u64) -> Result<()> {
        let bytes = self.bytes();
        if bytes <= bytes_max {
            return Ok(());
        }
        let message = format!("a record or batch may hold {bytes_max} bytes and this has {bytes}");
        Err(Error::new(ErrorKind::TooLarge, message))
    }
}

/// Where records were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where the first record starts; the others follow, each behind the line feed of the one before.
    pub position: u64,
    /// The end behind the last record's line feed.
    pub end: u64,
    /// Which incarnation of the journal they are in.
    pub generation: u64,
    /// Whether another writer's bytes came between the expected end and the first record (SPEC 1.5).
    pub interleaved: bool,
    /// Whether they survive a power cut already, so that no sync is needed.
    pub durable: bool,
}

/// What became of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All records are there, in order.
    Stored(Stored),
    /// The end was not where it was expected, and nothing was stored: catch up, decide again.
    Moved,
}

/// The bytes of one incarnation of a journal.
pub trait Contents: Send + Sync {
    /// How many bytes there are now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    fn size(&self) -> Result<u64>;

    /// Fills `buffer` from `position` on, as far as there are bytes; returns how many it put there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`].
    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize>;
}

impl dyn Contents + '_ {
    /// Gives every line between two positions to `visit`, what has no line feed there last.
    pub(crate) fn scan(&self, range: Range<u64>, visit: &mut dyn FnMut(Line<'_>) -> Result<()>) -> Result<()> {
        reader::scan(self, range, visit)
    }
}

/// Keeps the records of one session in order.
pub trait Journal: Send + Sync {
    /// What names the journal: the absolute path of its file, or whatever the backend opens it by.
    fn path(&self) -> PathBuf;

    /// Whether [`Journal::path`] is a file's, so that others can find the session by it.
    fn path_is_file(&self) -> bool {
        false
    }

    /// Where the journal ends now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`] if the session was deleted.
    fn end(&self) -> Result<End>;

    /// The bytes, as of the incarnation that [`Journal::end`] told of last.
    fn contents(&self) -> Arc<dyn Contents>;

    /// Waits for the writer's turn. Where a backend has none, this costs nothing and `append` may answer
    /// [`Outcome::Moved`].
    ///
    /// `durable` says that the caller will ask for durability. A backend that makes appends durable as it stores them
    /// does so then, and says so in [`Stored::durable`]; others leave it to [`Journal::sync`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Locked`] if the deadline passed,
    /// [`ErrorKind::Gone`] and [`ErrorKind::Denied`].
    fn turn(&self, durable: bool) -> Result<Box<dyn Turn + '_>>;

    /// Makes `records`, stored at `stored`, durable (SPEC 1.6). Never called within a turn.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Undecided`] if nobody knows whether they are.
    fn sync(&self, stored: &Stored, records: &[Vec<u8>]) -> Result<()>;

    /// Makes everything durable that was stored so far in the incarnation `generation`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`] if that is not the log's any more, and as [`Journal::sync`].
    fn sync_all(&self, generation: u64) -> Result<()>;

    /// The bytes as they are stored: other than [`Journal::contents`] only where an older format is shown as today's.
    fn stored_contents(&self) -> Arc<dyn Contents> {
        self.contents()
    }

    /// Where in the stored bytes the one at `position` is: there, unless an older format is shown as today's.
    fn stored_position(&self, position: u64) -> u64 {
        position
    }

    /// Waits until the journal does not end at `seen` any more, at most for `wait`; returns where it ends. Only a hint:
    /// the truth comes from reading. Polls, unless a backend knows better.
    ///
    /// # Errors
    ///
    /// As [`Journal::end`].
    fn watch(&self, seen: End, wait: Duration) -> Result<End> {
        let deadline = Instant::now() + wait;
        let mut pause = Duration::from_millis(1);
        loop {
            let end = self.end()?;
            let remaining = deadline.saturating_duration_since(Instant::now());
            if end != seen || remaining.is_zero() {
                return Ok(end);
            }
            std::thread::sleep(pause.min(remaining));
            pause = (pause * 2).min(WATCH_PAUSE_MAX);
        }
    }
}

impl dyn Journal + '_ {
    /// Gives every line of a range that may reach beyond the end to `visit`, what has no line feed there last.
    pub(crate) fn scan(&self, range: Range<u64>, visit: &mut dyn FnMut(Line<'_>) -> Result<()>) -> Result<()> {
        let contents = self.contents();
        contents.scan(range.start..contents.size()?.min(range.end), visit)
    }

    /// Gives the bytes of each span to `visit`, with its index, in order; neighbours are read at once.
    pub(crate) fn read(&self, spans: &[Span], visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        reader::read(&*self.contents(), spans, visit).map_err(|error| error.at(self.path()))
    }

    /// Whether all these spans still hold bytes with these checksums.
    pub(crate) fn still_holds(&self, fingerprints: &[(Span, Checksum)]) -> Result<bool> {
        let spans: Vec<_> = fingerprints.iter().map(|(span, _)| *span).collect();
        let mut same = true;
        let read = self.read(&spans, &mut |at, bytes| {
            same &= Checksum::of(bytes) == fingerprints[at].1;
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Gone => Ok(false),
            read => read.map(|()| same),
        }
    }
}

/// A writer's turn; over when dropped.
pub trait Turn {
    /// Where the journal ends.
    fn end(&self) -> End;

    /// Stores the batch if the journal still ends where it expects.
    ///
    /// # Errors
    ///
    /// On any error nothing is stored, or what is there in part is closed so that readers skip it.
    fn append(&mut self, batch: &Batch<'_>) -> Result<Outcome>;
}

/// The absolute path that `path` is short for, from the current folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io("cannot resolve", path, error))
}

/// Opens a journal by what names it: the path of a file, or a name with the scheme of another backend.
pub(crate) fn open(path: &Path, options: OpenOptions) -> Result<Box<dyn Journal>> {
    #[cfg(feature = "sqlite")]
    if let Some(database) = Sqlite::of_session(path) {
        return database.open(path, options);
    }
    Ok(Box::new(FileJournal::open(path, options)?))
}
