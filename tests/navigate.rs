//! Going elsewhere in a session, with and without a summary (SPEC 6), on real files that are opened again.

mod common;

#[path = "navigate/support.rs"]
mod support;

#[path = "navigate/commands.rs"]
mod commands;
#[path = "navigate/conflicts.rs"]
mod conflicts;
#[path = "navigate/hooks.rs"]
mod hooks;
#[path = "navigate/moves.rs"]
mod moves;
#[path = "navigate/phases.rs"]
mod phases;
#[path = "navigate/prepare.rs"]
mod prepare;
#[path = "navigate/summaries.rs"]
mod summaries;
