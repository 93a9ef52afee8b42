//! Copying sessions from store to store.

use std::io::{self, Read as _};

use leaflog::{Error, ErrorKind, ListOptions, Session, Store};
use serde::Serialize;

use crate::app::App;
use crate::args::Copy;
use crate::failure::Failure;
use crate::output::Output;

/// How much of two logs is compared at once.
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Serialize)]
struct CopiedJson {
    id: String,
    from: String,
    to: String,
    bytes: u64,
    /// False if it was there already.
    copied: bool,
}

pub(super) fn run(app: &mut App, args: &Copy) -> Result<(), Failure> {
    let (from, to) = (app.store_at(&args.from)?, app.store_at(&args.to)?);
    let names = names(&from, args)?;
    let mut failures = Vec::new();
    let mut copied = Vec::new();
    for name in &names {
        match copy(&from, &to, name) {
            Ok(session) if app.output.is_json() => copied.push(session),
            Ok(session) => {
                let how = if session.copied { "copied" } else { "there already" };
                app.output.line(format_args!("{}  {how}", session.to))?;
            }
            Err(error) => {
                // The answer lists what is there; this must not be silent in JSON either.
                Output::warn(&format!("{name} was not copied: {error}"));
                failures.push(error);
            }
        }
    }
    if app.output.is_json() {
        app.output.json_array(copied.into_iter().map(Ok))?;
    }
    let Some(first) = failures.first() else { return Ok(()) };
    app.output.flush()?;
    let message = format!("{} of {} sessions were not copied; the first: {first}", failures.len(), names.len());
    Err(Error::new(first.kind(), message).into())
}

/// The paths of the sessions to copy.
fn names(from: &Store, args: &Copy) -> Result<Vec<String>, Failure> {
    if args.sessions.is_empty() {
        let sessions = from.list(&ListOptions::new())?;
        return Ok(sessions.into_iter().map(|session| session.path.to_string_lossy().into_owned()).collect());
    }
    let path = |name: &String| Ok(from.find(name)?.to_string_lossy().into_owned());
    args.sessions.iter().map(path).collect()
}

fn copy(from: &Store, to: &Store, name: &str) -> leaflog::Result<CopiedJson> {
    let source = from.open(name)?;
    let (session, copied) = match to.copy(&source) {
        Ok(session) => (session, true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let there = to.open(source.id().as_str())?;
            if !is_same(&source, &there)? {
                return Err(error);
            }
            (there, false)
        }
        Err(error) => return Err(error),
    };
    let path = |session: &Session| session.path().to_string_lossy().into_owned();
    Ok(CopiedJson {
        id: source.id().to_string(),
        from: path(&source),
        to: path(&session),
        bytes: session.bytes(),
        copied,
    })
}

/// Whether two logs hold the same bytes.
fn is_same(one: &Session, other: &Session) -> leaflog::Result<bool> {
    let (mut one, mut other) = (one.log(), other.log());
    if one.remaining() != other.remaining() {
        return Ok(false);
    }
    let failed = |error: io::Error| Error::new(ErrorKind::Io, format!("cannot compare the logs: {error}"));
    let (mut left, mut right) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    while one.remaining() > 0 {
        let count = usize::try_from(one.remaining()).map_or(CHUNK_BYTES, |rest| rest.min(CHUNK_BYTES));
        one.read_exact(&mut left[..count]).map_err(failed)?;
        other.read_exact(&mut right[..count]).map_err(failed)?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
    Ok(true)
}
