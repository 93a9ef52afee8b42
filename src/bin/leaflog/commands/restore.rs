//! Restoring from the trash.

use serde::Serialize;

use crate::app::{App, as_text};
use crate::args::Restore;
use crate::failure::Failure;

#[derive(Serialize)]
struct RestoredJson {
    path: String,
}

pub(super) fn run(app: &mut App, args: &Restore) -> Result<(), Failure> {
    let path = app.store()?.restore(as_text(&args.session, "the name")?)?;
    let path = path.to_string_lossy().into_owned();
    if app.output.is_json() { app.output.json(&RestoredJson { path }) } else { app.output.line(path) }
}
