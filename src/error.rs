//! The one error type of the crate and its kinds.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::EntryId;

/// The result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, said as what the caller should do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such session, entry or folder. Check the name; nothing was written.
    NotFound,
    /// The name is taken. Choose another one, or open what is there; it was not touched.
    AlreadyExists,
    /// The call itself is wrong (bad JSON, bad id, ambiguous name, a target that cannot be one). Mend the call.
    Invalid,
    /// The leaf is not the one that the caller expected (SPEC 3.7). Nothing was written; look at
    /// [`Error::actual_leaf`], decide, and append again.
    Conflict,
    /// The log does not say with certainty where the session stands (SPEC 2.3). Name a parent, or move the leaf.
    LeafInDoubt,
    /// Another writer held the lock until the deadline. Try again.
    Locked,
    /// A turn, a compaction or a navigation is under way (SPEC 6.1). Abort it, or wait until it is over.
    Busy,
    /// The summary of a branch failed and the leaf is where it was (SPEC 6.2). The source says why; try again, or move
    /// without one.
    Summary,
    /// A record or a batch is over the limit (1 GiB). Nothing was written; store less in one record.
    TooLarge,
    /// The disk, a quota or a size limit is full. What was written before is whole; append again when there is room.
    StorageFull,
    /// The operating system or the medium refuses (permissions, read-only folder, several hard links). Reading still works.
    Denied,
    /// The file system does not keep the promises that a write needs (network, FUSE). Allow it explicitly or move the store.
    Unsafe,
    /// The file is a session of a version or format that this build does not write, or does not know.
    Unsupported,
    /// The file is not a session. It was not touched.
    NotASession,
    /// A damaged record stands in the way and the caller asked for strictness.
    Corrupt,
    /// The log is no longer at its path: deleted or replaced under an open handle. Open the session again.
    Gone,
    /// The outcome is unknown: a sync failed and could not be made good (SPEC 1.6). Retry with the same entry id.
    Undecided,
    /// Any other failure of the operating system; the source has the details.
    Io,
}

impl ErrorKind {
    /// The name that the command line prints in its JSON errors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AlreadyExists => "already-exists",
            Self::Invalid => "invalid",
            Self::Conflict => "conflict",
            Self::LeafInDoubt => "leaf-in-doubt",
            Self::Locked => "locked",
            Self::Busy => "busy",
            Self::Summary => "summary",
            Self::TooLarge => "too-large",
            Self::StorageFull => "storage-full",
            Self::Denied => "denied",
            Self::Unsafe => "unsafe",
            Self::Unsupported => "unsupported",
            Self::NotASession => "not-a-session",
            Self::Corrupt => "corrupt",
            Self::Gone => "gone",
            Self::Undecided => "undecided",
            Self::Io => "io",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error with its kind and, where they are known, the file, line and offset that it is about.
///
/// `Display` is one line without the source and never holds session content (SPEC 1.7).
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    offset: Option<u64>,
    actual_leaf: Option<Option<EntryId>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Makes an error of `kind`; `message` is one lower-case line that says what is wrong and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            line: None,
            offset: None,
            actual_leaf: None,
            source: None,
        }))
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file or folder that the error is about.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of the log, counted from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The byte offset in the log, counted from 0.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// For [`ErrorKind::Conflict`]: where the leaf is now (`Some(None)` is "before the first entry").
    pub fn actual_leaf(&self) -> Option<Option<&EntryId>> {
        self.0.actual_leaf.as_ref().map(Option::as_ref)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path.get_or_insert(path.into());
        self
    }

    pub(crate) fn at_line(mut self, line: u64, offset: u64) -> Self {
        self.0.line = Some(line);
        self.0.offset = Some(offset);
        self
    }

    pub(crate) fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    pub(crate) fn with_actual_leaf(mut self, leaf: Option<EntryId>) -> Self {
        self.0.actual_leaf = Some(leaf);
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The error for a failed system call: `doing` names the attempt ("cannot read", "cannot append to").
    pub(crate) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                ErrorKind::StorageFull
            }
            io::ErrorKind::IsADirectory | io::ErrorKind::InvalidFilename => ErrorKind::Invalid,
            _ => ErrorKind::Io,
        };
        Self::new(kind, doing).at(path).with_source(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(path) = &self.0.path {
            // Quoted and escaped, so a line break in a file name stays on this line.
            write!(f, " {:?}", path.display().to_string())?;
        }
        if let Some(line) = self.0.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, ", offset {offset}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("message", &self.to_string());
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
