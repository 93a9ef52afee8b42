//! Going elsewhere as an agent's host does it.

use std::time::Duration;

use clap::Args;
use leaflog::EntryId;

use super::SessionArgs;

const NAVIGATE_EXAMPLES: &str = "Examples:
  leaflog navigate latest 3fa0c1d2
  leaflog navigate latest 3fa0c1d2 --summarize --summarizer 'llm -s \"You summarise.\"' --label 'plan A'
  leaflog navigate latest 3fa0c1d2 --json | jq -r .editorText";

#[derive(Debug, Args)]
#[command(after_long_help = NAVIGATE_EXAMPLES)]
pub(crate) struct Navigate {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Where to. For a user's message that is before it, and its text is printed for editing.
    pub(crate) entry: EntryId,
    /// Leave a summary of the branch that is left, for the model.
    #[arg(long)]
    pub(crate) summarize: bool,
    /// The command that writes it: the prompt comes on its standard input, the summary goes to its standard output.
    #[arg(long, value_name = "COMMAND", env = "LEAFLOG_SUMMARIZER", hide_env_values = true)]
    pub(crate) summarizer: Option<String>,
    /// What the summary should look at above all.
    #[arg(long, value_name = "TEXT", requires = "summarize", allow_hyphen_values = true)]
    pub(crate) instructions: Option<String>,
    /// Give only these instructions, not leaflog's own.
    #[arg(long, requires = "instructions")]
    pub(crate) replace_instructions: bool,
    /// A label for the summary or, without one, for the new leaf.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// How many tokens the summarising model takes in [default: 128000].
    #[arg(long, value_name = "TOKENS", requires = "summarize")]
    pub(crate) window: Option<u64>,
    /// How many of them are kept free for the prompt's own words and the answer [default: 16384].
    #[arg(long, value_name = "TOKENS", requires = "summarize")]
    pub(crate) reserve: Option<u64>,
    /// How many seconds the command may take before it is killed.
    #[arg(long, value_name = "SECONDS", requires = "summarize", default_value = "300", value_parser = seconds)]
    pub(crate) timeout: Duration,
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a number of seconds that can be waited for".to_owned())
}
