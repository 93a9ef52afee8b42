//! What was typed; nothing is looked up here.

mod export;
mod migrate;
mod navigate;
mod read;
mod repl;
mod search;
mod store;
mod transfer;
mod write;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use leaflog::{EntryId, Error};

pub(crate) use export::{Export, Format};
pub(crate) use migrate::Migrate;
pub(crate) use navigate::Navigate;
pub(crate) use read::{Colours, Context, Entries, Listing, Path, Show, Tree, TreeActive, TreeShown};
pub(crate) use repl::Repl;
pub(crate) use search::{Search, Watch};
pub(crate) use store::{CloneArgs, Completions, CopyArgs, Delete, Demo, Fork, List, New, Restore};
pub(crate) use transfer::{Copy, Import, Relocate};
pub(crate) use write::{Append, Compact, Label, Move, Name, Speaker};

const EXIT_CODES: &str = "\
Sessions are named by their path, their id, the beginning or end of an id that fits one only, or 'latest'.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 conflict (the leaf is not where it was expected),
4 damage in the log, 5 cancelled.";

const ROOT_HELP: &str =
    "Where the sessions are: a folder, or sqlite:FILE [default: LEAFLOG_ROOT, else leaflog in the user's data folder]";

/// A storage engine for the sessions of AI agents: append-only trees of messages in JSON lines.
#[derive(Debug, Parser)]
#[command(name = "leaflog", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    #[arg(long, global = true, value_name = "LOCATION", help = ROOT_HELP)]
    pub(crate) root: Option<PathBuf>,
    /// Print JSON; errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Write on network, 9P and FUSE file systems too; safe if one machine writes.
    #[arg(long, global = true)]
    pub(crate) allow_shared_file_system: bool,
    /// Take any damage, and any record that is not what its checksum says, for an error.
    #[arg(long, global = true)]
    pub(crate) strict: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play the whole life of a session in a real folder: branches, summaries, forks, compaction.
    ///
    /// Every step shows the tree and the context and checks itself; if one does not hold, the exit code is 1.
    Demo(Demo),
    /// Work on a session by hand, one command a line.
    ///
    /// On a terminal there are line editing, a history and completion (Tab) of commands, entry ids and labels. From a
    /// pipe each line is a command; one that fails says so and the next one runs, and the exit code is that of the first
    /// failure. Without a session the first 'send' starts a new one in the current folder.
    Repl(Repl),
    /// Create a session and print its path.
    ///
    /// The session is a file in the folder of sessions, with nothing in it but its header.
    New(New),
    /// Append an entry, a batch or a stream, and print the ids.
    ///
    /// Exactly one of --text, --message, --entry, --batch and --stream says what to append. It goes to whatever the leaf
    /// is at that moment, unless --parent or --expect says otherwise.
    Append(Append),
    /// Move the leaf to an entry, for good, with a summary of what is left if one is given.
    ///
    /// What is appended next becomes a child of that entry. Nothing is removed, and the way back is another move.
    Move(Move),
    /// Go to an entry as an editor does: before a user's message, with its text to be sent again.
    ///
    /// Prints the new leaf and, below it, the text. Other entries become the leaf themselves. With --summarize a command
    /// sums up the branch that is left, for the model; if that fails or is interrupted, nothing moves.
    Navigate(Navigate),
    /// Append a summary that stands for what came before it in the context.
    ///
    /// The entries before it stay stored; a branch from before the compaction sees them again.
    Compact(Compact),
    /// Put a label on an entry.
    ///
    /// The last label set on an entry counts, on whatever branch.
    Label(Label),
    /// Name the session.
    ///
    /// The last name counts, on whatever branch.
    Name(Name),
    /// Copy a session, or one path of it, into a new session and print the new path.
    ///
    /// Without ENTRY everything is copied. The source is not changed.
    Fork(Fork),
    /// Copy the path to the leaf into a new session and print the new path.
    ///
    /// A session that stands before its first entry has no such path and is copied whole.
    Clone(CloneArgs),
    /// Show all branches.
    ///
    /// One line an entry; lines indent only where the tree branches. ● marks the active path, ← the leaf.
    Tree(Tree),
    /// Print the stored records from the root to an entry.
    ///
    /// One record a line, byte for byte as it is stored, without the entries that only move the leaf.
    Path(Path),
    /// Show what the model sees.
    ///
    /// The messages of the active path, as the newest compaction leaves them.
    Context(Context),
    /// Print the stored records in file order, all branches.
    ///
    /// One record a line, byte for byte as it is stored, with the entries that only move the leaf.
    Entries(Entries),
    /// Show one entry.
    ///
    /// Text for people; with --json the stored record, byte for byte.
    Show(Show),
    /// List the ends of all branches.
    Tips(Listing),
    /// Count entries, tokens and cost, over all branches.
    Stats(Listing),
    /// Say what the session is and where it stands.
    Info(Listing),
    /// List the sessions, newest first.
    ///
    /// Only the beginnings and ends of large files are read: then counts are unknown, and so are names in between.
    List(List),
    /// Print the records of entries as they come, from whatever program.
    ///
    /// One record a line, byte for byte as it is stored, each once and in file order. Ends with Ctrl-C, after --limit
    /// entries, or after --timeout seconds.
    Watch(Watch),
    /// Find text in messages, summaries, labels and names.
    ///
    /// One line a match, of the entry's first one: session, entry, role, and a piece of the text. All branches are
    /// searched. Nothing found is no error. Escapes of JSON are seen through: a quote, a line break and a CJK word are
    /// found however they are stored.
    Search(Search),
    /// Move a session to the trash.
    ///
    /// It can be restored from there.
    Delete(Delete),
    /// Bring a deleted session back to where it was.
    ///
    /// Nothing is replaced if another session is there by now.
    Restore(Restore),
    /// Copy the log byte for byte, or write it as Markdown or as a page for the browser.
    ///
    /// A file that exists is never replaced.
    Export(Export),
    /// Copy sessions from one place to another, byte for byte.
    ///
    /// Places are folders and SQLite databases (sqlite:FILE). The sources stay. A session that is there
    /// already, with the same log, is not copied again, so a copy that was interrupted is simply repeated.
    Copy(Copy),
    /// Take over a log from a file or from standard input, byte for byte, and print the new path.
    ///
    /// The session keeps its id; one that is there already is not replaced. 'fork' makes a session with a new id of a
    /// file.
    Import(Import),
    /// Say that a session's project is in another folder now, and print the session's new path.
    ///
    /// The session keeps its id, and an entry in its log says where its project is. Programs that have it open must open
    /// it again.
    Relocate(Relocate),
    /// Make a session of pi's versions 1 and 2 one of today's, which can be appended to.
    ///
    /// The entries keep the ids that reading has shown, and the original is kept beside the session.
    Migrate(Migrate),
    /// Print completions for a shell.
    Completions(Completions),
}

/// Which session.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Path, id, part of an id, or 'latest' (of the current folder's project).
    pub(crate) session: OsString,
    /// Let 'latest' be the newest of all sessions, whatever their project.
    #[arg(long)]
    pub(crate) any: bool,
}

/// An entry, or the place before the first one.
#[derive(Clone, Debug)]
pub(crate) struct Place(pub(crate) Option<EntryId>);

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "root" { Ok(Self(None)) } else { text.parse().map(|id| Self(Some(id))) }
    }
}

/// JSON as it was typed; the library says whether it is any.
#[derive(Clone, Debug)]
pub(crate) struct Json(pub(crate) String);

impl FromStr for Json {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_and_every_argument_says_what_it_is() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("leaflog {name}")), "{name}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {}", argument.get_id());
            }
        }
    }

    #[test]
    fn root_is_the_place_before_the_first_entry() {
        assert!(matches!("root".parse(), Ok(Place(None))));
        assert!(matches!("0000000a".parse(), Ok(Place(Some(_)))));
        assert!("".parse::<Place>().is_err());
    }
}
