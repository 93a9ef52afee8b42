//! The file of a database, as far as it may be touched from outside of the database's own library.
//!
//! A live database file is never opened here: closing any descriptor of it would drop the POSIX locks that this
//! process holds through others.

use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use parking_lot::Mutex;

use super::log_file::{self, Identity};
use super::publish::{FILE_MODE, create_folders, sync_folder};
use super::{file_system, gone_or};
use crate::error::{Error, ErrorKind, Result};

/// The databases that this process has open, and how often.
static LIVE: Mutex<BTreeMap<Identity, usize>> = Mutex::new(BTreeMap::new());

/// Whether this process has the file open as a database.
pub(super) fn is_live_database(identity: Identity) -> bool {
    LIVE.lock().contains_key(&identity)
}

/// Says that a file is open as a database, until it is dropped.
pub(crate) struct LiveDatabase(Identity);

impl LiveDatabase {
    pub(crate) fn new(identity: Identity) -> Self {
        *LIVE.lock().entry(identity).or_default() += 1;
        Self(identity)
    }
}

impl Drop for LiveDatabase {
    fn drop(&mut self) {
        let mut live = LIVE.lock();
        if let Some(count) = live.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                live.remove(&self.0);
            }
        }
    }
}

/// Makes an empty file, private and durable, for a database to be in, unless there is one.
pub(crate) fn create_database_file(path: &Path) -> Result<()> {
    // One thread at a time: while the new file is open here, nobody of this process can have opened it as a database.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock();
    let failed = |error| Error::io("cannot create", path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folders(folder)?;
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Ok(file) => {
            // Set again: the process's umask has no say in it.
            file.set_permissions(Permissions::from_mode(FILE_MODE)).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            sync_folder(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Which file is at `path`; `None` if there is none.
pub(crate) fn database_identity(path: &Path) -> Result<Option<Identity>> {
    match log_file::status(path) {
        Ok(status) => Ok(Some(status.identity)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fails unless the file at `path` is still the one that was opened.
pub(crate) fn check_database_in_place(path: &Path, identity: Identity) -> Result<()> {
    let status = log_file::status(path).map_err(|error| gone_or(error, path))?;
    if status.identity == identity {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Gone, "the database was replaced under this handle; open it again:").at(path))
}

/// Fails if the database's folder is on a file system that other machines or processes serve (SPEC 7.1).
pub(crate) fn check_database_file_system(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match file_system::shared_file_system_at(folder) {
        Some(name) => Err(file_system::not_safe(name).at(path)),
        None => Ok(()),
    }
}
