//! New files: complete and durable under a temporary name first, then published without replacing anything (SPEC 2.6).

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::error::{Error, Result};

/// Sessions are private: only their owner may read them (SPEC 1.7).
pub(super) const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// A file that is being written and is not published yet. Dropping it removes it.
pub(super) struct Draft {
    path: PathBuf,
    file: io::BufWriter<File>,
    published: bool,
}

impl Draft {
    /// Starts a file in `folder`, under a name that no reader takes for a session.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let path = folder.join(format!(".{}.tmp", Uuid::new_v4().simple()));
        // Appending, since a swapped log is finished when others may append to it already.
        let file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(&path);
        let file = file.map_err(|error| Error::io("cannot create a file in", folder, error))?;
        let draft = Self { path, file: io::BufWriter::with_capacity(1 << 20, file), published: false };
        // Set again: the process's umask has no say in it.
        let permissions = draft.file.get_ref().set_permissions(Permissions::from_mode(FILE_MODE));
        permissions.map_err(|error| Error::io("cannot create a file in", folder, error))?;
        Ok(draft)
    }

    /// Adds bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::io("cannot write", &self.path, error))
    }

    /// Makes durable what was written so far.
    pub(super) fn sync(&mut self) -> Result<()> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| Error::io("cannot write", &self.path, error))
    }

    /// Gives the file to the owner (user and group) of the log whose place it takes.
    pub(super) fn give_to(&self, owner: (u32, u32)) -> Result<()> {
        let file = self.file.get_ref();
        let failed = |error| Error::io("cannot keep the owner of the log in", &self.path, error);
        let metadata = file.metadata().map_err(failed)?;
        if (metadata.uid(), metadata.gid()) == owner {
            return Ok(());
        }
        std::os::unix::fs::fchown(file, Some(owner.0), Some(owner.1)).map_err(failed)
    }

    /// Takes the writer's lock on the file, until what is returned is dropped with the draft itself.
    pub(super) fn lock(&self) -> Result<DraftLock> {
        let locked = self.file.get_ref().try_clone().and_then(|file| {
            fs2::FileExt::try_lock_exclusive(&file)?;
            Ok(DraftLock(file))
        });
        locked.map_err(|error| Error::io("cannot lock", &self.path, error))
    }

    /// Gives the file the name of a log that is there. Durable when the folder was synced.
    pub(super) fn replace(&mut self, path: &Path) -> Result<()> {
        fs::rename(&self.path, path).map_err(|error| Error::io("cannot replace", path, error))?;
        self.published = true;
        Ok(())
    }

    /// Gives the file its name, durably. Fails if the name is taken.
    pub(super) fn publish(mut self, path: &Path) -> Result<()> {
        // ORDER: content before name, or a power cut could leave the name with nothing behind it.
        self.sync()?;
        rename_no_replace(&self.path, path)?;
        self.published = true;
        sync_folder(path.parent().unwrap_or(Path::new(".")))
    }
}

/// The held lock on a draft.
pub(super) struct DraftLock(File);

impl Drop for DraftLock {
    fn drop(&mut self) {
        // If the unlock fails, closing the draft unlocks it.
        let _ = fs2::FileExt::unlock(&self.0);
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // If this fails the file stays as one that no reader looks at.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames `from` to `to` unless something is there already.
pub(super) fn rename_no_replace(from: &Path, to: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot create", to, error);
    match try_rename_no_replace(from, to) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => {
            fs::hard_link(from, to).map_err(failed)?;
            fs::remove_file(from).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn try_rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn try_rename_no_replace(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates `folder` and what is missing above it, private and durable.
pub(super) fn create_folders(folder: &Path) -> Result<()> {
    let mut missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    missing.retain(|folder| !folder.as_os_str().is_empty());
    for folder in missing.into_iter().rev() {
        let failed = |error| Error::io("cannot create the folder", folder, error);
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)).map_err(failed)?,
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(failed(error)),
        }
        if let Some(parent) = folder.parent() {
            sync_folder(parent)?;
        }
    }
    if folder.is_dir() {
        return Ok(());
    }
    Err(Error::io("cannot use as a folder", folder, io::ErrorKind::NotADirectory.into()))
}

/// Makes the names in `folder` durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::io("cannot sync the folder", folder, error))
}
