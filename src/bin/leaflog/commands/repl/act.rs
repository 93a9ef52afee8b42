//! What the commands do.

use std::sync::Arc;

use leaflog::{
    AppendOptions, BranchSummary, Compaction, ContextOptions, CreateOptions, EntryId, Error, ErrorKind, Fork,
    ForkOptions, ListOptions, NavigateOptions, Navigation, Navigator, NewEntry, Receipt, Session, TreeOptions,
};

use super::super::{context, list, tree};
use super::words::{entry, first_word, unquoted};
use super::{COMMANDS, Next, Repl};
use crate::app::{App, folder_or_current};
use crate::args::{Colours, SessionArgs};
use crate::failure::Failure;
use crate::output::plain_lines;

type Done = Result<(), Failure>;

impl Repl {
    /// Runs one line.
    pub(super) fn execute(&mut self, app: &mut App, line: &str) -> Result<Next, Failure> {
        let (name, rest) = first_word(line);
        match name {
            "" => {}
            comment if comment.starts_with('#') => {}
            "quit" | "exit" => return Ok(Next::Leave),
            "help" => help(app)?,
            "new" => drop(self.start(app)?),
            "send" => self.send(app, rest)?,
            "list" => list::print(app, &self.store.list(&ListOptions::new())?)?,
            "open" => self.open(app, rest)?,
            "tree" | "ctx" if self.session.is_none() => app.output.line("(no session yet; 'send' starts one)")?,
            _ => return on_session(self, app, name, rest).map(|()| Next::Line),
        }
        Ok(Next::Line)
    }

    fn start(&mut self, app: &mut App) -> Result<Arc<Session>, Failure> {
        self.go_on(app, self.store.create(CreateOptions::new(folder_or_current(None)?))?)
    }

    fn go_on(&mut self, app: &mut App, session: Session) -> Result<Arc<Session>, Failure> {
        app.output.line(session.path().display())?;
        Ok(Arc::clone(self.session.insert(Arc::new(session))))
    }

    fn open(&mut self, app: &mut App, name: &str) -> Done {
        let session = unquoted(needed(name, "open SESSION")?).into();
        // As every command opens what it is given: 'latest' and paths into databases too, and damage is told.
        let session = app.open(&SessionArgs { session, any: false })?;
        self.go_on(app, session).map(drop)
    }

    fn send(&mut self, app: &mut App, rest: &str) -> Done {
        let (role, text) = first_word(rest);
        let text = needed(text, "send ROLE TEXT")?;
        let message = match role {
            "user" => NewEntry::user(text),
            "assistant" => NewEntry::assistant(text),
            "tool" => NewEntry::tool_result("", "", text),
            _ => return Err(invalid(format!("{role:?} is no role; there are user, assistant and tool"))),
        };
        let session = match &self.session {
            Some(session) => Arc::clone(session),
            None => self.start(app)?,
        };
        // What others appended is seen, and the message attaches to it.
        session.refresh()?;
        told(app, &session.append(message)?)
    }

    fn fork(&self, app: &mut App, session: &Session, target: Option<EntryId>) -> Done {
        let fork = target.map_or(Fork::Whole, Fork::At);
        let forked = self.store.fork(session, &fork, ForkOptions::new())?;
        app.output.note_gaps(&forked.gaps);
        app.output.line(forked.session.path().display())?;
        app.output.line(format_args!("'open {}' goes on there", forked.session.id()))
    }
}

fn on_session(repl: &Repl, app: &mut App, name: &str, rest: &str) -> Done {
    if !COMMANDS.iter().any(|command| command.name == name) {
        return Err(invalid(format!("there is no command {name:?}; 'help' lists them")));
    }
    let Some(session) = &repl.session else {
        return Err(invalid("there is no session yet; 'send' or 'new' starts one, 'open' goes on with one".to_owned()));
    };
    session.refresh()?;
    let (word, more) = first_word(rest);
    let more = unquoted(more);
    match name {
        "tree" => draw(app, session),
        "ctx" => context::print(&mut app.output, &session.context(&ContextOptions::new())?.messages, ""),
        "name" => told(app, &session.set_name(unquoted(rest))?),
        "clone" => repl.fork(app, session, session.leaf()),
        "fork" if word.is_empty() => repl.fork(app, session, session.leaf()),
        "fork" => repl.fork(app, session, Some(entry(session, word)?)),
        "label" => told(app, &session.set_label(&entry(session, needed(word, "label ENTRY [TEXT]")?)?, more)?),
        "branch" => branch(app, session, needed(word, "branch ENTRY")?),
        "move" => move_to(app, session, needed(word, "move ENTRY [SUMMARY]")?, more),
        "navigate" => navigate(app, session, needed(word, "navigate ENTRY")?),
        _ => compact(app, session, word, more),
    }
}

fn draw(app: &mut App, session: &Session) -> Done {
    let look = tree::Look::on_stdout(Colours::Auto);
    tree::draw(&mut app.output, session, &TreeOptions::new().hide(tree::CONTROL), &look)
}

fn branch(app: &mut App, session: &Session, name: &str) -> Done {
    let target = place(session, name)?;
    session.branch(target.as_ref())?;
    app.output.line(format_args!("at {}; nothing is written until something is sent", shown(target.as_ref())))
}

fn move_to(app: &mut App, session: &Session, name: &str, summary: &str) -> Done {
    let target = place(session, name)?;
    let summary = (!summary.is_empty()).then(|| BranchSummary::new(summary));
    let receipt = session.move_with(target.as_ref(), summary, &AppendOptions::new().to_leaf())?;
    app.output.receipt_or_none(receipt.as_ref(), session)
}

fn navigate(app: &mut App, session: &Arc<Session>, name: &str) -> Done {
    let target = entry(session, name)?;
    match Navigator::new(Arc::clone(session)).navigate(&target, &NavigateOptions::new())? {
        Navigation::Moved(moved) => {
            app.output.line(format_args!("at {}", shown(moved.leaf.as_ref())))?;
            moved.editor_text.map_or(Ok(()), |text| app.output.text(&format!("{}\n", plain_lines(&text))))
        }
        Navigation::Conflict { error, .. } => Err(error.into()),
        _ => app.output.line("the leaf is there already; nothing was written"),
    }
}

fn compact(app: &mut App, session: &Session, word: &str, summary: &str) -> Done {
    let usage = "compact ENTRY SUMMARY";
    let first_kept = entry(session, needed(word, usage)?)?;
    let compaction = Compaction::new(needed(summary, usage)?).first_kept(first_kept);
    told(app, &session.compact(compaction)?)
}

fn help(app: &mut App) -> Done {
    for command in &COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        app.output.line(format_args!("{usage:24} {}", command.does))?;
    }
    app.output
        .line("ENTRY is an id, the beginning of one, a label (\"in quotes\" if it has spaces), 'leaf', or @3:")?;
    app.output.line("the third message. Lines that begin with # are comments.")
}

/// An entry, or the place before the first one.
fn place(session: &Session, name: &str) -> leaflog::Result<Option<EntryId>> {
    if name == "root" { Ok(None) } else { entry(session, name).map(Some) }
}

fn shown(place: Option<&EntryId>) -> String {
    place.map_or_else(|| "the place before the first entry".to_owned(), EntryId::to_string)
}

fn told(app: &mut App, receipt: &Receipt) -> Done {
    app.output.receipt(receipt)
}

fn needed<'a>(word: &'a str, usage: &str) -> Result<&'a str, Failure> {
    if word.is_empty() { Err(invalid(format!("it is: {usage}"))) } else { Ok(word) }
}

fn invalid(message: String) -> Failure {
    Error::new(ErrorKind::Invalid, message).into()
}
