//! Finding text in all sessions (SPEC 8.1).

use std::path::PathBuf;

use super::{ListOptions, Store};
use crate::error::{Error, Result};
use crate::session::{Hit, Search, Session};

impl Store {
    /// Finds what `search` looks for in the sessions that `options` name, newest first, and gives each match to `visit`,
    /// which says whether to go on. Memory does not follow the number of matches.
    ///
    /// Returns the sessions that could not be searched, each with the reason: they do not keep the others from it.
    ///
    /// # Errors
    ///
    /// As [`Store::list`], and what `visit` returns.
    pub fn search(
        &self,
        search: &Search,
        options: &ListOptions,
        visit: &mut dyn FnMut(&Session, Hit) -> Result<bool>,
    ) -> Result<Vec<(PathBuf, Error)>> {
        self.search_with_progress(search, options, &mut |_, _| {}, visit)
    }

    /// As [`Store::search`]; `progress` is told how many sessions of how many were searched.
    ///
    /// # Errors
    ///
    /// As [`Store::search`].
    pub fn search_with_progress(
        &self,
        search: &Search,
        options: &ListOptions,
        progress: &mut dyn FnMut(usize, usize),
        visit: &mut dyn FnMut(&Session, Hit) -> Result<bool>,
    ) -> Result<Vec<(PathBuf, Error)>> {
        let mut failures = Vec::new();
        let sessions = self.list(options)?;
        let count = sessions.len();
        for (number, listed) in sessions.into_iter().enumerate() {
            progress(number, count);
            let session = match listed.path.to_str().map(|path| self.open(path)) {
                Some(Ok(session)) => session,
                Some(Err(error)) => {
                    failures.push((listed.path, error));
                    continue;
                }
                None => {
                    failures.push((listed.path, Error::invalid("a path that is not UTF-8")));
                    continue;
                }
            };
            for hit in session.search(search)? {
                match hit.map(|hit| visit(&session, hit)) {
                    Ok(Ok(true)) => {}
                    Ok(Ok(false)) => return Ok(failures),
                    Ok(Err(error)) => return Err(error),
                    Err(error) => {
                        failures.push((listed.path, error));
                        break;
                    }
                }
            }
        }
        Ok(failures)
    }
}
