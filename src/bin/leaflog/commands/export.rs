//! Copying a log byte for byte, and writing it down for people.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use leaflog::Session;

use crate::app::App;
use crate::args::{Export, Format};
use crate::export::{Extent, Sink, html, markdown};
use crate::failure::Failure;

/// Only the owner may read what was said in a session.
const FILE_MODE: u32 = 0o600;

pub(super) fn run(app: &mut App, args: &Export) -> Result<(), Failure> {
    if args.format == Format::Jsonl && args.entry.is_some() {
        let message = "JSON lines are the whole log; `path` prints the records of a path, and `fork --at` copies it";
        return Err(Failure::Usage(message.to_owned()));
    }
    let session = app.open(&args.session)?;
    match &args.output {
        None => write(&session, args, &mut |bytes| app.output.bytes(bytes)),
        Some(target) => to_new_file(&session, args, target),
    }?;
    if args.format == Format::Markdown && !args.whole {
        app.output.note_gaps(&session.path_gaps(args.entry.as_ref())?);
    }
    Ok(())
}

fn write(session: &Session, args: &Export, sink: &mut Sink<'_>) -> Result<(), Failure> {
    match args.format {
        Format::Jsonl => copy(session, sink),
        Format::Markdown if args.whole => markdown::write(session, Extent::Whole, sink),
        Format::Markdown => markdown::write(session, Extent::Path(args.entry.as_ref()), sink),
        Format::Html => html::write(session, args.entry.as_ref(), sink),
    }
}

fn copy(session: &Session, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let path = session.path();
    // What is appended meanwhile is left out: every prefix of a log is a valid log.
    let mut log = session.log();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match log.read(&mut buffer).map_err(|error| Failure::file("cannot read", &path, &error))? {
            0 => return Ok(()),
            count => sink(&buffer[..count])?,
        }
    }
}

fn to_new_file(session: &Session, args: &Export, target: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file("cannot write", target, &error);
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(target).map_err(failed)?;
    let mut file = BufWriter::new(file);
    let written = write(session, args, &mut |bytes| file.write_all(bytes).map_err(failed));
    let written = written.and_then(|()| file.flush().and_then(|()| file.get_ref().sync_all()).map_err(failed));
    written.inspect_err(|_| {
        // Half a copy helps nobody; if it cannot be removed, the error still says that it is none.
        let _ = fs::remove_file(target);
    })
}
