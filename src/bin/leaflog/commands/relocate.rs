//! Sessions whose project has moved.

use std::path::Path;

use leaflog::{ListOptions, Store};
use serde::Serialize;

use crate::app::{App, as_text};
use crate::args::Relocate;
use crate::failure::Failure;

#[derive(Serialize)]
struct RelocatedJson {
    id: String,
    path: String,
}

pub(super) fn run(app: &mut App, args: &Relocate) -> Result<(), Failure> {
    let (store, paths) = if args.project {
        let store = app.store()?;
        let sessions = store.list(&ListOptions::new().cwd(&args.session.session))?;
        (store, sessions.into_iter().map(|session| session.path).collect())
    } else {
        let path = app.path(&args.session)?;
        (app.store_of(&path)?, vec![path])
    };
    let mut relocated = paths.iter().map(|path| relocate(&store, path, args));
    if !app.output.is_json() {
        return relocated.try_for_each(|path| app.output.line(path?));
    }
    let mut relocated = relocated.map(|path| in_json(&store, path?));
    if args.project {
        return app.output.json_array(relocated);
    }
    relocated.try_for_each(|session| app.output.json(&session?))
}

fn relocate(store: &Store, path: &Path, args: &Relocate) -> Result<String, Failure> {
    let path = store.relocate(as_text(path.as_os_str(), "the path")?, &args.dir)?;
    Ok(path.to_string_lossy().into_owned())
}

fn in_json(store: &Store, path: String) -> Result<RelocatedJson, Failure> {
    Ok(RelocatedJson { id: store.open(&path)?.id().to_string(), path })
}
