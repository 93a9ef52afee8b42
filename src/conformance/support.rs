//! What the cases share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Factory;
use crate::codec::scanner::Line;
use crate::error::Result;
use crate::journal::{Backend, Batch, Journal, NewJournal, OpenOptions, Outcome, Stored};
use crate::model::{FORMAT_VERSION, Header, SessionId, Timestamp};

/// A header with an id of its own.
pub(super) fn header() -> Header {
    Header {
        id: SessionId::new(),
        version: FORMAT_VERSION,
        timestamp: Timestamp::now().to_string(),
        cwd: "/conformance".to_owned(),
        parent_session: None,
        metadata: None,
        origin: None,
    }
}

/// A new journal that holds these bytes.
pub(super) fn create(backend: &dyn Backend, header: &Header, bytes: &[u8]) -> Result<PathBuf> {
    backend.create(&NewJournal::new(header, None), &mut |sink| sink(bytes))
}

/// One more handle on the journal, through a backend that was opened for it.
pub(super) fn open(factory: &Factory<'_>, path: &Path) -> Box<dyn Journal> {
    factory().open(path, OpenOptions::default()).expect("the journal can be opened")
}

/// A journal with a first line, and a handle on it.
pub(super) fn journal(factory: &Factory<'_>) -> (Arc<dyn Backend>, PathBuf, Box<dyn Journal>) {
    let backend = factory();
    let path = create(&*backend, &header(), b"first\n").expect("a journal can be made");
    let journal = open(factory, &path);
    (backend, path, journal)
}

/// Appends behind whatever is there, as often as it takes.
pub(super) fn append(journal: &dyn Journal, records: &[Vec<u8>], durable: bool) -> Result<Stored> {
    let mut turn = journal.turn(durable)?;
    let stored = loop {
        let expected = turn.end().position;
        if let Outcome::Stored(stored) = turn.append(&Batch::new(expected, records))? {
            break stored;
        }
    };
    drop(turn);
    if durable && !stored.durable {
        journal.sync(&stored, records)?;
    }
    Ok(stored)
}

/// All lines, without their line feeds, each with its position.
pub(super) fn lines(journal: &dyn Journal) -> Vec<(u64, Vec<u8>)> {
    let mut lines = Vec::new();
    let visit = &mut |line: Line<'_>| {
        lines.push((line.offset, line.bytes.to_vec()));
        Ok(())
    };
    journal.scan(0..u64::MAX, visit).expect("the journal can be read");
    lines
}

/// All bytes.
pub(super) fn bytes(journal: &dyn Journal) -> Vec<u8> {
    let contents = journal.contents();
    let size = usize::try_from(contents.size().expect("the size is known")).expect("it fits into memory");
    let mut bytes = vec![0; size];
    assert_eq!(contents.read_at(&mut bytes, 0).expect("the journal can be read"), size);
    bytes
}
