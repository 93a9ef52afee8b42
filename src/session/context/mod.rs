//! The context: what the model sees of a session (SPEC 3.5, 4).
//!
//! Select the entries of the context path, let transforms change the selection, project it to messages. The cost
//! follows the context, not the file: only its records are read (SPEC 4.6).

mod llm;
mod message;
mod project;
mod select;
mod settings;
mod tool_calls;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

pub use llm::to_llm;
pub use message::Message;
pub(crate) use project::{latest_edits, project as project_entry};
pub use settings::{Model, Settings};
pub use tool_calls::ToolCall;

use super::Session;
use super::read::{Locator, gaps_on, read_entries};
use crate::error::Result;
use crate::index::{Gap, Index, Row};
use crate::journal::Journal;
use crate::model::{Entry, EntryId, EntryKind, Role};
use select::Selection;

/// Changes the entries that the compaction selected, before they become messages (SPEC 4.4).
type Transform = Arc<dyn Fn(Vec<Entry>) -> Vec<Entry> + Send + Sync>;

/// Gives the messages, each a JSON object, that a custom entry contributes; it gets the entry, its index, and all
/// selected entries (SPEC 4.4).
type Projector = Arc<dyn Fn(&Entry, usize, &[Entry]) -> Vec<String> + Send + Sync>;

/// Which part of the path the settings come from (SPEC 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingsFrom {
    /// The context path, as C12 says: a setting from before a compaction's boundary is gone.
    #[default]
    ContextPath,
    /// The whole path to the root, as pi 1.6.0 does.
    WholePath,
}

/// How a context is built.
#[derive(Clone, Default)]
pub struct ContextOptions {
    from: Option<EntryId>,
    settings: SettingsFrom,
    drop_orphan_results: bool,
    transforms: Vec<Transform>,
    projectors: BTreeMap<String, Projector>,
}

impl ContextOptions {
    /// The context at the handle's position.
    pub fn new() -> Self {
        Self::default()
    }

    /// The context as it would be with the leaf at `entry`.
    #[must_use]
    pub fn from(mut self, entry: EntryId) -> Self {
        self.from = Some(entry);
        self
    }

    /// Which part of the path the settings come from.
    #[must_use]
    pub fn settings(mut self, settings: SettingsFrom) -> Self {
        self.settings = settings;
        self
    }

    /// Leaves out tool results whose call is not in the context; they are reported all the same (SPEC 4.5).
    #[must_use]
    pub fn drop_orphan_results(mut self, drop: bool) -> Self {
        self.drop_orphan_results = drop;
        self
    }

    /// Changes the selected entries, after the transforms that were given before.
    #[must_use]
    pub fn transform(mut self, transform: impl Fn(Vec<Entry>) -> Vec<Entry> + Send + Sync + 'static) -> Self {
        self.transforms.push(Arc::new(transform));
        self
    }

    /// Says what custom entries of `custom_type` contribute.
    #[must_use]
    pub fn projector(
        mut self,
        custom_type: impl Into<String>,
        projector: impl Fn(&Entry, usize, &[Entry]) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.projectors.insert(custom_type.into(), Arc::new(projector));
        self
    }

    /// These options with what the session's own say first: its transforms run before, its projectors where the call
    /// names none (SPEC 4.4).
    fn behind(&self, session: &Self) -> Self {
        let mut both = self.clone();
        both.transforms = session.transforms.iter().chain(&self.transforms).cloned().collect();
        for (custom_type, projector) in &session.projectors {
            both.projectors.entry(custom_type.clone()).or_insert_with(|| Arc::clone(projector));
        }
        both
    }

    fn project(&self, entry: &Entry, index: usize, selected: &[Entry]) -> Vec<String> {
        let custom_type = entry.text_member("customType").unwrap_or_default();
        self.projectors.get(&custom_type).map(|projector| projector(entry, index, selected)).unwrap_or_default()
    }
}

impl fmt::Debug for ContextOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextOptions")
            .field("from", &self.from)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What the model sees, and what a host should know about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context {
    /// The messages, in order, with their stored bytes.
    pub messages: Vec<Message>,
    /// Model, thinking level and active tools.
    pub settings: Settings,
    /// Missing parents on the context path (SPEC 2.3).
    pub gaps: Vec<Gap>,
    /// Calls of the assistant that no result answers (SPEC 4.5).
    pub open_tool_calls: Vec<ToolCall>,
    /// Entries with tool results whose call is not in the context (SPEC 4.5).
    pub orphan_results: Vec<EntryId>,
    /// Entries of the context that are not what their checksum says (SPEC 1.2).
    pub suspects: Vec<EntryId>,
    /// The first kept entry that the compaction names, if it is not on the path, so that nothing is kept (SPEC 3.5).
    pub off_path_first_kept: Option<EntryId>,
}

impl Session {
    /// The context at this handle's position, or as `options` say.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the entry to start from is unknown,
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if the path has a gap and the session was opened strictly.
    pub fn context(&self, options: &ContextOptions) -> Result<Context> {
        let options = options.behind(&self.options.context);
        let (selection, gaps, locators) = self.select(&options)?;
        self.refuse_gaps(&gaps)?;
        let path = read_entries(&*self.journal, &locators)?;
        let settings = match options.settings {
            SettingsFrom::ContextPath => settings_of(&path),
            SettingsFrom::WholePath => self.whole_path_settings(options.from.as_ref())?,
        };
        let suspects = path.iter().filter(|entry| entry.suspect).map(|entry| entry.id.clone()).collect();
        let mut selected = selection.arrange(path);
        for transform in &options.transforms {
            selected = transform(selected);
        }
        let projector = |entry: &Entry, index: usize, selected: &[Entry]| options.project(entry, index, selected);
        let mut messages = project::project_selected(&selected, &projector);
        let orphans = tool_calls::orphan_results(&messages);
        let orphan_results = orphans.iter().filter_map(|index| messages[*index].entry_id().cloned()).collect();
        if options.drop_orphan_results {
            let orphans: HashSet<_> = orphans.into_iter().collect();
            let mut index = 0..;
            messages.retain(|_| index.next().is_none_or(|index| !orphans.contains(&index)));
        }
        let open_tool_calls = tool_calls::open_tool_calls(&messages);
        let off_path_first_kept = selection.off_path_first_kept;
        Ok(Context { messages, settings, gaps, open_tool_calls, orphan_results, suspects, off_path_first_kept })
    }

    fn select(&self, options: &ContextOptions) -> Result<(Selection, Vec<Gap>, Vec<Locator>)> {
        let state = self.state.lock();
        let index = state.replay.index();
        let leaf = state.row_from(options.from.as_ref())?;
        let selection = Selection::of(index, &*self.journal, leaf)?;
        let gaps = gaps_on(index, &selection.rows);
        let locators = selection.rows.iter().map(|row| Locator::of(index, *row)).collect();
        Ok((selection, gaps, locators))
    }

    /// The ids on the context path of `from` (C12's `getBranch`): from the root, or from where the newest compaction's
    /// kept range starts (SPEC 3.5).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such entry.
    pub fn context_path(&self, from: Option<&EntryId>) -> Result<Vec<EntryId>> {
        let state = self.state.lock();
        let rows = context_rows(state.replay.index(), &*self.journal, state.row_from(from)?)?;
        Ok(rows.into_iter().map(|row| state.replay.index().table.id(row)).collect())
    }

    fn whole_path_settings(&self, from: Option<&EntryId>) -> Result<Settings> {
        let state = self.state.lock();
        settings_of_path(state.replay.index(), &*self.journal, state.row_from(from)?)
    }

    /// The newest entry on the context path at which every tool call is answered: where to go back to after a turn
    /// that was cut off (SPEC 4.5). `None` is before the first entry.
    ///
    /// # Errors
    ///
    /// As [`Session::context`].
    pub fn last_complete_turn(&self) -> Result<Option<EntryId>> {
        let context = self.context(&ContextOptions::new())?;
        let leaf = self.leaf();
        let Some(first_open) = context.open_tool_calls.iter().find_map(|call| call.entry.as_ref()) else {
            return Ok(leaf);
        };
        let state = self.state.lock();
        let row = state.find(first_open)?;
        Ok(state.id_at(state.replay.index().table.parent(row)))
    }
}

/// The rows of the context path of `leaf`, in path order.
pub(super) fn context_rows(index: &Index, journal: &dyn Journal, leaf: Row) -> Result<Vec<Row>> {
    Ok(Selection::of(index, journal, leaf)?.rows)
}

fn settings_of(path: &[Entry]) -> Settings {
    let mut settings = Settings::default();
    for entry in path {
        settings.apply(entry);
    }
    settings
}

/// The settings of the whole path to `leaf`. Reads the entries that may set one, from the leaf up, until all are known.
pub(super) fn settings_of_path(index: &Index, journal: &dyn Journal, leaf: Row) -> Result<Settings> {
    const PAGE: usize = 64;
    let table = &index.table;
    let mut settings = Settings::default();
    let (mut model, mut level, mut tools) = (false, false, false);
    let mut rows = table.upwards(leaf).filter(|row| match table.kind(*row) {
        EntryKind::Message => table.role(*row) == Some(Role::Assistant),
        kind => matches!(kind, EntryKind::ModelChange | EntryKind::ThinkingLevelChange | EntryKind::ActiveToolsChange),
    });
    loop {
        let mut page: Vec<_> = rows.by_ref().take(PAGE).map(|row| Locator::of(index, row)).collect();
        if page.is_empty() || (model && level && tools) {
            return Ok(settings);
        }
        page.reverse();
        for entry in read_entries(journal, &page)?.iter().rev() {
            let mut named = Settings { thinking_level: String::new(), ..Settings::default() };
            named.apply(entry);
            if let Some(found) = named.model.filter(|_| !model) {
                (settings.model, model) = (Some(found), true);
            }
            if !named.thinking_level.is_empty() && !level {
                (settings.thinking_level, level) = (named.thinking_level, true);
            }
            if let Some(found) = named.active_tool_names.filter(|_| !tools) {
                (settings.active_tool_names, tools) = (Some(found), true);
            }
        }
    }
}
