//! Migrating sessions of old formats.

use std::path::Path;

use leaflog::{ListOptions, Migrated, migrate};
use serde::Serialize;

use crate::app::App;
use crate::args::Migrate;
use crate::failure::Failure;

#[derive(Serialize)]
struct MigratedJson {
    path: String,
    /// Whether something was done; a session of today's version has none of what follows.
    migrated: bool,
    from: Option<u64>,
    backup: Option<String>,
    entries: Option<u64>,
}

impl MigratedJson {
    fn of(path: &Path, migrated: Option<&Migrated>) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            migrated: migrated.is_some(),
            from: migrated.map(|migrated| migrated.from),
            backup: migrated.map(|migrated| migrated.backup.to_string_lossy().into_owned()),
            entries: migrated.map(|migrated| migrated.entries),
        }
    }
}

pub(super) fn run(app: &mut App, args: Migrate) -> Result<(), Failure> {
    let Some(session) = args.session() else { return all(app) };
    let path = app.path(&session)?;
    let migrated = migrate(&path, &app.options())?;
    if app.output.is_json() {
        return app.output.json(&MigratedJson::of(&path, migrated.as_ref()));
    }
    match migrated {
        Some(migrated) => line(app, &migrated),
        None => {
            app.output.note("the session is of today's version already; there is nothing to do");
            Ok(())
        }
    }
}

/// Migrates what can be migrated. The first failure is told at the end, so that one session does not stop the others.
fn all(app: &mut App) -> Result<(), Failure> {
    let mut failure = None;
    let mut done = Vec::new();
    for session in app.store()?.list(&ListOptions::new())? {
        // What has no header, or one of another format, is no old session.
        if session.version.is_none() {
            continue;
        }
        match migrate(&session.path, &app.options()) {
            Ok(migrated) => done.push((session.path, migrated)),
            Err(error) => {
                app.output.note(&error.to_string());
                failure.get_or_insert(error);
            }
        }
    }
    if app.output.is_json() {
        app.output.json_array(done.iter().map(|(path, migrated)| Ok(MigratedJson::of(path, migrated.as_ref()))))?;
    } else {
        let migrated: Vec<_> = done.iter().filter_map(|(_, migrated)| migrated.as_ref()).collect();
        for migrated in &migrated {
            line(app, migrated)?;
        }
        app.output.note(&format!("{} sessions migrated, of {} looked at", migrated.len(), done.len()));
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn line(app: &mut App, migrated: &Migrated) -> Result<(), Failure> {
    let Migrated { path, from, backup, entries, .. } = migrated;
    let (path, backup) = (path.display(), backup.display());
    app.output.line(format_args!("{path}: from version {from}, {entries} entries; the original is {backup}"))
}
