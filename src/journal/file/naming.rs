//! Names of folders and files, as pi gives them (SPEC 1.1).

use std::path::Path;

use crate::codec::checksum::Checksum;
use crate::model::Header;

/// Encrypting file systems allow no longer names.
const NAME_BYTES_MAX: usize = 143;

/// What the names of sessions end with. Nothing else in a store ends so (SPEC 2.6).
pub(super) const EXTENSION: &str = ".jsonl";

/// The folder for the sessions of a project: `--home-me-project--`. Not injective, which is why a project is known
/// by the header's `cwd` and never by this name.
pub(super) fn folder_name(cwd: &str) -> String {
    let readable = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd).replace(['/', '\\', ':'], "-");
    let name = format!("--{readable}--");
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let hash = Checksum::of(cwd.as_bytes());
    let mut end = NAME_BYTES_MAX - "--".len() * 2 - 1 - hash.to_string().len();
    while !readable.is_char_boundary(end) {
        end -= 1;
    }
    format!("--{}-{hash}--", &readable[..end])
}

/// The file of a session: `2026-01-02T03-04-05-006Z_<id>.jsonl`.
pub(super) fn file_name(header: &Header) -> String {
    // A copied header may hold anything; only what a timestamp is made of goes into a name.
    let timestamp = header.timestamp.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
    format!("{timestamp}_{}{EXTENSION}", header.id)
}

/// The id in a file's name; the header has the last word.
pub(super) fn id_in_file_name(path: &Path) -> Option<&str> {
    let stem = path.file_name()?.to_str()?.strip_suffix(EXTENSION)?;
    Some(stem.split_once('_').map_or(stem, |(_, id)| id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_pi_names_them() {
        assert_eq!(folder_name("/home/me/project"), "--home-me-project--");
        assert_eq!(folder_name("C:\\work\\x"), "--C--work-x--");
        assert_eq!(folder_name("/"), "----");
    }

    #[test]
    fn long_names_stay_within_143_bytes_and_differ() {
        let long = format!("/{}", "目录/".repeat(60));
        let other = format!("{long}x");
        for cwd in [&long, &other] {
            assert!(folder_name(cwd).len() <= NAME_BYTES_MAX);
        }
        assert_ne!(folder_name(&long), folder_name(&other));
    }

    #[test]
    fn the_id_is_what_stands_behind_the_time() {
        assert_eq!(id_in_file_name(Path::new("/x/2026-01-02T03-04-05-006Z_a_b.jsonl")), Some("a_b"));
        assert_eq!(id_in_file_name(Path::new("notes.jsonl")), Some("notes"));
        assert_eq!(id_in_file_name(Path::new("notes.txt")), None);
    }
}
