//! Deleting to a trash folder, and restoring (SPEC 8.1, 8.5).

use std::path::{Path, PathBuf};

use super::folder::entries;
use super::naming;
use super::publish::{create_folders, rename_no_replace, sync_folder};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::Deleted;
use crate::model::Timestamp;

/// The trash is in each folder of sessions, so deleting and restoring are renames.
const TRASH: &str = ".trash";

/// What stands between a deleted file's name and the time; with it no reader takes the file for a session.
const MARK: &str = ".deleted-";

/// Moves the session at `path` to the trash folder beside it; returns where it is now.
pub(super) fn delete(path: &Path) -> Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let trash = folder.join(TRASH);
    create_folders(&trash)?;
    let time = Timestamp::now().to_string().replace([':', '.'], "-");
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let target = trash.join(format!("{file_name}{MARK}{time}"));
    rename_no_replace(path, &target)?;
    sync_folder(folder)?;
    sync_folder(&trash)?;
    Ok(target)
}

/// The sessions in the trash folders of `root`, by path.
pub(super) fn deleted(root: &Path) -> Result<Vec<Deleted>> {
    let mut folders = vec![root.to_owned()];
    folders.extend(entries(root)?.into_iter().filter(|path| path.is_dir()));
    let mut deleted = Vec::new();
    for folder in folders {
        let trash = folder.join(TRASH);
        deleted.extend(entries(&trash).unwrap_or_default().iter().filter_map(|path| in_trash(path)));
    }
    Ok(deleted)
}

/// Puts the file at `path` in the trash back where it was.
pub(super) fn restore(path: &Path) -> Result<PathBuf> {
    let session = in_trash(path).filter(|deleted| deleted.path.is_file());
    let session = session.ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no deleted session at").at(path))?;
    rename_no_replace(&session.path, &session.original)?;
    sync_folder(session.original.parent().unwrap_or(Path::new(".")))?;
    Ok(session.original)
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
