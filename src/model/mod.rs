//! Pure values: ids, times, the header, entries. No I/O, and no knowledge of lines or files.

mod content;
mod entry;
mod header;
mod id;
pub(crate) mod json;
mod new_entry;
pub(crate) mod time;

pub use content::Content;
pub(crate) use entry::message_text;
pub use entry::{Entry, EntryKind, Role};
pub(crate) use header::{FORMAT_VERSION, HeaderFault};
pub use header::{Header, Origin, Position, Scope};
pub(crate) use id::EntryIdRepr;
pub(crate) use id::short_id;
pub use id::{EntryId, SessionId};
pub use new_entry::NewEntry;
pub(crate) use new_entry::{json_value, one_line_label, quote_id};
pub use time::Timestamp;
