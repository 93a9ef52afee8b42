//! The repl.

use std::ffi::OsString;

use clap::Args;

use super::SessionArgs;

const REPL_EXAMPLES: &str = "Examples:
  leaflog repl latest
  printf 'send user Hello\\nsend assistant Hi\\nbranch @1\\nsend assistant Welcome\\ntree\\n' | leaflog repl";

#[derive(Debug, Args)]
#[command(after_long_help = REPL_EXAMPLES)]
pub(crate) struct Repl {
    /// Path, id, part of an id, or 'latest' [default: a new session].
    session: Option<OsString>,
    /// Let 'latest' be the newest of all sessions, whatever their project.
    #[arg(long, requires = "session")]
    any: bool,
}

impl Repl {
    /// The repl that a bare `leaflog` starts.
    pub(crate) fn bare() -> Self {
        Self { session: None, any: false }
    }

    /// The session that was named, if one was.
    pub(crate) fn session(self) -> Option<SessionArgs> {
        self.session.map(|session| SessionArgs { session, any: self.any })
    }
}
