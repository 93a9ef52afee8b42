//! Reading standard input, within the limit of what can be stored.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read as _, Seek as _};
use std::os::fd::AsFd as _;

use leaflog::{APPEND_BYTES_MAX, Error, ErrorKind};

use crate::failure::Failure;

/// What stands for standard input.
const STDIN: &str = "-";

/// The text that was typed, or all of standard input, exactly, if that was a dash.
pub(crate) fn text_or_stdin(typed: &str) -> Result<Cow<'_, str>, Failure> {
    if typed != STDIN {
        return Ok(Cow::Borrowed(typed));
    }
    refuse_large_file()?;
    let mut bytes = Vec::new();
    io::stdin().lock().take(APPEND_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| cannot_read(&error))?;
    if bytes.len() as u64 > APPEND_BYTES_MAX {
        return Err(too_large().into());
    }
    let text = String::from_utf8(bytes).map_err(|_| not_utf8())?;
    Ok(Cow::Owned(text))
}

/// Refuses a file on standard input that cannot fit, before any of it is read.
pub(crate) fn refuse_large_file() -> Result<(), Failure> {
    let remaining = || -> io::Result<u64> {
        let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(0);
        }
        Ok(metadata.len().saturating_sub(file.stream_position()?))
    };
    // What cannot be told is left to the reading.
    if remaining().unwrap_or(0) > APPEND_BYTES_MAX { Err(too_large().into()) } else { Ok(()) }
}

/// The lines of an input, with their numbers; empty ones are left out.
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
    bytes_max: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, number: 0, bytes_max: APPEND_BYTES_MAX }
    }

    /// The next line, whole but for its line feed, and its number from 1.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, String)>, Failure> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.reader).take(self.bytes_max + 1).read_until(b'\n', &mut bytes);
            if read.map_err(|error| cannot_read(&error))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let line = self.number;
            if bytes.len() as u64 > self.bytes_max {
                return Err(Failure::Line { line, error: too_large() });
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let text = String::from_utf8(bytes).map_err(|_| Failure::Line { line, error: not_utf8() })?;
            return Ok(Some((line, text)));
        }
    }
}

fn cannot_read(error: &io::Error) -> Failure {
    Failure::io("cannot read standard input", error)
}

pub(crate) fn not_utf8() -> Error {
    Error::new(ErrorKind::Invalid, "the input is not UTF-8")
}

fn too_large() -> Error {
    Error::new(ErrorKind::TooLarge, format!("a record or batch may hold {APPEND_BYTES_MAX} bytes and this has more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_empty_ones_are_left_out() {
        let mut lines = Lines::new(&b"a\r\n\n  \nb"[..]);
        assert_eq!(lines.next_line().unwrap(), Some((1, "a\r\n".to_owned())));
        assert_eq!(lines.next_line().unwrap(), Some((4, "b".to_owned())));
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn a_line_over_the_limit_is_refused_without_reading_on() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let mut lines = Lines { bytes_max: 100, ..Lines::new(endless) };
        let Err(Failure::Line { line: 1, error }) = lines.next_line() else { panic!("the line was accepted") };
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn a_line_that_is_not_utf8_says_its_number() {
        let mut lines = Lines::new(&b"\nx\n\xff\n"[..]);
        lines.next_line().unwrap();
        assert!(matches!(lines.next_line(), Err(Failure::Line { line: 3, .. })));
    }
}
