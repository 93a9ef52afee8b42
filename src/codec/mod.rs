//! Lines and what they say, from bytes: seals, heads, salvage, scanning. No I/O.

pub(crate) mod checksum;
pub(crate) mod head;
pub(crate) mod line;
pub(crate) mod salvage;
pub(crate) mod scanner;
pub(crate) mod upgrade;
