//! The demo: a stage that shows and checks every step, and the steps of a session's life.

mod forks;
mod life;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use leaflog::{
    ContextOptions, EntryId, Message, NewEntry, Receipt, Session, SessionId, SessionOptions, Store, TreeOptions,
};
use serde::Serialize;

use super::{context, tree};
use crate::app::App;
use crate::args::Demo;
use crate::failure::Failure;
use crate::output::Output;

const INDENT: &str = "     ";

pub(super) fn run(app: &mut App, args: Demo) -> Result<(), Failure> {
    let keep = args.dir.is_some();
    let folder = args.dir.unwrap_or_else(|| std::env::temp_dir().join(format!("leaflog-demo-{}", SessionId::new())));
    let options = app.options();
    let played = play(&mut app.output, &folder, options, keep);
    if !keep {
        // It was made here, with a random name, so nothing else is in it. Nothing is lost if it stays.
        let _ = fs::remove_dir_all(&folder);
    }
    played
}

fn play(output: &mut Output, folder: &Path, options: SessionOptions, keep: bool) -> Result<(), Failure> {
    let store = Store::new(folder).with_options(options);
    let mut stage = Stage { output, store, names: HashMap::new(), step: 0, title: "", checks: 0 };
    stage.open(folder)?;
    let life = life::play(&mut stage, folder)?;
    forks::play(&mut stage, life)?;
    stage.close(folder, keep)
}

/// Where the steps are shown and checked.
struct Stage<'a> {
    output: &'a mut Output,
    store: Store,
    /// Short names for entries, whose ids are random.
    names: HashMap<EntryId, String>,
    step: u32,
    title: &'static str,
    checks: u32,
}

#[derive(Serialize)]
struct CheckJson<'a> {
    step: u32,
    title: &'a str,
    check: &'a str,
    holds: bool,
}

#[derive(Serialize)]
struct EndJson<'a> {
    path: PathBuf,
    kept: bool,
    steps: u32,
    checks: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'a str,
}

impl Stage<'_> {
    fn open(&mut self, folder: &Path) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(format_args!("The life of a session, played in {}", folder.display()))?;
        self.output
            .line("● is on the active path, ← is the leaf. u1, a1 and so on stand for the random ids of entries.")
    }

    /// Begins a step: what is done, and why.
    fn begin(&mut self, title: &'static str, why: &str) -> Result<(), Failure> {
        self.step += 1;
        self.title = title;
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line("")?;
        self.output.line(format_args!("{:2}. {title}", self.step))?;
        self.output.line(format_args!("    {why}"))
    }

    /// Shows where `session` stands: all of it, and what the model sees.
    fn show(&mut self, session: &Session) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        let names = &self.names;
        let name = |id: &EntryId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
        self.output.line("   tree")?;
        tree::draw(self.output, session, &TreeOptions::new(), &tree::Look::plain(INDENT, &name))?;
        self.output.line("   context")?;
        context::print(self.output, &messages(session)?, INDENT)
    }

    /// Says that `check` holds, or ends the demo.
    fn hold(&mut self, check: &str, holds: bool) -> Result<(), Failure> {
        self.checks += 1;
        if self.output.is_json() {
            self.output.json(&CheckJson { step: self.step, title: self.title, check, holds })?;
        }
        if !holds {
            self.output.flush()?;
            let step = self.step;
            return Err(Failure::Step(format!("step {step} ({}) does not hold: {check}", self.title)));
        }
        if self.output.is_json() { Ok(()) } else { self.output.line(format_args!("   ✓ {check}")) }
    }

    fn close(&mut self, folder: &Path, keep: bool) -> Result<(), Failure> {
        let (steps, checks) = (self.step, self.checks);
        if self.output.is_json() {
            return self.output.json(&EndJson { path: folder.to_owned(), kept: keep, steps, checks, note: "" });
        }
        self.output.line("")?;
        self.output.line(format_args!("All {steps} steps hold ({checks} checks)."))?;
        if keep {
            return self.output.line(format_args!("The sessions are in {}", folder.display()));
        }
        self.output.line("The folder is removed; --dir keeps one.")
    }

    /// Calls an entry by a short name from now on.
    fn call(&mut self, name: &str, receipt: &Receipt) -> EntryId {
        self.names.insert(receipt.id.clone(), name.to_owned());
        receipt.id.clone()
    }

    fn say(&mut self, session: &Session, name: &str, entry: NewEntry) -> Result<EntryId, Failure> {
        let receipt = session.append(entry)?;
        Ok(self.call(name, &receipt))
    }
}

fn messages(session: &Session) -> Result<Vec<Message>, Failure> {
    Ok(session.context(&ContextOptions::new())?.messages)
}

fn texts(session: &Session) -> Result<Vec<String>, Failure> {
    Ok(messages(session)?.iter().map(Message::text).collect())
}

fn log_of(session: &Session) -> Result<Vec<u8>, Failure> {
    let path = session.path();
    fs::read(&path).map_err(|error| Failure::file("cannot read", &path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_does_not_hold_ends_the_demo_and_names_itself() {
        let mut output = Output::new(true);
        let store = Store::new("/no/such/folder");
        let mut stage = Stage { output: &mut output, store, names: HashMap::new(), step: 0, title: "", checks: 0 };
        stage.begin("a title", "a reason").unwrap();
        let Err(Failure::Step(message)) = stage.hold("one is two", 1 == 1 + 1) else { panic!("it went on") };
        assert_eq!(message, "step 1 (a title) does not hold: one is two");
    }
}
