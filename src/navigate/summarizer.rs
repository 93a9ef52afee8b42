//! Who writes a summary, and what comes of it (SPEC 6.2, 6.4).

use std::error::Error as StdError;

use super::cancellation::Cancellation;
use super::prompt::Prompt;
use crate::session::BranchSummary;

/// Writes summaries (SPEC 6.4): a model, a command, or any function of this shape.
pub trait Summarizer: Send + Sync {
    /// Answers `prompt`. Called from the thread that navigates, which waits for it.
    ///
    /// An implementation should look at `cancellation` while it waits, and stop when that says so; whatever it returns
    /// then is dropped.
    ///
    /// # Errors
    ///
    /// [`SummaryFailure::Aborted`] if it was stopped; `Failed` with the reason for anything else. Either way the leaf
    /// stays where it is.
    fn summarize(&self, prompt: &Prompt, cancellation: &Cancellation) -> Result<Summarized, SummaryFailure>;
}

impl<F> Summarizer for F
where
    F: Fn(&Prompt, &Cancellation) -> Result<Summarized, SummaryFailure> + Send + Sync,
{
    fn summarize(&self, prompt: &Prompt, cancellation: &Cancellation) -> Result<Summarized, SummaryFailure> {
        self(prompt, cancellation)
    }
}

/// What a summariser wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summarized {
    /// The text, without preamble and lists of files.
    pub text: String,
    /// What it cost, raw JSON.
    pub usage: Option<String>,
}

impl Summarized {
    /// A text whose cost is unknown.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: None }
    }

    /// What it cost, raw JSON.
    #[must_use]
    pub fn usage(mut self, json: impl Into<String>) -> Self {
        self.usage = Some(json.into());
        self
    }
}

/// Why there is no summary. Every error turns into one by `?`.
#[derive(Debug)]
pub enum SummaryFailure {
    /// It was stopped on purpose: the navigation is cancelled.
    Aborted,
    /// It went wrong: the navigation fails with [`ErrorKind::Summary`](crate::ErrorKind::Summary) and this source.
    Failed(Box<dyn StdError + Send + Sync>),
}

impl SummaryFailure {
    /// A failure for this reason, one line that may be shown.
    pub fn failed(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(reason.into())
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for SummaryFailure {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}

/// A summary as it is stored (SPEC 6.2). Turns into a [`BranchSummary`], for
/// [`Session::move_with`](crate::Session::move_with).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What the model will read: preamble, text, lists of files.
    pub text: String,
    /// Details of whoever made it, raw JSON; the lists of files as `{"readFiles","modifiedFiles"}` if leaflog did.
    pub details: Option<String>,
    /// What it cost, raw JSON.
    pub usage: Option<String>,
    /// Whether a hook made it; the navigator sets this.
    pub from_hook: bool,
}

impl Summary {
    /// A summary with this text and nothing else.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Details, raw JSON; not sent to the model.
    #[must_use]
    pub fn details(mut self, json: impl Into<String>) -> Self {
        self.details = Some(json.into());
        self
    }

    /// What it cost, raw JSON.
    #[must_use]
    pub fn usage(mut self, json: impl Into<String>) -> Self {
        self.usage = Some(json.into());
        self
    }
}

impl From<Summary> for BranchSummary {
    fn from(summary: Summary) -> Self {
        let mut branch = Self::new(summary.text).from_hook(summary.from_hook);
        if let Some(details) = summary.details {
            branch = branch.details(details);
        }
        if let Some(usage) = summary.usage {
            branch = branch.usage(usage);
        }
        branch
    }
}
