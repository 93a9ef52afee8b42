//! What every backend must keep, as code: the suite that the backends of this crate pass, for those who write one.
//!
//! ```
//! use std::sync::Arc;
//!
//! let memory = leaflog::journal::Memory::new();
//! leaflog::conformance::run(&|| Arc::new(memory.clone()));
//! ```
//!
//! The suite needs a backend without sessions. Each case makes its own, and panics with what it found where the
//! backend does not keep its word.

mod journals;
mod sessions;
mod support;

use std::sync::Arc;

use crate::journal::Backend;

/// Opens the backend under test once more, on the same data: as another thread or process does that shares nothing
/// with those before.
pub type Factory<'a> = dyn Fn() -> Arc<dyn Backend> + Sync + 'a;

/// A case: what must hold, and the code that looks.
pub type Case = (&'static str, fn(&Factory<'_>));

/// All cases, in no particular order; each can run alone.
pub const CASES: &[Case] = &[
    ("records come back in order and byte for byte", journals::records_come_back_in_order_and_byte_for_byte),
    ("any piece of a log can be read", journals::any_piece_of_a_log_can_be_read),
    (
        "an append that expects an older end stores nothing",
        journals::an_append_that_expects_an_older_end_stores_nothing,
    ),
    (
        "four writers each keep their order and lose nothing",
        journals::four_writers_each_keep_their_order_and_lose_nothing,
    ),
    ("a new journal is there whole or not at all", journals::a_new_journal_is_there_whole_or_not_at_all),
    ("a line that was left open is closed before the next record", journals::an_open_line_is_closed_first),
    ("a record of 16 MB is stored and read", journals::a_record_of_16_mb_is_stored_and_read),
    ("100,000 records are stored and read", journals::a_hundred_thousand_records_are_stored_and_read),
    ("watching ends when the end moves, or in time", journals::watching_ends_when_the_end_moves_or_in_time),
    ("what is synced is acknowledged", journals::what_is_synced_is_acknowledged),
    ("a deleted journal is gone, and comes back as it was", journals::a_deleted_journal_is_gone_and_comes_back),
    ("a journal that was made anew is another incarnation", journals::a_journal_made_anew_is_another_incarnation),
    ("sessions are listed and opened by what lists them", journals::sessions_are_listed_and_opened_by_their_paths),
    ("a reopened session is where it was", sessions::a_reopened_session_is_where_it_was),
    ("a leaf that moved is a conflict and nothing is written", sessions::a_leaf_that_moved_is_a_conflict),
    ("an append that is retried with its id is stored once", sessions::a_retried_append_is_stored_once),
    ("appends to a deleted session are never acknowledged", sessions::a_deleted_session_acknowledges_nothing),
    ("a session is copied in and out byte for byte", sessions::a_session_is_copied_in_and_out_byte_for_byte),
];

/// Runs all cases.
///
/// # Panics
///
/// If the backend does not pass.
pub fn run(factory: &Factory<'_>) {
    for (_, case) in CASES {
        case(factory);
    }
}
