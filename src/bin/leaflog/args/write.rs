//! Commands that append.

use clap::{ArgGroup, Args, ValueEnum};
use leaflog::{AppendOptions, Durability, EntryId};

use super::{Json, Place, SessionArgs};

const APPEND_EXAMPLES: &str = r#"Examples:
  leaflog append latest --text 'Hello'
  leaflog append 01989c --role tool --call-id call_1 --tool read --text - < login.ts
  leaflog append latest --message '{"role":"user","content":"Hello"}' --expect 3fa0c1d2
  leaflog append latest --entry '{"type":"custom","customType":"todo","data":{"open":3}}'
  producer | leaflog append latest --stream"#;

#[derive(Debug, Args)]
#[command(
    after_long_help = APPEND_EXAMPLES,
    group = ArgGroup::new("content").required(true).args(["text", "message", "entry", "batch", "stream"])
)]
pub(crate) struct Append {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The text of a message; - reads standard input, exactly as it comes.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Who says the text.
    #[arg(long, value_enum, default_value_t = Speaker::User, requires = "text", conflicts_with_all = ["message", "entry", "batch", "stream"])]
    pub(crate) role: Speaker,
    /// For --role tool: the id of the call that the text answers.
    #[arg(long, value_name = "ID", requires = "text")]
    pub(crate) call_id: Option<String>,
    /// For --role tool: the tool.
    #[arg(long, value_name = "NAME", requires = "text")]
    pub(crate) tool: Option<String>,
    /// A message as a JSON object with a role; - reads standard input.
    #[arg(long, value_name = "JSON")]
    pub(crate) message: Option<Json>,
    /// An entry as a JSON object with a type; - reads standard input.
    #[arg(long, value_name = "JSON")]
    pub(crate) entry: Option<Json>,
    /// JSON lines from standard input as one write: all of them are stored, or none. A line with a "type" is an
    /// entry, one with a "role" is a message.
    #[arg(long, conflicts_with = "id")]
    pub(crate) batch: bool,
    /// JSON lines from standard input, appended as they come; each id is printed once its entry is stored.
    #[arg(long, conflicts_with = "id")]
    pub(crate) stream: bool,
    /// The id of the entry; appending it again stores nothing twice [default: a random one].
    #[arg(long, value_name = "ENTRY")]
    pub(crate) id: Option<EntryId>,
    #[command(flatten)]
    pub(crate) expect: Expect,
    /// Append under this entry ('root': start a new root); the leaf moves to what is appended.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) parent: Option<Place>,
    /// Append under --parent without moving the leaf.
    #[arg(long, requires = "parent")]
    pub(crate) side: bool,
    /// When the entry counts as stored.
    #[arg(long, value_enum, default_value_t = Lasting::Disk)]
    pub(crate) durability: Lasting,
}

/// What must hold for a write.
#[derive(Debug, Args)]
pub(crate) struct Expect {
    /// Change nothing and exit 3 unless the leaf is this entry ('root': before the first one).
    #[arg(long, value_name = "ENTRY")]
    pub(crate) expect: Option<Place>,
}

impl Expect {
    pub(crate) fn on(&self, options: AppendOptions) -> AppendOptions {
        match &self.expect {
            Some(leaf) => options.expecting(leaf.0.clone()),
            None => options,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Speaker {
    User,
    Assistant,
    Tool,
    System,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Lasting {
    /// It survives a power cut.
    Disk,
    /// It survives the death of the process.
    Os,
}

impl From<Lasting> for Durability {
    fn from(lasting: Lasting) -> Self {
        match lasting {
            Lasting::Disk => Self::Disk,
            Lasting::Os => Self::Os,
        }
    }
}

const MOVE_EXAMPLES: &str = "Examples:
  leaflog move latest 3fa0c1d2
  leaflog move latest 3fa0c1d2 --summary 'Plan B needs an API that is not there.'
  leaflog move latest root";

#[derive(Debug, Args)]
#[command(after_long_help = MOVE_EXAMPLES)]
pub(crate) struct Move {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Where to; 'root' is before the first entry.
    pub(crate) entry: Place,
    /// A summary of the branch that is left, for the model; - reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) summary: Option<String>,
    /// Details for the host, not for the model.
    #[arg(long, value_name = "JSON", requires = "summary")]
    pub(crate) details: Option<Json>,
    #[command(flatten)]
    pub(crate) expect: Expect,
}

const COMPACT_EXAMPLES: &str = "Examples:
  leaflog compact latest 3fa0c1d2 --summary 'Asked for plan B; two files changed.' --tokens 90000
  leaflog compact latest none --summary - < summary.txt";

#[derive(Debug, Args)]
#[command(after_long_help = COMPACT_EXAMPLES)]
pub(crate) struct Compact {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The first entry that the context keeps, which must be on the path; 'none' keeps nothing.
    #[arg(default_value = "none")]
    pub(crate) first_kept: FirstKept,
    /// What the model sees instead of what came before; - reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) summary: String,
    /// How many tokens the context had.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) tokens: u64,
    /// Details for the host, not for the model.
    #[arg(long, value_name = "JSON")]
    pub(crate) details: Option<Json>,
    /// Messages, a JSON array, that replace what would be kept.
    #[arg(long, value_name = "JSON")]
    pub(crate) retained_tail: Option<Json>,
    /// Write model, thinking level and tools of the whole path again behind the compaction, in the same write.
    #[arg(long)]
    pub(crate) keep_settings: bool,
    #[command(flatten)]
    pub(crate) expect: Expect,
}

/// An entry, or nothing.
#[derive(Clone, Debug)]
pub(crate) struct FirstKept(pub(crate) Option<EntryId>);

impl std::str::FromStr for FirstKept {
    type Err = leaflog::Error;

    fn from_str(text: &str) -> Result<Self, leaflog::Error> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|id| Self(Some(id))) }
    }
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog label latest 3fa0c1d2 'plan A'\n  leaflog label latest 3fa0c1d2 --clear"
)]
pub(crate) struct Label {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The entry.
    pub(crate) entry: EntryId,
    /// The label; empty text clears it.
    #[arg(required_unless_present = "clear", conflicts_with = "clear", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Take the label off.
    #[arg(long)]
    pub(crate) clear: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog name latest 'login refactoring'\n  leaflog name latest --clear")]
pub(crate) struct Name {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The name; empty text clears it.
    #[arg(required_unless_present = "clear", conflicts_with = "clear", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Take the name off.
    #[arg(long)]
    pub(crate) clear: bool,
}
