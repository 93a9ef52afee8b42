//! Questions about the tree. No recursion: a chain may be a million entries deep (SPEC 2.4).

use super::table::{NONE, Row, Table};

impl Table {
    /// `row` and its ancestors, from `row` up to its root. Nothing for [`NONE`].
    pub(crate) fn upwards(&self, row: Row) -> impl Iterator<Item = Row> + '_ {
        std::iter::successors(Some(row).filter(|row| *row != NONE), |row| {
            Some(self.parent(*row)).filter(|parent| *parent != NONE)
        })
    }

    /// The path from the root to `row`.
    pub(crate) fn path(&self, row: Row) -> Vec<Row> {
        let mut path = Vec::with_capacity(if row == NONE { 0 } else { self.depth(row) as usize + 1 });
        path.extend(self.upwards(row));
        path.reverse();
        path
    }

    /// The ancestor of `row` at `depth`, which is at most `row`'s own. O(log depth).
    pub(crate) fn ancestor_at_depth(&self, mut row: Row, depth: u32) -> Row {
        while self.depth(row) > depth {
            let jump = self.links[row as usize].jump;
            row = if jump != row && self.depth(jump) >= depth { jump } else { self.parent(row) };
        }
        row
    }

    /// Whether `ancestor` is `row` or above it. O(log depth).
    pub(crate) fn is_ancestor(&self, ancestor: Row, row: Row) -> bool {
        self.depth(ancestor) <= self.depth(row) && self.ancestor_at_depth(row, self.depth(ancestor)) == ancestor
    }

    /// The deepest entry that is `a` or above it, and `b` or above it. O(log depth).
    pub(crate) fn common_ancestor(&self, a: Row, b: Row) -> Option<Row> {
        let depth = self.depth(a).min(self.depth(b));
        let (mut a, mut b) = (self.ancestor_at_depth(a, depth), self.ancestor_at_depth(b, depth));
        while a != b {
            let (jump_a, jump_b) = (self.links[a as usize].jump, self.links[b as usize].jump);
            // Entries of one depth jump equally far, so the two stay level.
            (a, b) = if jump_a != jump_b && jump_a != a { (jump_a, jump_b) } else { (self.parent(a), self.parent(b)) };
            if a == NONE || b == NONE {
                return None;
            }
        }
        Some(a)
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Flags;
    use super::*;
    use crate::journal::Span;
    use crate::model::{EntryId, EntryKind};

    fn table(parents: &[Row]) -> Table {
        let mut table = Table::default();
        for (number, parent) in (0_u32..).zip(parents) {
            let span = Span { position: 0, length: 0 };
            let row = table.push(span, &EntryId::from_short(number), EntryKind::Custom, None, Flags::default());
            table.link(row, *parent, true);
        }
        table
    }

    /// A tree whose shape follows from `seed`: chains, bushes and several roots.
    fn random_parents(seed: u64, count: Row) -> Vec<Row> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 33).unwrap()
        };
        (0..count)
            .map(|row| match next() % 10 {
                _ if row == 0 => NONE,
                0 => NONE,
                1..=6 => row - 1,
                _ => next() % row,
            })
            .collect()
    }

    #[test]
    fn jumps_give_the_same_answers_as_walking_step_by_step() {
        for seed in 0..20 {
            let parents = random_parents(seed, 300);
            let table = table(&parents);
            for a in (0..300).step_by(7) {
                let path = table.path(a);
                assert_eq!(path.len(), table.depth(a) as usize + 1);
                for (depth, row) in (0..).zip(&path) {
                    assert_eq!(table.ancestor_at_depth(a, depth), *row);
                }
                for b in (0..300).step_by(11) {
                    let other = table.path(b);
                    let shared = path.iter().zip(&other).take_while(|(a, b)| a == b).last().map(|(a, _)| *a);
                    assert_eq!(table.common_ancestor(a, b), shared, "{a} {b} seed {seed}");
                    assert_eq!(table.is_ancestor(b, a), path.contains(&b));
                }
            }
        }
    }

    #[test]
    fn a_million_deep_chain_takes_few_steps() {
        let parents: Vec<Row> = (0..1_000_000).map(|row: Row| row.checked_sub(1).unwrap_or(NONE)).collect();
        let table = table(&parents);
        let mut steps = 0;
        let mut row = 999_999;
        while table.depth(row) > 1 {
            let jump = table.links[row as usize].jump;
            row = if table.depth(jump) >= 1 { jump } else { table.parent(row) };
            steps += 1;
        }
        assert!(steps < 100, "{steps} steps");
        assert_eq!(table.common_ancestor(999_999, 500_000), Some(500_000));
    }

    #[test]
    fn children_come_newest_first_and_roots_are_the_children_of_none() {
        let table = table(&[NONE, 0, 0, NONE, 1]);
        assert_eq!(table.children_newest_first(0).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(table.children_newest_first(NONE).collect::<Vec<_>>(), [3, 0]);
        assert!(table.is_childless(2) && !table.is_childless(1));
    }
}
