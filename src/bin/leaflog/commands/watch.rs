//! Showing entries as they come.

use std::time::{Duration, Instant};

use leaflog::{EntryId, Session};

use crate::app::App;
use crate::args::Watch;
use crate::failure::Failure;

/// How long is waited at once.
const STEP: Duration = Duration::from_secs(1);

pub(super) fn run(app: &mut App, args: &Watch) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    if let Some(since) = &args.since {
        for entry in session.entries_after(since.0.as_ref(), Some(left))? {
            app.output.record(entry?.as_bytes())?;
            left -= 1;
        }
        app.output.flush()?;
    }
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    while left > 0 {
        let wait = deadline.map_or(STEP, |deadline| STEP.min(deadline.saturating_duration_since(Instant::now())));
        if wait.is_zero() {
            break;
        }
        let refresh = session.watch(wait)?;
        if refresh.reloaded {
            app.output.note("the log was rewritten or replaced; what follows is all of it");
        }
        left -= show(app, &session, &refresh.new_entries[..refresh.new_entries.len().min(left)])?;
    }
    Ok(())
}

/// Prints the entries; returns how many.
fn show(app: &mut App, session: &Session, entries: &[EntryId]) -> Result<usize, Failure> {
    for id in entries {
        app.output.record(session.entry(id)?.as_bytes())?;
    }
    app.output.flush()?;
    Ok(entries.len())
}
