//! Appending a compaction.

use leaflog::{AppendOptions, Compaction};

use crate::app::App;
use crate::args::Compact;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(app: &mut App, args: Compact) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let mut compaction = Compaction::new(input::text_or_stdin(&args.summary)?)
        .tokens_before(args.tokens)
        .keep_settings(args.keep_settings);
    if let Some(entry) = args.first_kept.0 {
        compaction = compaction.first_kept(entry);
    }
    if let Some(details) = args.details {
        compaction = compaction.details(details.0);
    }
    if let Some(tail) = args.retained_tail {
        compaction = compaction.retained_tail(tail.0);
    }
    let receipt = session.compact_with(compaction, &args.expect.on(AppendOptions::new().to_leaf()))?;
    app.output.receipt(&receipt)
}
