//! Finding sessions by name (SPEC 8.1).

use std::path::{Path, PathBuf};

use super::summary::header_of;
use super::{ListOptions, Store};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::Listed;
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
        if self.backend.is_path(name) {
            return Ok(PathBuf::from(name));
        }
        if name.is_empty() {
            return Err(Error::invalid("a session is named by a path, an id, or a part of an id"));
        }
        let sessions = self.backend.sessions()?;
        let by_name = |session: &&Listed| session.id.as_ref().is_some_and(|id| fits(id, name));
        let candidates = self.with_ids(sessions.iter().filter(by_name), name);
        // A file may have been renamed: then only its header knows the id.
        let candidates = if candidates.is_empty() { self.with_ids(sessions.iter(), name) } else { candidates };
        let exact: Vec<_> = candidates.iter().filter(|(id, _)| id == name).collect();
        match (exact.as_slice(), candidates.as_slice()) {
            ([(_, path)], _) | ([], [(_, path)]) => Ok(path.clone()),
            ([], []) => {
                let message = format!("there is no session {name:?} in");
                Err(Error::new(ErrorKind::NotFound, message).at(self.root()))
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
            Error::new(ErrorKind::NotFound, message).at(self.root())
        })
    }

    pub(super) fn check_id_is_free(&self, id: &SessionId) -> Result<()> {
        match self.backend.sessions()?.into_iter().find(|session| session.id.as_deref() == Some(id.as_str())) {
            Some(session) => {
                Err(Error::new(ErrorKind::AlreadyExists, format!("the session {id} exists")).at(session.path))
            }
            None => Ok(()),
        }
    }

    fn with_ids<'a>(&self, sessions: impl Iterator<Item = &'a Listed>, name: &str) -> Vec<(String, PathBuf)> {
        let with_id = |session: &Listed| {
            let journal = self.journal(&session.path).ok()?;
            Some((header_of(&*journal.contents())?.id.to_string(), session.path.clone()))
        };
        sessions.filter_map(with_id).filter(|(id, _)| fits(id, name)).collect()
    }
}

/// Whether `name` is the id or a part of it that names it.
pub(super) fn fits(id: &str, name: &str) -> bool {
    id.starts_with(name) || id.ends_with(name)
}

fn ambiguous(name: &str, candidates: &[(String, PathBuf)]) -> Error {
    let mut shown: Vec<_> = candidates.iter().take(CANDIDATES_SHOWN_MAX).map(|(id, _)| id.as_str()).collect();
    if candidates.len() > CANDIDATES_SHOWN_MAX {
        shown.push("…");
    }
    let count = candidates.len();
    Error::invalid(format!("{name:?} fits {count} sessions ({}); give more of the id, or the path", shown.join(", ")))
}
