//! Setting a label.

use crate::app::App;
use crate::args::Label;
use crate::failure::Failure;

pub(super) fn run(app: &mut App, args: &Label) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let receipt = session.set_label(&args.entry, args.text.as_deref().unwrap_or_default())?;
    app.output.receipt(&receipt)
}
