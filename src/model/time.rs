//! Times: ISO 8601 in UTC with milliseconds, as `JavaScript` prints them (SPEC 1.1).

use std::fmt;

/// An instant with millisecond precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time of the system clock. Order in a log never depends on it (SPEC 1.1, field report C12).
    #[expect(clippy::disallowed_methods, reason = "the one place that asks for the time")]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads ISO 8601 with an offset or `Z`; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(Self(instant.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => f.write_str("1970-01-01T00:00:00.000Z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_with_exactly_three_digits_and_a_z() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-11-30T20:53:17.007Z", "1999-12-31T23:59:59.990Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Timestamp::parse("2026-01-01T01:00:00+01:00").unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
