//! Commands that read.

use clap::{Args, ValueEnum};
use leaflog::{EntryId, SettingsFrom};

use super::SessionArgs;

const TREE_EXAMPLES: &str = "Examples:
  leaflog tree latest
  leaflog tree latest --filter user --time
  leaflog tree latest --limit 40
  leaflog tree latest --json | jq '.[] | select(.leaf)'";

#[derive(Debug, Args)]
#[command(after_long_help = TREE_EXAMPLES)]
pub(crate) struct Tree {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Which entries count as active.
    #[arg(long, value_enum, default_value_t = TreeActive::Context)]
    pub(crate) active: TreeActive,
    /// Only some entries [default: what belongs to the conversation; with --json all].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) filter: Option<TreeShown>,
    /// Entries that only set or mark something too, such as labels and settings.
    #[arg(long, conflicts_with = "filter")]
    pub(crate) all: bool,
    /// Show when each entry was appended.
    #[arg(long)]
    pub(crate) time: bool,
    /// At most so many lines, those around the leaf.
    #[arg(long, value_name = "LINES")]
    pub(crate) limit: Option<usize>,
    /// Whether to use colours; auto is on a terminal only, and never with `NO_COLOR` set.
    #[arg(long, value_enum, default_value_t = Colours::Auto)]
    pub(crate) color: Colours,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Colours {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TreeShown {
    /// Messages of the user.
    User,
    /// Entries with a label.
    Labels,
    /// Every entry.
    All,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TreeActive {
    /// What the context reaches back to.
    Context,
    /// The whole chain to the root.
    Full,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog path latest\n  leaflog path 01989c 3fa0c1d2 | jq .type")]
pub(crate) struct Path {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Where the path ends [default: the leaf].
    pub(crate) entry: Option<EntryId>,
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog context latest\n  leaflog context latest --json --llm | jq .messages"
)]
pub(crate) struct Context {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Only messages that a model takes: summaries and commands become user messages.
    #[arg(long)]
    pub(crate) llm: bool,
    /// As if the leaf were this entry.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) from: Option<EntryId>,
    /// Where model, thinking level and tools are looked for.
    #[arg(long, value_enum, default_value_t = SettingsSource::Context)]
    pub(crate) settings: SettingsSource,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SettingsSource {
    /// On the path as far as the context reaches back.
    Context,
    /// On the whole path to the root.
    Path,
}

impl From<SettingsSource> for SettingsFrom {
    fn from(source: SettingsSource) -> Self {
        match source {
            SettingsSource::Context => Self::ContextPath,
            SettingsSource::Path => Self::WholePath,
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog entries latest\n  leaflog entries latest --after 3fa0c1d2 --limit 100"
)]
pub(crate) struct Entries {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Only what comes behind this entry in the file.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) after: Option<EntryId>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog show latest 3fa0c1d2\n  leaflog show latest 3fa0c1d2 --json | jq .message"
)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The entry.
    pub(crate) entry: EntryId,
}

/// What `tips`, `stats` and `info` take.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog tips latest\n  leaflog stats 01989c --json\n  leaflog info latest --any"
)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
