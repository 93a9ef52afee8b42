//! The files of many sessions: a folder of folders, laid out as pi lays it out (SPEC 1.1).

use std::fs;
use std::path::{Path, PathBuf};

use super::publish::{Draft, create_folders, rename_no_replace, sync_folder};
use super::{FileJournal, naming};
use crate::error::{Error, Result};
use crate::journal::{Backend, Deleted, Journal, Listed, NewJournal, OpenOptions, Sink, absolute};
use crate::model::Timestamp;

/// A folder of sessions.
///
/// The logs are the truth: there is no list that could disagree with them.
#[derive(Clone, Debug)]
pub(crate) struct FileBackend {
    root: PathBuf,
}

impl FileBackend {
    /// The sessions in `root`. Nothing is read, and nothing is made until a session is created.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl Backend for FileBackend {
    fn root(&self) -> PathBuf {
        self.root.clone()
    }

    fn is_path(&self, name: &str) -> bool {
        name.contains('/') || name.ends_with(naming::EXTENSION) || Path::new(name).is_file()
    }

    fn sessions(&self) -> Result<Vec<Listed>> {
        let mut sessions = Vec::new();
        for path in entries(&self.root)? {
            if path.is_dir() {
                // A folder that may not be read hides its sessions; it does not hide the others.
                sessions.extend(entries(&path).unwrap_or_default().into_iter().filter_map(listed));
            } else {
                sessions.extend(listed(path));
            }
        }
        Ok(sessions)
    }

    fn open(&self, path: &Path, options: OpenOptions) -> Result<Box<dyn Journal>> {
        Ok(Box::new(FileJournal::open(path, options)?))
    }

    fn create(&self, journal: &NewJournal<'_>, write: &mut dyn FnMut(&mut Sink<'_>) -> Result<()>) -> Result<PathBuf> {
        let folder = absolute(&self.root)?.join(naming::folder_name(journal.cwd));
        create_folders(&folder)?;
        let mut draft = Draft::start(&folder)?;
        write(&mut |bytes| draft.write(bytes))?;
        let path = folder.join(naming::file_name(journal.header));
        draft.publish(&path)?;
        Ok(path)
    }

    fn relocate(&self, path: &Path, cwd: &str) -> Result<PathBuf> {
        let path = absolute(path)?;
        let root = absolute(&self.root)?;
        // A file that is in no folder of a project stays where its owner put it.
        let folder = path.parent().filter(|folder| folder.parent() == Some(&root));
        let (Some(folder), Some(name)) = (folder, path.file_name()) else { return Ok(path) };
        let home = root.join(naming::folder_name(cwd));
        if folder == home {
            return Ok(path);
        }
        create_folders(&home)?;
        let target = home.join(name);
        rename_no_replace(&path, &target)?;
        sync_folder(&home)?;
        sync_folder(folder)?;
        Ok(target)
    }

    fn is_at_home(&self, path: &Path, cwd: &str) -> bool {
        let folder = path.parent();
        folder == Some(&self.root) || folder.and_then(Path::file_name) == Some(naming::folder_name(cwd).as_ref())
    }

    fn delete(&self, path: &Path) -> Result<PathBuf> {
        super::trash::delete(&absolute(path)?)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let path = absolute(path)?;
        fs::remove_file(&path).map_err(|error| Error::io("cannot remove", &path, error))?;
        sync_folder(path.parent().unwrap_or(Path::new(".")))
    }

    fn deleted(&self) -> Result<Vec<Deleted>> {
        super::trash::deleted(&self.root)
    }

    fn restore(&self, path: &Path) -> Result<PathBuf> {
        super::trash::restore(&absolute(path)?)
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

/// The file at `path` if it may be a session.
fn listed(path: PathBuf) -> Option<Listed> {
    path.to_str().filter(|path| path.ends_with(naming::EXTENSION))?;
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let id = naming::id_in_file_name(&path).map(str::to_owned);
    let modified = modified(&metadata);
    Some(Listed::new(path, id, modified, metadata.len()))
}

fn modified(metadata: &fs::Metadata) -> Option<Timestamp> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}
