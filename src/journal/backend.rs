//! What keeps the journals of many sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Journal;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{EntryId, Header, Timestamp};

/// How a journal is opened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How long an append waits for other writers.
    pub lock_wait: Duration,
    /// Whether to write on file systems whose locks or caches other machines may not see (SPEC 7.1).
    pub allow_shared_file_system: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(10), allow_shared_file_system: false }
    }
}

/// A session that a backend has, as far as that is known without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// What opens it.
    pub path: PathBuf,
    /// The id that its name or its row says; the header has the last word.
    pub id: Option<String>,
    /// When it was written last.
    pub modified: Option<Timestamp>,
    /// How many bytes it has.
    pub bytes: u64,
    /// Where its project is, if the backend knows it without the log.
    pub cwd: Option<String>,
}

impl Listed {
    /// A session that `path` opens.
    pub fn new(path: impl Into<PathBuf>, id: Option<String>, modified: Option<Timestamp>, bytes: u64) -> Self {
        Self { path: path.into(), id, modified, bytes, cwd: None }
    }

    /// Says where its project is.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }
}

/// A session that was deleted and can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// Its id.
    pub id: String,
    /// What names it where it is now.
    pub path: PathBuf,
    /// What opened it.
    pub original: PathBuf,
}

impl Deleted {
    /// The session `id`, which `original` opened and `path` names now.
    pub fn new(id: impl Into<String>, path: impl Into<PathBuf>, original: impl Into<PathBuf>) -> Self {
        Self { id: id.into(), path: path.into(), original: original.into() }
    }
}

/// A journal that is to be made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NewJournal<'a> {
    /// What its first record will say.
    pub header: &'a Header,
    /// Where the session's leaf will be, for backends that keep it beside the log.
    pub leaf: Option<&'a EntryId>,
    /// Where its project is: what the header says, unless the session was relocated.
    pub cwd: &'a str,
}

impl<'a> NewJournal<'a> {
    /// A journal that starts with `header` and whose leaf is `leaf`.
    pub fn new(header: &'a Header, leaf: Option<&'a EntryId>) -> Self {
        Self { header, leaf, cwd: &header.cwd }
    }

    /// Says that its project is elsewhere than the header says.
    #[must_use]
    pub fn cwd(mut self, cwd: &'a str) -> Self {
        self.cwd = cwd;
        self
    }
}

/// Takes the bytes of a new journal, from the first on.
pub type Sink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Keeps the journals of many sessions.
pub trait Backend: Send + Sync {
    /// What names the backend: a folder, or a name with a scheme.
    fn root(&self) -> PathBuf;

    /// Whether `name` is what opens a session, and not a part of an id.
    fn is_path(&self, name: &str) -> bool;

    /// All sessions, and whatever looks like one, in a fixed order. Reads none of them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) if the backend cannot be read. One that is not there yet has no
    /// sessions.
    fn sessions(&self) -> Result<Vec<Listed>>;

    /// Opens a journal. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound).
    fn open(&self, path: &Path, options: OpenOptions) -> Result<Box<dyn Journal>>;

    /// Makes a journal of all the bytes that `write` gives to its sink; returns what opens it. On return it is durable.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) if the session is there; on any error, `write`'s
    /// too, nothing is.
    fn create(&self, journal: &NewJournal<'_>, write: &mut dyn FnMut(&mut Sink<'_>) -> Result<()>) -> Result<PathBuf>;

    /// Puts a session to those of the project in `cwd`, which its log says already; returns what opens it now. On a
    /// backend that keeps projects apart, open handles may find it gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound), [`ErrorKind::Denied`](crate::ErrorKind::Denied),
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists).
    fn relocate(&self, path: &Path, cwd: &str) -> Result<PathBuf>;

    /// Whether `path` is where this backend keeps the sessions of the project in `cwd`. One that is elsewhere may have
    /// been relocated, which only its log tells. A backend that fills [`Listed::cwd`] need not answer.
    fn is_at_home(&self, _path: &Path, _cwd: &str) -> bool {
        true
    }

    /// Puts a session where [`Backend::restore`] finds it; returns what names it there. Open handles find it gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound), [`ErrorKind::Denied`](crate::ErrorKind::Denied).
    fn delete(&self, path: &Path) -> Result<PathBuf>;

    /// Removes a session for good.
    ///
    /// # Errors
    ///
    /// As [`Backend::delete`].
    fn remove(&self, path: &Path) -> Result<()>;

    /// The sessions that can be restored, in a fixed order.
    ///
    /// # Errors
    ///
    /// As [`Backend::sessions`].
    fn deleted(&self) -> Result<Vec<Deleted>>;

    /// Puts a deleted session back; `path` names it where it is. Returns what opens it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound);
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) if another session is in its place by now.
    fn restore(&self, path: &Path) -> Result<PathBuf>;
}

/// There is no session that `path` opens.
pub(super) fn not_found(path: &Path) -> Error {
    Error::new(ErrorKind::NotFound, "there is no session").at(path)
}

/// What is to be at `path` has its place taken.
pub(super) fn already_exists(path: &Path) -> Error {
    Error::new(ErrorKind::AlreadyExists, "there is a session already:").at(path)
}
