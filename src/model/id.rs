//! Entry and session ids (SPEC 1.1).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

use crate::error::{Error, Result};

/// How often a short id is drawn again on a collision before a full UUID is taken (SPEC 1.1).
const SHORT_DRAWS_MAX: usize = 100;

/// Longest session id in bytes; the file name that holds it stays within 143 bytes (SPEC 1.1).
const SESSION_ID_BYTES_MAX: usize = 100;

/// The id of an entry: eight lower-case hex digits, or any other non-empty text that a foreign writer chose.
///
/// The common form takes no memory beyond the value itself.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(EntryIdRepr);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EntryIdRepr {
    Short(u32),
    Long(Arc<str>),
}

impl EntryId {
    /// Reads an id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if `text` is empty or holds control characters.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Error::invalid("an entry id must be non-empty and without control characters"));
        }
        Ok(Self::from_stored(text))
    }

    /// The id as a stored record spells it: whatever another program wrote is an id, unless it is empty.
    pub(crate) fn from_stored(text: &str) -> Self {
        match short_id(text.as_bytes()) {
            Some(number) => Self(EntryIdRepr::Short(number)),
            None => Self(EntryIdRepr::Long(text.into())),
        }
    }

    pub(crate) fn from_short(number: u32) -> Self {
        Self(EntryIdRepr::Short(number))
    }

    pub(crate) fn repr(&self) -> &EntryIdRepr {
        &self.0
    }

    /// A new random id that `taken` does not know yet (SPEC 1.1).
    pub(crate) fn draw(taken: impl Fn(&Self) -> bool) -> Self {
        Self::draw_from(|| Uuid::new_v4().as_fields().0, taken)
    }

    fn draw_from(mut random: impl FnMut() -> u32, taken: impl Fn(&Self) -> bool) -> Self {
        for _ in 0..SHORT_DRAWS_MAX {
            let id = Self::from_short(random());
            if !taken(&id) {
                return id;
            }
        }
        Self(EntryIdRepr::Long(Uuid::new_v4().to_string().into()))
    }
}

/// The number that eight lower-case hex digits stand for.
pub(crate) fn short_id(bytes: &[u8]) -> Option<u32> {
    const NO_DIGIT: u8 = 0xFF;
    // A table, since this runs several times for every record that is replayed.
    static DIGITS: [u8; 256] = {
        let mut digits = [NO_DIGIT; 256];
        let mut value = 0;
        while value < 16 {
            digits[b"0123456789abcdef"[value as usize] as usize] = value;
            value += 1;
        }
        digits
    };
    let text: &[u8; 8] = bytes.try_into().ok()?;
    let (mut number, mut seen) = (0_u32, 0);
    for digit in text {
        let value = DIGITS[usize::from(*digit)];
        seen |= value;
        number = number << 4 | u32::from(value);
    }
    (seen < 16).then_some(number)
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // `pad` honours the width that tables ask for.
            EntryIdRepr::Short(number) => f.pad(&format!("{number:08x}")),
            EntryIdRepr::Long(text) => f.pad(text),
        }
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntryId({self})")
    }
}

impl FromStr for EntryId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl serde::Serialize for EntryId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The id of a session: a UUIDv7, or one given by the caller in pi's alphabet
/// (letters, digits, `-`, `_`, `.`; a letter or digit at both ends).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// A new time-ordered id. The order of ids carries no meaning for the engine.
    #[expect(clippy::new_without_default, reason = "a default that differs each time would surprise")]
    pub fn new() -> Self {
        Self(Uuid::now_v7().to_string())
    }

    /// Reads a caller's id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is empty, over 100 bytes, or outside pi's alphabet.
    pub fn parse(text: &str) -> Result<Self> {
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let bytes = text.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        let valid = bytes.len() <= SESSION_ID_BYTES_MAX
            && bytes.iter().all(inner)
            && ends.iter().all(|byte| byte.is_some_and(u8::is_ascii_alphanumeric));
        if !valid {
            return Err(Error::invalid(
                "a session id has 1 to 100 of the characters A-Z a-z 0-9 - _ . and a letter or digit at both ends",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The id as a stored header spells it.
    pub(crate) fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_lower_case_hex_digits_are_a_number_and_print_as_they_were() {
        for text in ["00000000", "0000000a", "deadbeef", "ffffffff"] {
            let id = EntryId::parse(text).unwrap();
            assert!(matches!(id.repr(), EntryIdRepr::Short(_)));
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn any_other_text_is_kept_as_it_is() {
        for text in ["DEADBEEF", "deadbee", "deadbeef0", "会话", "a b"] {
            let id = EntryId::parse(text).unwrap();
            assert!(matches!(id.repr(), EntryIdRepr::Long(_)));
            assert_eq!(id.to_string(), text);
        }
        assert!(EntryId::parse("").is_err());
        assert!(EntryId::parse("a\nb").is_err());
    }

    #[test]
    fn session_ids_are_in_the_order_of_time() {
        let ids: Vec<_> = (0..100).map(|_| SessionId::new().to_string()).collect();
        assert!(ids.is_sorted() && ids.iter().all(|id| id.as_bytes()[14] == b'7'), "{ids:?}");
        assert_ne!(ids[0], ids[99]);
    }

    #[test]
    fn a_collision_draws_again_and_after_100_tries_a_full_uuid_is_taken() {
        let mut draws = [7, 7, 8].into_iter();
        let id = EntryId::draw_from(|| draws.next().unwrap(), |id| *id == EntryId::from_short(7));
        assert_eq!(id, EntryId::from_short(8));

        let mut count = 0;
        let id = EntryId::draw_from(
            || {
                count += 1;
                7
            },
            |id| *id == EntryId::from_short(7),
        );
        assert_eq!(count, 100);
        assert!(Uuid::parse_str(&id.to_string()).is_ok());
    }

    #[test]
    fn session_ids_follow_the_alphabet_of_pi() {
        for good in ["a", "A-1", "x_y.z9", SessionId::new().as_str()] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(101);
        for bad in ["", "-a", "a-", ".", "a/b", "a b", "ä", "../x", long.as_str()] {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
