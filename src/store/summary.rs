//! What a list says of a session, from the beginning and the end of its log (SPEC 8.1).

use crate::codec::head::{self, Detail, Head, Reading};
use crate::codec::line::{self, Chain, Seal};
use crate::codec::upgrade::Upgrader;
use crate::error::Result;
use crate::journal::Contents;
use crate::model::{Header, HeaderFault, Role, Timestamp, json, one_line_label};

/// How much is read at either end of a log at first.
const WINDOW_BYTES: u64 = 64 << 10;

/// How far the windows may grow to find the first message of the user and the time of the last message.
const WINDOW_BYTES_MAX: u64 = 4 << 20;

/// Times further ahead than a day are a wrong clock's (SPEC 8.1).
const AHEAD_MILLIS_MAX: i64 = 24 * 60 * 60 * 1000;

/// What was seen of a session.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) header: Option<Header>,
    /// The name of a format that this build does not read.
    pub(super) other_format: Option<String>,
    pub(super) first_message: Option<String>,
    pub(super) name: Option<String>,
    /// Where the session was relocated to, as far as that was seen.
    pub(super) cwd: Option<String>,
    /// The number of messages, if every line was looked at.
    pub(super) messages: Option<u64>,
    pub(super) last_message: Option<Timestamp>,
    pub(super) damaged: bool,
    counted: u64,
    latest_allowed: i64,
    /// Ids play no part here, so it does not matter that lines between the windows are missing.
    upgrader: Upgrader,
}

impl Summary {
    /// What is known of a log that cannot be read.
    pub(super) fn unreadable() -> Self {
        Self { damaged: true, ..Self::default() }
    }

    /// Reads as much of the log as is needed; all of it if `exact`.
    pub(super) fn read(log: &dyn Contents, exact: bool) -> Result<Self> {
        let size = log.size()?;
        let now = Timestamp::now().as_millis();
        let mut summary = Self { latest_allowed: now.saturating_add(AHEAD_MILLIS_MAX), ..Self::default() };
        if exact || size <= 2 * WINDOW_BYTES {
            summary.lines(log, 0, size)?;
            summary.messages = Some(summary.counted);
        } else {
            let front = summary.front(log, size)?;
            summary.back(log, size, front)?;
        }
        summary.damaged |= summary.header.is_none() && summary.other_format.is_none();
        Ok(summary)
    }

    /// Reads from the start until the user's first message was seen; returns up to where.
    fn front(&mut self, log: &dyn Contents, size: u64) -> Result<u64> {
        let mut from = 0;
        let mut to = WINDOW_BYTES;
        loop {
            from = self.lines(log, from, to.min(size))?;
            if self.first_message.is_some() || to >= size.min(WINDOW_BYTES_MAX) || self.header.is_none() {
                return Ok(from);
            }
            to *= 4;
        }
    }

    /// Reads the end, at first a little and then more of it, until a message was seen.
    fn back(&mut self, log: &dyn Contents, size: u64, front: u64) -> Result<()> {
        let before = self.last_message.take();
        let mut window = WINDOW_BYTES;
        loop {
            let from = size.saturating_sub(window).max(front);
            let start = if from == front { from } else { line_start(log, from, size)? };
            self.lines(log, start, size)?;
            if self.last_message.is_some() || from == front || window >= WINDOW_BYTES_MAX {
                break;
            }
            window *= 4;
        }
        self.last_message = self.last_message.max(before);
        Ok(())
    }

    /// Looks at the whole lines between two offsets, and at the unterminated one at the end of the file. Returns
    /// where the last line that was not whole starts.
    fn lines(&mut self, log: &dyn Contents, from: u64, to: u64) -> Result<u64> {
        let mut whole = from;
        log.scan(from..to, &mut |line| {
            if line.terminated {
                whole = line.end();
            }
            self.line(line.bytes, line.terminated);
            Ok(())
        })?;
        Ok(whole)
    }

    fn line(&mut self, bytes: &[u8], terminated: bool) {
        let content = line::content(bytes);
        if content.trim_ascii().is_empty() {
            return;
        }
        let seal = Chain::default().push(content, true);
        let upgraded = self.upgrader.line(content);
        if self.header.is_none() {
            match Header::parse(&String::from_utf8_lossy(content)) {
                Ok(header) => self.header = Some(header),
                Err(HeaderFault::OtherFormat(format)) => self.other_format = Some(format),
                Err(HeaderFault::NotAHeader) => self.damaged |= terminated,
            }
            return;
        }
        self.damaged |= matches!(seal, Seal::Wrong { .. } | Seal::Malformed);
        match head::read(&upgraded, matches!(seal, Seal::Valid { .. })) {
            Reading::Entry(head) => self.entry(&head, &upgraded),
            // A line that a window cut, or that is still being written.
            _ if !terminated => {}
            _ => self.damaged = true,
        }
    }

    fn entry(&mut self, head: &Head<'_>, content: &[u8]) {
        if let Detail::SessionInfo(info) = &head.detail {
            self.cwd = info.cwd.clone().or_else(|| self.cwd.take());
            self.name = info.name.as_deref().map(one_line_label).filter(|name| !name.is_empty());
        }
        if head.kind != crate::model::EntryKind::Message {
            return;
        }
        self.counted += 1;
        if !matches!(head.role, Some(Role::User | Role::Assistant)) {
            return;
        }
        let record = String::from_utf8_lossy(content);
        let Some(message) = json::member(&record, "message") else { return };
        let time = json::member(message, "timestamp").and_then(|raw| raw.parse().ok()).map(Timestamp::from_millis);
        let time = time.or_else(|| Timestamp::parse(&String::from_utf8_lossy(&head.timestamp)));
        let believable = time.filter(|time| time.as_millis() <= self.latest_allowed);
        self.last_message = self.last_message.max(believable);
        if self.first_message.is_none() && head.role == Some(Role::User) {
            self.first_message = Some(crate::model::message_text(message)).filter(|text| !text.is_empty());
        }
    }
}

/// The start of the first line at or behind `from`.
fn line_start(log: &dyn Contents, from: u64, size: u64) -> Result<u64> {
    let mut buffer = vec![0; 8 << 10];
    let mut position = from;
    while position < size {
        let count = log.read_at(&mut buffer, position)?;
        if count == 0 {
            break;
        }
        if let Some(at) = memchr::memchr(b'\n', &buffer[..count]) {
            return Ok(position + at as u64 + 1);
        }
        position += count as u64;
    }
    Ok(size)
}

/// The header of a session, if the log is one.
pub(super) fn header_of(log: &dyn Contents) -> Option<Header> {
    let size = log.size().ok()?;
    let mut summary = Summary::default();
    let mut to = 4096;
    loop {
        summary.lines(log, 0, to.min(size)).ok()?;
        if summary.header.is_some() || to >= size.min(WINDOW_BYTES_MAX) {
            return summary.header;
        }
        to *= 8;
    }
}
