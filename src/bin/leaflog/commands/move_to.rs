//! Moving the leaf.

use leaflog::{AppendOptions, BranchSummary};

use crate::app::App;
use crate::args::Move;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(app: &mut App, args: Move) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let summary = match &args.summary {
        Some(summary) => {
            let summary = BranchSummary::new(input::text_or_stdin(summary)?);
            Some(match args.details {
                Some(details) => summary.details(details.0),
                None => summary,
            })
        }
        None => None,
    };
    let options = args.expect.on(AppendOptions::new().to_leaf());
    let receipt = session.move_with(args.entry.0.as_ref(), summary, &options)?;
    app.output.receipt_or_none(receipt.as_ref(), &session)
}
