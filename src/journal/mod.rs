//! The seam between the engine and what keeps records in order.
//!
//! A journal keeps lines and appends to its end if the end is still where the caller has read to. It knows nothing
//! of trees. Positions are opaque to the engine and only grow; on files they are byte offsets.

mod file;
mod upgraded;

pub(crate) use file::{Draft, FileJournal, FileOptions, create_folders, rename_no_replace, sync_folder};
pub(crate) use upgraded::UpgradedJournal;

use crate::codec::scanner::Line;
use crate::error::Result;

/// How much a record or a batch may hold, in bytes (SPEC 1.3). A longer line that is found is still read.
pub const APPEND_BYTES_MAX: u64 = 1 << 30;

/// Where a journal ends, and which incarnation of it that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) position: u64,
    /// Differs when the log was replaced: everything that was read before is void then (SPEC 2.8).
    pub(crate) generation: u64,
}

/// A piece of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) position: u64,
    pub(crate) length: u64,
}

impl Span {
    pub(crate) fn end(self) -> u64 {
        self.position + self.length
    }
}

/// Where records were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Where the first record starts; the others follow, each behind the line feed of the one before.
    pub(crate) position: u64,
    /// The end behind the last record.
    pub(crate) end: u64,
    /// Which incarnation of the journal they are in.
    pub(crate) generation: u64,
    /// Whether another writer's bytes came between the expected end and the first record (SPEC 1.5).
    pub(crate) interleaved: bool,
}

/// What became of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All records are there, in order.
    Stored(Stored),
    /// The end was not where it was expected, and nothing was stored: catch up, decide again.
    #[expect(dead_code, reason = "for backends without a lock; a file's turn excludes it")]
    Moved,
}

/// Keeps the records of one session in order.
pub(crate) trait Journal: Send + Sync {
    /// The file, if the journal has one.
    fn path(&self) -> std::path::PathBuf;

    /// Where the journal ends now.
    ///
    /// # Errors
    ///
    /// `Gone` if the log was deleted.
    fn end(&self) -> Result<End>;

    /// Gives every line from `from` to the end to `visit`, the unterminated rest last if there is one.
    fn scan(&self, from: u64, visit: &mut dyn FnMut(Line<'_>) -> Result<()>) -> Result<()>;

    /// Gives the bytes of each span to `visit`, with its index, in order; neighbours are read at once.
    fn read(&self, spans: &[Span], visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()>;

    /// Waits for the writer's turn. Where a backend has none, this costs nothing and `append` may answer `Moved`.
    fn turn(&self) -> Result<Box<dyn Turn + '_>>;

    /// Makes `records`, stored at `stored`, durable (SPEC 1.6). Never called within a turn.
    fn sync(&self, stored: &Stored, records: &[Vec<u8>]) -> Result<()>;

    /// Makes everything durable that was stored so far in the incarnation `generation`.
    ///
    /// # Errors
    ///
    /// `Gone` if that is not the log's any more; `Undecided` if the disk failed.
    fn sync_all(&self, generation: u64) -> Result<()>;

    /// Where in the stored log the byte at `position` is, for reports; differs where an old version is shown as today's.
    fn source_position(&self, position: u64) -> u64 {
        position
    }
}

/// A writer's turn; over when dropped.
pub(crate) trait Turn {
    /// Where the journal ends.
    fn end(&self) -> End;

    /// Stores `records` (lines without line feeds) if the journal still ends at `expected`.
    ///
    /// # Errors
    ///
    /// On any error nothing is stored, or what is there in part is closed so that readers skip it.
    fn append(&mut self, expected: u64, records: &[Vec<u8>]) -> Result<Outcome>;
}
