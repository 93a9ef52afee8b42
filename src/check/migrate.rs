//! From versions 1 and 2 to version 3: a new log in the old one's place, and the original beside it (SPEC 2.6, 8.4).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::codec::head::{self, Reading};
use crate::codec::line::{self, Chain};
use crate::codec::scanner::Line;
use crate::codec::upgrade::{Upgrader, upgrade_header};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Replay;
use crate::journal::{self, FileJournal, Journal as _};
use crate::model::{FORMAT_VERSION, json};
use crate::session::SessionOptions;

/// A session that was migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The session's path, which is as it was.
    pub path: PathBuf,
    /// The version that it was of.
    pub from: u64,
    /// Where the original is kept, byte for byte.
    pub backup: PathBuf,
    /// How many entries the session has.
    pub entries: u64,
}

/// Makes the session at `path` one of version 3, if it is of version 1 or 2; `None` if it is of version 3 already.
///
/// The entries have the ids that reading the old log has shown. The log is replaced in one step, so that a crash leaves
/// the old one or the new one; on return the new one is durable, and the original is beside it, under its name with
/// `.v1` or `.v2` behind it (`.v1-2` and so on if that is taken). Records that had to change are sealed; others are
/// copied byte for byte, and damaged lines too. What programs that take no lock append meanwhile is taken over.
///
/// # Errors
///
/// [`ErrorKind::NotFound`], [`ErrorKind::NotASession`], [`ErrorKind::Unsupported`] for later versions and other formats,
/// [`ErrorKind::Denied`] if the file has several hard links or it or its folder cannot be written,
/// [`ErrorKind::Locked`], [`ErrorKind::Unsafe`], [`ErrorKind::StorageFull`].
pub fn migrate(path: impl AsRef<Path>, options: &SessionOptions) -> Result<Option<Migrated>> {
    let journal = journal::open(path.as_ref(), options.of_journal())?;
    let from = Replay::header_of(&*journal)?.version;
    if from > FORMAT_VERSION {
        let message = format!("a session of version {from}, which this build can only read");
        return Err(Error::new(ErrorKind::Unsupported, message).at(journal.path()));
    }
    if from == FORMAT_VERSION {
        return Ok(None);
    }
    if !journal.path_is_file() {
        let message = "an old session in a database: `leaflog copy` it to a folder and migrate it there";
        return Err(Error::new(ErrorKind::Unsupported, message).at(journal.path()));
    }
    let journal = FileJournal::open(path.as_ref(), options.of_journal())?;
    let mut migration = Migration::default();
    let swapped = journal.swap(&format!("v{from}"), &mut |line, new| migration.line(line, new));
    if migration.overtaken {
        return Ok(None);
    }
    Ok(Some(Migrated { path: journal.path(), from, backup: swapped?, entries: migration.entries }))
}

/// What the new log holds so far.
#[derive(Default)]
struct Migration {
    upgrader: Upgrader,
    chain: Chain,
    entries: u64,
    /// An unterminated line that was whole and is in the new log.
    whole_tail: Option<(u64, Vec<u8>)>,
    /// Whether the new log ends in the middle of a line.
    open: bool,
    /// Whether the log was found to be of version 3 when the lock was there.
    overtaken: bool,
}

impl Migration {
    /// Gives what the new log has for `line`.
    fn line(&mut self, line: Line<'_>, new: &mut Vec<u8>) -> Result<()> {
        if self.whole_tail.as_ref().is_some_and(|(offset, bytes)| *offset == line.offset && bytes == line.bytes) {
            return Ok(());
        }
        if std::mem::take(&mut self.open) {
            // Its writer has gone on with it: it is whole now and comes as a line of its own.
            self.put(b"", true, new);
        }
        if !line.terminated {
            if self.upgrader.unterminated_record(line.bytes).is_none() {
                self.put(line.bytes, false, new);
                self.open = true;
                return Ok(());
            }
            self.whole_tail = Some((line.offset, line.bytes.to_vec()));
        }
        let before = self.upgrader.version();
        let upgraded = self.upgrader.line(line.bytes);
        let is_header = before.is_none() && self.upgrader.version().is_some();
        if is_header && self.upgrader.version() >= Some(FORMAT_VERSION) {
            self.overtaken = true;
            return Err(Error::invalid("the session was migrated meanwhile"));
        }
        self.entries += u64::from(matches!(head::slow(line::content(&upgraded)), Reading::Entry(_)));
        let changed = if is_header { Some(upgrade_header(line.bytes)) } else { owned(upgraded) };
        match changed {
            Some(record) if may_be_sealed(&record) => {
                let (sealed, _) = line::seal_bytes(&record, self.chain.prev());
                self.put(&sealed, true, new);
            }
            Some(record) => self.put(&record, true, new),
            None => self.put(line.bytes, true, new),
        }
        Ok(())
    }

    fn put(&mut self, line: &[u8], terminated: bool, new: &mut Vec<u8>) {
        self.chain.push(line, terminated);
        new.extend_from_slice(line);
        new.extend(terminated.then_some(b'\n'));
    }
}

fn owned(line: Cow<'_, [u8]>) -> Option<Vec<u8>> {
    match line {
        Cow::Owned(line) => Some(line),
        Cow::Borrowed(_) => None,
    }
}

/// A record with members of these names of its own would be taken for damaged if they were there twice.
fn may_be_sealed(record: &[u8]) -> bool {
    let text = String::from_utf8_lossy(record);
    let members = json::members(&text).unwrap_or_default();
    record.ends_with(b"}") && !members.iter().any(|member| matches!(member.key.as_ref(), "prev" | "crc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","id":"s"}"#;

    /// What a migration makes of these pieces of a log, each with the offset that it comes from and whether its line
    /// feed is there.
    fn migrate(pieces: &[(u64, &str, bool)]) -> Vec<String> {
        let mut migration = Migration::default();
        let mut new = Vec::new();
        for (offset, text, terminated) in pieces {
            let line = Line { offset: *offset, bytes: text.as_bytes(), terminated: *terminated };
            migration.line(line, &mut new).unwrap();
        }
        assert_chained(&new);
        String::from_utf8(new).unwrap().split('\n').map(str::to_owned).collect()
    }

    #[track_caller]
    fn assert_chained(log: &[u8]) {
        let mut chain = Chain::default();
        for line in log.split_inclusive(|byte| *byte == b'\n') {
            let before = chain.prev();
            let terminated = line.ends_with(b"\n");
            if let line::Seal::Valid { prev, .. } = chain.push(line.strip_suffix(b"\n").unwrap_or(line), terminated) {
                assert_eq!(prev, before);
            }
        }
    }

    fn is_sealed_entry(line: &str) -> bool {
        line.starts_with(r#"{"type":"custom","id":""#) && line.contains(r#","crc":""#)
    }

    #[test]
    fn a_whole_last_line_is_taken_once_even_if_its_line_feed_comes_later() {
        let entry = r#"{"type":"custom"}"#;
        let lines =
            migrate(&[(0, HEADER, true), (28, entry, false), (28, entry, false), (28, entry, true), (46, entry, true)]);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(is_sealed_entry(&lines[1]) && is_sealed_entry(&lines[2]) && lines[3].is_empty());
        assert_ne!(lines[1], lines[2]);
    }

    #[test]
    fn an_unfinished_last_line_stays_and_comes_again_when_it_is_whole() {
        let (part, entry) = (r#"{"type":"cus"#, r#"{"type":"custom"}"#);
        let lines = migrate(&[(0, HEADER, true), (28, part, false), (28, entry, true), (46, part, false)]);
        assert_eq!((lines.len(), lines[1].as_str(), lines[3].as_str()), (4, part, part));
        assert!(is_sealed_entry(&lines[2]));
    }

    #[test]
    fn a_record_with_checksums_of_its_own_is_not_sealed() {
        let lines = migrate(&[(0, HEADER, true), (28, r#"{"type":"custom","crc":1,"data":2}"#, true)]);
        assert!(lines[1].ends_with(r#""parentId":null,"crc":1,"data":2}"#), "{}", lines[1]);
    }
}
