//! Damage as data: what could not be read, what was bridged, and when the leaf is in doubt (SPEC 2.2, 2.3).

use std::fmt;

use crate::model::EntryId;

/// What is odd about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DamageKind {
    /// The line is no JSON and is skipped.
    Corrupt,
    /// The line is the beginning of a record whose rest was never written; it is skipped.
    Torn,
    /// The line holds NUL bytes only, as a crash leaves them; it is skipped.
    Padding,
    /// Several records share a line; those at its edges were read.
    Fused,
    /// The record reads well but is not what its checksum says; it takes part, marked.
    Suspect,
    /// The line is whole JSON but no entry; it is skipped.
    NotAnEntry,
    /// The line is another header; it is skipped.
    SecondHeader,
    /// The record's id belongs to an earlier record with another body; it is kept, but is no node.
    DuplicateId,
}

impl DamageKind {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Torn => "torn",
            Self::Padding => "padding",
            Self::Fused => "fused",
            Self::Suspect => "suspect",
            Self::NotAnEntry => "not-an-entry",
            Self::SecondHeader => "second-header",
            Self::DuplicateId => "duplicate-id",
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A record with damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What it is.
    pub kind: DamageKind,
    /// The line, counted from 1.
    pub line: u64,
    /// Where the line starts.
    pub offset: u64,
    /// What was expected and found, without any session content.
    pub detail: String,
}

/// A place where an entry's parent is missing (SPEC 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The entry whose parent is missing.
    pub entry: EntryId,
    /// The parent that it names.
    pub missing: EntryId,
    /// The line of the entry, counted from 1.
    pub line: u64,
    /// Where the path goes on instead; `None` if it ends.
    pub bridged_to: Option<EntryId>,
    /// Why.
    pub reason: GapReason,
}

/// How a gap was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// The damaged line still names its parent, and the path goes on there.
    NamedByDamage,
    /// The path goes on at the leaf of the same lane as it was just before the damage.
    LeafBefore,
    /// There is nothing to go on with.
    Ends,
    /// The entry is its own ancestor; the path ends here.
    Cycle,
}

impl GapReason {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NamedByDamage => "bridged-to-named-parent",
            Self::LeafBefore => "bridged-to-leaf-before",
            Self::Ends => "path-ends",
            Self::Cycle => "cycle",
        }
    }
}

/// Why the log does not say with certainty where the session stands (SPEC 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Damaged lines stand behind the last record that placed the leaf.
    DamageBehindLeaf {
        /// The first of them, counted from 1.
        line: u64,
        /// Where it starts.
        offset: u64,
    },
    /// A leaf entry names a target that is not there; it moved nothing.
    UnknownTarget {
        /// The target.
        target: EntryId,
        /// The line of the leaf entry, counted from 1.
        line: u64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DamageBehindLeaf { line, offset } => {
                write!(f, "damage at line {line}, offset {offset} stands behind the last entry")
            }
            Self::UnknownTarget { target, line } => {
                write!(f, "the leaf entry at line {line} names the unknown entry {target}")
            }
        }
    }
}
