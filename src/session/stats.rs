//! Counting a session (SPEC 3.4).

use super::Session;
use super::read::is_tip;
use crate::error::Result;
use crate::model::{EntryKind, Role, json};

/// Counts over all branches.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Entries, leaf entries too.
    pub entries: u64,
    /// Message entries.
    pub messages: u64,
    /// Entries without children.
    pub tips: u64,
    /// The longest path, in entries.
    pub depth: u64,
    /// The log's size in bytes.
    pub bytes: u64,
    /// Records without a checksum.
    pub unchecked: u64,
    /// Tokens of assistants, compactions, branch summaries and usage entries: input, output, cache reads and writes.
    pub tokens: u64,
    /// What they cost, in the unit that the writers used.
    pub cost: f64,
}

impl Session {
    /// Counts entries of all branches. Reads the records that may tell of usage.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`](crate::ErrorKind::Gone) if the log changed under this handle.
    pub fn stats(&self) -> Result<Stats> {
        let (mut stats, rows) = self.count();
        for entry in self.list(rows) {
            let entry = entry?;
            let record = entry.as_json();
            let usage = match entry.kind() {
                EntryKind::Message => {
                    json::member(&record, "message").and_then(|message| json::member(message, "usage"))
                }
                _ => json::member(&record, "usage"),
            };
            if let Some(usage) = usage.and_then(Usage::parse) {
                stats.tokens += usage.tokens;
                stats.cost += usage.cost;
            }
        }
        Ok(stats)
    }

    fn count(&self) -> (Stats, Vec<u32>) {
        let state = self.state.lock();
        let index = state.replay.index();
        let table = &index.table;
        let rows = 0..table.len();
        let has_usage = |row: &u32| match table.kind(*row) {
            EntryKind::Message => table.role(*row) == Some(Role::Assistant),
            kind => matches!(kind, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Usage),
        };
        let stats = Stats {
            entries: u64::from(table.len()),
            messages: index.messages(),
            tips: rows.clone().filter(|row| is_tip(index, *row)).count() as u64,
            depth: rows
                .clone()
                .filter(|row| is_tip(index, *row))
                .map(|row| u64::from(table.depth(row)) + 1)
                .max()
                .unwrap_or(0),
            bytes: self.journal.stored_position(state.replay.seen()),
            unchecked: state.replay.counts().unchecked,
            tokens: 0,
            cost: 0.0,
        };
        (stats, rows.filter(has_usage).collect())
    }
}

struct Usage {
    tokens: u64,
    cost: f64,
}

impl Usage {
    /// A usage object counts only if it is complete, as in pi 0.83.
    fn parse(raw: &str) -> Option<Self> {
        let number = |raw: Option<&str>| raw?.parse::<f64>().ok();
        let mut tokens = 0.0;
        for key in ["input", "output", "cacheRead", "cacheWrite"] {
            tokens += number(json::member(raw, key))?;
        }
        let cost = number(json::member(json::member(raw, "cost")?, "total"))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what a count can be")]
        Some(Self { tokens: tokens.clamp(0.0, 1e18) as u64, cost })
    }
}
