//! The entries as numbers: a struct of arrays, about 50 bytes an entry, no allocation per entry.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::journal::Span;
use crate::model::{EntryId, EntryIdRepr, EntryKind, Role};

/// An entry's number, in file order.
pub(crate) type Row = u32;

/// No row.
pub(crate) const NONE: Row = Row::MAX;

/// What is special about an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// It moves no leaf.
    pub(crate) const SIDE: Self = Self(1);
    /// It reads well but is not what its checksum says.
    pub(crate) const SUSPECT: Self = Self(2);
    /// Its id belongs to an earlier entry: it is no node.
    pub(crate) const DUPLICATE: Self = Self(4);
    /// It moves the leaf of another lane than `main`.
    pub(crate) const LANE: Self = Self(16);
    /// Its `id` is an index into the table of long ids.
    const LONG_ID: Self = Self(8);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Where an entry stands in the tree. Parents are effective: leaf entries are stepped over, gaps bridged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(crate) parent: Row,
    pub(crate) depth: u32,
    /// An ancestor further up, so that walks take O(log depth) (Myers 1983, "An applicative random-access stack").
    pub(crate) jump: Row,
}

/// All entries of a log.
#[derive(Default)]
pub(crate) struct Table {
    positions: Vec<u64>,
    lengths: Vec<u32>,
    /// Lengths that do not fit into `lengths`.
    long_lengths: HashMap<Row, u64>,
    ids: Vec<u32>,
    kinds: Vec<(EntryKind, Option<Role>)>,
    flags: Vec<Flags>,
    pub(super) links: Vec<Links>,
    /// The latest child of each entry, and the sibling before each child.
    newest_children: Vec<Row>,
    older_siblings: Vec<Row>,
    newest_root: Option<Row>,
    by_short: HashMap<u32, Row, BuildHasherDefault<ShortIdHasher>>,
    by_long: HashMap<Arc<str>, Row>,
    long_ids: Vec<Arc<str>>,
}

impl Table {
    pub(crate) fn len(&self) -> Row {
        Row::try_from(self.positions.len()).expect("rows are counted when they are added")
    }

    /// Adds an entry. Its links are set with [`Table::link`]; a duplicate is not found by its id.
    pub(super) fn push(&mut self, span: Span, id: &EntryId, kind: EntryKind, role: Option<Role>, flags: Flags) -> Row {
        let row = self.len();
        assert!(row < NONE - 1, "a session holds at most {} entries", NONE - 1);
        let node = !flags.has(Flags::DUPLICATE);
        let (number, flags) = match id.repr() {
            EntryIdRepr::Short(number) => {
                if node {
                    self.by_short.insert(*number, row);
                }
                (*number, flags)
            }
            EntryIdRepr::Long(text) => {
                if node {
                    self.by_long.insert(Arc::clone(text), row);
                }
                self.long_ids.push(Arc::clone(text));
                (u32::try_from(self.long_ids.len() - 1).unwrap_or(NONE), flags.with(Flags::LONG_ID))
            }
        };
        self.positions.push(span.position);
        self.lengths.push(u32::try_from(span.length).unwrap_or_else(|_| {
            self.long_lengths.insert(row, span.length);
            u32::MAX
        }));
        self.ids.push(number);
        self.kinds.push((kind, role));
        self.flags.push(flags);
        self.links.push(Links { parent: NONE, depth: 0, jump: row });
        self.newest_children.push(NONE);
        self.older_siblings.push(NONE);
        row
    }

    /// Hangs `row` under `parent` ([`NONE`] for a root), as its newest child if `shown`.
    pub(super) fn link(&mut self, row: Row, parent: Row, shown: bool) {
        self.links[row as usize] = self.links_under(row, parent);
        if shown {
            self.add_child(row, parent);
        }
    }

    /// The links of `row` under `parent`.
    pub(super) fn links_under(&self, row: Row, parent: Row) -> Links {
        if parent == NONE {
            return Links { parent, depth: 0, jump: row };
        }
        let above = self.links[parent as usize];
        let over = self.links[above.jump as usize];
        let twice = self.links[over.jump as usize];
        let even = above.depth - over.depth == over.depth - twice.depth;
        let jump = if even && over.depth != above.depth { over.jump } else { parent };
        Links { parent, depth: above.depth + 1, jump }
    }

    fn add_child(&mut self, row: Row, parent: Row) {
        let older = match parent {
            NONE => self.newest_root.replace(row).unwrap_or(NONE),
            parent => std::mem::replace(&mut self.newest_children[parent as usize], row),
        };
        self.older_siblings[row as usize] = older;
    }

    /// Forgets who is whose child, and hangs all entries that are `shown` up again.
    pub(super) fn rebuild_children(&mut self) {
        self.newest_children.fill(NONE);
        self.older_siblings.fill(NONE);
        self.newest_root = None;
        for row in 0..self.len() {
            if self.is_node(row) && self.kind(row) != EntryKind::Leaf {
                self.add_child(row, self.parent(row));
            }
        }
    }

    pub(crate) fn find(&self, id: &EntryId) -> Option<Row> {
        match id.repr() {
            EntryIdRepr::Short(number) => self.by_short.get(number).copied(),
            EntryIdRepr::Long(text) => self.by_long.get(text).copied(),
        }
    }

    pub(crate) fn id(&self, row: Row) -> EntryId {
        let number = self.ids[row as usize];
        if self.flags(row).has(Flags::LONG_ID) {
            return EntryId::from_stored(&self.long_ids[number as usize]);
        }
        EntryId::from_short(number)
    }

    pub(crate) fn span(&self, row: Row) -> Span {
        let length = match self.lengths[row as usize] {
            u32::MAX => self.long_lengths.get(&row).copied().unwrap_or(u64::from(u32::MAX)),
            length => u64::from(length),
        };
        Span { position: self.positions[row as usize], length }
    }

    pub(crate) fn kind(&self, row: Row) -> EntryKind {
        self.kinds[row as usize].0
    }

    pub(crate) fn role(&self, row: Row) -> Option<Role> {
        self.kinds[row as usize].1
    }

    pub(crate) fn flags(&self, row: Row) -> Flags {
        self.flags[row as usize]
    }

    pub(crate) fn is_node(&self, row: Row) -> bool {
        !self.flags(row).has(Flags::DUPLICATE)
    }

    /// The nearest entry above, leaf entries stepped over; [`NONE`] for a root.
    pub(crate) fn parent(&self, row: Row) -> Row {
        self.links[row as usize].parent
    }

    pub(crate) fn depth(&self, row: Row) -> u32 {
        self.links[row as usize].depth
    }

    /// Whether no entry has `row` as its parent.
    pub(crate) fn is_childless(&self, row: Row) -> bool {
        self.newest_children[row as usize] == NONE
    }

    /// The children of `parent` ([`NONE`] for the roots), newest first.
    pub(crate) fn children_newest_first(&self, parent: Row) -> impl Iterator<Item = Row> + '_ {
        let first = match parent {
            NONE => self.newest_root,
            parent => Some(self.newest_children[parent as usize]).filter(|row| *row != NONE),
        };
        std::iter::successors(first, |row| Some(self.older_siblings[*row as usize]).filter(|row| *row != NONE))
    }
}

/// Spreads ids, most of which are random already; a hostile file may choose them, so they are mixed.
#[derive(Default)]
pub(crate) struct ShortIdHasher(u64);

impl Hasher for ShortIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // The finalizer of splitmix64 (Steele, Lea, Flood 2014).
        let mut mixed = (self.0 ^ u64::from(number)).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.0 = mixed ^ (mixed >> 31);
    }
}
