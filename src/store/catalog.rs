//! Listing sessions (SPEC 8.1).

use std::path::{Path, PathBuf};

use super::summary::Summary;
use super::{Store, project_folder};
use crate::error::Result;
use crate::journal::Listed;
use crate::model::{Header, SessionId, Timestamp};

/// What a list says of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The id of the header; of a file without one, what its name says.
    pub id: SessionId,
    /// What opens it: the file, or a name that its backend has for it.
    pub path: PathBuf,
    /// The version of its format; `None` without a header.
    pub version: Option<u64>,
    /// The project's folder, where it was relocated to last; empty if the header names none.
    pub cwd: String,
    /// The name; unknown (`None`) if it is set in the middle of a large file, unless the list is exact.
    pub name: Option<String>,
    /// The text of the user's first message.
    pub first_message: Option<String>,
    /// How many messages there are; `None` if the file was not read whole.
    pub messages: Option<u64>,
    /// The time of the last message of the user or the assistant, else of the header, else of the file.
    pub modified: Timestamp,
    /// When the session was made.
    pub created: Option<Timestamp>,
    /// How many bytes its log has.
    pub bytes: u64,
    /// The session that this one was forked from.
    pub parent: Option<String>,
    /// Whether damage was seen, or the file is not a session at all.
    pub damaged: bool,
    /// The name of the format, if it is one that this build does not read.
    pub format: Option<String>,
}

/// What a list holds.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    cwd: Option<PathBuf>,
    exact: bool,
}

impl ListOptions {
    /// All sessions of the store, from the beginnings and ends of their files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only those of the project in `cwd`, as their headers say (field report G8).
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Whether to read every file whole, so that counts and names are never unknown.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

impl Store {
    /// The sessions, newest first by the time of their last message. Writes nothing (SPEC 1.4).
    ///
    /// A damaged or foreign file is in the list, marked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) if the store's folder cannot be read.
    pub fn list(&self, options: &ListOptions) -> Result<Vec<SessionInfo>> {
        self.list_with_progress(options, &mut |_, _| {})
    }

    /// As [`Store::list`]; `progress` is told how many sessions of how many were looked at.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub fn list_with_progress(
        &self,
        options: &ListOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<SessionInfo>> {
        let listed = self.backend.sessions()?;
        let cwd = options.cwd.as_deref().map(project_folder).transpose()?;
        let mut sessions = Vec::new();
        for (count, session) in listed.iter().enumerate() {
            progress(count, listed.len());
            let session = self.info(session, options.exact);
            if cwd.as_ref().is_none_or(|cwd| is_project(&session, cwd)) {
                sessions.push(session);
            }
        }
        progress(listed.len(), listed.len());
        sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
        Ok(sessions)
    }
}

fn is_project(session: &SessionInfo, cwd: &Path) -> bool {
    !session.cwd.is_empty() && Path::new(&session.cwd) == cwd
}

impl Store {
    fn summary(&self, listed: &Listed, exact: bool) -> Result<Summary> {
        let log = self.journal(&listed.path)?.contents();
        let summary = Summary::read(&*log, exact)?;
        let known = listed.cwd.is_some() || summary.cwd.is_some() || exact;
        let relocated = |header: &Header| !known && !self.backend.is_at_home(&listed.path, &header.cwd);
        // Where to is said somewhere in the log.
        if summary.header.as_ref().is_some_and(relocated) { Summary::read(&*log, true) } else { Ok(summary) }
    }

    fn info(&self, listed: &Listed, exact: bool) -> SessionInfo {
        // A log that cannot be read is in the list all the same.
        let summary = self.summary(listed, exact).unwrap_or_else(|_| Summary::unreadable());
        let header = summary.header.as_ref();
        let cwd = listed.cwd.clone().or(summary.cwd).or_else(|| header.map(|header| header.cwd.clone()));
        let created = header.and_then(Header::created);
        let id = header
            .map_or_else(|| SessionId::from_stored(listed.id.clone().unwrap_or_default()), |header| header.id.clone());
        let written = || listed.modified.unwrap_or(Timestamp::from_millis(0));
        SessionInfo {
            id,
            path: listed.path.clone(),
            version: header.map(|header| header.version),
            cwd: cwd.unwrap_or_default(),
            modified: summary.last_message.or(created).unwrap_or_else(written),
            created,
            bytes: listed.bytes,
            parent: header.and_then(|header| header.parent_session.clone()),
            name: summary.name,
            first_message: summary.first_message,
            messages: summary.messages,
            damaged: summary.damaged,
            format: summary.other_format,
        }
    }
}
