//! Sessions whose project has moved (SPEC 8.1).

use std::path::{Path, PathBuf};

use super::{Store, project_folder};
use crate::error::Result;

impl Store {
    /// Records that the session that `name` names belongs to the project in the folder `cwd` now, and puts it to the
    /// sessions of that project; returns what opens it then. The id stays, and so do the bytes: an entry is added.
    ///
    /// On files the log moves to the folder of the project's sessions, so that programs that look there find it. A
    /// handle that is open on it fails its next append with [`ErrorKind::Gone`](crate::ErrorKind::Gone), and has to be
    /// opened again.
    ///
    /// # Errors
    ///
    /// As [`Store::open`] and [`Session::set_cwd`](crate::Session::set_cwd).
    pub fn relocate(&self, name: &str, cwd: impl AsRef<Path>) -> Result<PathBuf> {
        let session = self.open(name)?;
        let cwd = project_folder(cwd.as_ref())?;
        if session.cwd() != cwd {
            session.set_cwd(&cwd)?;
        }
        // ORDER: what the log says first; a session that is said to be elsewhere than it is can be found.
        self.backend.relocate(&session.path(), &cwd.to_string_lossy())
    }
}
