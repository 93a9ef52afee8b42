//! Deleting to a trash folder, and restoring (SPEC 8.1, 8.5).

use std::fs;
use std::path::{Path, PathBuf};

use super::find::entries;
use super::summary::header_of;
use super::{Store, naming};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{create_folders, rename_no_replace, sync_folder};
use crate::model::Timestamp;

/// The trash is in each folder of sessions, so deleting and restoring are renames.
const TRASH: &str = ".trash";

/// What stands between a deleted file's name and the time; with it no reader takes the file for a session.
const MARK: &str = ".deleted-";

/// A session in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// Its id.
    pub id: String,
    /// The file in the trash.
    pub path: PathBuf,
    /// Where it was.
    pub original: PathBuf,
}

impl Store {
    /// Moves a session to the trash folder beside it; returns where it is now. Handles on it report that it is gone.
    ///
    /// # Errors
    ///
    /// As [`Store::find`]; [`ErrorKind::NotASession`] if the file is none, [`ErrorKind::Denied`] if the folder cannot
    /// be written.
    pub fn delete(&self, name: &str) -> Result<PathBuf> {
        let path = self.deletable(name)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let trash = folder.join(TRASH);
        create_folders(&trash)?;
        let time = Timestamp::now().to_string().replace([':', '.'], "-");
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let target = trash.join(format!("{file_name}{MARK}{time}"));
        rename_no_replace(&path, &target)?;
        sync_folder(folder)?;
        sync_folder(&trash)?;
        Ok(target)
    }

    /// Removes a session for good.
    ///
    /// # Errors
    ///
    /// As [`Store::delete`].
    pub fn remove(&self, name: &str) -> Result<PathBuf> {
        let path = self.deletable(name)?;
        fs::remove_file(&path).map_err(|error| Error::io("cannot remove", &path, error))?;
        sync_folder(path.parent().unwrap_or(Path::new(".")))?;
        Ok(path)
    }

    fn deletable(&self, name: &str) -> Result<PathBuf> {
        let path = naming::absolute(&self.find(name)?)?;
        fs::metadata(&path).map_err(|error| Error::io("cannot delete", &path, error))?;
        match header_of(&path) {
            Some(_) => Ok(path),
            None => Err(Error::new(ErrorKind::NotASession, "not a session, so it is left alone:").at(path)),
        }
    }

    /// The sessions in the trash, by path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`] if the store's folder cannot be read.
    pub fn deleted(&self) -> Result<Vec<Deleted>> {
        let mut folders = vec![self.root.clone()];
        folders.extend(entries(&self.root)?.into_iter().filter(|path| path.is_dir()));
        let mut deleted = Vec::new();
        for folder in folders {
            let trash = folder.join(TRASH);
            deleted.extend(entries(&trash).unwrap_or_default().iter().filter_map(|path| in_trash(path)));
        }
        Ok(deleted)
    }

    /// Puts a deleted session back where it was; `name` is its path in the trash, its id, or a part of that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Invalid`] if several fit; [`ErrorKind::AlreadyExists`] if another session
    /// is at its place by now.
    pub fn restore(&self, name: &str) -> Result<PathBuf> {
        let session = if name.contains('/') {
            let path = naming::absolute(Path::new(name))?;
            let found = in_trash(&path).filter(|deleted| deleted.path.is_file());
            found.ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no deleted session at").at(path))?
        } else {
            self.find_deleted(name)?
        };
        rename_no_replace(&session.path, &session.original)?;
        sync_folder(session.original.parent().unwrap_or(Path::new(".")))?;
        Ok(session.original)
    }

    fn find_deleted(&self, name: &str) -> Result<Deleted> {
        let fits = |session: &Deleted| session.id.starts_with(name) || session.id.ends_with(name);
        let mut found: Vec<_> = self.deleted()?.into_iter().filter(fits).collect();
        match found.len() {
            0 => {
                let message = format!("there is no deleted session {name:?} in");
                Err(Error::new(ErrorKind::NotFound, message).at(&self.root))
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

/// What a file in a trash folder was.
fn in_trash(path: &Path) -> Option<Deleted> {
    let name = path.file_name()?.to_str()?;
    let (original, _) = name.rsplit_once(MARK)?;
    let trash = path.parent().filter(|folder| folder.ends_with(TRASH))?;
    let original = trash.parent()?.join(original);
    let id = naming::id_in_file_name(&original)?.to_owned();
    Some(Deleted { id, path: path.to_owned(), original })
}
