//! Records inside lines that are not one record: fused or padded by a crash (SPEC 2.2).

use std::ops::Range;

use serde::de::IgnoredAny;

use super::head::{self, Reading};
use super::line::{Chain, Seal};

/// The parts of a damaged line that are whole records: one at its left edge, one at its right edge, both or none.
///
/// A part counts only if its checksum is right or all four members of the envelope are there. Linear in the line.
pub(crate) fn salvage(line: &[u8]) -> Vec<Range<usize>> {
    let start = line.iter().position(|byte| *byte != 0).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| *byte != 0).map_or(start, |last| last + 1);
    let inner = &line[start..end];
    let left = left_object(inner).filter(|length| is_record(&inner[..*length])).map(|length| 0..length);
    let right = right_object(inner).filter(|from| is_record(&inner[*from..])).map(|from| from..inner.len());
    let mut parts: Vec<_> = left.into_iter().collect();
    parts.extend(right.filter(|right| parts.iter().all(|left| left.end <= right.start)));
    parts.into_iter().map(|part| part.start + start..part.end + start).collect()
}

/// The length of the JSON object at the left edge.
fn left_object(line: &[u8]) -> Option<usize> {
    if !line.starts_with(b"{") {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Where the JSON object at the right edge starts. Walks backwards over brackets and strings, so it takes one pass.
fn right_object(line: &[u8]) -> Option<usize> {
    let mut at = line.len();
    if !line.ends_with(b"}") {
        return None;
    }
    let (mut depth, mut in_string) = (0_usize, false);
    while at > 0 {
        at -= 1;
        match line[at] {
            b'"' => {
                let backslashes = line[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                if !in_string || backslashes % 2 == 0 {
                    in_string = !in_string;
                }
                at -= backslashes;
            }
            b'}' | b']' if !in_string => depth += 1,
            b'{' | b'[' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return (line[at] == b'{').then_some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_record(part: &[u8]) -> bool {
    match head::slow(part) {
        Reading::Entry(head) => head.complete || matches!(Chain::default().push(part, true), Seal::Valid { .. }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"t","data":{"x":"}{\"\\"}}"#;

    fn parts(line: &str) -> Vec<&str> {
        salvage(line.as_bytes()).into_iter().map(|part| &line[part]).collect()
    }

    #[test]
    fn a_record_at_either_edge_is_found() {
        assert_eq!(parts(&format!(r#"{{"type":"mess{RECORD}"#)), [RECORD]);
        assert_eq!(parts(&format!(r#"{{"a":"x\"{RECORD}"#)), [RECORD]);
        assert_eq!(parts(&format!("{RECORD}garbage")), [RECORD]);
        assert_eq!(parts(&format!("{RECORD}{RECORD}")), [RECORD, RECORD]);
        assert_eq!(parts(&format!("{RECORD}x{RECORD}x{RECORD}")), [RECORD, RECORD]);
        assert_eq!(parts(&format!("\0\0\0{RECORD}\0")), [RECORD]);
    }

    #[test]
    fn what_is_not_surely_a_record_is_left_alone() {
        for line in ["", "\0\0", "}", "{}", "{{}", "]}", "\"}", r#"{"a":1}"#, r#"x{"type":"custom","id":"a"}"#, "\\\"}"]
        {
            assert_eq!(parts(line), Vec::<&str>::new(), "{line}");
        }
        // In the middle of a line nothing is salvaged.
        assert_eq!(parts(&format!("x{RECORD}x")), Vec::<&str>::new());
    }

    #[test]
    fn a_line_of_many_brackets_and_quotes_takes_one_pass() {
        let hostile = "{\"\\".repeat(200_000) + "}";
        assert!(salvage(hostile.as_bytes()).is_empty());
        let hostile = format!("{}\"}}", "\\".repeat(400_000));
        assert!(salvage(hostile.as_bytes()).is_empty());
    }
}
