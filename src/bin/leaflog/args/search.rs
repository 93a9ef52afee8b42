//! Searching and watching.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use leaflog::Role;

use super::navigate::seconds;
use super::{Place, SessionArgs};

const SEARCH_EXAMPLES: &str = "Examples:
  leaflog search 'plan A'
  leaflog search --regex 'TODO|FIXME' latest --role assistant
  leaflog search 登录 --cwd . --json | jq -r '.[].path'";

#[derive(Debug, Args)]
#[command(after_long_help = SEARCH_EXAMPLES)]
pub(crate) struct Search {
    /// The text to look for, as it stands.
    #[arg(allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// Only in this session [default: all sessions].
    session: Option<OsString>,
    /// Let 'latest' be the newest of all sessions, whatever their project.
    #[arg(long, requires = "session")]
    any: bool,
    /// Take PATTERN for a regular expression (the syntax of Rust's regex crate).
    #[arg(long)]
    pub(crate) regex: bool,
    /// Take upper and lower case for the same.
    #[arg(long, short)]
    pub(crate) ignore_case: bool,
    /// Only in messages of this role, and their labels.
    #[arg(long, value_enum)]
    pub(crate) role: Option<Spoken>,
    /// Only in the sessions of the project in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub(crate) cwd: Option<PathBuf>,
    /// At most so many matches.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Search {
    /// The session that was named, if one was.
    pub(crate) fn session(&self) -> Option<SessionArgs> {
        self.session.clone().map(|session| SessionArgs { session, any: self.any })
    }
}

const WATCH_EXAMPLES: &str = "Examples:
  leaflog watch latest
  leaflog watch latest --since root | jq -r .type
  leaflog watch latest --limit 1 --timeout 60";

#[derive(Debug, Args)]
#[command(after_long_help = WATCH_EXAMPLES)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Print what is there behind this entry first; 'root' is from the first one on.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) since: Option<Place>,
    /// End after so many entries.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Spoken {
    User,
    Assistant,
    Tool,
    System,
}

impl From<Spoken> for Role {
    fn from(role: Spoken) -> Self {
        match role {
            Spoken::User => Self::User,
            Spoken::Assistant => Self::Assistant,
            Spoken::Tool => Self::ToolResult,
            Spoken::System => Self::System,
        }
    }
}
