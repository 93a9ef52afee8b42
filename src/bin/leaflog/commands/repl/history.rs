//! The lines of earlier times.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use rustyline::history::FileHistory;
use rustyline::{Editor, Helper};

/// Only the owner may read what was typed.
const FOLDER_MODE: u32 = 0o700;

/// Loads the history; returns where it is. Without one the repl works all the same.
pub(super) fn load<H: Helper>(editor: &mut Editor<H, FileHistory>) -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    let folder = strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("leaflog");
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&folder).ok()?;
    let file = folder.join("history");
    // There is none the first time.
    let _ = editor.load_history(&file);
    Some(file)
}

/// Adds this session's lines, in a file that only its owner can read.
pub(super) fn save<H: Helper>(editor: &mut Editor<H, FileHistory>, file: Option<&Path>) {
    if let Some(file) = file {
        // Lost lines of a history are not worth an error at leaving.
        let _ = editor.append_history(file);
    }
}
