//! The fold: one record after the other, in file order (SPEC 3.2).

use std::collections::{BTreeMap, HashMap};

use super::damage::{Damage, Doubt, Gap, GapReason};
use super::settle::settle;
use super::table::{Flags, NONE, Row, Table};
use crate::codec::head::{Detail, Head};
use crate::journal::Span;
use crate::model::{EntryId, EntryKind};

/// How many damaged records are kept one by one; further ones are counted.
const DAMAGE_KEPT_MAX: usize = 1_000;

/// How many damaged lines in a row a bridge follows by the parents that they name; hostile logs name long chains.
const GHOST_STEPS_MAX: usize = 64;

/// A label or a name, and the time of the entry that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The text, one trimmed line.
    pub text: String,
    /// The time as the entry spells it.
    pub timestamp: String,
}

/// Where a record stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) line: u64,
}

/// Everything that is derived from a log.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) table: Table,
    /// The leaf of the lane `main`: [`NONE`] is before the first entry.
    main: Leaf,
    /// The leaves of other lanes.
    lanes: BTreeMap<Box<str>, Row>,
    labels: HashMap<EntryId, Label>,
    name: Option<Label>,
    /// Where the project is since it was relocated.
    cwd: Option<String>,
    messages: u64,
    /// For entries whose parent is a leaf entry: that one.
    through_leaf: HashMap<Row, Row>,
    gaps: BTreeMap<Row, Gap>,
    /// Entries that wait for a parent which may come later in the file.
    waiting: HashMap<EntryId, Vec<Row>>,
    /// Entries that came after a child of theirs, which the newest of every cycle is: the parent that they name
    /// themselves, and their line.
    late_parents: HashMap<Row, (EntryId, u64)>,
    /// Ids that damaged lines name, with the parents that they name.
    ghosts: HashMap<EntryId, Option<EntryId>>,
    /// The leaves just before the latest damage.
    before_damage: Option<(Row, BTreeMap<Box<str>, Row>)>,
    doubt: Option<Doubt>,
    damage: Vec<Damage>,
    damage_count: u64,
    unsettled: bool,
    /// Whether the first entry's parent stayed behind on purpose, in the source of a fork (SPEC 5.2).
    starts_within_context: bool,
}

struct Leaf(Row);

impl Default for Leaf {
    fn default() -> Self {
        Self(NONE)
    }
}

impl Index {
    /// An index for a log; `starts_within_context` for the copy of a context path.
    pub(super) fn new(starts_within_context: bool) -> Self {
        Self { starts_within_context, ..Self::default() }
    }

    /// Takes in an entry whose id is new.
    pub(super) fn apply(&mut self, head: Head<'_>, place: Place, suspect: bool) {
        let mut flags = Flags::default();
        if head.side {
            flags = flags.with(Flags::SIDE);
        }
        if suspect {
            flags = flags.with(Flags::SUSPECT);
        }
        if head.lane.is_some() {
            flags = flags.with(Flags::LANE);
        }
        let lane = head.lane.as_deref();
        let parent = self.effective_parent(&head, place.line);
        let row = self.table.push(place.span, &head.id, head.kind, head.role, flags);
        self.table.link(row, parent.row, head.kind != EntryKind::Leaf);
        if let Some(leaf) = parent.through {
            self.through_leaf.insert(row, leaf);
        }
        if let Some(gap) = parent.gap {
            self.waiting.entry(gap.missing.clone()).or_default().push(row);
            self.gaps.insert(row, gap);
        }
        self.adopt_waiting(&head, row, place.line);
        self.move_leaf(&head, row, lane, place.line);
        self.derive(head);
    }

    /// Takes in an entry whose id an earlier one with another body has: it is reachable, but no node.
    pub(super) fn apply_duplicate(&mut self, head: &Head<'_>, place: Place) {
        self.table.push(place.span, &head.id, head.kind, head.role, Flags::DUPLICATE);
    }

    /// Takes in a line that cannot be read. `ghost` is what its beginning still names.
    pub(super) fn skip(&mut self, place: Place, ghost: Option<(EntryId, Option<EntryId>)>, unfinished: bool) {
        if let Some((id, parent)) = ghost {
            self.ghosts.entry(id).or_insert(parent);
        }
        self.before_damage = Some((self.main.0, self.lanes.clone()));
        // A record that was never finished was never acknowledged, so it moved no leaf.
        if !unfinished && !matches!(self.doubt, Some(Doubt::DamageBehindLeaf { .. })) {
            self.doubt = Some(Doubt::DamageBehindLeaf { line: place.line, offset: place.span.position });
        }
    }

    /// Notes damage for reports.
    pub(super) fn report(&mut self, damage: Damage) {
        self.damage_count += 1;
        if self.damage.len() < DAMAGE_KEPT_MAX {
            self.damage.push(damage);
        }
    }

    fn effective_parent(&self, head: &Head<'_>, line: u64) -> Parent {
        let Some(named) = &head.parent else { return Parent::default() };
        if let Some(row) = self.table.find(named) {
            return self.step_over_leaf(row);
        }
        if self.starts_within_context && self.table.len() == 0 {
            return Parent::default();
        }
        let (row, reason) = if *named == head.id { (NONE, GapReason::Cycle) } else { self.bridge(named, head) };
        let bridged_to = (row != NONE).then(|| self.table.id(row));
        let gap = Gap { entry: head.id.clone(), missing: named.clone(), line, bridged_to, reason };
        Parent { row, through: None, gap: Some(gap) }
    }

    /// Leaf entries are transparent: a child of one counts as a child of its nearest entry (SPEC 3.4).
    fn step_over_leaf(&self, row: Row) -> Parent {
        if self.table.kind(row) != EntryKind::Leaf {
            return Parent { row, ..Parent::default() };
        }
        Parent { row: self.table.parent(row), through: Some(row), gap: None }
    }

    /// Where the path goes on if `missing` is not there (SPEC 2.3).
    fn bridge(&self, missing: &EntryId, head: &Head<'_>) -> (Row, GapReason) {
        // Children of one missing parent stay siblings.
        let sibling = self.waiting.get(missing).and_then(|rows| self.gaps.get(rows.first()?));
        if let Some(gap) = sibling.filter(|gap| gap.reason != GapReason::Cycle) {
            return (gap.bridged_to.as_ref().and_then(|id| self.table.find(id)).unwrap_or(NONE), gap.reason);
        }
        let mut named = Some(missing);
        for _ in 0..GHOST_STEPS_MAX {
            named = match named.and_then(|id| self.ghosts.get(id)) {
                Some(Some(parent)) => match self.table.find(parent) {
                    Some(row) => return (self.step_over_leaf(row).row, GapReason::NamedByDamage),
                    None => Some(parent),
                },
                Some(None) => return (NONE, GapReason::NamedByDamage),
                None => break,
            };
        }
        let (main, lanes) = match &self.before_damage {
            Some((main, lanes)) => (*main, lanes),
            None => (self.main.0, &self.lanes),
        };
        let leaf = head.lane.as_deref().map_or(main, |lane| lanes.get(lane).copied().unwrap_or(NONE));
        if leaf == NONE { (NONE, GapReason::Ends) } else { (leaf, GapReason::LeafBefore) }
    }

    /// Hangs entries that came before their parent under it.
    fn adopt_waiting(&mut self, head: &Head<'_>, row: Row, line: u64) {
        if self.waiting.is_empty() {
            return;
        }
        for child in self.waiting.remove(&head.id).unwrap_or_default() {
            if child == row {
                continue;
            }
            if let Some(named) = &head.parent {
                self.late_parents.insert(row, (named.clone(), line));
            }
            let parent = self.step_over_leaf(row);
            self.table.links[child as usize].parent = parent.row;
            if let Some(leaf) = parent.through {
                self.through_leaf.insert(child, leaf);
            }
            self.gaps.remove(&child);
            self.unsettled = true;
        }
    }

    fn move_leaf(&mut self, head: &Head<'_>, row: Row, lane: Option<&str>, line: u64) {
        let leaf = match &head.detail {
            Detail::Leaf { target: None } => NONE,
            Detail::Leaf { target: Some(target) } => match self.table.find(target) {
                Some(target) => self.step_over_leaf(target).row,
                None => {
                    self.doubt = Some(Doubt::UnknownTarget { target: target.clone(), line });
                    return;
                }
            },
            _ if head.side => return,
            _ => row,
        };
        match lane {
            Some(lane) => {
                self.lanes.insert(lane.into(), leaf);
            }
            None => {
                // Once main has gone on from where it stood before the damage, a later gap is none of that damage's.
                let goes_on = |before: Row| head.kind == EntryKind::Leaf || self.table.parent(row) == before;
                if self.before_damage.as_ref().is_some_and(|(before, _)| goes_on(*before)) {
                    self.before_damage = None;
                }
                self.main.0 = leaf;
                self.doubt = None;
            }
        }
    }

    fn derive(&mut self, head: Head<'_>) {
        let label = |text| Label { text, timestamp: String::from_utf8_lossy(&head.timestamp).into_owned() };
        match head.detail {
            Detail::Label { target, label: text } => match cleaned(text) {
                Some(text) => {
                    self.labels.insert(target, label(text));
                }
                None => {
                    self.labels.remove(&target);
                }
            },
            Detail::SessionInfo(info) => {
                self.name = cleaned(info.name).map(label);
                if let Some(cwd) = info.cwd.filter(|cwd| !cwd.is_empty()) {
                    self.cwd = Some(cwd);
                }
            }
            _ if head.kind == EntryKind::Message => self.messages += 1,
            _ => {}
        }
    }

    /// Puts the tree right if entries came before their parents. To be called before the tree is looked at.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        for row in settle(&mut self.table, |row| self.gaps.contains_key(&row)) {
            if let Some(bridge) = self.gaps.get_mut(&row) {
                (bridge.bridged_to, bridge.reason) = (None, GapReason::Ends);
            } else if let Some((missing, line)) = self.late_parents.get(&row).cloned() {
                let entry = self.table.id(row);
                self.gaps.insert(row, Gap { entry, missing, line, bridged_to: None, reason: GapReason::Cycle });
            }
        }
    }

    /// The leaf of the lane `main`; [`NONE`] is before the first entry.
    pub(crate) fn leaf(&self) -> Row {
        self.main.0
    }

    pub(crate) fn lanes(&self) -> &BTreeMap<Box<str>, Row> {
        &self.lanes
    }

    pub(crate) fn label(&self, id: &EntryId) -> Option<&Label> {
        self.labels.get(id)
    }

    pub(crate) fn labels(&self) -> &HashMap<EntryId, Label> {
        &self.labels
    }

    pub(crate) fn name(&self) -> Option<&Label> {
        self.name.as_ref()
    }

    /// The project's folder, if an entry says that it is another one than the header says.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// How many message entries there are, on all branches.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// For an entry whose parent is a leaf entry: that one.
    pub(crate) fn through_leaf(&self, row: Row) -> Option<Row> {
        self.through_leaf.get(&row).copied()
    }

    pub(crate) fn gap(&self, row: Row) -> Option<&Gap> {
        self.gaps.get(&row)
    }

    pub(crate) fn gaps(&self) -> impl Iterator<Item = (Row, &Gap)> {
        self.gaps.iter().map(|(row, gap)| (*row, gap))
    }

    pub(crate) fn doubt(&self) -> Option<&Doubt> {
        self.doubt.as_ref()
    }

    /// The first damaged records, and how many there are in all.
    pub(crate) fn damage(&self) -> (&[Damage], u64) {
        (&self.damage, self.damage_count)
    }
}

/// The parent that walks use.
struct Parent {
    row: Row,
    through: Option<Row>,
    gap: Option<Gap>,
}

impl Default for Parent {
    fn default() -> Self {
        Self { row: NONE, through: None, gap: None }
    }
}

/// Empty text clears (SPEC 3.6).
fn cleaned(text: Option<String>) -> Option<String> {
    text.map(|text| crate::model::one_line_label(&text)).filter(|text| !text.is_empty())
}
