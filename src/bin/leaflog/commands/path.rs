//! The stored records of a path.

use crate::app::App;
use crate::args::Path;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Path) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    for entry in session.path_entries(args.entry.as_ref())? {
        app.output.record(entry?.as_bytes())?;
    }
    app.output.note_gaps(&session.path_gaps(args.entry.as_ref())?);
    Ok(())
}
