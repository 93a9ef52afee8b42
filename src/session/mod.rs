//! Sessions: the public handle on one log, its writes and its reads.

mod append;
mod branch;
mod compaction;
mod context;
mod fork;
mod log;
mod options;
mod read;
mod seal;
mod search;
mod stats;
mod tree;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

pub use append::Receipt;
pub use branch::BranchSummary;
pub use compaction::Compaction;
pub use context::{Context, ContextOptions, Message, Model, Settings, SettingsFrom, ToolCall, to_llm};
pub(crate) use context::{latest_edits, project_entry};
pub use fork::Fork;
pub use log::LogReader;

pub use options::{AppendOptions, Durability, SessionOptions};
pub use read::{Entries, Tip};
pub(crate) use seal::seal_all;
pub use search::{Hit, HitIn, Hits, Search};
pub use stats::Stats;
pub use tree::{ActivePath, Tree, TreeFilter, TreeNode, TreeOptions};

use crate::error::{Error, ErrorKind, Result};
use crate::index::{Damage, Doubt, Gap, Label, NONE, Replay, Row};
use crate::journal::{self, End, Journal, UpgradedJournal};
use crate::model::{EntryId, EntryKind, FORMAT_VERSION, Header, SessionId};

/// A handle on one session.
///
/// Any number of handles, threads and processes may append to one session (SPEC 7.2). A handle reads what it has
/// replayed so far: appends and [`Session::refresh`] replay what others have added, reads do not.
///
/// A handle has a *base*, the leaf that it expects, and a *position*, where the next entry goes. Both change only by
/// its own appends, moves and [`Session::branch`], by `refresh`, and by a conflict that was returned (SPEC 3.7).
pub struct Session {
    journal: Box<dyn Journal>,
    options: SessionOptions,
    state: Mutex<State>,
}

/// What a handle knows.
struct State {
    replay: Replay,
    base: Option<EntryId>,
    position: Option<EntryId>,
    /// Whether the position was chosen with `branch`, so that it survives a refresh.
    branched: bool,
    reloads: u64,
}

/// What [`Session::refresh`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refresh {
    /// The ids of the entries that are new to this handle, in file order.
    pub new_entries: Vec<EntryId>,
    /// Whether the log had been rewritten, truncated or replaced, and was read anew from its start (SPEC 2.8).
    pub reloaded: bool,
}

impl Session {
    /// Opens the session at `path` with the default options. Nothing is written (SPEC 1.4).
    ///
    /// Sessions of versions 1 and 2 are read as version 3 and cannot be appended to until they are migrated (SPEC 8.4);
    /// the version in [`Session::header`] is the log's own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], [`ErrorKind::NotASession`] or [`ErrorKind::Unsupported`]; the file is untouched.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, SessionOptions::default())
    }

    /// Opens the session at `path`.
    ///
    /// # Errors
    ///
    /// As [`Session::open`], and [`ErrorKind::Corrupt`] if the options ask for strictness and there is damage.
    pub fn open_with(path: impl AsRef<Path>, options: SessionOptions) -> Result<Self> {
        Self::from_journal(journal::open(path.as_ref(), options.of_journal())?, options)
    }

    /// Opens the session in `journal`, which some backend has opened.
    ///
    /// # Errors
    ///
    /// As [`Session::open_with`].
    pub fn from_journal(mut journal: Box<dyn Journal>, options: SessionOptions) -> Result<Self> {
        let mut replay = Replay::start(&*journal)?;
        if replay.header().version < FORMAT_VERSION {
            journal = Box::new(UpgradedJournal::new(journal)?);
            replay = Replay::start(&*journal)?;
        }
        let leaf = id_of(&replay, replay.index().leaf());
        let state = State { replay, base: leaf.clone(), position: leaf, branched: false, reloads: 0 };
        let session = Self { journal, options, state: Mutex::new(state) };
        session.check_strict(&session.state.lock())?;
        Ok(session)
    }

    fn check_strict(&self, state: &State) -> Result<()> {
        let (damage, _) = state.replay.index().damage();
        match damage.first() {
            Some(damage) if self.options.strict => {
                let message = format!("damage ({}: {}) and strict reading was asked for", damage.kind, damage.detail);
                let error = Error::new(ErrorKind::Corrupt, message).at(self.journal.path());
                Err(error.at_line(damage.line, self.journal.stored_position(damage.offset)))
            }
            _ => Ok(()),
        }
    }

    /// What the session says about itself.
    pub fn header(&self) -> Header {
        self.state.lock().replay.header().clone()
    }

    /// The folder of the session's project: what the header says, or where it was relocated to since.
    pub fn cwd(&self) -> PathBuf {
        let state = self.state.lock();
        state.replay.index().cwd().unwrap_or(&state.replay.header().cwd).into()
    }

    /// The id.
    pub fn id(&self) -> SessionId {
        self.state.lock().replay.header().id.clone()
    }

    /// What opens the session again: the log's absolute path, or the name that a backend without files has for it.
    pub fn path(&self) -> PathBuf {
        self.journal.path()
    }

    /// What a fork names as its parent: the path as pi does, or the id where there are no paths (SPEC 1.1).
    pub(crate) fn name_for_forks(&self) -> String {
        if self.journal.path_is_file() { self.path().to_string_lossy().into_owned() } else { self.id().to_string() }
    }

    /// Where this handle stands: the parent of its next entry, `None` before the first one.
    pub fn leaf(&self) -> Option<EntryId> {
        self.state.lock().position.clone()
    }

    /// This handle's base, the leaf that it expects, and its position, taken together (SPEC 3.7).
    pub(crate) fn standing(&self) -> (Option<EntryId>, Option<EntryId>) {
        let state = self.state.lock();
        (state.base.clone(), state.position.clone())
    }

    /// The leaf that the log says, as far as it was replayed; differs from [`Session::leaf`] after a `branch`.
    pub fn stored_leaf(&self) -> Option<EntryId> {
        let state = self.state.lock();
        id_of(&state.replay, state.replay.index().leaf())
    }

    /// The leaves of the other lanes (SPEC 3.9), by name.
    pub fn lanes(&self) -> Vec<(String, Option<EntryId>)> {
        let state = self.state.lock();
        let lanes = state.replay.index().lanes();
        lanes.iter().map(|(lane, row)| (lane.to_string(), id_of(&state.replay, *row))).collect()
    }

    /// The session's name, if it has one.
    pub fn name(&self) -> Option<String> {
        self.state.lock().name().map(str::to_owned)
    }

    /// The label on `id` and when it was set (SPEC 3.6).
    pub fn label(&self, id: &EntryId) -> Option<Label> {
        self.state.lock().replay.index().label(id).cloned()
    }

    /// All labels, by the entry that they are on.
    pub fn labels(&self) -> Vec<(EntryId, Label)> {
        let state = self.state.lock();
        let mut labels: Vec<_> =
            state.replay.index().labels().iter().map(|(id, label)| (id.clone(), label.clone())).collect();
        labels.sort_by(|a, b| a.0.cmp(&b.0));
        labels
    }

    /// Why the leaf is in doubt, if it is: then a default append fails (SPEC 2.3).
    pub fn doubt(&self) -> Option<Doubt> {
        self.state.lock().replay.index().doubt().cloned()
    }

    /// The first 1,000 damaged records, and how many there are in all (SPEC 2.2).
    pub fn damage(&self) -> (Vec<Damage>, u64) {
        let state = self.state.lock();
        let (damage, count) = state.replay.index().damage();
        let mut damage = damage.to_vec();
        for damage in &mut damage {
            damage.offset = self.journal.stored_position(damage.offset);
        }
        (damage, count)
    }

    /// All places where an entry's parent is missing, in file order (SPEC 2.3).
    pub fn gaps(&self) -> Vec<Gap> {
        self.state.lock().replay.index().gaps().map(|(_, gap)| gap.clone()).collect()
    }

    /// How often this handle found its log rewritten or replaced and read it anew (SPEC 2.8).
    pub fn reloads(&self) -> u64 {
        self.state.lock().reloads
    }

    /// Replays what others have appended, and takes the leaf from the log unless this handle has branched.
    ///
    /// Costs time for the new bytes only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`] if the log was deleted, or another session is at its path.
    pub fn refresh(&self) -> Result<Refresh> {
        let mut state = self.state.lock();
        let before = state.replay.rows();
        let end = self.journal.end()?;
        let reloaded = state.catch_up(&*self.journal, end)?;
        self.check_strict(&state)?;
        let table = &state.replay.index().table;
        let new_entries = (if reloaded { 0 } else { before }..table.len()).map(|row| table.id(row)).collect();
        state.follow_leaf();
        Ok(Refresh { new_entries, reloaded })
    }

    /// Waits until the log has something that this handle has not replayed, at most for `wait`, and refreshes
    /// (SPEC 7.4). What others append is shown once each, in order; nothing new in time is an empty answer.
    ///
    /// # Errors
    ///
    /// As [`Session::refresh`].
    pub fn watch(&self, wait: Duration) -> Result<Refresh> {
        let seen = {
            let state = self.state.lock();
            End { position: state.replay.seen(), generation: state.replay.generation() }
        };
        self.journal.watch(seen, wait)?;
        self.refresh()
    }

    /// Makes everything durable that was appended to the session so far (SPEC 1.6).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Undecided`] if the disk failed.
    pub fn sync(&self) -> Result<()> {
        let generation = self.state.lock().replay.generation();
        self.journal.sync_all(generation)
    }
}

impl State {
    /// Replays up to `end`. After a reload, what is no longer there is no position.
    fn catch_up(&mut self, journal: &dyn Journal, end: End) -> Result<bool> {
        let reloaded = self.replay.catch_up(journal, end)?;
        if reloaded {
            self.reloads += 1;
            let known =
                |id: &Option<EntryId>| id.as_ref().is_none_or(|id| self.replay.index().table.find(id).is_some());
            if !known(&self.position) {
                self.position = id_of(&self.replay, self.replay.index().leaf());
                self.branched = false;
            }
        }
        Ok(reloaded)
    }

    /// Makes the log's leaf the base, and the position too unless that was chosen with `branch`.
    fn follow_leaf(&mut self) {
        self.base = id_of(&self.replay, self.replay.index().leaf());
        if !self.branched {
            self.position.clone_from(&self.base);
        }
    }

    fn name(&self) -> Option<&str> {
        self.replay.index().name().map(|name| name.text.as_str())
    }

    fn row_of_position(&self) -> Row {
        self.position.as_ref().and_then(|id| self.replay.index().table.find(id)).unwrap_or(NONE)
    }

    /// The row of an entry that may be a parent or a target: a known one, and no leaf entry.
    fn target(&self, id: Option<&EntryId>) -> Result<Row> {
        let Some(id) = id else { return Ok(NONE) };
        let row = self.find(id)?;
        if self.replay.index().table.kind(row) == EntryKind::Leaf {
            return Err(Error::invalid(format!(
                "{id} is a leaf entry, which cannot be a target; name the entry it points to"
            )));
        }
        Ok(row)
    }

    fn find(&self, id: &EntryId) -> Result<Row> {
        let found = self.replay.index().table.find(id);
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no entry {id} in this session")))
    }
}

fn id_of(replay: &Replay, row: Row) -> Option<EntryId> {
    (row != NONE).then(|| replay.index().table.id(row))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("path", &self.journal.path()).finish_non_exhaustive()
    }
}
