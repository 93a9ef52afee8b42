//! Commands on sessions as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use leaflog::{EntryId, Scope, SessionId};

use super::{Json, SessionArgs};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog demo\n  leaflog demo --dir ./demo")]
pub(crate) struct Demo {
    /// Play in this folder and keep it [default: a temporary folder that is removed].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog new\n  S=$(leaflog new --cwd ~/project) && leaflog append \"$S\" --text Hello"
)]
pub(crate) struct New {
    /// The project's folder [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The session's id [default: a new UUIDv7].
    #[arg(long)]
    pub(crate) id: Option<SessionId>,
    /// The session that this one comes from, by path or id; only noted.
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// Metadata of the host, a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<Json>,
}

const FORK_EXAMPLES: &str = "Examples:
  leaflog fork latest                     every branch, the leaf, labels and name
  leaflog fork latest 3fa0c1d2            up to before a user message, whose text is returned for editing
  leaflog fork latest 3fa0c1d2 --at       up to and with an entry
  leaflog fork latest --cwd ../other --json";

#[derive(Debug, Args)]
#[command(after_long_help = FORK_EXAMPLES)]
pub(crate) struct Fork {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Copy only the path up to before this user message.
    pub(crate) entry: Option<EntryId>,
    /// Copy ENTRY too; it may then be any entry.
    #[arg(long, requires = "entry")]
    pub(crate) at: bool,
    /// How far back the copy of a path reaches.
    #[arg(long, value_enum, requires = "entry")]
    pub(crate) scope: Option<ForkScope>,
    #[command(flatten)]
    pub(crate) copy: CopyArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ForkScope {
    /// To the root.
    Path,
    /// To where the context starts.
    Context,
}

impl From<ForkScope> for Scope {
    fn from(scope: ForkScope) -> Self {
        match scope {
            ForkScope::Path => Self::Path,
            ForkScope::Context => Self::Context,
        }
    }
}

/// What the new session of a fork is.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The project of the copy [default: the source's].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The id of the copy [default: a new UUIDv7].
    #[arg(long)]
    pub(crate) id: Option<SessionId>,
    /// Metadata of the host, a JSON object [default: the source's].
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<Json>,
    /// What the copy names as its parent [default: the source's path].
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog clone latest\n  leaflog clone 01989c --id my-copy --json")]
pub(crate) struct CloneArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) copy: CopyArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog list\n  leaflog list --cwd . --tree\n  leaflog list --exact --json")]
pub(crate) struct List {
    /// Only sessions of the project in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Read every file whole, so that nothing is unknown.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Show forks below the sessions that they come from.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Show the sessions in the trash instead.
    #[arg(long, conflicts_with_all = ["cwd", "exact", "tree"])]
    pub(crate) deleted: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog delete 01989c\n  leaflog delete 01989c --forever")]
pub(crate) struct Delete {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Remove it for good.
    #[arg(long)]
    pub(crate) forever: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  leaflog list --deleted\n  leaflog restore 01989c")]
pub(crate) struct Restore {
    /// The id, a part of it, or the path in the trash.
    pub(crate) session: OsString,
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  leaflog completions bash > ~/.local/share/bash-completion/completions/leaflog"
)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: Shell,
}
