//! Putting the tree right after an entry was found whose children came before it in the file (SPEC 2.4).
//!
//! Only damaged or hostile logs need this. One pass over all entries; cycles are broken at a bridge if they have one,
//! which no record asked for, else at their newest entry, so the result does not depend on how the log was read in
//! pieces.

use super::table::{NONE, Row, Table};

/// Recomputes all depths and jumps from the parents; returns the entries at which a cycle was broken.
pub(super) fn settle(table: &mut Table, is_bridge: impl Fn(Row) -> bool) -> Vec<Row> {
    let broken = break_cycles(table, is_bridge);
    let count = table.len();
    let mut done = vec![false; count as usize];
    let mut chain = Vec::new();
    for row in 0..count {
        chain.extend(table.upwards(row).take_while(|row| !done[*row as usize]));
        while let Some(row) = chain.pop() {
            table.links[row as usize] = table.links_under(row, table.parent(row));
            done[row as usize] = true;
        }
    }
    table.rebuild_children();
    broken
}

fn break_cycles(table: &mut Table, is_bridge: impl Fn(Row) -> bool) -> Vec<Row> {
    const UNSEEN: Row = NONE;
    let mut broken = Vec::new();
    // For each entry the walk that came by it first.
    let mut walks = vec![UNSEEN; table.len() as usize];
    for start in 0..table.len() {
        let mut row = start;
        while row != NONE && walks[row as usize] == UNSEEN {
            walks[row as usize] = start;
            row = table.parent(row);
        }
        if row != NONE && walks[row as usize] == start {
            let weakest = weakest_in_cycle(table, row, &is_bridge);
            table.links[weakest as usize].parent = NONE;
            broken.push(weakest);
        }
    }
    broken
}

fn weakest_in_cycle(table: &Table, start: Row, is_bridge: impl Fn(Row) -> bool) -> Row {
    let mut weakest = (is_bridge(start), start);
    let mut row = table.parent(start);
    while row != start {
        weakest = weakest.max((is_bridge(row), row));
        row = table.parent(row);
    }
    weakest.1
}
