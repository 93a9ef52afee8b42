//! How a navigation is done.

use crate::error::{Error, Result};

/// The model's context window, in tokens, where the host names none (SPEC 6.2).
const CONTEXT_WINDOW_TOKENS: u64 = 128_000;

/// How much of it is left for the prompt's own words and the answer, in tokens (SPEC 6.2).
const RESERVE_TOKENS: u64 = 16_384;

/// How [`Navigator::navigate`](super::Navigator::navigate) goes about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigateOptions {
    pub(super) summarize: bool,
    pub(super) instructions: Option<String>,
    pub(super) replace_instructions: bool,
    pub(super) label: Option<String>,
    context_window: u64,
    reserve: u64,
}

impl Default for NavigateOptions {
    fn default() -> Self {
        Self {
            summarize: false,
            instructions: None,
            replace_instructions: false,
            label: None,
            context_window: CONTEXT_WINDOW_TOKENS,
            reserve: RESERVE_TOKENS,
        }
    }
}

impl NavigateOptions {
    /// Only the leaf moves: no summary, no label.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to leave a summary of the branch that is left.
    #[must_use]
    pub fn summarize(mut self, summarize: bool) -> Self {
        self.summarize = summarize;
        self
    }

    /// What the summary should look at above all; blank text counts as none.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Whether the instructions stand instead of leaflog's own, rather than behind them.
    #[must_use]
    pub fn replace_instructions(mut self, replace: bool) -> Self {
        self.replace_instructions = replace;
        self
    }

    /// A label for the summary entry or, without one, for the new leaf; blank text counts as none.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// How many tokens the summarising model takes in all; 128,000 by default.
    #[must_use]
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.context_window = tokens;
        self
    }

    /// How many of them are kept free of the conversation; 16,384 by default.
    #[must_use]
    pub fn reserve(mut self, tokens: u64) -> Self {
        self.reserve = tokens;
        self
    }

    /// How many tokens of conversation may be summarised.
    pub(super) fn budget(&self) -> Result<u64> {
        match self.context_window.checked_sub(self.reserve) {
            Some(budget) if budget > 0 => Ok(budget),
            _ => Err(Error::invalid("the reserve leaves no room in the context window")),
        }
    }
}
