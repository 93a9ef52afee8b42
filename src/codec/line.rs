//! Seals: how a record carries its checksum and that of what stood before it (SPEC 1.2).
//!
//! A sealed record is one line of JSON whose last two members are
//! `"prev":"xxxxxxxx","crc":"xxxxxxxx"`, without white space, followed by `}` and a line feed. `crc` covers the
//! line's bytes before `,"crc"`; `prev` covers the log from the start of the last validly sealed record to its end
//! as the writer saw it, and is `00000000` where there is none.

use crc32fast::Hasher;

use super::checksum::Checksum;
use crate::model::short_id;

const PREV_KEY: &[u8] = br#","prev":""#;
const CRC_KEY: &[u8] = br#","crc":""#;
const DIGITS: usize = 8;
/// `,"crc":"xxxxxxxx"}`
const CRC_BYTES: usize = CRC_KEY.len() + DIGITS + 2;
/// `,"prev":"xxxxxxxx","crc":"xxxxxxxx"}`
pub(crate) const SEAL_BYTES: usize = PREV_KEY.len() + DIGITS + 1 + CRC_BYTES;

/// What a line's tail says about its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seal {
    /// The checksum is there and right.
    Valid { crc: Checksum, prev: Checksum },
    /// The tail has the shape of a seal, but the bytes before it have another checksum.
    Wrong { expected: Checksum, found: Checksum },
    /// The tail is nearly of that shape: another program re-wrote a sealed record.
    Malformed,
    /// There is no seal: another program wrote the record.
    Absent,
}

/// The checksum over the log's end that the next sealed record will carry as `prev`.
///
/// A fold over all bytes of the log, line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(Option<Hasher>);

impl Chain {
    /// Takes in a line with (`terminated`) or without its line feed and says how it is sealed.
    pub(crate) fn push(&mut self, line: &[u8], terminated: bool) -> Seal {
        let content = content(line);
        let seal = match Shape::of(content) {
            Some(shape) => {
                let covered = content.len() - CRC_BYTES;
                let mut hasher = Hasher::new();
                hasher.update(&content[..covered]);
                let expected = Checksum(hasher.clone().finalize());
                if expected == shape.crc && content.as_ptr() == line.as_ptr() {
                    hasher.update(&line[covered..]);
                    self.0 = Some(hasher);
                    self.line_feed(terminated);
                    return Seal::Valid { crc: shape.crc, prev: shape.prev };
                }
                if expected == shape.crc {
                    Seal::Valid { crc: shape.crc, prev: shape.prev }
                } else {
                    Seal::Wrong { expected, found: shape.crc }
                }
            }
            None if is_scratched(content) || is_nearly_sealed(content) => Seal::Malformed,
            None => Seal::Absent,
        };
        if matches!(seal, Seal::Valid { .. }) {
            self.0 = Some(Hasher::new());
        }
        if let Some(hasher) = &mut self.0 {
            hasher.update(line);
        }
        self.line_feed(terminated);
        seal
    }

    fn line_feed(&mut self, terminated: bool) {
        if let (Some(hasher), true) = (&mut self.0, terminated) {
            hasher.update(b"\n");
        }
    }

    /// The value of `prev` for a record that is written now.
    pub(crate) fn prev(&self) -> Checksum {
        Checksum(self.0.clone().map_or(0, Hasher::finalize))
    }
}

/// Seals `record` (a JSON object on one line, without its line feed).
pub(crate) fn seal(record: &str, prev: Checksum) -> (Vec<u8>, Checksum) {
    seal_bytes(record.as_bytes(), prev)
}

/// The same for a record that need not be UTF-8, since another program wrote most of it.
pub(crate) fn seal_bytes(record: &[u8], prev: Checksum) -> (Vec<u8>, Checksum) {
    debug_assert!(record.starts_with(b"{") && record.ends_with(b"}") && !record.contains(&b'\n'));
    let mut line = Vec::with_capacity(record.len() + SEAL_BYTES);
    line.extend_from_slice(&record[..record.len() - 1]);
    line.extend_from_slice(format!(r#","prev":"{prev}""#).as_bytes());
    let crc = Checksum::of(&line);
    line.extend_from_slice(format!(r#","crc":"{crc}"}}"#).as_bytes());
    (line, crc)
}

/// A line without what may stand around a record: a byte order mark, a carriage return.
pub(crate) fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The bytes of a record that its checksum covers; all of them if it has none.
pub(crate) fn covered(content: &[u8]) -> &[u8] {
    match Shape::of(content) {
        Some(_) => &content[..content.len() - CRC_BYTES],
        None => content,
    }
}

struct Shape {
    prev: Checksum,
    crc: Checksum,
}

impl Shape {
    fn of(content: &[u8]) -> Option<Self> {
        let tail = content.len().checked_sub(SEAL_BYTES).map(|start| &content[start..])?;
        let tail = tail.strip_prefix(PREV_KEY)?;
        let (prev, tail) = tail.split_at(DIGITS);
        let tail = tail.strip_prefix(b"\"")?.strip_prefix(CRC_KEY)?;
        let (crc, tail) = tail.split_at(DIGITS);
        (tail == b"\"}").then_some(())?;
        Some(Self { prev: Checksum(short_id(prev)?), crc: Checksum(short_id(crc)?) })
    }
}

/// Whether the tail is a seal but for a byte or two of its keys and quotes.
fn is_scratched(content: &[u8]) -> bool {
    const SHAPE: &[u8; SEAL_BYTES] = br#","prev":"________","crc":"________"}"#;
    let Some(tail) = content.len().checked_sub(SEAL_BYTES).map(|start| &content[start..]) else { return false };
    SHAPE.iter().zip(tail).filter(|(shape, found)| **shape != b'_' && shape != found).count() <= 2
}

/// Whether the last member of the line is called `crc` or `prev`, however it is spaced or spelled.
fn is_nearly_sealed(content: &[u8]) -> bool {
    const TAIL_BYTES: usize = 64;
    let tail = &content[content.len().saturating_sub(TAIL_BYTES)..];
    let Some(tail) = tail.trim_ascii_end().strip_suffix(b"}") else { return false };
    let mut tail = tail.trim_ascii_end();
    if let Some(quoted) = tail.strip_suffix(b"\"") {
        let Some(open) = memchr::memrchr(b'"', quoted) else { return false };
        tail = &quoted[..open];
    } else {
        while let Some((last, rest)) = tail.split_last()
            && (last.is_ascii_alphanumeric() || b"+-.".contains(last))
        {
            tail = rest;
        }
    }
    let Some(tail) = tail.trim_ascii_end().strip_suffix(b":") else { return false };
    let tail = tail.trim_ascii_end();
    tail.ends_with(br#""crc""#) || tail.ends_with(br#""prev""#)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"type":"custom","id":"00000001"}"#;

    #[test]
    fn a_sealed_record_is_valid_and_any_changed_byte_shows() {
        let (line, crc) = seal(RECORD, Checksum(0x0123_4567));
        assert_eq!(line.len(), RECORD.len() - 1 + SEAL_BYTES);
        assert_eq!(Chain::default().push(&line, true), Seal::Valid { crc, prev: Checksum(0x0123_4567) });
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(!matches!(Chain::default().push(&changed, true), Seal::Valid { .. }), "byte {at}");
        }
    }

    #[test]
    fn the_chain_covers_everything_from_the_last_sealed_record_on() {
        let mut chain = Chain::default();
        chain.push(b"{\"foreign\":1}", true);
        assert_eq!(chain.prev(), Checksum(0));
        let (first, _) = seal(RECORD, chain.prev());
        chain.push(&first, true);
        let log = [&first[..], b"\n"].concat();
        assert_eq!(chain.prev(), Checksum::of(&log));
        chain.push(b"", true);
        chain.push(b"{\"foreign\":2}\r", true);
        chain.push(b"{\"to", false);
        let log = [&log[..], b"\n{\"foreign\":2}\r\n{\"to"].concat();
        assert_eq!(chain.prev(), Checksum::of(&log));
    }

    #[test]
    fn a_sealed_line_with_a_carriage_return_or_a_byte_order_mark_is_valid_and_chains_with_it() {
        let (line, _) = seal(RECORD, Checksum(0));
        for line in [[&line[..], b"\r"].concat(), [b"\xEF\xBB\xBF", &line[..]].concat()] {
            let mut chain = Chain::default();
            assert!(matches!(chain.push(&line, true), Seal::Valid { .. }));
            assert_eq!(chain.prev(), Checksum::of(&[&line[..], b"\n"].concat()));
        }
    }

    #[test]
    fn what_another_program_made_of_a_seal_is_malformed_and_no_seal_is_absent() {
        let malformed = [
            r#"{"a":1, "prev": "01234567", "crc": "89abcdef"}"#,
            r#"{"a":1,"prev":"01234567","crc":"89ABCDEF"}"#,
            r#"{"a":1,"crc":"89abcdef","prev":"01234567"}"#,
            r#"{"a":1,"crc":12}"#,
            r#"{"a":1,"prev":"01234567"} "#,
            r#"{"a":1,"prev":"01234567","brc":"89abcdef"}"#,
            r#"{"a":1,"prev":"01234567","crc":"89abcdef#}"#,
        ];
        for line in malformed {
            assert_eq!(Chain::default().push(line.as_bytes(), true), Seal::Malformed, "{line}");
        }
        for line in ["", "}", "{}", r#"{"a":"crc"}"#, r#"{"a":{"crc":"89abcdef"}}"#, "\"}", ":}"] {
            assert_eq!(Chain::default().push(line.as_bytes(), true), Seal::Absent, "{line}");
        }
    }
}
