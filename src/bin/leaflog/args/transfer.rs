//! Commands that bring sessions from place to place.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::SessionArgs;

const COPY_EXAMPLES: &str = "Examples:
  leaflog copy ~/.pi/agent/sessions sqlite:sessions.db
  leaflog copy sqlite:sessions.db file:./sessions 0199c0de 0199beef";

#[derive(Debug, Args)]
#[command(after_long_help = COPY_EXAMPLES)]
pub(crate) struct Copy {
    /// Where the sessions are: a folder, or sqlite:FILE.
    pub(crate) from: OsString,
    /// Where the copies go: a folder, or sqlite:FILE.
    pub(crate) to: OsString,
    /// Only these sessions of FROM [default: all].
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
}

const IMPORT_EXAMPLES: &str = "Examples:
  leaflog import session.jsonl
  ssh host leaflog export latest | leaflog import -";

#[derive(Debug, Args)]
#[command(after_long_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// The file of a session; '-' is standard input.
    pub(crate) file: PathBuf,
}

const RELOCATE_EXAMPLES: &str = "Examples:
  leaflog relocate latest ../project-renamed
  leaflog relocate --project /home/me/old /home/me/new    every session of a project";

#[derive(Debug, Args)]
#[command(after_long_help = RELOCATE_EXAMPLES)]
pub(crate) struct Relocate {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The folder where the project is now.
    pub(crate) dir: PathBuf,
    /// SESSION is a folder: relocate every session of the project that was there.
    #[arg(long, conflicts_with = "any")]
    pub(crate) project: bool,
}
