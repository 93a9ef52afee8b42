//! Drawing trees that come in depth-first order. A run without branches stays in its column, whatever its length.

/// How many levels are drawn; a session may branch a million times one below the other.
const LEVELS_MAX: usize = 32;

/// The branches that are open between one line of a tree and the next.
#[derive(Debug)]
pub(crate) struct Branches {
    /// For each branching point above the next line: how many of its children are to come.
    open: Vec<u32>,
    /// Whether the next line starts a branch, or goes on with the line before it.
    starts: bool,
}

impl Branches {
    /// Before the first line of a tree with so many roots.
    pub(crate) fn new(roots: usize) -> Self {
        let roots = u32::try_from(roots).unwrap_or(u32::MAX);
        if roots > 1 { Self { open: vec![roots], starts: true } } else { Self { open: Vec::new(), starts: false } }
    }

    /// What stands before the next line, whose node has so many children.
    pub(crate) fn next(&mut self, children: u32) -> String {
        let starting = if self.starts { self.open.pop() } else { None };
        let hidden = self.open.len().saturating_sub(LEVELS_MAX);
        let mut prefix = if hidden > 0 { format!("…{hidden} ") } else { String::new() };
        for level in &self.open[hidden..] {
            prefix.push_str(if *level > 0 { "│  " } else { "   " });
        }
        if let Some(to_come) = starting.map(|count| count.saturating_sub(1)) {
            prefix.push_str(if to_come > 0 { "├─ " } else { "└─ " });
            self.open.push(to_come);
        }
        self.pass(children);
        prefix
    }

    fn pass(&mut self, children: u32) {
        match children {
            0 => {
                while self.open.last() == Some(&0) {
                    self.open.pop();
                }
            }
            1 => {}
            _ => self.open.push(children),
        }
        self.starts = children != 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(roots: usize, children: &[u32]) -> Vec<String> {
        let mut branches = Branches::new(roots);
        children.iter().map(|count| branches.next(*count)).collect()
    }

    #[test]
    fn a_run_without_branches_stays_in_its_column() {
        assert!(drawn(1, &[1; 1000]).iter().all(String::is_empty));
        assert_eq!(drawn(1, &[1, 2, 1, 0, 1, 1, 0]), ["", "", "├─ ", "│  ", "└─ ", "   ", "   "]);
    }

    #[test]
    fn branches_within_branches_are_closed_where_they_end() {
        assert_eq!(
            drawn(1, &[3, 2, 0, 0, 2, 0, 0, 0]),
            ["", "├─ ", "│  ├─ ", "│  └─ ", "├─ ", "│  ├─ ", "│  └─ ", "└─ "]
        );
    }

    #[test]
    fn several_roots_are_branches_of_nothing() {
        assert_eq!(drawn(2, &[1, 0, 2, 0, 0]), ["├─ ", "│  ", "└─ ", "   ├─ ", "   └─ "]);
    }

    #[test]
    fn many_branches_below_each_other_keep_lines_short() {
        let mut branches = Branches::new(1);
        let mut longest = 0;
        for _ in 0..100_000 {
            longest = longest.max(branches.next(2).chars().count());
            // The elder child is a tip.
            longest = longest.max(branches.next(0).chars().count());
        }
        assert!(longest < LEVELS_MAX * 3 + 20, "{longest}");
    }
}
