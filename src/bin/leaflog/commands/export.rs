//! Copying a log byte for byte.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use leaflog::LogReader;

use crate::app::App;
use crate::args::{Export, Format};
use crate::failure::Failure;

/// Only the owner may read what was said in a session.
const FILE_MODE: u32 = 0o600;

pub(super) fn run(app: &mut App, args: &Export) -> Result<(), Failure> {
    let Format::Jsonl = args.format;
    let session = app.open(&args.session)?;
    // What is appended meanwhile is left out: every prefix of a log is a valid log.
    let (mut log, path) = (session.log(), session.path());
    match &args.output {
        None => copy(&mut log, &path, &mut |bytes| app.output.bytes(bytes)),
        Some(target) => to_new_file(&mut log, &path, target),
    }
}

fn copy(log: &mut LogReader, path: &Path, sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match log.read(&mut buffer).map_err(|error| Failure::file("cannot read", path, &error))? {
            0 => return Ok(()),
            count => sink(&buffer[..count])?,
        }
    }
}

fn to_new_file(log: &mut LogReader, path: &Path, target: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file("cannot write", target, &error);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(target).map_err(failed)?;
    let copied = copy(log, path, &mut |bytes| file.write_all(bytes).map_err(failed));
    let copied = copied.and_then(|()| file.sync_all().map_err(failed));
    copied.inspect_err(|_| {
        // Half a copy helps nobody; if it cannot be removed, the error still says that it is none.
        let _ = fs::remove_file(target);
    })
}
