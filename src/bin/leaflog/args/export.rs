//! What `export` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use leaflog::EntryId;

use super::SessionArgs;

const EXAMPLES: &str = "Examples:
  leaflog export latest > copy.jsonl                          the log as it is
  leaflog export latest --format html -o session.html         every branch, in one page for the browser
  leaflog export latest --format markdown                     the active path
  leaflog export 01989c 3fa0c1d2 --format markdown            the path to an entry
  leaflog export 01989c --whole --format markdown -o all.md   every branch, one after the other";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Where the path ends [default: the leaf]; an HTML page opens there.
    pub(crate) entry: Option<EntryId>,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub(crate) format: Format,
    /// Every branch; JSON lines and HTML hold every branch anyway.
    #[arg(long, visible_alias = "all", conflicts_with = "entry")]
    pub(crate) whole: bool,
    /// Write to this new file [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON lines, as stored: the whole log with its header.
    Jsonl,
    /// Markdown for people: the path to the leaf or to ENTRY, or every branch.
    Markdown,
    /// One page for the browser that loads nothing: every branch, with the tree beside it.
    Html,
}
