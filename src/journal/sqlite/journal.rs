//! The log of one session in a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::database::{Database, Failed as _, Writer, insert_line};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::backend::not_found;
use crate::journal::file::check_database_file_system;
use crate::journal::{Batch, Contents, End, Journal, OpenOptions, Outcome, Stored, Turn};
use crate::model::Timestamp;

/// How much a record may hold: SQLite's own limit of a row, less what a row needs beside it.
const APPEND_BYTES_MAX: u64 = 1_000_000_000 - 1024;

pub(super) struct SqliteJournal {
    database: Arc<Database>,
    id: String,
    path: PathBuf,
    options: OpenOptions,
    /// The session's row, which another takes over if it is removed and made anew.
    number: AtomicI64,
}

/// What the row of a session says of its log.
struct Place {
    number: i64,
    bytes: u64,
    open: bool,
}

impl Place {
    fn end(&self) -> End {
        End { position: self.bytes, generation: self.number.unsigned_abs() }
    }
}

impl SqliteJournal {
    pub(super) fn open(database: Arc<Database>, id: &str, path: PathBuf, options: OpenOptions) -> Result<Self> {
        let journal = Self { database, id: id.to_owned(), path, options, number: AtomicI64::new(0) };
        let reader = journal.database.reader();
        let place = journal.place(&reader).map_err(|error| match error.kind() {
            ErrorKind::Gone => not_found(&journal.path),
            _ => error,
        })?;
        drop(reader);
        journal.number.store(place.number, Ordering::Relaxed);
        Ok(journal)
    }

    fn place(&self, connection: &Connection) -> Result<Place> {
        let query = "SELECT number, bytes, open FROM sessions WHERE id = ?1 AND deleted IS NULL";
        let mut statement = connection.prepare_cached(query).failed("cannot read", self.file())?;
        let place = statement
            .query_row([&self.id], |row| Ok(Place { number: row.get(0)?, bytes: row.get(1)?, open: row.get(2)? }));
        let place = place.optional().failed("cannot read", self.file())?;
        place.ok_or_else(|| Error::new(ErrorKind::Gone, "the session was deleted:").at(&self.path))
    }

    fn file(&self) -> &Path {
        self.database.file()
    }
}

impl Journal for SqliteJournal {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn end(&self) -> Result<End> {
        self.database.check_in_place()?;
        let place = self.place(&self.database.reader())?;
        self.number.store(place.number, Ordering::Relaxed);
        Ok(place.end())
    }

    fn contents(&self) -> Arc<dyn Contents> {
        Arc::new(SqliteContents { database: Arc::clone(&self.database), number: self.number.load(Ordering::Relaxed) })
    }

    fn turn(&self, durable: bool) -> Result<Box<dyn Turn + '_>> {
        if !self.options.allow_shared_file_system {
            check_database_file_system(self.file())?;
        }
        let writer = self.database.writer(self.options.lock_wait, durable)?;
        let place = self.place(&writer)?;
        self.number.store(place.number, Ordering::Relaxed);
        Ok(Box::new(SqliteTurn { journal: self, writer, place, durable }))
    }

    fn sync(&self, stored: &Stored, _records: &[Vec<u8>]) -> Result<()> {
        self.sync_all(stored.generation)
    }

    fn sync_all(&self, generation: u64) -> Result<()> {
        // A commit that syncs the WAL makes durable what was committed to it before.
        let mut writer = self.database.writer(self.options.lock_wait, true)?;
        let place = self.place(&writer)?;
        if place.end().generation != generation {
            return Err(Error::new(ErrorKind::Gone, "the session was made anew under this handle:").at(&self.path));
        }
        let query = "UPDATE sessions SET bytes = bytes WHERE number = ?1";
        writer.execute(query, [place.number]).failed("cannot write to", self.file())?;
        writer.commit()?;
        self.database.check_in_place()
    }
}

/// The log as it was made; what a namesake holds is not read by it.
struct SqliteContents {
    database: Arc<Database>,
    number: i64,
}

impl Contents for SqliteContents {
    fn size(&self) -> Result<u64> {
        let query = "SELECT bytes FROM sessions WHERE number = ?1";
        let reader = self.database.reader();
        let mut statement = reader.prepare_cached(query).failed("cannot read", self.database.file())?;
        let size = statement.query_row([self.number], |row| row.get(0)).optional();
        Ok(size.failed("cannot read", self.database.file())?.unwrap_or(0))
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize> {
        self.copy(buffer, position).failed("cannot read", self.database.file())
    }
}

impl SqliteContents {
    fn copy(&self, buffer: &mut [u8], position: u64) -> rusqlite::Result<usize> {
        // From the line that the position is in.
        let query = "SELECT position, bytes FROM records WHERE session = ?1 AND position >= (\
                     SELECT max(position) FROM records WHERE session = ?1 AND position <= ?2) ORDER BY position";
        let reader = self.database.reader();
        let mut statement = reader.prepare_cached(query)?;
        let mut rows = statement.query(params![self.number, position])?;
        let mut filled = 0;
        while filled < buffer.len()
            && let Some(row) = rows.next()?
        {
            let start: u64 = row.get(0)?;
            let line = row.get_ref(1)?.as_bytes()?;
            let skipped = usize::try_from((position + filled as u64).saturating_sub(start)).unwrap_or(usize::MAX);
            let piece = line.get(skipped..).unwrap_or_default();
            let count = piece.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&piece[..count]);
            filled += count;
        }
        Ok(filled)
    }
}

struct SqliteTurn<'a> {
    journal: &'a SqliteJournal,
    writer: Writer<'a>,
    place: Place,
    durable: bool,
}

impl SqliteTurn<'_> {
    fn insert(&self, line: &[u8], position: &mut u64) -> Result<()> {
        insert_line(&self.journal.database, &self.writer, self.place.number, *position, line)?;
        *position += line.len() as u64;
        Ok(())
    }

    fn insert_all(&self, batch: &Batch<'_>) -> Result<(u64, u64)> {
        let mut end = self.place.bytes;
        if self.place.open {
            self.insert(b"\n", &mut end)?;
        }
        let position = end;
        let mut line = Vec::new();
        for record in batch.records {
            line.clear();
            line.extend_from_slice(record);
            line.push(b'\n');
            self.insert(&line, &mut end)?;
        }
        let query = "UPDATE sessions SET bytes = ?2, leaf = ?3, modified = ?4, open = 0, cwd = coalesce(?5, cwd) \
                     WHERE number = ?1";
        let leaf = batch.leaf.map(ToString::to_string);
        let mut statement = self.writer.prepare_cached(query).failed("cannot write to", self.journal.file())?;
        let row = params![self.place.number, end, leaf, Timestamp::now().as_millis(), batch.cwd];
        statement.execute(row).failed("cannot write to", self.journal.file())?;
        Ok((position, end))
    }
}

impl Turn for SqliteTurn<'_> {
    fn end(&self) -> End {
        self.place.end()
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<Outcome> {
        batch.check_size(APPEND_BYTES_MAX)?;
        let End { position: end, generation } = self.place.end();
        if end != batch.expected {
            return Ok(Outcome::Moved);
        }
        let (position, end) = self.insert_all(batch)?;
        self.writer.commit()?;
        self.journal.database.check_in_place()?;
        self.place = Place { number: self.place.number, bytes: end, open: false };
        Ok(Outcome::Stored(Stored { position, end, generation, interleaved: false, durable: self.durable }))
    }
}
