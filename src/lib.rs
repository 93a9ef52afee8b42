//! leaflog
mod codec;
mod error;
mod index;
mod journal;
pub(crate) mod model;
mod session;
mod store;

pub use codec::checksum::Checksum;
pub use error::{Error, ErrorKind, Result};
pub use index::{Damage, DamageKind, Doubt, Gap, GapReason, Label};
pub use journal::APPEND_BYTES_MAX;
pub use model::{Entry, EntryId, EntryKind, Header, NewEntry, Origin, Position, Role, Scope, SessionId, Timestamp};
pub use session::{
    ActivePath, AppendOptions, BranchSummary, Compaction, Context, ContextOptions, Durability, Entries, Fork, Message,
    Model, Receipt, Refresh, Session, SessionOptions, Settings, SettingsFrom, Stats, Tip, ToolCall, Tree, TreeNode,
    TreeOptions, to_llm,
};
pub use store::{CreateOptions, Deleted, ForkOptions, Forked, ListOptions, SessionInfo, Store};
