//! Finding sessions by name (SPEC 8.1).

use std::fs;
use std::path::{Path, PathBuf};

use super::summary::header_of;
use super::{ListOptions, Store, naming};
use crate::error::{Error, ErrorKind, Result};
use crate::model::SessionId;

/// How many sessions an ambiguous name lists.
const CANDIDATES_SHOWN_MAX: usize = 5;

impl Store {
    /// The path of the session that `name` names: a path, an id, or a prefix or suffix of ids that fits one only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Invalid`] if several sessions fit.
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        let path = Path::new(name);
        if name.contains('/') || name.ends_with(naming::EXTENSION) || path.is_file() {
            return Ok(path.to_owned());
        }
        if name.is_empty() {
            return Err(Error::invalid("a session is named by a path, an id, or a part of an id"));
        }
        let files = self.files()?;
        let by_name = |path: &&PathBuf| naming::id_in_file_name(path).is_some_and(|id| fits(id, name));
        let candidates = with_ids(files.iter().filter(by_name), name);
        // A file may have been renamed: then only its header knows the id.
        let candidates = if candidates.is_empty() { with_ids(files.iter(), name) } else { candidates };
        let exact: Vec<_> = candidates.iter().filter(|(id, _)| id == name).collect();
        match (exact.as_slice(), candidates.as_slice()) {
            ([(_, path)], _) | ([], [(_, path)]) => Ok(path.clone()),
            ([], []) => {
                let message = format!("there is no session {name:?} in");
                Err(Error::new(ErrorKind::NotFound, message).at(&self.root))
            }
            _ => Err(ambiguous(name, &candidates)),
        }
    }

    /// The path of the session with the newest message among those of the project `cwd`, or of the whole store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub fn latest(&self, cwd: Option<&Path>) -> Result<PathBuf> {
        let options = ListOptions::new();
        let options = match cwd {
            Some(cwd) => options.cwd(cwd),
            None => options,
        };
        let newest = self
            .list(&options)?
            .into_iter()
            .find(|session| session.format.is_none() && (session.created.is_some() || !session.damaged));
        newest.map(|session| session.path).ok_or_else(|| {
            let message = match cwd {
                Some(cwd) => format!("there is no session of the project {} in", cwd.display()),
                None => "there is no session in".to_owned(),
            };
            Error::new(ErrorKind::NotFound, message).at(&self.root)
        })
    }

    /// All files that may be sessions: in the root and in its folders, by name.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for path in entries(&self.root)? {
            if path.is_dir() {
                // A folder that may not be read hides its sessions; it does not hide the others.
                files.extend(entries(&path).unwrap_or_default().into_iter().filter(|path| is_session(path)));
            } else if is_session(&path) {
                files.push(path);
            }
        }
        Ok(files)
    }

    pub(super) fn check_id_is_free(&self, id: &SessionId) -> Result<()> {
        match self.files()?.into_iter().find(|path| naming::id_in_file_name(path) == Some(id.as_str())) {
            Some(path) => Err(Error::new(ErrorKind::AlreadyExists, format!("the session {id} exists")).at(path)),
            None => Ok(()),
        }
    }
}

/// What is in a folder, sorted; nothing if there is no such folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Error::io("cannot list the folder", folder, error);
    let read = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in read {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn is_session(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(naming::EXTENSION)) && path.is_file()
}

fn fits(id: &str, name: &str) -> bool {
    id.starts_with(name) || id.ends_with(name)
}

fn with_ids<'a>(files: impl Iterator<Item = &'a PathBuf>, name: &str) -> Vec<(String, PathBuf)> {
    let with_id = |path: &PathBuf| Some((header_of(path)?.id.to_string(), path.clone()));
    files.filter_map(with_id).filter(|(id, _)| fits(id, name)).collect()
}

fn ambiguous(name: &str, candidates: &[(String, PathBuf)]) -> Error {
    let mut shown: Vec<_> = candidates.iter().take(CANDIDATES_SHOWN_MAX).map(|(id, _)| id.as_str()).collect();
    if candidates.len() > CANDIDATES_SHOWN_MAX {
        shown.push("…");
    }
    let count = candidates.len();
    Error::invalid(format!("{name:?} fits {count} sessions ({}); give more of the id, or the path", shown.join(", ")))
}
