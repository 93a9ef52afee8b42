//! Creating a session.

use leaflog::{CreateOptions, Session};
use serde::Serialize;

use crate::app::{App, folder_or_current};
use crate::args::New;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: New) -> Result<(), Failure> {
    let mut options = CreateOptions::new(folder_or_current(args.cwd.as_deref())?);
    if let Some(id) = args.id {
        options = options.id(id);
    }
    if let Some(parent) = args.parent {
        options = options.parent(parent);
    }
    if let Some(metadata) = args.metadata {
        options = options.metadata(metadata.0);
    }
    let session = app.store()?.create(options)?;
    print(app, &session)
}

#[derive(Serialize)]
struct Created {
    id: String,
    path: String,
}

/// Says what the session is that was made.
pub(super) fn print(app: &mut App, session: &Session) -> Result<(), Failure> {
    let path = session.path().to_string_lossy().into_owned();
    if app.output.is_json() {
        app.output.json(&Created { id: session.id().to_string(), path })
    } else {
        app.output.line(path)
    }
}
