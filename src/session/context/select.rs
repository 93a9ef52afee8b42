//! Which entries make up the context (SPEC 3.5).

use super::project;
use crate::error::Result;
use crate::index::{Index, NONE, Row};
use crate::journal::Journal;
use crate::model::{Entry, EntryId, EntryKind, Role};
use crate::session::read::{Locator, read_entries};

/// The context path, and where on it the newest compaction is.
#[derive(Debug)]
pub(super) struct Selection {
    /// From where the path starts to the leaf.
    pub(super) rows: Vec<Row>,
    /// The newest compaction, as an index into `rows`; what stands before it is the kept range.
    compaction: Option<usize>,
    /// The first kept entry that is not on the path, so that nothing is kept.
    pub(super) off_path_first_kept: Option<EntryId>,
}

impl Selection {
    /// Walks from `leaf` up to the newest compaction, and on to where its kept range starts.
    ///
    /// Only the newest compaction of the path sets the boundary; older ones neither stop nor shift the walk.
    pub(super) fn of(index: &Index, journal: &dyn Journal, leaf: Row) -> Result<Self> {
        let table = &index.table;
        let mut rows = Vec::new();
        let mut boundary = None;
        let mut compaction = None;
        let mut off_path_first_kept = None;
        for row in table.upwards(leaf) {
            rows.push(row);
            if compaction.is_none() && table.kind(row) == EntryKind::Compaction {
                compaction = Some(rows.len() - 1);
                let kept = Kept::of(index, journal, row)?;
                boundary = Some(kept.start);
                off_path_first_kept = kept.off_path;
            }
            if boundary == Some(row) {
                break;
            }
        }
        rows.reverse();
        let compaction = compaction.map(|from_leaf| rows.len() - 1 - from_leaf);
        Ok(Self { rows, compaction, off_path_first_kept })
    }

    /// Puts the entries of the path into the order of the context: the compaction, the kept range, the rest. A system
    /// message of the compaction replaces those of the kept range (SPEC 4.1).
    pub(super) fn arrange(&self, mut path: Vec<Entry>) -> Vec<Entry> {
        let Some(at) = self.compaction else { return path };
        let rest = path.split_off(at + 1);
        let compaction = path.pop();
        let replaces = compaction.as_ref().is_some_and(project::has_system_message);
        let kept = path.into_iter().filter(|entry| !(replaces && entry.role() == Some(Role::System)));
        compaction.into_iter().chain(kept).chain(rest).collect()
    }
}

/// Where the kept range of a compaction starts.
struct Kept {
    start: Row,
    off_path: Option<EntryId>,
}

impl Kept {
    fn of(index: &Index, journal: &dyn Journal, compaction: Row) -> Result<Self> {
        let nothing = Self { start: compaction, off_path: None };
        let entry = read_entries(journal, &[Locator::of(index, compaction)])?.remove(0);
        if entry.member("retainedTail").is_some_and(|tail| tail.starts_with('[')) {
            return Ok(nothing);
        }
        let Some(first_kept) = entry.text_member("firstKeptEntryId").filter(|id| !id.is_empty()) else {
            return Ok(nothing);
        };
        let first_kept = EntryId::from_stored(&first_kept);
        match index.table.find(&first_kept).and_then(|row| on_path(index, row, compaction)) {
            Some(start) => Ok(Self { start, off_path: None }),
            None => Ok(Self { start: compaction, off_path: Some(first_kept) }),
        }
    }
}

/// `row` if it is on the path to `compaction`; for a leaf entry on it, the entry behind that.
fn on_path(index: &Index, row: Row, compaction: Row) -> Option<Row> {
    let table = &index.table;
    if table.kind(row) != EntryKind::Leaf {
        return table.is_ancestor(row, compaction).then_some(row);
    }
    // Another program may have taken one of our leaf entries for an entry like any other.
    table.upwards(compaction).take_while(|entry| *entry != NONE).find(|entry| {
        let mut through = index.through_leaf(*entry);
        while let Some(leaf) = through {
            if leaf == row {
                return true;
            }
            through = index.through_leaf(leaf).filter(|next| *next < leaf);
        }
        false
    })
}
