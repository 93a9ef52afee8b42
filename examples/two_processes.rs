//! Two processes on one session. Each append names the leaf that it expects; whoever comes second learns where the
//! leaf is now, reads what is new, and decides again. Nothing is lost, and nobody answers what they have not seen.
//!
//! `cargo run --example two_processes` (it starts itself again as the two writers)

use std::error::Error;
use std::process::{Child, Command, ExitCode};

use leaflog::{ContextOptions, CreateOptions, ErrorKind, NewEntry, Result, Session, Store};

const ENTRIES_EACH: usize = 25;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [] => parent(),
        [name, path, count] => write(name, path, count.parse().unwrap_or(1)).map_err(Into::into),
        _ => Err("usage: two_processes".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("two_processes: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A writer: appends `count` entries, each as the child of an entry that it has seen.
fn write(name: &str, path: &str, count: usize) -> Result<()> {
    let session = Session::open(path)?;
    let mut conflicts = 0;
    for number in 1..=count {
        conflicts += append_after_reading(&session, &format!("{name} {number}"))?;
    }
    println!("{name}: {count} entries, {conflicts} conflicts");
    Ok(())
}

/// Appends `text` behind what this handle has seen; returns how often another process was faster.
fn append_after_reading(session: &Session, text: &str) -> Result<usize> {
    let mut conflicts = 0;
    loop {
        match session.append(NewEntry::user(text)) {
            Ok(_) => return Ok(conflicts),
            Err(error) if error.kind() == ErrorKind::Conflict => {
                // Nothing was written, and the handle now stands at the actual leaf. An agent would look at what
                // the other one said before it speaks.
                let context = session.context(&ContextOptions::new())?;
                assert!(!context.messages.is_empty());
                conflicts += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn parent() -> std::result::Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let session = Store::new(folder.path()).create(CreateOptions::new("/projects/shared"))?;
    session.append(NewEntry::user("Who is here?"))?;

    // One conflict, step by step: another process appends while this handle expects the old leaf.
    let expected = session.leaf();
    wait(start("guest", &session, 1)?)?;
    let error = session.append(NewEntry::assistant("Nobody.")).expect_err("the leaf has moved");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_ne!(error.actual_leaf(), Some(expected.as_ref()));
    println!("conflict: {error}");
    session.append(NewEntry::assistant("A guest."))?;

    // And many of them: two processes at once.
    let writers = [start("left", &session, ENTRIES_EACH)?, start("right", &session, ENTRIES_EACH)?];
    writers.into_iter().try_for_each(wait)?;
    session.refresh()?;
    let texts: Vec<_> = session.context(&ContextOptions::new())?.messages.iter().map(leaflog::Message::text).collect();
    assert_eq!(texts.len(), 3 + 2 * ENTRIES_EACH, "every entry is on the one path");
    for name in ["left", "right"] {
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with(name)).cloned().collect();
        let in_order: Vec<_> = (1..=ENTRIES_EACH).map(|number| format!("{name} {number}")).collect();
        assert_eq!(own, in_order);
    }
    assert_eq!(session.tips()?.len(), 1);
    println!("{} entries on one path, each writer's in its order", texts.len());
    Ok(())
}

/// Starts this program again, as a writer.
fn start(name: &str, session: &Session, count: usize) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?).arg(name).arg(session.path()).arg(count.to_string()).spawn()
}

fn wait(mut writer: Child) -> std::result::Result<(), Box<dyn Error>> {
    let status = writer.wait()?;
    if status.success() { Ok(()) } else { Err(format!("a writer failed: {status}").into()) }
}
