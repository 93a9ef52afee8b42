//! Reading journals: front to back in large chunks, or spans by position.

use std::ops::Range;

use super::{Contents, Span};
use crate::codec::scanner::{Line, Scanner};
use crate::error::{Error, ErrorKind, Result};

/// Spans that lie at most this far apart are read in one go.
const GAP_BYTES_MAX: u64 = 16 << 10;

/// How much is read in one go, unless one span is longer.
const RUN_BYTES_MAX: u64 = 1 << 20;

/// Gives every line between two positions to `visit`, what has no line feed there last.
pub(super) fn scan(
    contents: &dyn Contents,
    range: Range<u64>,
    visit: &mut dyn FnMut(Line<'_>) -> Result<()>,
) -> Result<()> {
    let mut scanner = Scanner::new(range.start, range.end.saturating_sub(range.start));
    let mut position = range.start;
    while position < range.end {
        let room = scanner.room();
        let wanted = usize::try_from(range.end - position).unwrap_or(usize::MAX).min(room.len());
        let count = contents.read_at(&mut room[..wanted], position)?;
        if count == 0 {
            break;
        }
        scanner.fill(count);
        position += count as u64;
        while let Some(line) = scanner.next_line() {
            visit(line)?;
        }
    }
    let rest = scanner.rest();
    if rest.bytes.is_empty() { Ok(()) } else { visit(rest) }
}

/// Gives the bytes of each span to `visit`.
pub(super) fn read(
    contents: &dyn Contents,
    spans: &[Span],
    visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut first = 0;
    while first < spans.len() {
        let count = run_length(&spans[first..]);
        let run = &spans[first..first + count];
        let start = run[0].position;
        let length = usize::try_from(run[count - 1].end() - start).map_err(|_| too_long())?;
        buffer.resize(length.max(buffer.len()), 0);
        let buffer = &mut buffer[..length];
        if contents.read_at(buffer, start)? < length {
            return Err(truncated(start));
        }
        for (index, span) in run.iter().enumerate() {
            let from = usize::try_from(span.position - start).map_err(|_| too_long())?;
            let length = usize::try_from(span.length).map_err(|_| too_long())?;
            visit(first + index, &buffer[from..from + length])?;
        }
        first += count;
    }
    Ok(())
}

/// How many of the first spans are read in one go: ascending, near each other, and not too much together.
fn run_length(spans: &[Span]) -> usize {
    let start = spans[0].position;
    let mut end = spans[0].end();
    let mut count = 1;
    for span in &spans[1..] {
        let near = span.position >= end && span.position - end <= GAP_BYTES_MAX;
        if !near || span.end() - start > RUN_BYTES_MAX {
            break;
        }
        end = span.end();
        count += 1;
    }
    count
}

fn truncated(offset: u64) -> Error {
    let message = "the log is shorter than it was: a record that was read before is no longer there";
    Error::new(ErrorKind::Gone, message).at_offset(offset)
}

fn too_long() -> Error {
    Error::new(ErrorKind::TooLarge, "a record does not fit into this machine's memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(position: u64, length: u64) -> Span {
        Span { position, length }
    }

    #[test]
    fn neighbours_are_read_at_once_and_distant_or_backward_spans_are_not() {
        assert_eq!(run_length(&[span(0, 10), span(10, 10), span(30, 5)]), 3);
        assert_eq!(run_length(&[span(0, 10), span(10 + GAP_BYTES_MAX + 1, 1)]), 1);
        assert_eq!(run_length(&[span(100, 10), span(0, 10)]), 1);
        assert_eq!(run_length(&[span(0, RUN_BYTES_MAX * 2), span(RUN_BYTES_MAX * 2, 1)]), 1);
    }
}
