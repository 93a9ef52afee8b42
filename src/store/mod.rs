//! The store: many sessions, whatever keeps them (SPEC 8.1).

mod catalog;
mod copy;
mod find;
mod relocate;
mod search;
mod summary;
mod trash;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use catalog::{ListOptions, SessionInfo};

use crate::check::{Migrated, migrate};
use crate::codec::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Gap;
use crate::journal::{Backend, FileBackend, Journal, Memory, NewJournal, Sink, absolute};
use crate::model::{FORMAT_VERSION, Header, Scope, SessionId, Timestamp, json};
use crate::session::{Fork, Session, SessionOptions, seal_all};

/// Many sessions: files in a folder, or what another [`Backend`] keeps.
///
/// The logs are the truth: there is no list that could disagree with them.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    options: SessionOptions,
}

/// What a new session is.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    cwd: PathBuf,
    id: Option<SessionId>,
    parent: Option<String>,
    metadata: Option<String>,
}

impl CreateOptions {
    /// A session for the project in the folder `cwd`.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), ..Self::default() }
    }

    /// The session's id; by default a new one.
    #[must_use]
    pub fn id(mut self, id: SessionId) -> Self {
        self.id = Some(id);
        self
    }

    /// The path or id of a session that this one comes from.
    #[must_use]
    pub fn parent(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Metadata of the host, a JSON object.
    #[must_use]
    pub fn metadata(mut self, json: impl Into<String>) -> Self {
        self.metadata = Some(json.into());
        self
    }
}

/// How a fork is made.
#[derive(Clone, Debug, Default)]
pub struct ForkOptions {
    cwd: Option<PathBuf>,
    id: Option<SessionId>,
    parent: Option<String>,
    metadata: Option<String>,
    scope: Scope,
}

impl ForkOptions {
    /// In the source's folder, with its metadata and a new id; path forks reach back to the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// The project of the copy; by default the source's.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// The copy's id; by default a new one.
    #[must_use]
    pub fn id(mut self, id: SessionId) -> Self {
        self.id = Some(id);
        self
    }

    /// What the copy names as its parent; by default the source's path.
    #[must_use]
    pub fn parent(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// Metadata of the host, a JSON object; by default the source's.
    #[must_use]
    pub fn metadata(mut self, json: impl Into<String>) -> Self {
        self.metadata = Some(json.into());
        self
    }

    /// How far back a path fork reaches (SPEC 5.2).
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}

/// A new session that was forked from another.
#[derive(Debug)]
#[non_exhaustive]
pub struct Forked {
    /// The copy.
    pub session: Session,
    /// For [`Fork::Before`]: the text of the user message, for editing.
    pub editor_text: Option<String>,
    /// Missing parents in what was copied; a gap in the source stays a gap (SPEC 5.3).
    pub gaps: Vec<Gap>,
}

impl Store {
    /// The store in the folder `root`. Nothing is read, and nothing is made until a session is created.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::with_backend(Arc::new(FileBackend::new(root)))
    }

    /// The store that `location` names: `file:DIR`, `sqlite:FILE`, or simply the path of a folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if this build is without SQLite.
    pub fn at(location: impl AsRef<Path>) -> Result<Self> {
        let location = location.as_ref();
        // A name that is not UTF-8 has no scheme.
        let name = location.to_str().unwrap_or_default();
        match (name.strip_prefix("file:"), name.strip_prefix("sqlite:")) {
            (Some(folder), _) => Ok(Self::new(folder)),
            #[cfg(feature = "sqlite")]
            (_, Some(file)) => Self::sqlite(file),
            #[cfg(not(feature = "sqlite"))]
            (_, Some(_)) => Err(Error::new(ErrorKind::Unsupported, "this build is without SQLite").at(location)),
            _ => Ok(Self::new(location)),
        }
    }

    /// A store in memory, which nothing outlives.
    pub fn in_memory() -> Self {
        Self::with_backend(Arc::new(Memory::new()))
    }

    /// A store in the SQLite database `file`, which is made when the first session is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if there is no current folder to find `file` from.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(file: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::with_backend(Arc::new(crate::journal::Sqlite::new(file)?)))
    }

    /// The store of the sessions in `backend`.
    pub fn with_backend(backend: Arc<dyn Backend>) -> Self {
        Self { backend, options: SessionOptions::default() }
    }

    /// What keeps the sessions.
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Opens sessions with these options.
    #[must_use]
    pub fn with_options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// The folder, or what names the backend.
    pub fn root(&self) -> PathBuf {
        self.backend.root()
    }

    /// Creates a session: on return its file is complete and durable, with the header in it (SPEC 8.1).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the id is taken, [`ErrorKind::Denied`] or [`ErrorKind::StorageFull`] if the file
    /// cannot be made, [`ErrorKind::Invalid`] if the metadata is no JSON object; nothing is left behind.
    pub fn create(&self, options: CreateOptions) -> Result<Session> {
        let header = self.header(&options.cwd, options.id, options.parent, options.metadata)?;
        self.publish(&NewJournal::new(&header, None), &mut |sink| {
            sink(&seal_all([header.to_record()], Checksum(0)).lines[0])?;
            sink(b"\n")
        })
    }

    /// Opens the session that `name` names: a path, an id, or a prefix or suffix of ids that fits one session only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Invalid`] if several sessions fit; and as [`Session::open`].
    pub fn open(&self, name: &str) -> Result<Session> {
        Session::from_journal(self.journal(&self.find(name)?)?, self.options.clone())
    }

    fn journal(&self, path: &Path) -> Result<Box<dyn Journal>> {
        self.backend.open(path, self.options.of_journal())
    }

    /// Makes the session that `name` names one of version 3, if it is of version 1 or 2 (SPEC 8.4); `None` if there is
    /// nothing to do. The original is kept beside it.
    ///
    /// # Errors
    ///
    /// As [`Store::find`] and [`migrate`](crate::migrate).
    pub fn migrate(&self, name: &str) -> Result<Option<Migrated>> {
        migrate(self.find(name)?, &self.options)
    }

    /// Forks `source` into a new session of this store (SPEC 5). The source is not touched, and its handle goes on.
    ///
    /// The copy is complete or not there at all.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for an invalid fork target, and as [`Store::create`].
    pub fn fork(&self, source: &Session, fork: &Fork, options: ForkOptions) -> Result<Forked> {
        let plan = source.plan_fork(fork, options.scope)?;
        let original = source.header();
        let cwd = options.cwd.unwrap_or_else(|| source.cwd());
        let parent = options.parent.unwrap_or_else(|| source.name_for_forks());
        let metadata = options.metadata.or(original.metadata);
        let mut header = self.header(&cwd, options.id, Some(parent), metadata)?;
        header.origin = Some(plan.origin.clone());
        let write = &mut |sink: &mut Sink<'_>| source.write_fork(&plan, &header, sink);
        let session = self.publish(&NewJournal::new(&header, plan.leaf.as_ref()), write)?;
        Ok(Forked { session, editor_text: plan.editor_text, gaps: plan.gaps })
    }

    fn header(
        &self,
        cwd: &Path,
        id: Option<SessionId>,
        parent: Option<String>,
        metadata: Option<String>,
    ) -> Result<Header> {
        let metadata = match metadata {
            Some(raw) if json::members(&raw).is_err() => {
                return Err(Error::new(ErrorKind::Invalid, "the metadata must be a JSON object"));
            }
            metadata => metadata.map(|raw| raw.trim().replace(['\n', '\r'], " ")),
        };
        if let Some(id) = &id {
            self.check_id_is_free(id)?;
        }
        Ok(Header {
            id: id.unwrap_or_else(SessionId::new),
            version: FORMAT_VERSION,
            timestamp: Timestamp::now().to_string(),
            cwd: project_folder(cwd)?.to_string_lossy().into_owned(),
            parent_session: parent,
            metadata,
            origin: None,
        })
    }

    fn publish(&self, journal: &NewJournal<'_>, write: &mut dyn FnMut(&mut Sink<'_>) -> Result<()>) -> Result<Session> {
        let path = self.backend.create(journal, write)?;
        Session::from_journal(self.journal(&path)?, self.options.clone())
    }
}

/// The folder of a project as headers name it: absolute, and without a slash at the end, which would make another
/// project of it.
fn project_folder(cwd: &Path) -> Result<PathBuf> {
    Ok(absolute(cwd)?.components().collect())
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("root", &self.root()).finish_non_exhaustive()
    }
}
