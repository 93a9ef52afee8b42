//! The checksum of records: CRC-32 (IEEE), printed as eight lower-case hex digits (SPEC 1.2).

use std::fmt;

use crate::error::{Error, Result};

/// A CRC-32 (IEEE) value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum(pub(crate) u32);

impl Checksum {
    /// The checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc32fast::hash(bytes))
    }

    /// Reads eight lower-case hex digits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if `text` is anything else.
    pub fn parse(text: &str) -> Result<Self> {
        crate::model::short_id(text.as_bytes())
            .map(Self)
            .ok_or_else(|| Error::invalid("a checksum is eight lower-case hex digits"))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

impl serde::Serialize for Checksum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
