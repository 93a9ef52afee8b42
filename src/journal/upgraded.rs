//! Logs of versions 1 and 2, read as version 3 (SPEC 8.4). The log itself is never changed through this.
//!
//! The upgraded lines are kept in memory, since they stand nowhere else. What an old program appends is read on from
//! where reading stopped. A log that is found changed is read anew; once it is of version 3, because somebody migrated
//! it or because pi opened it, it is shown as it is and can be appended to.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Batch, Contents, End, Journal, Outcome, Span, Stored, Turn};
use crate::codec::checksum::Checksum;
use crate::codec::scanner::Line;
use crate::codec::upgrade::Upgrader;
use crate::error::{Error, ErrorKind, Result};
use crate::model::FORMAT_VERSION;

/// How large a log may be that is read so. Old logs are small; migrating one needs no such memory.
const OLD_LOG_BYTES_MAX: u64 = 1 << 30;

/// A log of an older version, as version 3.
pub(crate) struct UpgradedJournal {
    source: Box<dyn Journal>,
    state: Mutex<State>,
}

struct State {
    /// `None` once the log is of version 3.
    lines: Option<Arc<Lines>>,
    /// How often the log was read anew although the source had no new generation for it.
    shift: u64,
}

/// What was read of the source, upgraded.
#[derive(Clone, Default)]
struct Lines {
    upgrader: Upgrader,
    bytes: Vec<u8>,
    /// Up to where `bytes` holds lines that have their line feeds.
    settled: usize,
    /// Where each line starts, here and in the source.
    starts: Vec<(u64, u64)>,
    /// The source's generation.
    generation: u64,
    /// Behind the last line of the source that has its line feed.
    read: u64,
    /// Behind the last byte of the source that was looked at.
    seen: u64,
    /// The source's header and last line: where they are and what they were.
    compared: [Option<(Span, Checksum)>; 2],
}

impl UpgradedJournal {
    /// Shows `source` as version 3.
    pub(crate) fn new(source: Box<dyn Journal>) -> Result<Self> {
        let lines = Some(Arc::new(Lines::load(&*source)?));
        Ok(Self { source, state: Mutex::new(State { lines, shift: 0 }) })
    }

    /// What was read, and how much the generations here are ahead of the source's.
    fn state(&self) -> (Option<Arc<Lines>>, u64) {
        let state = self.state.lock();
        (state.lines.clone(), state.shift)
    }

    fn lines(&self) -> Option<Arc<Lines>> {
        self.state().0
    }

    /// Reads on, or anew if what was read is there no more.
    fn catch_up(&self, state: &mut State) -> Result<End> {
        let mut end = self.source.end()?;
        if let Some(lines) = &mut state.lines {
            let same = lines.generation == end.generation && lines.seen <= end.position;
            if !same || !lines.are_as_they_were(&*self.source)? {
                // The source counts a log that was replaced; one that was written anew in its place is counted here.
                state.shift += u64::from(lines.generation == end.generation);
                *lines = Arc::new(Lines::load(&*self.source)?);
            } else if lines.seen < end.position {
                Arc::make_mut(lines).read_on(&*self.source)?;
            }
            if lines.upgrader.version() < Some(FORMAT_VERSION) {
                end = End { position: lines.bytes.len() as u64, generation: lines.generation };
            } else {
                // What was shown before, if only an unfinished header, is void.
                state.shift += 1;
                state.lines = None;
            }
        }
        Ok(End { generation: end.generation + state.shift, ..end })
    }

    fn refused(&self, version: Option<u64>) -> Error {
        let version = version.unwrap_or(1);
        let message = format!(
            "a session of version {version} is only read; to append, run `leaflog migrate` (or call `Store::migrate`) on"
        );
        Error::new(ErrorKind::Unsupported, message).at(self.path())
    }
}

impl Lines {
    fn load(source: &dyn Journal) -> Result<Self> {
        let mut lines = Self { generation: source.end()?.generation, ..Self::default() };
        lines.read_on(source)?;
        Ok(lines)
    }

    fn read_on(&mut self, source: &dyn Journal) -> Result<()> {
        self.bytes.truncate(self.settled);
        self.starts.truncate(self.starts.partition_point(|(start, _)| *start < self.settled as u64));
        self.seen = self.read;
        source.scan(self.read..u64::MAX, &mut |line| {
            self.seen = line.end();
            if self.seen > OLD_LOG_BYTES_MAX {
                let message = format!(
                    "a session of an old version and over {OLD_LOG_BYTES_MAX} bytes; `leaflog migrate` makes it one \
                     that can be read"
                );
                return Err(Error::new(ErrorKind::TooLarge, message).at(source.path()));
            }
            if line.terminated {
                self.take(line);
            } else {
                self.take_unterminated(line);
            }
            Ok(())
        })
    }

    fn take(&mut self, line: Line<'_>) {
        let before = self.upgrader.version();
        self.starts.push((self.bytes.len() as u64, line.offset));
        self.bytes.extend_from_slice(&self.upgrader.line(line.bytes));
        self.bytes.push(b'\n');
        self.settled = self.bytes.len();
        self.read = line.end();
        let compared = Some(fingerprint(line));
        if before.is_none() {
            self.compared[0] = compared;
        }
        self.compared[1] = compared;
    }

    /// A whole record is shown; the beginning of one would be skipped by readers, and may upgrade to fewer bytes.
    fn take_unterminated(&mut self, line: Line<'_>) {
        if let Some(upgraded) = self.upgrader.unterminated_record(line.bytes) {
            self.starts.push((self.bytes.len() as u64, line.offset));
            self.bytes.extend_from_slice(&upgraded);
        }
    }

    fn are_as_they_were(&self, source: &dyn Journal) -> Result<bool> {
        let compared: Vec<_> = self.compared.into_iter().flatten().collect();
        source.still_holds(&compared)
    }

    fn source_position(&self, position: u64) -> u64 {
        if position >= self.bytes.len() as u64 {
            return self.seen;
        }
        let after = self.starts.partition_point(|(start, _)| *start <= position);
        let (here, there) = after.checked_sub(1).map_or((0, 0), |at| self.starts[at]);
        let next = self.starts.get(after).map_or(self.seen, |(_, there)| *there);
        (there + (position - here)).min(next)
    }
}

impl Contents for Lines {
    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize> {
        let rest = usize::try_from(position).ok().and_then(|from| self.bytes.get(from..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// The last bytes of a line: where they are, and their checksum.
fn fingerprint(line: Line<'_>) -> (Span, Checksum) {
    let tail = Span::of(line).tail();
    let skipped = usize::try_from(tail.position - line.offset).unwrap_or(line.bytes.len());
    (tail, Checksum::of(&line.bytes[skipped..]))
}

impl Journal for UpgradedJournal {
    fn path(&self) -> PathBuf {
        self.source.path()
    }

    fn end(&self) -> Result<End> {
        self.catch_up(&mut self.state.lock())
    }

    fn path_is_file(&self) -> bool {
        self.source.path_is_file()
    }

    fn contents(&self) -> Arc<dyn Contents> {
        match self.lines() {
            Some(lines) => lines,
            None => self.source.contents(),
        }
    }

    fn stored_contents(&self) -> Arc<dyn Contents> {
        self.source.contents()
    }

    fn stored_position(&self, position: u64) -> u64 {
        self.lines().map_or(position, |lines| lines.source_position(position))
    }

    fn turn(&self, durable: bool) -> Result<Box<dyn Turn + '_>> {
        // Somebody may have migrated the log since.
        self.end()?;
        match self.state() {
            (Some(lines), _) => Err(self.refused(lines.upgrader.version())),
            (None, shift) => Ok(Box::new(ShiftedTurn { turn: self.source.turn(durable)?, shift })),
        }
    }

    fn sync(&self, stored: &Stored, records: &[Vec<u8>]) -> Result<()> {
        let generation = stored.generation.wrapping_sub(self.state().1);
        self.source.sync(&Stored { generation, ..*stored }, records)
    }

    fn sync_all(&self, generation: u64) -> Result<()> {
        self.source.sync_all(generation.wrapping_sub(self.state().1))
    }
}

/// A turn of the source, whose generations are counted as they are here.
struct ShiftedTurn<'a> {
    turn: Box<dyn Turn + 'a>,
    shift: u64,
}

impl Turn for ShiftedTurn<'_> {
    fn end(&self) -> End {
        let end = self.turn.end();
        End { generation: end.generation + self.shift, ..end }
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<Outcome> {
        Ok(match self.turn.append(batch)? {
            Outcome::Stored(stored) => Outcome::Stored(Stored { generation: stored.generation + self.shift, ..stored }),
            Outcome::Moved => Outcome::Moved,
        })
    }
}
