//! Working on a session by hand: S14's commands and some more, one a line (SPEC 9).
//!
//! On a terminal there are line editing, a history and completion. From a pipe each line is a command, nothing is
//! echoed, and what fails does not keep the next line from running.

mod act;
mod complete;
mod history;
mod words;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use leaflog::{Session, Store};
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use crate::app::App;
use crate::args::Repl as Arguments;
use crate::failure::Failure;
use crate::input::not_utf8;
use crate::output::plain;
use complete::Completion;

/// How much of a session's id the prompt shows.
const PROMPT_CHARACTERS: usize = 6;

/// A command, as `help` and completion know it.
struct Command {
    name: &'static str,
    arguments: &'static str,
    does: &'static str,
}

const fn command(name: &'static str, arguments: &'static str, does: &'static str) -> Command {
    Command { name, arguments, does }
}

const COMMANDS: [Command; 16] = [
    command("new", "", "start a new session"),
    command("send", "ROLE TEXT", "append a message of the user, the assistant or a tool"),
    command("branch", "ENTRY", "go to an entry here only: the next message branches off below it"),
    command(
        "move",
        "ENTRY [SUMMARY]",
        "go to an entry for good, with a summary of what is left; 'root' is before the first",
    ),
    command("navigate", "ENTRY", "go to an entry as an editor does: before a user's message, with its text"),
    command("fork", "[ENTRY]", "copy the path to an entry, or to the leaf, into a new session"),
    command("clone", "", "copy the path to the leaf into a new session"),
    command("compact", "ENTRY SUMMARY", "let a summary stand for what is before an entry"),
    command("label", "ENTRY [TEXT]", "put a label on an entry, or take it off"),
    command("name", "[TEXT]", "name the session, or take the name off"),
    command("tree", "", "show all branches"),
    command("ctx", "", "show what the model sees"),
    command("list", "", "list the sessions"),
    command("open", "SESSION", "go on with another session"),
    command("help", "", "show this"),
    command("quit", "", "leave; so does Ctrl-D"),
];

/// Where the repl stands.
struct Repl {
    store: Store,
    /// None until something is sent, so that looking around makes no session.
    session: Option<Arc<Session>>,
}

/// What a command leaves to be done.
enum Next {
    Line,
    Leave,
}

pub(crate) fn run(app: &mut App, args: Arguments) -> Result<(), Failure> {
    if app.output.is_json() {
        let message = "the repl is for people; the commands that it has print JSON by themselves";
        return Err(Failure::Usage(message.to_owned()));
    }
    let session = args.session().map(|named| app.open(&named)).transpose()?.map(Arc::new);
    let mut repl = Repl { store: app.store()?, session };
    if io::stdin().is_terminal() { on_terminal(app, &mut repl) } else { from_pipe(app, &mut repl) }
}

fn on_terminal(app: &mut App, repl: &mut Repl) -> Result<(), Failure> {
    let failed = |error: &ReadlineError| Failure::io("cannot read the terminal", &io::Error::other(error.to_string()));
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor = Editor::<Completion, FileHistory>::with_config(config).map_err(|error| failed(&error))?;
    editor.set_completion_show_all_if_ambiguous(true);
    let history = history::load(&mut editor);
    app.output.line("S14's commands and some more; 'help' lists them, Tab completes, Ctrl-D leaves")?;
    loop {
        app.output.flush()?;
        editor.set_helper(Some(Completion::of(repl.session.as_deref())));
        match editor.readline(&repl.prompt()) {
            Ok(line) => match repl.execute(app, &line) {
                Ok(Next::Line) => {}
                Ok(Next::Leave) => break,
                Err(failure) if failure.is_closed_pipe() => return Err(failure),
                Err(failure) => complain(&failure, None),
            },
            // The line was given up, not the session.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(&error)),
        }
    }
    history::save(&mut editor, history.as_deref());
    Ok(())
}

/// Runs every line; fails at the end as the first line did that failed.
fn from_pipe(app: &mut App, repl: &mut Repl) -> Result<(), Failure> {
    let mut first = None;
    // Split as bytes, so that a line that is no text costs nothing but itself.
    for (number, line) in (1..).zip(io::stdin().lock().split(b'\n')) {
        let line = line.map_err(|error| Failure::io("cannot read standard input", &error))?;
        let done = str::from_utf8(&line).map_err(|_| not_utf8().into()).and_then(|line| repl.execute(app, line));
        match done {
            Ok(Next::Line) => app.output.flush()?,
            Ok(Next::Leave) => break,
            Err(failure) if failure.is_closed_pipe() => return Err(failure),
            Err(failure) => {
                app.output.flush()?;
                complain(&failure, Some(number));
                first.get_or_insert(failure);
            }
        }
    }
    first.map_or(Ok(()), |failure| Err(Failure::Told(failure.code())))
}

fn complain(failure: &Failure, line: Option<u64>) {
    let mut said = line.map_or_else(Vec::new, |line| format!("line {line}: ").into_bytes());
    // If nobody listens on stderr, the exit code has to do.
    let _ = failure.report(false, &mut said).and_then(|()| io::stderr().write_all(&said));
}

impl Repl {
    fn prompt(&self) -> String {
        self.session.as_ref().map_or_else(|| "leaflog> ".to_owned(), |session| prompt(session.id().as_str()))
    }
}

/// The session, by the end of its id, which differs where the beginnings of ids of one day agree. Another program may
/// have put any characters into it.
fn prompt(id: &str) -> String {
    let id = plain(id);
    let start = id.char_indices().rev().nth(PROMPT_CHARACTERS - 1).map_or(0, |(start, _)| start);
    format!("leaflog …{}> ", &id[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_ends_with_the_last_characters_of_any_id() {
        assert_eq!(prompt("01a22fe2-1503-709f-b750-6c0f1f1b6f5b"), "leaflog …1b6f5b> ");
        assert_eq!(prompt("ééaaaaa"), "leaflog …éaaaaa> ");
        assert_eq!(prompt("会话"), "leaflog …会话> ");
        assert_eq!(prompt("a\u{1b}[2Jb"), "leaflog …a[2Jb> ");
    }
}
