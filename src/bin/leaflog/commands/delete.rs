//! Deleting, to the trash or for good.

use serde::Serialize;

use crate::app::{App, as_text};
use crate::args::Delete;
use crate::failure::Failure;

#[derive(Serialize)]
struct DeletedJson {
    /// Where the session was.
    path: String,
    /// Where it is now; null if it is gone for good.
    trash: Option<String>,
}

pub(super) fn run(app: &mut App, args: &Delete) -> Result<(), Failure> {
    let path = app.path(&args.session)?;
    let path = as_text(path.as_os_str(), "the path")?;
    let store = app.store_of(path.as_ref())?;
    let trash = if args.forever { store.remove(path).map(|_| None)? } else { store.delete(path).map(Some)? };
    let trash = trash.map(|trash| trash.to_string_lossy().into_owned());
    if app.output.is_json() {
        return app.output.json(&DeletedJson { path: path.to_owned(), trash });
    }
    app.output.line(trash.as_deref().unwrap_or(path))
}
