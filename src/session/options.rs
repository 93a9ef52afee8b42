//! How sessions are opened and how entries are appended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::ContextOptions;
use crate::error::Result;
use crate::journal::FileOptions;
use crate::model::{EntryId, NewEntry};

/// When an append counts as done (SPEC 1.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The record survives a power cut once the call has returned: it was synced to the disk.
    #[default]
    Disk,
    /// The record survives the death of the process once the call has returned: it is in the page cache.
    Os,
}

/// Looks at every entry before it is stored and may change or refuse it (SPEC 1.7).
type BeforeWrite = Arc<dyn Fn(NewEntry) -> Result<NewEntry> + Send + Sync>;

/// How a session is opened.
#[derive(Clone)]
pub struct SessionOptions {
    pub(crate) durability: Durability,
    pub(crate) lock_wait: Duration,
    pub(crate) strict: bool,
    pub(crate) allow_shared_file_system: bool,
    pub(crate) before_write: Option<BeforeWrite>,
    pub(crate) context: ContextOptions,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Disk,
            lock_wait: Duration::from_secs(10),
            strict: false,
            allow_shared_file_system: false,
            before_write: None,
            context: ContextOptions::default(),
        }
    }
}

impl SessionOptions {
    /// Appends are durable on the disk, wait up to ten seconds for other writers, and damage is tolerated and reported.
    pub fn new() -> Self {
        Self::default()
    }

    /// When an append counts as done.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How long an append waits for other writers before it fails with [`ErrorKind::Locked`](crate::ErrorKind::Locked).
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Whether any damage, and any record that is not what its checksum says, is an error.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether to write on network, 9P and FUSE file systems, whose locks other machines may not see (SPEC 7.1).
    #[must_use]
    pub fn allow_shared_file_system(mut self, allow: bool) -> Self {
        self.allow_shared_file_system = allow;
        self
    }

    /// What the log's file needs to know.
    pub(crate) fn file(&self) -> FileOptions {
        FileOptions { lock_wait: self.lock_wait, allow_shared_file_system: self.allow_shared_file_system }
    }

    /// Calls `hook` with every entry before it is stored; only what it returns is ever written (SPEC 1.7).
    #[must_use]
    pub fn before_write(mut self, hook: impl Fn(NewEntry) -> Result<NewEntry> + Send + Sync + 'static) -> Self {
        self.before_write = Some(Arc::new(hook));
        self
    }

    /// Transforms and projectors for every context of the session; those of a call come behind them (SPEC 4.4).
    #[must_use]
    pub fn context(mut self, context: ContextOptions) -> Self {
        self.context = context;
        self
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("durability", &self.durability)
            .field("lock_wait", &self.lock_wait)
            .field("strict", &self.strict)
            .field("allow_shared_file_system", &self.allow_shared_file_system)
            .finish_non_exhaustive()
    }
}

/// Where an entry goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Attach {
    /// To the handle's position, if the leaf is still its base.
    #[default]
    Position,
    /// To whatever the leaf is.
    Leaf,
    /// To this parent, and the leaf moves along.
    Parent(Option<EntryId>),
    /// To this parent, and no leaf moves.
    Side(Option<EntryId>),
}

/// Where an entry is appended, and what must hold for that (SPEC 3.7).
///
/// By default it goes to the handle's position, and the append fails with a conflict if the leaf has moved since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendOptions {
    pub(crate) attach: Attach,
    pub(crate) expect: Option<Option<EntryId>>,
    pub(crate) durability: Option<Durability>,
}

impl AppendOptions {
    /// At the handle's position, if the leaf is still its base.
    pub fn new() -> Self {
        Self::default()
    }

    /// To whatever the leaf is when the record is written.
    #[must_use]
    pub fn to_leaf(mut self) -> Self {
        self.attach = Attach::Leaf;
        self
    }

    /// Under `parent` (`None` starts a new root), and the leaf moves to the new entry.
    #[must_use]
    pub fn under(mut self, parent: Option<EntryId>) -> Self {
        self.attach = Attach::Parent(parent);
        self
    }

    /// Under `parent` without moving any leaf: for sub-agents and other second writers.
    #[must_use]
    pub fn side(mut self, parent: Option<EntryId>) -> Self {
        self.attach = Attach::Side(parent);
        self
    }

    /// Fails with a conflict unless the leaf is `leaf` (`None` is before the first entry).
    #[must_use]
    pub fn expecting(mut self, leaf: Option<EntryId>) -> Self {
        self.expect = Some(leaf);
        self
    }

    /// When this append counts as done; by default as the session's options say.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }
}
