//! Listing sessions (SPEC 8.1).

use std::fs;
use std::path::{Path, PathBuf};

use super::summary::Summary;
use super::{Store, naming};
use crate::error::Result;
use crate::model::{SessionId, Timestamp};

/// What a list says of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The id of the header; of a file without one, what its name says.
    pub id: SessionId,
    /// The file.
    pub path: PathBuf,
    /// The version of its format; `None` without a header.
    pub version: Option<u64>,
    /// The project's folder; empty if the header names none.
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
    /// The file's size.
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

    /// As [`Store::list`]; `progress` is told how many files of how many were looked at.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub fn list_with_progress(
        &self,
        options: &ListOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<SessionInfo>> {
        let files = self.files()?;
        let cwd = options.cwd.as_deref().map(naming::absolute).transpose()?;
        let mut sessions = Vec::new();
        for (count, path) in files.iter().enumerate() {
            progress(count, files.len());
            let session = info(path, options.exact);
            if cwd.as_ref().is_none_or(|cwd| is_project(&session, cwd)) {
                sessions.push(session);
            }
        }
        progress(files.len(), files.len());
        sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
        Ok(sessions)
    }
}

fn is_project(session: &SessionInfo, cwd: &Path) -> bool {
    !session.cwd.is_empty() && Path::new(&session.cwd) == cwd
}

fn info(path: &Path, exact: bool) -> SessionInfo {
    // A file that cannot be read is in the list all the same.
    let summary = Summary::read(path, exact).unwrap_or_else(|_| Summary::unreadable());
    let metadata = fs::metadata(path).ok();
    let header = summary.header.as_ref();
    let created = header.and_then(crate::model::Header::created);
    let file_time = || metadata.as_ref().and_then(modified_time).unwrap_or(Timestamp::from_millis(0));
    let id = header.map_or_else(
        || SessionId::from_stored(naming::id_in_file_name(path).unwrap_or_default().to_owned()),
        |header| header.id.clone(),
    );
    SessionInfo {
        id,
        path: path.to_owned(),
        version: header.map(|header| header.version),
        cwd: header.map(|header| header.cwd.clone()).unwrap_or_default(),
        modified: summary.last_message.or(created).unwrap_or_else(file_time),
        created,
        bytes: metadata.as_ref().map_or(0, fs::Metadata::len),
        parent: header.and_then(|header| header.parent_session.clone()),
        name: summary.name,
        first_message: summary.first_message,
        messages: summary.messages,
        damaged: summary.damaged,
        format: summary.other_format,
    }
}

fn modified_time(metadata: &fs::Metadata) -> Option<Timestamp> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}
