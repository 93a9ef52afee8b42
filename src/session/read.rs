//! Reading entries and the tree's shape, as far as this handle has replayed (SPEC 3.4).

use std::collections::VecDeque;

use super::{Session, State, id_of};
use crate::codec::head::{self, Reading};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Flags, Gap, Index, NONE, Row};
use crate::journal::{Journal, Span};
use crate::model::{Entry, EntryId, EntryKind};

/// How many entries, and about how many bytes, an iteration reads at once.
const PAGE_ENTRIES_MAX: usize = 512;
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// An entry without children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its id.
    pub id: EntryId,
    /// How many entries are above it.
    pub depth: u32,
    /// Its time as the record spells it.
    pub timestamp: String,
}

/// What is needed to read an entry, taken from the index so that reading needs no lock.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    span: Span,
    id: EntryId,
    suspect: bool,
}

impl Locator {
    pub(super) fn of(index: &Index, row: Row) -> Self {
        let table = &index.table;
        let suspect = table.flags(row).has(Flags::SUSPECT);
        Self { span: table.span(row), id: table.id(row), suspect }
    }
}

/// Reads entries in the order given.
pub(super) fn read_entries(journal: &dyn Journal, locators: &[Locator]) -> Result<Vec<Entry>> {
    let spans: Vec<_> = locators.iter().map(|locator| locator.span).collect();
    let mut entries = Vec::with_capacity(locators.len());
    journal.read(&spans, &mut |index, bytes| {
        entries.push(entry(&locators[index], bytes).ok_or_else(|| changed(journal, &locators[index]))?);
        Ok(())
    })?;
    Ok(entries)
}

fn entry(locator: &Locator, bytes: &[u8]) -> Option<Entry> {
    let head = match head::fast(bytes) {
        Some(head) => head,
        None => match head::slow(bytes) {
            Reading::Entry(head) => head,
            _ => return None,
        },
    };
    (head.id == locator.id).then(|| Entry {
        id: head.id,
        parent_id: head.parent,
        kind: head.kind,
        role: head.role,
        timestamp: String::from_utf8_lossy(&head.timestamp).into_owned(),
        line: bytes.to_vec(),
        position: locator.span.position,
        suspect: locator.suspect,
    })
}

/// Every record that is read through the index is checked again (SPEC 8.2).
fn changed(journal: &dyn Journal, locator: &Locator) -> Error {
    let message = "the log changed under this handle; refresh, or open it again";
    Error::new(ErrorKind::Gone, message).at(journal.path()).at_offset(locator.span.position)
}

/// Entries that are read as they are asked for, some at a time, so that memory does not follow their number.
pub struct Entries<'a> {
    session: &'a Session,
    rows: Rows,
    page: VecDeque<Entry>,
}

/// Which entries to read.
enum Rows {
    Range(std::ops::Range<Row>),
    List(std::vec::IntoIter<Row>),
}

impl Rows {
    fn next(&mut self) -> Option<Row> {
        match self {
            Self::Range(range) => range.next(),
            Self::List(list) => list.next(),
        }
    }
}

impl Entries<'_> {
    fn read_page(&mut self) -> Result<()> {
        let mut locators = Vec::new();
        let mut bytes = 0;
        {
            let state = self.session.state.lock();
            let index = state.replay.index();
            while locators.len() < PAGE_ENTRIES_MAX && bytes < PAGE_BYTES_MAX {
                // After a reload there may be fewer entries than there were.
                let Some(row) = self.rows.next().filter(|row| *row < index.table.len()) else { break };
                let locator = Locator::of(index, row);
                bytes += locator.span.length;
                locators.push(locator);
            }
        }
        self.page = read_entries(&*self.session.journal, &locators)?.into();
        Ok(())
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && let Err(error) = self.read_page()
        {
            self.rows = Rows::Range(0..0);
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}

impl Session {
    /// All entries in file order, leaf entries and other branches too: the physical session (C12's `getEntries`).
    pub fn entries(&self) -> Entries<'_> {
        self.range(0, None)
    }

    /// Entries in file order behind the entry `after`, at most `limit`: a page.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry.
    pub fn entries_after(&self, after: Option<&EntryId>, limit: Option<usize>) -> Result<Entries<'_>> {
        let start = match after {
            Some(id) => self.state.lock().find(id)? + 1,
            None => 0,
        };
        Ok(self.range(start, limit))
    }

    fn range(&self, start: Row, limit: Option<usize>) -> Entries<'_> {
        let count = self.state.lock().replay.rows();
        let limit = limit.map_or(count, |limit| Row::try_from(limit).unwrap_or(count));
        let end = start.saturating_add(limit).min(count);
        Entries { session: self, rows: Rows::Range(start..end), page: VecDeque::new() }
    }

    /// The ids of the newest `count` entries of the file, newest first. Reads nothing from the log.
    pub fn newest_ids(&self, count: usize) -> Vec<EntryId> {
        let state = self.state.lock();
        let table = &state.replay.index().table;
        (0..table.len()).rev().take(count).map(|row| table.id(row)).collect()
    }

    /// The entry `id`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub fn entry(&self, id: &EntryId) -> Result<Entry> {
        let locator = {
            let state = self.state.lock();
            Locator::of(state.replay.index(), state.find(id)?)
        };
        Ok(read_entries(&*self.journal, &[locator])?.remove(0))
    }

    /// The children of `parent` in file order; of `None`, the roots.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry.
    pub fn children(&self, parent: Option<&EntryId>) -> Result<Vec<EntryId>> {
        let state = self.state.lock();
        let row = parent.map_or(Ok(NONE), |id| state.find(id))?;
        let table = &state.replay.index().table;
        let mut children: Vec<_> = table.children_newest_first(row).map(|row| table.id(row)).collect();
        children.reverse();
        Ok(children)
    }

    /// The ids on the path from the physical root to `from` (by default, this handle's position).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry; [`ErrorKind::Corrupt`] if it has a gap and the session was
    /// opened strictly.
    pub fn path_ids(&self, from: Option<&EntryId>) -> Result<Vec<EntryId>> {
        let state = self.state.lock();
        let rows = self.path_rows(&state, from)?;
        Ok(rows.into_iter().map(|row| state.replay.index().table.id(row)).collect())
    }

    /// The entries on the path from the physical root to `from`, without leaf entries (SPEC 3.4).
    ///
    /// # Errors
    ///
    /// As [`Session::path_ids`].
    pub fn path_entries(&self, from: Option<&EntryId>) -> Result<Entries<'_>> {
        let rows = self.path_rows(&self.state.lock(), from)?;
        Ok(self.list(rows))
    }

    pub(super) fn list(&self, rows: Vec<Row>) -> Entries<'_> {
        Entries { session: self, rows: Rows::List(rows.into_iter()), page: VecDeque::new() }
    }

    /// The gaps on the path from the physical root to `from`, from the root on (SPEC 2.3).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry.
    pub fn path_gaps(&self, from: Option<&EntryId>) -> Result<Vec<Gap>> {
        let state = self.state.lock();
        let row = state.row_from(from)?;
        Ok(gaps_on(state.replay.index(), &state.replay.index().table.path(row)))
    }

    fn path_rows(&self, state: &State, from: Option<&EntryId>) -> Result<Vec<Row>> {
        let index = state.replay.index();
        let rows = index.table.path(state.row_from(from)?);
        self.refuse_gaps(&gaps_on(index, &rows))?;
        Ok(rows)
    }

    /// Fails on the first gap if the session was opened strictly.
    pub(super) fn refuse_gaps(&self, gaps: &[Gap]) -> Result<()> {
        match gaps.first() {
            Some(gap) if self.options.strict => {
                let message = format!("the parent {} of the entry {} is missing", gap.missing, gap.entry);
                Err(Error::new(ErrorKind::Corrupt, message).at(self.journal.path()))
            }
            _ => Ok(()),
        }
    }

    /// Whether `ancestor` is `entry` or above it. O(log depth).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry.
    pub fn is_ancestor(&self, ancestor: &EntryId, entry: &EntryId) -> Result<bool> {
        let state = self.state.lock();
        Ok(state.replay.index().table.is_ancestor(state.find(ancestor)?, state.find(entry)?))
    }

    /// The deepest entry that is `a` or above it and `b` or above it; `None` if they share none. O(log depth).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no such entry.
    pub fn common_ancestor(&self, a: &EntryId, b: &EntryId) -> Result<Option<EntryId>> {
        let state = self.state.lock();
        let table = &state.replay.index().table;
        Ok(table.common_ancestor(state.find(a)?, state.find(b)?).map(|row| table.id(row)))
    }

    /// All entries without children, in file order (S14's `listBranches`); leaf entries are none (SPEC 3.4).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`] if the log changed under this handle.
    pub fn tips(&self) -> Result<Vec<Tip>> {
        let (locators, depths): (Vec<_>, Vec<_>) = {
            let state = self.state.lock();
            let index = state.replay.index();
            let tips = (0..index.table.len()).filter(|row| is_tip(index, *row));
            tips.map(|row| (Locator::of(index, row), index.table.depth(row))).unzip()
        };
        let mut tips = Vec::with_capacity(locators.len());
        for (locators, depths) in locators.chunks(PAGE_ENTRIES_MAX).zip(depths.chunks(PAGE_ENTRIES_MAX)) {
            for (entry, depth) in read_entries(&*self.journal, locators)?.into_iter().zip(depths) {
                tips.push(Tip { id: entry.id, depth: *depth, timestamp: entry.timestamp });
            }
        }
        Ok(tips)
    }

    /// How many bytes the log has, as far as it was replayed.
    pub fn bytes(&self) -> u64 {
        self.journal.stored_position(self.state.lock().replay.seen())
    }

    pub(super) fn locate(&self, rows: &[Row]) -> Vec<Locator> {
        let state = self.state.lock();
        rows.iter().map(|row| Locator::of(state.replay.index(), *row)).collect()
    }
}

impl State {
    /// The row of `from`, or of the position. A leaf entry stands for its nearest entry.
    pub(super) fn row_from(&self, from: Option<&EntryId>) -> Result<Row> {
        let Some(id) = from else { return Ok(self.row_of_position()) };
        let row = self.find(id)?;
        let table = &self.replay.index().table;
        Ok(if table.kind(row) == EntryKind::Leaf { table.parent(row) } else { row })
    }

    pub(super) fn id_at(&self, row: Row) -> Option<EntryId> {
        id_of(&self.replay, row)
    }
}

pub(super) fn is_tip(index: &Index, row: Row) -> bool {
    let table = &index.table;
    table.is_node(row) && table.kind(row) != EntryKind::Leaf && table.is_childless(row)
}

pub(super) fn gaps_on(index: &Index, rows: &[Row]) -> Vec<Gap> {
    rows.iter().filter_map(|row| index.gap(*row).cloned()).collect()
}
