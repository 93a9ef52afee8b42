//! Sessions from elsewhere, byte for byte (SPEC 8.3).

use std::io::Read as _;

use super::Store;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{NewJournal, Sink};
use crate::model::SessionId;
use crate::session::Session;

/// How much is copied at once.
const CHUNK_BYTES: usize = 1 << 20;

impl Store {
    /// Copies `source`, a session of another store, into this one: the same id, the same bytes. The source stays.
    ///
    /// What is copied is what `source` has replayed, a consistent prefix of its log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if this store has the session; [`ErrorKind::Invalid`] if its id is none that a store
    /// can hold; and as [`Store::create`]. Nothing is left behind.
    pub fn copy(&self, source: &Session) -> Result<Session> {
        let header = source.header();
        // A file's header may say anything; here it becomes a name.
        let id = SessionId::parse(header.id.as_str())?;
        self.check_id_is_free(&id)?;
        let leaf = source.stored_leaf();
        let cwd = source.cwd();
        let journal = NewJournal::new(&header, leaf.as_ref());
        let journal = journal.cwd(cwd.to_str().unwrap_or(&header.cwd));
        self.publish(&journal, &mut |sink| copy_log(source, sink))
    }
}

fn copy_log(source: &Session, sink: &mut Sink<'_>) -> Result<()> {
    let mut log = source.log();
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let count = log
            .read(&mut buffer)
            .map_err(|error| Error::new(ErrorKind::Io, "cannot read all of").at(source.path()).with_source(error))?;
        if count == 0 {
            return Ok(());
        }
        sink(&buffer[..count])?;
    }
}
