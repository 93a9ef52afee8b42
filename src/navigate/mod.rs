//! Going elsewhere in the tree as a host does it, with a summary of the branch that is left (SPEC 6, C12's harness).
//!
//! [`Navigator`] ties the parts together; each of them can be used alone: [`collect_branch`] says what is left behind,
//! [`prepare_branch`] makes of it messages that fit a budget, [`summary_prompt`] what to ask for, and a [`Summarizer`]
//! answers. Nothing here knows how records are stored.

mod attempt;
mod cancellation;
mod collect;
mod command;
mod content;
mod hooks;
mod navigator;
mod options;
mod phase;
mod prepare;
mod prompt;
mod summarizer;

pub use cancellation::Cancellation;
pub use collect::{LeftBranch, collect_branch};
pub use command::CommandSummarizer;
pub use hooks::{NavigationDecision, NavigationEvent, NavigationPlan};
pub use navigator::{Moved, Navigation, Navigator};
pub use options::NavigateOptions;
pub use phase::{Phase, PhaseGuard};
pub use prepare::{PreparedBranch, estimate_tokens, prepare_branch};
pub use prompt::{Prompt, summary_prompt};
pub use summarizer::{Summarized, Summarizer, Summary, SummaryFailure};
