//! Migrating sessions of old formats.

use std::ffi::OsString;

use clap::Args;

use super::SessionArgs;

const MIGRATE_EXAMPLES: &str = "Examples:
  leaflog migrate ~/.pi/agent/sessions/--home-me-project--/2025-11-20T10-00-00-000Z_3fa0c1d2.jsonl
  leaflog migrate --all --root ~/.pi/agent/sessions --json";

#[derive(Debug, Args)]
#[command(after_long_help = MIGRATE_EXAMPLES)]
pub(crate) struct Migrate {
    /// Path, id, part of an id, or 'latest' (of the current folder's project).
    #[arg(required_unless_present = "all")]
    session: Option<OsString>,
    /// Let 'latest' be the newest of all sessions, whatever their project.
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// Every session in the folder of sessions.
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
}

impl Migrate {
    /// The session that was named; `None` stands for all.
    pub(crate) fn session(self) -> Option<SessionArgs> {
        let any = self.any;
        self.session.map(|session| SessionArgs { session, any })
    }
}
