//! Naming a session.

use crate::app::App;
use crate::args::Name;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Name) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let receipt = session.set_name(args.text.as_deref().unwrap_or_default())?;
    app.output.receipt(&receipt)
}
