//! What replay makes of a log: numbers for every entry, the leaf, labels, the name, the damage.
//!
//! [`apply`] is the only way in, for replay and for live appends alike; [`walk`] answers questions about the tree.

mod apply;
mod damage;
mod replay;
mod settle;
mod table;
mod walk;

pub(crate) use apply::Index;
pub use apply::Label;
pub use damage::{Damage, DamageKind, Doubt, Gap, GapReason};
pub(crate) use replay::Replay;
pub(crate) use table::{Flags, NONE, Row};
