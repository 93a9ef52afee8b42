//! The steps of one navigation: look, ask, summarise, move, tell (SPEC 6.1 to 6.3).

use super::cancellation::Cancellation;
use super::collect::{LeftBranch, collect_branch};
use super::content::{Fields, blocks_of, joined, texts};
use super::hooks::{NavigationDecision, NavigationEvent, NavigationPlan};
use super::navigator::{Moved, Navigation, Navigator};
use super::options::NavigateOptions;
use super::prepare::{PreparedBranch, prepare_branch};
use super::prompt::summary_prompt;
use super::summarizer::{Summarized, Summary, SummaryFailure};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Entry, EntryId, EntryKind, NewEntry, Role, json_value, one_line_label};
use crate::session::{AppendOptions, BranchSummary, Session};

/// A navigation under way. Until the last step it only reads.
pub(super) struct Attempt<'a> {
    navigator: &'a Navigator,
    target: &'a EntryId,
    options: &'a NavigateOptions,
    cancellation: &'a Cancellation,
    /// What the move expects the leaf of the log to be.
    base: Option<EntryId>,
    old_leaf: Option<EntryId>,
    landing: Landing,
    left: LeftBranch,
}

/// What became of the summary.
enum Making {
    Made(Option<Summary>),
    Aborted,
}

/// What became of the move.
struct Stored {
    leaf: Option<EntryId>,
    summary_entry: Option<EntryId>,
}

impl<'a> Attempt<'a> {
    /// `None` if the leaf is at the target already.
    pub(super) fn new(
        navigator: &'a Navigator,
        target: &'a EntryId,
        options: &'a NavigateOptions,
        cancellation: &'a Cancellation,
    ) -> Result<Option<Self>> {
        let session = &*navigator.session;
        let (base, old_leaf) = session.standing();
        if old_leaf.as_ref() == Some(target) {
            return Ok(None);
        }
        let landing = Landing::of(session, target)?;
        // What is left behind is read only for those who look at it.
        let left = if options.summarize || navigator.before.is_some() {
            collect_branch(session, old_leaf.as_ref(), target)?
        } else {
            LeftBranch::default()
        };
        Ok(Some(Self { navigator, target, options, cancellation, base, old_leaf, landing, left }))
    }

    pub(super) fn run(self) -> Result<Navigation> {
        let decision = self.ask()?;
        if decision.cancel || self.cancellation.is_cancelled() {
            return Ok(Navigation::Cancelled);
        }
        let Making::Made(summary) = self.make_summary(decision)? else { return Ok(Navigation::Cancelled) };
        let stored = match self.store(summary.as_ref()) {
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(Navigation::Conflict { error, summary }),
            stored => stored?,
        };
        if let Some(after) = &self.navigator.after {
            after(&NavigationEvent {
                new_leaf: stored.leaf.clone(),
                old_leaf: self.old_leaf,
                summary_entry: stored.summary_entry.clone(),
                from_hook: summary.is_some_and(|summary| summary.from_hook),
            });
        }
        let Stored { leaf, summary_entry } = stored;
        Ok(Navigation::Moved(Moved { leaf, editor_text: self.landing.editor_text, summary_entry }))
    }

    fn ask(&self) -> Result<NavigationDecision> {
        let Some(before) = &self.navigator.before else { return Ok(NavigationDecision::proceed()) };
        before(&NavigationPlan {
            target: self.target,
            old_leaf: self.old_leaf.as_ref(),
            common_ancestor: self.left.common_ancestor.as_ref(),
            entries: &self.left.entries,
            summary_wanted: self.options.summarize,
            instructions: self.options.instructions.as_deref(),
            replace_instructions: self.options.replace_instructions,
            label: self.options.label.as_deref(),
            cancellation: self.cancellation,
        })
    }

    fn make_summary(&self, decision: NavigationDecision) -> Result<Making> {
        if let Some(summary) = decision.summary.filter(|summary| !summary.text.is_empty()) {
            return Ok(Making::Made(Some(Summary { from_hook: true, ..summary })));
        }
        if !self.options.summarize || self.left.entries.is_empty() {
            return Ok(Making::Made(None));
        }
        let prepared = prepare_branch(&self.left.entries, Some(self.options.budget()?));
        if prepared.messages.is_empty() {
            return Ok(Making::Made(Some(PreparedBranch::no_content())));
        }
        let instructions = decision.instructions.as_deref().or(self.options.instructions.as_deref());
        let replace = decision.replace_instructions.unwrap_or(self.options.replace_instructions);
        let Some(summarizer) = &self.navigator.summarizer else {
            return Err(Error::invalid("a summary is wanted and there is no summarizer to write it"));
        };
        let prompt = summary_prompt(&prepared.messages, instructions, replace);
        match summarizer.summarize(&prompt, self.cancellation) {
            // Whoever aborted wants no move, whatever else was the outcome.
            _ if self.cancellation.is_cancelled() => Ok(Making::Aborted),
            Err(SummaryFailure::Aborted) => Ok(Making::Aborted),
            Err(SummaryFailure::Failed(reason)) => Err(failed().with_source(reason)),
            Ok(summarized) => checked(&prepared, summarized).map(|summary| Making::Made(Some(summary))),
        }
    }

    /// The one write of a navigation.
    fn store(&self, summary: Option<&Summary>) -> Result<Stored> {
        let session = &*self.navigator.session;
        let parent = self.landing.parent.as_ref();
        let options = AppendOptions::new().expecting(self.base.clone());
        let label = self.options.label.as_deref().filter(|label| !one_line_label(label).is_empty());
        let mut entries = Vec::new();
        let mut labelled = parent.cloned();
        if let Some(summary) = summary {
            // The label in the same write has to name the summary, which therefore gets its id here.
            let id = EntryId::draw(|id| session.entry(id).is_ok());
            let entry = BranchSummary::from(summary.clone()).into_entry(self.old_leaf.as_ref())?;
            entries.push(entry.with_id(id.clone()));
            labelled = Some(id);
        }
        if let (Some(label), Some(labelled)) = (label, &labelled) {
            entries.push(NewEntry::label(labelled, label));
        }
        if entries.is_empty() {
            session.move_with(parent, None, &options)?;
            return Ok(Stored { leaf: parent.cloned(), summary_entry: None });
        }
        let receipts = session.append_batch(entries, &options.under(parent.cloned()))?;
        let leaf = receipts.last().map(|receipt| receipt.id.clone());
        Ok(Stored { leaf, summary_entry: summary.and(labelled) })
    }
}

/// Where a navigation goes.
struct Landing {
    parent: Option<EntryId>,
    editor_text: Option<String>,
}

impl Landing {
    fn of(session: &Session, target: &EntryId) -> Result<Self> {
        let entry = session.entry(target)?;
        match (entry.kind(), entry.role()) {
            (EntryKind::Leaf, _) => Err(Error::invalid(format!(
                "{target} is a leaf entry, which cannot be a target; name where it points to"
            ))),
            (EntryKind::Message, Some(Role::User)) | (EntryKind::CustomMessage, _) => {
                // The path knows the parent where the record names a leaf entry or one that is missing.
                let path = session.path_ids(Some(target))?;
                Ok(Self { parent: path.iter().rev().nth(1).cloned(), editor_text: Some(editor_text(&entry)) })
            }
            _ => Ok(Self { parent: Some(target.clone()), editor_text: None }),
        }
    }
}

/// The text blocks of a user or custom message, joined (SPEC 6.1).
fn editor_text(entry: &Entry) -> String {
    let record = entry.as_json();
    let record = Fields::of(&record);
    let content = match entry.kind() {
        EntryKind::Message => Fields::of(record.raw("message").unwrap_or_default()).raw("content"),
        _ => record.raw("content"),
    };
    joined(&texts(&blocks_of(content.unwrap_or_default())), "")
}

/// The summary to store, if the summariser did its part.
fn checked(prepared: &PreparedBranch, summarized: Summarized) -> Result<Summary> {
    if summarized.text.trim().is_empty() {
        return Err(failed().with_source("the summarizer returned no text"));
    }
    let usage = summarized.usage.map(|usage| json_value(&usage, "the usage of a summary"));
    let usage = usage.transpose().map_err(|error| failed().with_source(error))?;
    Ok(prepared.summary(&summarized.text, usage))
}

fn failed() -> Error {
    Error::new(ErrorKind::Summary, "the summary failed, so the leaf has not moved")
}
