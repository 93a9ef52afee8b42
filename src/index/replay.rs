//! Replay: from lines to the index, from the start or from where it stopped (SPEC 2).

use super::apply::{Index, Place};
use super::damage::{Damage, DamageKind};
use super::table::Row;
use crate::codec::checksum::Checksum;
use crate::codec::head::{self, Head, Reading};
use crate::codec::line::{self, Chain, Seal};
use crate::codec::salvage::salvage;
use crate::codec::scanner::Line;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{End, Journal, Span};
use crate::model::{FORMAT_VERSION, Header, HeaderFault, Scope};

/// How much is read at first to find the header.
const HEADER_WINDOW_BYTES: u64 = 4 << 10;

/// How many bytes may stand before the header.
const HEADER_SEARCH_BYTES_MAX: u64 = 1 << 20;

/// What the file of a SQLite database begins with (sqlite.org/fileformat.html).
const DATABASE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The state of a log up to a watermark.
pub(crate) struct Replay {
    index: Index,
    header: Option<Header>,
    /// Behind the header's line.
    header_end: u64,
    generation: u64,
    /// Behind the last line that was taken in for good.
    watermark: u64,
    /// Behind the last byte that was looked at: unterminated bytes lie between the two.
    seen: u64,
    /// A whole record without a line feed: taken in, but not passed (SPEC 2.1).
    provisional: Option<Span>,
    last: Option<(Span, Checksum)>,
    chain: Chain,
    prev: Checksum,
    lines: u64,
    counts: Counts,
}

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    /// Records without a seal.
    pub(crate) unchecked: u64,
    /// Records that are not what their checksum says.
    pub(crate) suspect: u64,
}

impl Replay {
    /// Replays a log from the start.
    ///
    /// # Errors
    ///
    /// `NotASession` if it does not begin with a header; `Unsupported` if that names a format that cannot be read.
    pub(crate) fn start(journal: &dyn Journal) -> Result<Self> {
        let mut replay = Self::empty(journal.end()?.generation);
        replay.scan(journal, u64::MAX)?;
        if replay.header.is_some() { Ok(replay) } else { Err(without_header(journal)) }
    }

    /// The header of a log, of which not much more is read than it takes to find that.
    ///
    /// # Errors
    ///
    /// As [`Replay::start`].
    pub(crate) fn header_of(journal: &dyn Journal) -> Result<Header> {
        let end = journal.end()?;
        let mut replay = Self::empty(end.generation);
        let mut to = HEADER_WINDOW_BYTES;
        replay.scan(journal, to)?;
        while replay.header.is_none() && to < end.position {
            to *= 8;
            replay.scan(journal, to)?;
        }
        replay.header.ok_or_else(|| without_header(journal))
    }

    fn empty(generation: u64) -> Self {
        Self {
            index: Index::new(false),
            header: None,
            header_end: 0,
            generation,
            watermark: 0,
            seen: 0,
            provisional: None,
            last: None,
            chain: Chain::default(),
            prev: Chain::default().prev(),
            lines: 0,
            counts: Counts::default(),
        }
    }

    /// Takes in what was appended since. Returns whether the log was found changed and read anew from its start.
    pub(crate) fn catch_up(&mut self, journal: &dyn Journal, end: End) -> Result<bool> {
        if end.generation == self.generation && end.position >= self.seen && self.last_is_as_it_was(journal)? {
            if end.position == self.seen {
                return Ok(false);
            }
            if self.scan(journal, u64::MAX)? {
                return Ok(false);
            }
        }
        let mut anew = Self::start(journal)?;
        let (Some(old), Some(new)) = (&self.header, &anew.header) else { return Ok(true) };
        if old.id != new.id {
            return Err(Error::new(ErrorKind::Gone, "another session is at the log's path now").at(journal.path()));
        }
        if new.version < FORMAT_VERSION && old.version >= FORMAT_VERSION {
            // It is read in another way, which is decided when a session is opened.
            let message = "the session was replaced by one of an older version; open it again";
            return Err(Error::new(ErrorKind::Gone, message).at(journal.path()));
        }
        std::mem::swap(self, &mut anew);
        Ok(true)
    }

    /// Takes in records that this handle has just appended at the end of what was replayed.
    pub(crate) fn appended(&mut self, journal: &dyn Journal, position: u64, records: &[Vec<u8>]) -> Result<()> {
        let mut offset = position;
        for record in records {
            let line = Line { offset, bytes: record, terminated: true };
            self.take(journal, line)?;
            offset = line.end();
        }
        self.finish(offset);
        if let (Some(record), Some((span, fingerprint))) = (records.last(), &mut self.last) {
            *fingerprint = Checksum::of(&record[record.len() - usize_of(span.length)..]);
        }
        Ok(())
    }

    /// Whether a caller that appended at the end may use [`Replay::appended`] instead of reading its bytes back.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.seen == self.watermark
    }

    /// Reads from the watermark on, to the end or to `to` if that comes first. Returns false if the provisional record
    /// turned out to be another one.
    fn scan(&mut self, journal: &dyn Journal, to: u64) -> Result<bool> {
        let provisional = self.provisional.take();
        let mut seen = self.watermark;
        let mut same = true;
        journal.scan(self.watermark..to, &mut |line| {
            seen = line.end();
            match provisional.filter(|span| same && span.position == line.offset) {
                Some(span) if line.bytes.len() as u64 != span.length => same = false,
                Some(span) if line.terminated => self.pass(line, span),
                Some(span) => self.provisional = Some(span),
                None if !same => {}
                None if line.terminated => self.take(journal, line)?,
                None => self.take_unterminated(journal, line)?,
            }
            Ok(())
        })?;
        self.finish(seen);
        self.refresh_fingerprint(journal)?;
        Ok(same)
    }

    fn finish(&mut self, seen: u64) {
        self.seen = seen;
        if self.is_at_line_start() {
            self.prev = self.chain.prev();
        }
        self.index.settle();
    }

    /// Passes the provisional record, whose line feed has come.
    fn pass(&mut self, line: Line<'_>, span: Span) {
        self.chain.push(line.bytes, true);
        self.lines += 1;
        self.watermark = line.end();
        self.last = Some((span.tail(), Checksum(0)));
    }

    /// Takes in unterminated bytes only if they are one whole record.
    fn take_unterminated(&mut self, journal: &dyn Journal, line: Line<'_>) -> Result<()> {
        let mut chain = self.chain.clone();
        let seal = chain.push(line.bytes, false);
        self.prev = chain.prev();
        let content = line::content(line.bytes);
        let sealed = matches!(seal, Seal::Valid { .. });
        if matches!(head::read(content, sealed), Reading::Entry(_) | Reading::Header) {
            let watermark = self.watermark;
            let (chain, lines) = (self.chain.clone(), self.lines);
            self.take(journal, line)?;
            (self.chain, self.lines, self.watermark) = (chain, lines, watermark);
            self.provisional = Some(Span::of(line));
        }
        Ok(())
    }

    fn take(&mut self, journal: &dyn Journal, line: Line<'_>) -> Result<()> {
        let seal = self.chain.push(line.bytes, line.terminated);
        self.lines += 1;
        self.watermark = line.end();
        let content = line::content(line.bytes);
        if content.trim_ascii().is_empty() {
            return Ok(());
        }
        if self.header.is_none() {
            return self.take_header(journal, line, content);
        }
        let place = Place { span: Span::of(line), line: self.lines };
        self.last = Some((place.span.tail(), Checksum(0)));
        self.counts.records += 1;
        let sealed = matches!(seal, Seal::Valid { .. });
        match head::read(content, sealed) {
            // What the seal says is changed takes part only with a whole envelope (SPEC 1.2).
            damaged @ (Reading::Entry(Head { complete: false, .. }) | Reading::NotAnEntry)
                if matches!(seal, Seal::Wrong { .. }) =>
            {
                self.take_damaged(journal, place, content, kind_of_damage(content, &damaged, seal))?;
            }
            Reading::Entry(head) => {
                let place = Place { span: content_span(line, content), ..place };
                let suspect = self.note_seal(seal, place);
                self.enter(journal, head, place, content, suspect)?;
            }
            Reading::Header => self.report(DamageKind::SecondHeader, place, "the first header counts"),
            Reading::NotAnEntry => self.report(DamageKind::NotAnEntry, place, "whole JSON without a type and an id"),
            unreadable => {
                self.take_damaged(journal, place, content, kind_of_damage(content, &unreadable, seal))?;
            }
        }
        Ok(())
    }

    fn take_header(&mut self, journal: &dyn Journal, line: Line<'_>, content: &[u8]) -> Result<()> {
        let not_a_session = |message| Err(Error::new(ErrorKind::NotASession, message).at(journal.path()));
        match Header::parse(&String::from_utf8_lossy(content)) {
            Ok(header) => {
                let origin = header.origin.as_ref();
                let context = origin.is_some_and(|origin| origin.scope == Scope::Context);
                let index = Index::new(context);
                let before = std::mem::replace(&mut self.index, index);
                before.damage().0.iter().for_each(|damage| self.index.report(damage.clone()));
                self.header = Some(header);
                self.header_end = line.end();
                self.last = Some((Span::of(line).tail(), Checksum(0)));
                Ok(())
            }
            Err(HeaderFault::OtherFormat(format)) => {
                let message = format!("a session of a format that this version does not read ({format})");
                Err(Error::new(ErrorKind::Unsupported, message).at(journal.path()))
            }
            Err(HeaderFault::NotAHeader) => {
                if content.starts_with(DATABASE_MAGIC) {
                    // Lines of logs may stand anywhere in it.
                    return not_a_session("not a session but a database; name its sessions `sqlite:FILE#ID`:");
                }
                let whole = matches!(head::slow(content), Reading::Entry(_) | Reading::NotAnEntry);
                if whole || line.end() > HEADER_SEARCH_BYTES_MAX {
                    return not_a_session("not a session: it does not begin with a header");
                }
                let place = Place { span: Span::of(line), line: self.lines };
                self.report(DamageKind::Corrupt, place, "before the header");
                Ok(())
            }
        }
    }

    fn take_damaged(
        &mut self,
        journal: &dyn Journal,
        place: Place,
        content: &[u8],
        (kind, detail): (DamageKind, &str),
    ) -> Result<()> {
        let parts = salvage(content);
        if parts.is_empty() {
            self.report(kind, place, detail);
            let unfinished = !matches!(kind, DamageKind::Corrupt);
            self.index.skip(place, head::ghost(content), unfinished);
            return Ok(());
        }
        self.report(DamageKind::Fused, place, "a record shares its line with other bytes");
        if parts[0].start > 0 {
            self.index.skip(place, head::ghost(content), true);
        }
        for part in parts {
            let bytes = &content[part.start..part.end];
            let seal = Chain::default().push(bytes, true);
            let Reading::Entry(head) = head::slow(bytes) else { continue };
            let position = place.span.position + part.start as u64;
            let place = Place { span: Span { position, length: bytes.len() as u64 }, line: place.line };
            let suspect = self.note_seal(seal, place);
            self.enter(journal, head, place, bytes, suspect)?;
        }
        Ok(())
    }

    /// Counts and reports what a seal says; returns whether the record is suspect.
    fn note_seal(&mut self, seal: Seal, place: Place) -> bool {
        let detail = match seal {
            Seal::Valid { .. } => return false,
            Seal::Absent => {
                self.counts.unchecked += 1;
                return false;
            }
            Seal::Wrong { expected, found } => format!("expected the checksum {expected}, found {found}"),
            Seal::Malformed => "the seal was re-written by another program".to_owned(),
        };
        self.counts.suspect += 1;
        self.report(DamageKind::Suspect, place, &detail);
        true
    }

    /// Gives an entry to the index, unless it is there already.
    fn enter(
        &mut self,
        journal: &dyn Journal,
        head: Head<'_>,
        place: Place,
        content: &[u8],
        suspect: bool,
    ) -> Result<()> {
        let Some(first) = self.index.table.find(&head.id) else {
            self.index.apply(head, place, suspect);
            return Ok(());
        };
        let mut same = false;
        journal.read(&[self.index.table.span(first)], &mut |_, stored| {
            same = stored == content;
            Ok(())
        })?;
        if !same {
            self.report(DamageKind::DuplicateId, place, "an earlier record has this id; that one counts");
            self.index.apply_duplicate(&head, place);
        }
        Ok(())
    }

    fn report(&mut self, kind: DamageKind, place: Place, detail: &str) {
        let (line, offset) = (place.line, place.span.position);
        self.index.report(Damage { kind, line, offset, detail: detail.to_owned() });
    }

    /// Remembers the last record's bytes.
    fn refresh_fingerprint(&mut self, journal: &dyn Journal) -> Result<()> {
        if let Some((span, _)) = self.last {
            let mut fingerprint = Checksum(0);
            journal.read(&[span], &mut |_, bytes| {
                fingerprint = Checksum::of(bytes);
                Ok(())
            })?;
            self.last = Some((span, fingerprint));
        }
        Ok(())
    }

    fn last_is_as_it_was(&self, journal: &dyn Journal) -> Result<bool> {
        self.last.map_or(Ok(true), |last| journal.still_holds(&[last]))
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The header. A replay without one is never handed out.
    pub(crate) fn header(&self) -> &Header {
        self.header.as_ref().expect("a session has a header")
    }

    /// Behind the header's line.
    pub(crate) fn header_end(&self) -> u64 {
        self.header_end
    }

    /// The value of `prev` for a record that is written now.
    pub(crate) fn prev(&self) -> Checksum {
        self.prev
    }

    /// The incarnation of the journal that was replayed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Behind the last byte that was looked at.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Behind the last line that was taken in for good, and the unterminated record behind it if there is one.
    pub(crate) fn watermark(&self) -> (u64, Option<Span>) {
        (self.watermark, self.provisional)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The first entry that came after `rows` were there.
    pub(crate) fn rows(&self) -> Row {
        self.index.table.len()
    }
}

fn without_header(journal: &dyn Journal) -> Error {
    Error::new(ErrorKind::NotASession, "not a session: there is no header").at(journal.path())
}

/// What a line is that cannot be read as an entry.
fn kind_of_damage(content: &[u8], reading: &Reading<'_>, seal: Seal) -> (DamageKind, &'static str) {
    match reading {
        _ if content.iter().all(|byte| *byte == 0) => (DamageKind::Padding, "NUL bytes where a record belongs"),
        // A seal at its end says that a record was finished, whatever became of its middle.
        Reading::Torn if seal == Seal::Absent => (DamageKind::Torn, "the record ends in its middle"),
        Reading::Entry(_) | Reading::NotAnEntry => (DamageKind::Corrupt, "a sealed record whose envelope is damaged"),
        _ => (DamageKind::Corrupt, "no JSON where a record belongs"),
    }
}

fn content_span(line: Line<'_>, content: &[u8]) -> Span {
    let before = content.as_ptr() as usize - line.bytes.as_ptr() as usize;
    Span { position: line.offset + before as u64, length: content.len() as u64 }
}

fn usize_of(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
