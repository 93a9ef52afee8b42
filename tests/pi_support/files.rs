//! The bytes and times of files, to see that nobody touched them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Keeps the folders of a run, to look into them.
const KEEP_VARIABLE: &str = "LEAFLOG_PI_KEEP";

/// A folder that is there as long as the value.
pub(crate) fn temporary_folder() -> tempfile::TempDir {
    let mut folder = tempfile::tempdir().unwrap();
    if std::env::var_os(KEEP_VARIABLE).is_some() {
        folder.disable_cleanup(true);
        println!("kept: {}", folder.path().display());
    }
    folder
}

/// Every session file below a folder: its bytes and its time of change.
#[derive(PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, (Vec<u8>, SystemTime)>);

impl Snapshot {
    pub(crate) fn of(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        for path in sessions(root) {
            let bytes = fs::read(&path).unwrap();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path, (bytes, modified));
        }
        Self(files)
    }

    /// The files that are not as they were, or are not there in one of the two.
    pub(crate) fn changed_since<'a>(&'a self, before: &'a Self) -> Vec<&'a PathBuf> {
        let all = self.0.keys().chain(before.0.keys().filter(|path| !self.0.contains_key(*path)));
        all.filter(|path| self.0.get(*path) != before.0.get(*path)).collect()
    }
}

/// The session files in the folders of `root`, by name.
pub(crate) fn sessions(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")));
    }
    found.sort();
    found
}

/// CRC-32 (IEEE), bit by bit: an implementation of its own, to check seals with.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}

/// Checks the seal of a line by SPEC 1.2 and nothing else; `None` if it has none.
pub(crate) fn seal_of(line: &[u8]) -> Option<SealOfLine> {
    let tail_at = line.len().checked_sub(r#","prev":"00000000","crc":"00000000"}"#.len())?;
    let tail = std::str::from_utf8(&line[tail_at..]).ok()?;
    let (prev, rest) = tail.strip_prefix(r#","prev":""#)?.split_at_checked(8)?;
    let crc = rest.strip_prefix(r#"","crc":""#)?.strip_suffix(r#""}"#)?;
    let covered = line.len() - r#","crc":"00000000"}"#.len();
    let right = format!("{:08x}", crc32(&line[..covered])) == crc;
    Some(SealOfLine { prev: prev.to_owned(), right })
}

pub(crate) struct SealOfLine {
    pub(crate) prev: String,
    /// Whether the checksum is that of the bytes before it.
    pub(crate) right: bool,
}
