//! The whole tree, flat and in depth-first order (SPEC 3.4). Iterative: a chain may be a million entries deep.

use std::collections::VecDeque;

use super::Session;
use super::read::{Locator, read_entries};
use crate::error::Result;
use crate::index::{Index, NONE, Row};
use crate::model::{EntryId, EntryKind, Role};

/// How many characters of an entry's text a node shows.
const TEXT_CHARACTERS_MAX: usize = 200;

const PAGE_NODES: usize = 512;

/// Which entries count as active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivePath {
    /// What the context path holds: from the compaction's boundary, if there is one.
    #[default]
    Context,
    /// The whole chain up to the physical root.
    Full,
}

/// Which entries a tree is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeFilter {
    /// All of them.
    #[default]
    All,
    /// Messages of the user.
    Users,
    /// Entries with a label.
    Labelled,
}

/// What [`Session::tree`] shows.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    active: ActivePath,
    hidden: Vec<EntryKind>,
    filter: TreeFilter,
}

impl TreeOptions {
    /// Everything but leaf entries; the context path is active.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which entries count as active.
    #[must_use]
    pub fn active(mut self, active: ActivePath) -> Self {
        self.active = active;
        self
    }

    /// Leaves out entries of these kinds; their children hang under the nearest entry that is shown.
    #[must_use]
    pub fn hide(mut self, kinds: impl IntoIterator<Item = EntryKind>) -> Self {
        self.hidden.extend(kinds);
        self
    }

    /// Leaves out all but some; their children hang under the nearest entry that is shown.
    #[must_use]
    pub fn filter(mut self, filter: TreeFilter) -> Self {
        self.filter = filter;
        self
    }

    fn shows(&self, index: &Index, row: Row) -> bool {
        let table = &index.table;
        let passes = match self.filter {
            TreeFilter::All => true,
            TreeFilter::Users => table.role(row) == Some(Role::User),
            TreeFilter::Labelled => index.label(&table.id(row)).is_some(),
        };
        passes && !self.hidden.contains(&table.kind(row))
    }
}

/// An entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeNode {
    /// The id.
    pub id: EntryId,
    /// The nearest shown entry above; `None` for roots and orphans.
    pub parent_id: Option<EntryId>,
    /// How many shown entries are above.
    pub depth: u32,
    /// The kind.
    pub kind: EntryKind,
    /// The record's `type`.
    pub type_name: String,
    /// The role, for messages.
    pub role: Option<Role>,
    /// When it was appended, as the record spells it.
    pub timestamp: String,
    /// The beginning of what a person would read, on one line: at most 200 characters.
    pub text: String,
    /// The label on it.
    pub label: Option<String>,
    /// When the label was set.
    pub label_timestamp: Option<String>,
    /// Whether it is on the active path.
    pub active: bool,
    /// Whether the handle stands here, or at an entry below that is not shown.
    pub leaf: bool,
    /// How many shown children it has.
    pub children: u32,
}

/// The nodes of a tree, read as they are asked for.
pub struct Tree<'a> {
    session: &'a Session,
    order: std::vec::IntoIter<Shape>,
    page: VecDeque<TreeNode>,
}

/// Where a node stands, before its record is read.
#[derive(Clone, Copy, Debug)]
struct Shape {
    row: Row,
    parent: Row,
    depth: u32,
    children: u32,
    active: bool,
    leaf: bool,
}

impl Session {
    /// The tree in depth-first order, children in file order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Gone`](crate::ErrorKind::Gone) if the log changed under this handle.
    pub fn tree(&self, options: &TreeOptions) -> Result<Tree<'_>> {
        let state = self.state.lock();
        let index = state.replay.index();
        let leaf = state.row_of_position();
        let mut active = vec![false; index.table.len() as usize];
        let path = match options.active {
            ActivePath::Full => index.table.path(leaf),
            ActivePath::Context => super::context::context_rows(index, &*self.journal, leaf)?,
        };
        for row in path {
            active[row as usize] = true;
        }
        let order = depth_first(index, options, &active, leaf);
        Ok(Tree { session: self, order: order.into_iter(), page: VecDeque::new() })
    }
}

/// All shown entries, each behind its parent and its elder siblings' descendants.
fn depth_first(index: &Index, options: &TreeOptions, active: &[bool], leaf: Row) -> Vec<Shape> {
    let table = &index.table;
    let mut order: Vec<Shape> = Vec::with_capacity(table.len() as usize);
    // Each open entry with the shown one above it, as an index into `order`.
    let mut open: Vec<(Row, Option<usize>)> = table.children_newest_first(NONE).map(|row| (row, None)).collect();
    while let Some((row, above)) = open.pop() {
        let mut shown = above;
        if options.shows(index, row) {
            let (parent, depth) = above.map_or((NONE, 0), |above| (order[above].row, order[above].depth + 1));
            if let Some(above) = above {
                order[above].children += 1;
            }
            shown = Some(order.len());
            order.push(Shape { row, parent, depth, children: 0, active: active[row as usize], leaf: false });
        }
        if row == leaf
            && let Some(shown) = shown
        {
            order[shown].leaf = true;
        }
        open.extend(table.children_newest_first(row).map(|child| (child, shown)));
    }
    order
}

impl Tree<'_> {
    /// How many nodes are left.
    pub fn remaining(&self) -> usize {
        self.order.len() + self.page.len()
    }

    /// How many of the nodes that were not read yet are roots: before the first is asked for, all.
    pub fn roots(&self) -> usize {
        self.order.as_slice().iter().filter(|shape| shape.depth == 0).count()
    }

    /// How many nodes stand before the one that is the leaf; `None` if no node is.
    pub fn leaf_position(&self) -> Option<usize> {
        self.order.as_slice().iter().position(|shape| shape.leaf)
    }

    fn read_page(&mut self) -> Result<()> {
        let shapes: Vec<_> = self.order.by_ref().take(PAGE_NODES).collect();
        let rows: Vec<_> = shapes.iter().map(|shape| shape.row).collect();
        let locators: Vec<Locator> = self.session.locate(&rows);
        let entries = read_entries(&*self.session.journal, &locators)?;
        let state = self.session.state.lock();
        for (shape, entry) in shapes.into_iter().zip(entries) {
            let label = state.replay.index().label(&entry.id);
            self.page.push_back(TreeNode {
                parent_id: state.id_at(shape.parent),
                depth: shape.depth,
                kind: entry.kind,
                type_name: entry.type_name(),
                role: entry.role,
                text: short_text(&entry.text()),
                timestamp: entry.timestamp.clone(),
                label: label.map(|label| label.text.clone()),
                label_timestamp: label.map(|label| label.timestamp.clone()),
                active: shape.active,
                leaf: shape.leaf,
                children: shape.children,
                id: entry.id,
            });
        }
        Ok(())
    }
}

impl Iterator for Tree<'_> {
    type Item = Result<TreeNode>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && let Err(error) = self.read_page()
        {
            self.order = Vec::new().into_iter();
            return Some(Err(error));
        }
        self.page.pop_front().map(Ok)
    }
}

/// The first words on one line; cut on characters (field report F2).
fn short_text(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(TEXT_CHARACTERS_MAX)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    if text.chars().nth(TEXT_CHARACTERS_MAX).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_on_characters_and_stay_on_one_line() {
        assert_eq!(short_text("a\nb\u{1b}c"), "a b c");
        let emoji = "\u{1f600}".repeat(TEXT_CHARACTERS_MAX + 1);
        assert_eq!(short_text(&emoji).chars().count(), TEXT_CHARACTERS_MAX + 1);
        assert!(short_text(&emoji).ends_with('…'));
        assert_eq!(short_text(&"x".repeat(TEXT_CHARACTERS_MAX)).len(), TEXT_CHARACTERS_MAX);
    }
}
