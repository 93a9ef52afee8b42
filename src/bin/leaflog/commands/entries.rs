//! The stored records in file order.

use crate::app::App;
use crate::args::Entries;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Entries) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    for entry in session.entries_after(args.after.as_ref(), args.limit)? {
        app.output.record(entry?.as_bytes())?;
    }
    Ok(())
}
