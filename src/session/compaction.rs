//! Compaction: a summary that stands for what came before it in the context (SPEC 3.5, 4.3).

use std::collections::HashSet;

use super::append::{Plan, Receipt};
use super::context::{Settings, settings_of_path};
use super::options::AppendOptions;
use super::seal::Draft;
use super::{Session, State, id_of};
use crate::error::{Error, Result};
use crate::index::Row;
use crate::journal::Journal;
use crate::model::json::quote;
use crate::model::{EntryId, EntryKind, NewEntry, json_value};

/// A compaction to append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    summary: String,
    first_kept: Option<EntryId>,
    tokens_before: u64,
    details: Option<String>,
    usage: Option<String>,
    retained_tail: Option<String>,
    system_message: Option<String>,
    from_hook: Option<bool>,
    keep_settings: bool,
}

impl Compaction {
    /// A compaction that keeps nothing of what came before it but `summary`.
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), ..Self::default() }
    }

    /// Keeps the messages from `entry` on, which must be on the path.
    #[must_use]
    pub fn first_kept(mut self, entry: EntryId) -> Self {
        self.first_kept = Some(entry);
        self
    }

    /// How many tokens the context had.
    #[must_use]
    pub fn tokens_before(mut self, tokens: u64) -> Self {
        self.tokens_before = tokens;
        self
    }

    /// Details of the host, raw JSON; not sent to the model.
    #[must_use]
    pub fn details(mut self, json: impl Into<String>) -> Self {
        self.details = Some(json.into());
        self
    }

    /// What the summary cost, raw JSON.
    #[must_use]
    pub fn usage(mut self, json: impl Into<String>) -> Self {
        self.usage = Some(json.into());
        self
    }

    /// Messages that replace the kept range, as a JSON array; even an empty one replaces it.
    #[must_use]
    pub fn retained_tail(mut self, json: impl Into<String>) -> Self {
        self.retained_tail = Some(json.into());
        self
    }

    /// The system message from here on, as a JSON object; those of the kept range are left out then (SPEC 4.1).
    #[must_use]
    pub fn system_message(mut self, json: impl Into<String>) -> Self {
        self.system_message = Some(json.into());
        self
    }

    /// Whether a hook made it.
    #[must_use]
    pub fn from_hook(mut self, from_hook: bool) -> Self {
        self.from_hook = Some(from_hook);
        self
    }

    /// Whether to write the settings of the whole old path again behind the compaction, in the same write.
    #[must_use]
    pub fn keep_settings(mut self, keep: bool) -> Self {
        self.keep_settings = keep;
        self
    }

    fn into_entry(self, id: &EntryId) -> Result<NewEntry> {
        if self.retained_tail.as_deref().is_some_and(|tail| !tail.trim_start().starts_with('[')) {
            return Err(Error::invalid("a retained tail is a JSON array of messages"));
        }
        if self.system_message.as_deref().is_some_and(|message| !message.trim_start().starts_with('{')) {
            return Err(Error::invalid("a system message is a JSON object"));
        }
        // A compaction that keeps nothing names itself, as pi 1.6.0 writes it.
        let first_kept = self.first_kept.as_ref().unwrap_or(id).to_string();
        let (summary, first_kept) = (quote(&self.summary), quote(&first_kept));
        let mut fields =
            format!(r#""summary":{summary},"firstKeptEntryId":{first_kept},"tokensBefore":{}"#, self.tokens_before);
        let members = [
            ("retainedTail", self.retained_tail),
            ("details", self.details),
            ("usage", self.usage),
            ("fromHook", self.from_hook.map(|from_hook| from_hook.to_string())),
            ("systemMessage", self.system_message),
        ];
        for (key, value) in members {
            if let Some(value) = value {
                fields.push_str(&format!(r#","{key}":{}"#, json_value(&value, key)?));
            }
        }
        Ok(NewEntry::from_json(&format!(r#"{{"type":"compaction",{fields}}}"#))?.with_id(id.clone()))
    }
}

impl Session {
    /// Appends a compaction at this handle's position: its summary stands for the path before it from now on.
    ///
    /// Nothing is removed: the entries stay, and a branch from before the compaction sees them again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if the first kept entry is not on the path or a JSON part is
    /// not JSON, and what [`Session::append`] may return.
    pub fn compact(&self, compaction: Compaction) -> Result<Receipt> {
        self.compact_with(compaction, &AppendOptions::new())
    }

    /// Appends a compaction where `options` say.
    ///
    /// # Errors
    ///
    /// As [`Session::compact`].
    pub fn compact_with(&self, compaction: Compaction, options: &AppendOptions) -> Result<Receipt> {
        let receipts = self.write(options.durability, &mut |state, journal| {
            let parent = state.attach(options)?;
            if let Some(first_kept) = &compaction.first_kept {
                state.check_on_path(first_kept, parent)?;
            }
            let mut drafts = self.compaction_drafts(state, &compaction, parent)?;
            if compaction.keep_settings {
                keep_settings(state, journal, parent, &mut drafts)?;
            }
            let plan = Plan::appending(drafts);
            Ok(Plan { answers: 1, ..plan })
        })?;
        Ok(receipts.into_iter().next().expect("one entry was written"))
    }

    fn compaction_drafts(&self, state: &State, compaction: &Compaction, parent: Row) -> Result<Vec<Draft>> {
        let id = state.draw_id(&HashSet::new());
        let entry = self.through_hook(vec![compaction.clone().into_entry(&id)?])?.remove(0);
        Ok(vec![state.draft(entry, id_of(&state.replay, parent), &mut HashSet::new())])
    }
}

impl State {
    fn check_on_path(&self, first_kept: &EntryId, leaf: Row) -> Result<()> {
        let row = self.target(Some(first_kept))?;
        let table = &self.replay.index().table;
        if !table.upwards(leaf).any(|on_path| on_path == row) {
            return Err(Error::invalid(format!("the first kept entry {first_kept} is not on the path")));
        }
        Ok(())
    }
}

/// Appends the settings that the whole path had, where they are not the defaults (SPEC 4.3).
fn keep_settings(state: &State, journal: &dyn Journal, leaf: Row, drafts: &mut Vec<Draft>) -> Result<()> {
    let Settings { model, thinking_level, active_tool_names } = settings_of_path(state.replay.index(), journal, leaf)?;
    let mut entries = Vec::new();
    if let Some(model) = model {
        entries.push(NewEntry::model_change(&model.provider, &model.model_id));
    }
    if thinking_level != Settings::default().thinking_level {
        entries.push(NewEntry::thinking_level_change(&thinking_level));
    }
    if let Some(names) = active_tool_names {
        entries.push(NewEntry::active_tools_change(&names));
    }
    let mut taken = drafts.iter().map(|draft| draft.id.clone()).collect();
    for entry in entries {
        debug_assert!(!matches!(entry.kind(), EntryKind::Compaction));
        let parent = drafts.last().map(|draft| draft.id.clone());
        drafts.push(state.draft(entry, parent, &mut taken));
    }
    Ok(())
}
