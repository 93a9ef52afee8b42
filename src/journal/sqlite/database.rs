//! The database: its connections, its tables, and what its errors mean.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::{FairMutex, FairMutexGuard, Mutex, MutexGuard};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};

use crate::error::{Error, ErrorKind, Result};
use crate::journal::file::{Identity, LiveDatabase, check_database_in_place, database_identity};

/// What the header of the database file says of whose it is: "leaf".
const APPLICATION_ID: i32 = 0x6C65_6166;

/// The version of the tables.
const TABLES_VERSION: i32 = 1;

const TABLES: &str = "
CREATE TABLE sessions (
    -- Never used again, so that a session that was removed and made anew is told from its namesake.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    parent TEXT,
    created TEXT NOT NULL,
    -- The active leaf; NULL before the first entry. The log is the truth.
    leaf TEXT,
    -- Milliseconds since 1970, of the last append.
    modified INTEGER NOT NULL,
    -- Where the log ends.
    bytes INTEGER NOT NULL,
    -- Whether the last line has no line feed.
    open INTEGER NOT NULL,
    -- When it was deleted, if it was.
    deleted TEXT
);
CREATE UNIQUE INDEX sessions_by_id ON sessions (id) WHERE deleted IS NULL;
-- The lines of the logs with their line feeds, byte for byte, and where in the log each starts.
CREATE TABLE records (
    session INTEGER NOT NULL REFERENCES sessions (number),
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE UNIQUE INDEX records_in_order ON records (session, position);
-- For people: SELECT record ->> 'type' FROM log WHERE session = '…'.
CREATE VIEW log AS
    SELECT sessions.id AS session, records.position, CAST(records.bytes AS TEXT) AS record
    FROM records JOIN sessions ON sessions.number = records.session;
";

/// The longest pause between two attempts to become the writer (SPEC 7.1).
const BACK_OFF_MAX: Duration = Duration::from_millis(1);

/// How long a read waits for the moments in which SQLite lets nobody in, such as recovery after a crash.
const READER_WAIT: Duration = Duration::from_secs(10);

/// An open database, shared by the sessions of a backend.
pub(super) struct Database {
    file: PathBuf,
    identity: Identity,
    reader: Mutex<Connection>,
    writer: FairMutex<Option<Connection>>,
    // Dropped last: until the connections are closed the file is no one else's to open.
    _live: LiveDatabase,
}

impl Database {
    /// Opens the database in `file`; `None` if there is none.
    pub(super) fn open(file: &Path) -> Result<Option<Self>> {
        let Some(identity) = database_identity(file)? else { return Ok(None) };
        let live = LiveDatabase::new(identity);
        let reader = connect(file)?;
        let application: i32 = pragma(&reader, file, "application_id")?;
        let version: i32 = pragma(&reader, file, "user_version")?;
        let database = Self {
            file: file.to_owned(),
            identity,
            reader: Mutex::new(reader),
            writer: FairMutex::new(None),
            _live: live,
        };
        database.check_in_place()?;
        match (application, version) {
            (APPLICATION_ID, TABLES_VERSION) => Ok(Some(database)),
            (APPLICATION_ID, version) => {
                let message = format!("a database of version {version}, which this build does not know:");
                Err(Error::new(ErrorKind::Unsupported, message).at(file))
            }
            _ if database.is_empty()? => Ok(Some(database)),
            _ => Err(Error::new(ErrorKind::NotASession, "a database of something else, left alone:").at(file)),
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Fails unless the file is still at its path: what is appended to another one nobody would find (SPEC 2.8).
    pub(super) fn check_in_place(&self) -> Result<()> {
        check_database_in_place(&self.file, self.identity)
    }

    /// The connection for reading. It sees what was committed.
    pub(super) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock()
    }

    /// All rows that `query` gives; none if there are no tables yet.
    pub(super) fn rows<T>(&self, query: &str, mut row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Result<Vec<T>> {
        if self.is_empty()? {
            return Ok(Vec::new());
        }
        let reader = self.reader();
        let mut statement = reader.prepare_cached(query).failed("cannot read", &self.file)?;
        let rows = statement.query_map([], |found| row(found)).failed("cannot read", &self.file)?;
        rows.collect::<rusqlite::Result<_>>().failed("cannot read", &self.file)
    }

    fn is_empty(&self) -> Result<bool> {
        is_empty(&self.reader(), &self.file)
    }

    /// Becomes the writer, the only one among all processes, until what is returned is committed or dropped.
    pub(super) fn writer(&self, wait: Duration, durable: bool) -> Result<Writer<'_>> {
        let deadline = Instant::now() + wait;
        let mut slot = self.writer.try_lock_for(wait).ok_or_else(|| self.timed_out())?;
        if slot.is_none() {
            let connection = connect(&self.file)?;
            connection.busy_timeout(wait).failed("cannot open", &self.file)?;
            // Not before the database is known for ours, since this changes the file.
            use_wal(&connection).failed("cannot write to", &self.file)?;
            // From here on this waits by itself, in shorter steps than SQLite's and with the caller's deadline.
            connection.busy_timeout(Duration::ZERO).failed("cannot open", &self.file)?;
            *slot = Some(connection);
        }
        let writer = Writer { database: self, slot };
        // In WAL mode FULL syncs at each commit, NORMAL at checkpoints only (sqlite.org/pragma.html#pragma_synchronous).
        let level = if durable { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
        writer.execute_batch(level).failed("cannot write to", &self.file)?;
        let mut pause = Duration::from_micros(20);
        loop {
            match writer.execute_batch("BEGIN IMMEDIATE") {
                Ok(()) => break,
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(BACK_OFF_MAX);
                }
                Err(error) if is_busy(&error) => return Err(self.timed_out().with_source(error)),
                Err(error) => return Err(error).failed("cannot write to", &self.file),
            }
        }
        // ORDER: looked at after the lock, so that a database that was swapped before is seen.
        self.check_in_place()?;
        Ok(writer)
    }

    fn timed_out(&self) -> Error {
        Error::new(ErrorKind::Locked, "another writer holds the lock; try again").at(&self.file)
    }

    /// Makes the tables if there are none.
    pub(super) fn make_tables(&self, writer: &Connection) -> Result<()> {
        if !is_empty(writer, &self.file)? {
            return Ok(());
        }
        let identify = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {TABLES_VERSION};");
        writer.execute_batch(&format!("{TABLES}{identify}")).failed("cannot write to", &self.file)
    }
}

fn is_empty(connection: &Connection, file: &Path) -> Result<bool> {
    let query = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    connection.query_row(query, [], |row| row.get(0)).failed("cannot read", file)
}

fn connect(file: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(file, flags).failed("cannot open", file)?;
    connection.busy_timeout(READER_WAIT).failed("cannot open", file)?;
    // On macOS a plain sync leaves the bytes in the drive's cache.
    connection.execute_batch("PRAGMA fullfsync = ON").failed("cannot open", file)?;
    Ok(connection)
}

fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    // Asked for again it would wait for the writer of the moment.
    if mode == "wal" { Ok(()) } else { connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) }
}

fn pragma(connection: &Connection, file: &Path, name: &str) -> Result<i32> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).failed("cannot read", file)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The one writer, in a transaction. What was not committed when it is dropped is undone.
pub(super) struct Writer<'a> {
    database: &'a Database,
    slot: FairMutexGuard<'a, Option<Connection>>,
}

impl Writer<'_> {
    /// Makes all of it visible at once, and durable if that was asked for. The transaction is over then.
    pub(super) fn commit(&mut self) -> Result<()> {
        let Err(error) = self.execute_batch("COMMIT") else { return Ok(()) };
        let failed: Result<()> = Err(error).failed("cannot write to", &self.database.file);
        failed.map_err(|error| match error.kind() {
            // The commit may be in the WAL, or not: only looking after a restart would tell.
            ErrorKind::Io => undecided(&self.database.file).with_source(error),
            _ => error,
        })
    }
}

impl Deref for Writer<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.slot.as_ref().expect("a writer has a connection")
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // If this fails the connection is of no use any more; the next writer opens another.
        if !self.is_autocommit() && self.execute_batch("ROLLBACK").is_err() {
            *self.slot = None;
        }
    }
}

fn undecided(file: &Path) -> Error {
    let message = "a commit failed, so nobody knows what is on the disk; check the disk, retry with the same id";
    Error::new(ErrorKind::Undecided, message).at(file)
}

/// Stores a line, its line feed included, as the line of the log that starts at `position`.
pub(super) fn insert_line(
    database: &Database,
    writer: &Connection,
    session: i64,
    position: u64,
    line: &[u8],
) -> Result<()> {
    let query = "INSERT INTO records (session, position, bytes) VALUES (?1, ?2, ?3)";
    let mut statement = writer.prepare_cached(query).failed("cannot write to", &database.file)?;
    statement.execute(params![session, position, line]).failed("cannot write to", &database.file).map(drop)
}

/// Says what a failure of SQLite means to a caller.
pub(super) trait Failed<T> {
    /// The error for a failed attempt: `doing` names it ("cannot read").
    fn failed(self, doing: &str, file: &Path) -> Result<T>;
}

impl<T> Failed<T> for rusqlite::Result<T> {
    fn failed(self, doing: &str, file: &Path) -> Result<T> {
        self.map_err(|error| Error::new(kind(&error), doing).at(file).with_source(error))
    }
}

fn kind(error: &rusqlite::Error) -> ErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::DiskFull) => ErrorKind::StorageFull,
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => ErrorKind::Denied,
        Some(ErrorCode::NotADatabase) => ErrorKind::NotASession,
        Some(ErrorCode::DatabaseCorrupt) => ErrorKind::Corrupt,
        Some(ErrorCode::TooBig) => ErrorKind::TooLarge,
        Some(ErrorCode::ConstraintViolation) => ErrorKind::AlreadyExists,
        _ => ErrorKind::Io,
    }
}
