//! Deleting and restoring (SPEC 8.1, 8.5).

use std::path::PathBuf;

use super::Store;
use super::find::fits;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::Deleted;

impl Store {
    /// Moves a session to the trash; returns what names it there. On files that is a folder beside it. Handles on it
    /// report that it is gone.
    ///
    /// # Errors
    ///
    /// As [`Store::find`]; [`ErrorKind::NotASession`] if the file is none, [`ErrorKind::Denied`] if the folder cannot
    /// be written.
    pub fn delete(&self, name: &str) -> Result<PathBuf> {
        self.backend.delete(&self.deletable(name)?)
    }

    /// Removes a session for good.
    ///
    /// # Errors
    ///
    /// As [`Store::delete`].
    pub fn remove(&self, name: &str) -> Result<PathBuf> {
        let path = self.deletable(name)?;
        self.backend.remove(&path)?;
        Ok(path)
    }

    fn deletable(&self, name: &str) -> Result<PathBuf> {
        let journal = self.journal(&self.find(name)?)?;
        match super::summary::header_of(&*journal.contents()) {
            Some(_) => Ok(journal.path()),
            None => Err(Error::new(ErrorKind::NotASession, "not a session, so it is left alone:").at(journal.path())),
        }
    }

    /// The sessions in the trash, by path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`] if the store's folder cannot be read.
    pub fn deleted(&self) -> Result<Vec<Deleted>> {
        self.backend.deleted()
    }

    /// Puts a deleted session back where it was; `name` is its path in the trash, its id, or a part of that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Invalid`] if several fit; [`ErrorKind::AlreadyExists`] if another session
    /// is at its place by now.
    pub fn restore(&self, name: &str) -> Result<PathBuf> {
        let path = if self.backend.is_path(name) { PathBuf::from(name) } else { self.find_deleted(name)?.path };
        self.backend.restore(&path)
    }

    fn find_deleted(&self, name: &str) -> Result<Deleted> {
        let mut found: Vec<_> = self.deleted()?.into_iter().filter(|session| fits(&session.id, name)).collect();
        match found.len() {
            0 => {
                let message = format!("there is no deleted session {name:?} in");
                Err(Error::new(ErrorKind::NotFound, message).at(self.root()))
            }
            1 => Ok(found.remove(0)),
            count => {
                let message =
                    format!("{name:?} fits {count} deleted sessions; give the path, as `list --deleted` shows it");
                Err(Error::invalid(message))
            }
        }
    }
}
