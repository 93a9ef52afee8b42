//! Many sessions in one SQLite database (SPEC 8.3).
//!
//! A log is kept line by line, each line with its line feed, byte for byte, under its position in the log; so a
//! session here is the same run of bytes as in a file. A row for each session says where its log ends and, beside the
//! log, which entry is its leaf (C12, section 5). The database is in WAL mode: any number of processes read while one
//! appends. Its file is only ever opened through SQLite.

mod database;
mod journal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::backend::{already_exists, not_found};
use super::{Backend, Deleted, Journal, Listed, NewJournal, OpenOptions, Sink, absolute};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Timestamp;
use database::{Database, Failed as _};
use journal::SqliteJournal;

/// What the paths of sessions in databases begin with: `sqlite:FILE#ID`.
const SCHEME: &str = "sqlite:";

/// How long making, deleting and restoring wait for other writers.
const WRITER_WAIT: Duration = Duration::from_secs(10);

/// What marks the path of a deleted session: `sqlite:FILE#ID~ROW`.
const DELETED_MARK: char = '~';

/// The sessions in a SQLite database.
pub struct Sqlite {
    /// Absolute.
    file: PathBuf,
    database: Mutex<Option<Arc<Database>>>,
}

impl Sqlite {
    /// The sessions in the database `file`, which is made when the first session is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if there is no current folder to find `file` from, [`ErrorKind::Invalid`] if its name is not
    /// UTF-8: it is a part of names then.
    pub fn new(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        if file.to_str().is_none() {
            return Err(Error::invalid("the name of a database must be UTF-8:").at(file));
        }
        Ok(Self { file: absolute(file)?, database: Mutex::new(None) })
    }

    /// The database of the session that `path` names, if it is a name of this backend.
    pub(crate) fn of_session(path: &Path) -> Option<Self> {
        let (file, _) = split(path)?;
        Self::new(file).ok()
    }

    /// The open database; `None` if there is no file yet.
    fn database(&self) -> Result<Option<Arc<Database>>> {
        let mut opened = self.database.lock();
        if let Some(database) = opened.as_ref().filter(|database| database.check_in_place().is_ok()) {
            return Ok(Some(Arc::clone(database)));
        }
        *opened = Database::open(&self.file)?.map(Arc::new);
        Ok(opened.clone())
    }

    fn existing(&self, path: &Path) -> Result<Arc<Database>> {
        self.database()?.ok_or_else(|| not_found(path))
    }

    fn path_of(&self, id: &str) -> PathBuf {
        PathBuf::from(format!("{SCHEME}{}#{id}", self.file.display()))
    }

    fn place_of(&self, id: &str, number: i64) -> PathBuf {
        PathBuf::from(format!("{}{DELETED_MARK}{number}", self.path_of(id).display()))
    }

    /// The id in a path, which must be one of this database.
    fn id_in<'a>(&self, path: &'a Path) -> Result<&'a str> {
        let here = split(path).filter(|(file, _)| absolute(Path::new(file)).is_ok_and(|file| file == self.file));
        here.map(|(_, id)| id).ok_or_else(|| not_found(path))
    }

    /// Changes the session that `path` names, durably, and returns its row.
    fn change(&self, path: &Path, change: impl FnOnce(&Connection, i64) -> Result<()>) -> Result<i64> {
        let (id, database) = (self.id_in(path)?, self.existing(path)?);
        let mut writer = database.writer(WRITER_WAIT, true)?;
        let number = live(&database, &writer, id)?.ok_or_else(|| not_found(path))?;
        change(&writer, number)?;
        writer.commit()?;
        Ok(number)
    }

    /// The id and the row in the path of a deleted session.
    fn place_in<'a>(&self, path: &'a Path) -> Result<(&'a str, i64)> {
        let place = self.id_in(path)?.rsplit_once(DELETED_MARK);
        let place = place.and_then(|(id, number)| Some((id, number.parse().ok()?)));
        place.ok_or_else(|| not_deleted(path))
    }
}

/// `sqlite:FILE#ID` in its parts.
fn split(path: &Path) -> Option<(&str, &str)> {
    path.to_str()?.strip_prefix(SCHEME)?.rsplit_once('#')
}

fn not_deleted(path: &Path) -> Error {
    Error::new(ErrorKind::NotFound, "there is no deleted session").at(path)
}

impl Backend for Sqlite {
    fn root(&self) -> PathBuf {
        PathBuf::from(format!("{SCHEME}{}", self.file.display()))
    }

    fn is_path(&self, name: &str) -> bool {
        name.starts_with(SCHEME)
    }

    fn sessions(&self) -> Result<Vec<Listed>> {
        let Some(database) = self.database()? else { return Ok(Vec::new()) };
        let query = "SELECT id, modified, bytes, cwd FROM sessions WHERE deleted IS NULL ORDER BY id";
        database.rows(query, |row| {
            let (id, modified): (String, i64) = (row.get(0)?, row.get(1)?);
            let modified = Some(Timestamp::from_millis(modified));
            Ok(Listed::new(self.path_of(&id), Some(id), modified, row.get(2)?).cwd(row.get::<_, String>(3)?))
        })
    }

    fn open(&self, path: &Path, options: OpenOptions) -> Result<Box<dyn Journal>> {
        if let Ok(id) = self.id_in(path) {
            return Ok(Box::new(SqliteJournal::open(self.existing(path)?, id, self.path_of(id), options)?));
        }
        // A path in full names its database, as a path of a file does its folder.
        super::open(path, options)
    }

    fn create(&self, journal: &NewJournal<'_>, write: &mut dyn FnMut(&mut Sink<'_>) -> Result<()>) -> Result<PathBuf> {
        super::file::create_database_file(&self.file)?;
        let path = self.path_of(journal.header.id.as_str());
        let database = self.existing(&path)?;
        let mut writer = database.writer(WRITER_WAIT, true)?;
        database.make_tables(&writer)?;
        if live(&database, &writer, journal.header.id.as_str())?.is_some() {
            return Err(already_exists(&path));
        }
        insert_session(&database, &writer, journal)?;
        let number = writer.last_insert_rowid();
        let mut lines = Lines { database: &database, writer: &writer, number, position: 0, line: Vec::new() };
        write(&mut |bytes| lines.push(bytes))?;
        lines.finish()?;
        writer.commit()?;
        database.check_in_place()?;
        Ok(path)
    }

    fn relocate(&self, path: &Path, cwd: &str) -> Result<PathBuf> {
        let query = "UPDATE sessions SET cwd = ?2 WHERE number = ?1";
        self.change(path, |writer, number| {
            writer.execute(query, params![number, cwd]).failed("cannot relocate in", &self.file).map(drop)
        })?;
        Ok(self.path_of(self.id_in(path)?))
    }

    fn delete(&self, path: &Path) -> Result<PathBuf> {
        let query = "UPDATE sessions SET deleted = ?2 WHERE number = ?1";
        let number = self.change(path, |writer, number| {
            let row = params![number, Timestamp::now().to_string()];
            writer.execute(query, row).failed("cannot delete", &self.file).map(drop)
        })?;
        Ok(self.place_of(self.id_in(path)?, number))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let queries = ["DELETE FROM records WHERE session = ?1", "DELETE FROM sessions WHERE number = ?1"];
        let number = self.change(path, |writer, number| {
            let remove = |query| writer.execute(query, [number]).failed("cannot remove from", &self.file).map(drop);
            queries.into_iter().try_for_each(remove)
        });
        number.map(drop)
    }

    fn deleted(&self) -> Result<Vec<Deleted>> {
        let Some(database) = self.database()? else { return Ok(Vec::new()) };
        let query = "SELECT id, number FROM sessions WHERE deleted IS NOT NULL ORDER BY number";
        database.rows(query, |row| {
            let id: String = row.get(0)?;
            Ok(Deleted::new(id.clone(), self.place_of(&id, row.get(1)?), self.path_of(&id)))
        })
    }

    fn restore(&self, path: &Path) -> Result<PathBuf> {
        let (id, number) = self.place_in(path)?;
        let database = self.existing(path)?;
        let mut writer = database.writer(WRITER_WAIT, true)?;
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE number = ?1 AND id = ?2 AND deleted IS NOT NULL)";
        let there = writer.query_row(query, params![number, id], |row| row.get(0));
        if !there.failed("cannot restore", &self.file)? {
            return Err(not_deleted(path));
        }
        if live(&database, &writer, id)?.is_some() {
            return Err(already_exists(&self.path_of(id)));
        }
        let query = "UPDATE sessions SET deleted = NULL WHERE number = ?1";
        writer.execute(query, [number]).failed("cannot restore", &self.file)?;
        writer.commit()?;
        Ok(self.path_of(id))
    }
}

/// The row of the session `id` that is not deleted.
fn live(database: &Database, connection: &Connection, id: &str) -> Result<Option<i64>> {
    let query = "SELECT number FROM sessions WHERE id = ?1 AND deleted IS NULL";
    connection.query_row(query, [id], |row| row.get(0)).optional().failed("cannot read", database.file())
}

fn insert_session(database: &Database, writer: &Connection, journal: &NewJournal<'_>) -> Result<()> {
    let header = journal.header;
    let query = "INSERT INTO sessions (id, cwd, parent, created, leaf, modified, bytes, open) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0)";
    let leaf = journal.leaf.map(ToString::to_string);
    let modified = Timestamp::now().as_millis();
    let row = params![header.id.as_str(), journal.cwd, header.parent_session, header.timestamp, leaf, modified];
    writer.execute(query, row).failed("cannot write to", database.file()).map(drop)
}

/// Stores the bytes of a new log, line by line.
struct Lines<'a> {
    database: &'a Database,
    writer: &'a Connection,
    number: i64,
    position: u64,
    line: Vec<u8>,
}

impl Lines<'_> {
    fn push(&mut self, mut bytes: &[u8]) -> Result<()> {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            self.line.extend_from_slice(&bytes[..=at]);
            self.insert()?;
            bytes = &bytes[at + 1..];
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        database::insert_line(self.database, self.writer, self.number, self.position, &self.line)?;
        self.position += self.line.len() as u64;
        self.line.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let open = !self.line.is_empty();
        if open {
            self.insert()?;
        }
        let query = "UPDATE sessions SET bytes = ?2, open = ?3 WHERE number = ?1";
        let row = params![self.number, self.position, open];
        self.writer.execute(query, row).failed("cannot write to", self.database.file()).map(drop)
    }
}
