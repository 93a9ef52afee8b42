//! What a host is asked before a navigation and told after it (SPEC 6.3).

use super::cancellation::Cancellation;
use super::summarizer::Summary;
use crate::error::Result;
use crate::model::{Entry, EntryId};

/// Asked before anything is written; an error ends the navigation.
pub(super) type Before = Box<dyn Fn(&NavigationPlan<'_>) -> Result<NavigationDecision> + Send + Sync>;

/// Told when the leaf has moved.
pub(super) type After = Box<dyn Fn(&NavigationEvent) + Send + Sync>;

/// What a navigation is about to do, as the hook before it sees it (SPEC 6.3).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NavigationPlan<'a> {
    /// The entry that was selected.
    pub target: &'a EntryId,
    /// The leaf that is left.
    pub old_leaf: Option<&'a EntryId>,
    /// The deepest entry on both context paths.
    pub common_ancestor: Option<&'a EntryId>,
    /// What is left behind, in time order.
    pub entries: &'a [Entry],
    /// Whether a summary was asked for.
    pub summary_wanted: bool,
    /// What the summary should look at.
    pub instructions: Option<&'a str>,
    /// Whether the instructions stand instead of leaflog's own.
    pub replace_instructions: bool,
    /// The label that was asked for.
    pub label: Option<&'a str>,
    /// Cancelled when the navigation is aborted.
    pub cancellation: &'a Cancellation,
}

/// What the hook before a navigation decides; by default nothing changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NavigationDecision {
    pub(super) cancel: bool,
    pub(super) summary: Option<Summary>,
    pub(super) instructions: Option<String>,
    pub(super) replace_instructions: Option<bool>,
}

impl NavigationDecision {
    /// Goes on as asked.
    pub fn proceed() -> Self {
        Self::default()
    }

    /// Does not navigate: nothing is written.
    pub fn cancel() -> Self {
        Self { cancel: true, ..Self::default() }
    }

    /// Supplies the summary: it is stored whether or not one was asked for, and no summariser is called. A summary
    /// without text counts as none.
    #[must_use]
    pub fn summary(mut self, summary: Summary) -> Self {
        self.summary = Some(summary);
        self
    }

    /// Takes other instructions than those that were given.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Decides anew whether the instructions stand instead of leaflog's own.
    #[must_use]
    pub fn replace_instructions(mut self, replace: bool) -> Self {
        self.replace_instructions = Some(replace);
        self
    }
}

/// What a navigation has done (SPEC 6.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NavigationEvent {
    /// The leaf now.
    pub new_leaf: Option<EntryId>,
    /// The leaf before.
    pub old_leaf: Option<EntryId>,
    /// The entry that holds the summary, if there is one.
    pub summary_entry: Option<EntryId>,
    /// Whether the hook supplied the summary.
    pub from_hook: bool,
}
