//! Bytes in, lines with their offsets out. Lines end at byte 0x0A only (SPEC 1.3).

/// How much is asked for at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A line: its offset, its bytes without the line feed, and whether the line feed is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) terminated: bool,
}

impl Line<'_> {
    /// The offset behind the line and its line feed.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64 + u64::from(self.terminated)
    }
}

/// Splits a stream into lines. The buffer grows only as far as the longest line needs.
#[derive(Debug)]
pub(crate) struct Scanner {
    buffer: Vec<u8>,
    /// Where the next line starts in the buffer.
    start: usize,
    /// Up to where no line feed was found, so that a long line is not searched again.
    searched: usize,
    /// Up to where the buffer holds bytes of the stream.
    filled: usize,
    /// The offset of the buffer's first byte in the stream.
    offset: u64,
}

impl Scanner {
    /// A scanner for a stream that starts at `offset` and is about `expected` bytes long.
    pub(crate) fn new(offset: u64, expected: u64) -> Self {
        let size = usize::try_from(expected.saturating_add(1)).unwrap_or(CHUNK_BYTES).clamp(4096, CHUNK_BYTES);
        Self { buffer: vec![0; size], start: 0, searched: 0, filled: 0, offset }
    }

    /// Room for the next bytes; say with [`Scanner::fill`] how many were put there.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.offset += self.start as u64;
            self.filled -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Takes in the first `count` bytes of the room.
    pub(crate) fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// The next whole line, or `None` until more bytes come.
    pub(crate) fn next_line(&mut self) -> Option<Line<'_>> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) {
            Some(at) => {
                let (start, end) = (self.start, self.searched + at);
                self.start = end + 1;
                self.searched = self.start;
                let offset = self.offset + start as u64;
                Some(Line { offset, bytes: &self.buffer[start..end], terminated: true })
            }
            None => {
                self.searched = self.filled;
                None
            }
        }
    }

    /// What is left when the stream has ended: the unterminated bytes, which may be none.
    pub(crate) fn rest(&self) -> Line<'_> {
        let offset = self.offset + self.start as u64;
        Line { offset, bytes: &self.buffer[self.start..self.filled], terminated: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(stream: &[u8], chunk: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut scanner = Scanner::new(100, 0);
        let mut found = Vec::new();
        for piece in stream.chunks(chunk) {
            let mut piece = piece;
            while !piece.is_empty() {
                let room = scanner.room();
                let count = room.len().min(piece.len());
                room[..count].copy_from_slice(&piece[..count]);
                scanner.fill(count);
                piece = &piece[count..];
                while let Some(line) = scanner.next_line() {
                    found.push((line.offset, line.bytes.to_vec(), line.terminated));
                }
            }
        }
        let rest = scanner.rest();
        found.push((rest.offset, rest.bytes.to_vec(), rest.terminated));
        found
    }

    #[test]
    fn any_chunking_gives_the_same_lines() {
        let mut stream = b"one\n\ntwo\r\n\xE2\x80\xA8 three\0\n".to_vec();
        stream.extend(std::iter::repeat_n(b'x', 10_000));
        stream.extend(b"\ntail");
        let whole = lines(&stream, stream.len());
        assert_eq!(whole.len(), 6);
        assert_eq!(whole[0], (100, b"one".to_vec(), true));
        assert_eq!(whole[1], (104, Vec::new(), true));
        assert_eq!(whole[5].1, b"tail");
        for chunk in [1, 2, 3, 7, 4095, 4096, 4097] {
            assert_eq!(lines(&stream, chunk), whole, "chunks of {chunk}");
        }
    }
}
