//! Putting a new log in the place of an old one, which is kept beside it (SPEC 2.6).
//!
//! At every moment the path names the old log or the new one, whole. What other programs append to the old log while
//! the new one is made is taken over: under the lock these are programs that do not take it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::log_file::{self, Identity, LogFile};
use super::publish::{Draft, sync_folder};
use super::writer::FileTurn;
use super::{FileJournal, replaced};
use crate::codec::scanner::Line;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::reader;

/// How many originals of one log are kept. More are hardly made on purpose.
const KEPT_MAX: usize = 1_000;

/// Gives, for each line of the old log in order, the bytes that the new one has for it, line feeds included.
///
/// An unterminated line may be given again later, longer and with its line feed, if its writer went on with it.
pub(crate) type Remake<'a> = dyn FnMut(Line<'_>, &mut Vec<u8>) -> Result<()> + 'a;

impl FileJournal {
    /// Makes a new log of the old one and puts it in its place, durably. Returns where the original is kept: beside the
    /// log, under its name with `.<mark>` behind it (`.<mark>-2` if that is taken).
    ///
    /// # Errors
    ///
    /// Whatever goes wrong, the path names a whole log, and one that was made in vain is removed. The error of a step
    /// behind the swap itself does not undo it.
    pub(crate) fn swap(&self, mark: &str, remake: &mut Remake<'_>) -> Result<PathBuf> {
        // A swap that was killed before its rename left the log with a second name, which is no reason to refuse.
        let own_link = |identity| kept_before(&self.path, mark, identity).is_some();
        let turn = FileTurn::take_if(self, &|status| {
            status.hard_links == 1 || (status.hard_links == 2 && own_link(status.identity))
        })?;
        let file = turn.log_file();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut draft = Draft::start(folder)?;
        let mut taken = Taken::default();
        taken.take(file, remake, &mut |bytes| draft.write(bytes))?;
        draft.give_to(file.owner()?)?;
        // ORDER: the content is durable before it gets the name, and locked, so that nobody's append comes before what
        // is still taken over from the original.
        draft.sync()?;
        let _lock = draft.lock()?;
        let kept = keep(&self.path, mark, file.identity())?;
        if let Err(error) = draft.replace(&self.path) {
            kept.undo();
            return Err(error);
        }
        sync_folder(folder)?;
        while taken.seen < file.status()?.size {
            let mut rest = Vec::new();
            taken.take(file, remake, &mut |bytes| {
                rest.extend_from_slice(bytes);
                Ok(())
            })?;
            // One write, since programs that do not take the lock may append to the new log by now.
            draft.write(&rest)?;
            draft.sync()?;
        }
        // A kept original is a side file, and those are private. It is whole whether this works or not.
        let _ = fs::set_permissions(&kept.path, Permissions::from_mode(0o600));
        Ok(kept.path)
    }
}

/// How far the old log was taken over.
#[derive(Default)]
struct Taken {
    /// Behind the last line with a line feed.
    read: u64,
    /// Behind the last byte.
    seen: u64,
}

impl Taken {
    fn take(
        &mut self,
        file: &LogFile,
        remake: &mut Remake<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        reader::scan(file, self.read..file.status()?.size, &mut |line| {
            self.seen = line.end();
            if line.terminated {
                self.read = self.seen;
            }
            bytes.clear();
            remake(line, &mut bytes)?;
            sink(&bytes)
        })
    }
}

/// The original under its second name.
struct Kept {
    path: PathBuf,
    /// Whether this swap made the name.
    new: bool,
}

impl Kept {
    fn undo(&self) {
        if self.new {
            // If this fails, the next swap finds the name and uses it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Gives the log a second name that nothing has yet.
fn keep(path: &Path, mark: &str, identity: Identity) -> Result<Kept> {
    if let Some(path) = kept_before(path, mark, identity) {
        return Ok(Kept { path, new: false });
    }
    for name in names(path, mark) {
        match fs::hard_link(path, &name) {
            Ok(()) => {
                let kept = Kept { path: name, new: true };
                // A link was made to whatever the path names, which may be another file since a moment.
                if log_file::status(&kept.path)?.identity != identity {
                    kept.undo();
                    return Err(replaced(path));
                }
                return Ok(kept);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("cannot keep the original as", &name, error)),
        }
    }
    let message = format!("{KEPT_MAX} originals of this log are kept already; move them away");
    Err(Error::new(ErrorKind::AlreadyExists, message).at(path))
}

/// The second name that an earlier swap gave this very log before it was stopped.
fn kept_before(path: &Path, mark: &str, identity: Identity) -> Option<PathBuf> {
    let taken = |name: &PathBuf| log_file::status(name).ok().map(|status| status.identity);
    names(path, mark).map_while(|name| Some((taken(&name)?, name))).find(|(id, _)| *id == identity).map(|found| found.1)
}

/// The names for originals, in the order in which they are used.
fn names(path: &Path, mark: &str) -> impl Iterator<Item = PathBuf> {
    (1..=KEPT_MAX).map(move |number| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { format!(".{mark}") } else { format!(".{mark}-{number}") });
        name.into()
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::journal::{Batch, OpenOptions};

    /// A log in a folder of its own.
    struct Place {
        folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl Place {
        fn new(log: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.jsonl");
            fs::write(&path, log).unwrap();
            Self { folder, path }
        }

        fn journal(&self) -> FileJournal {
            let options = OpenOptions { lock_wait: Duration::from_secs(1), allow_shared_file_system: true };
            FileJournal::open(&self.path, options).unwrap()
        }

        fn files(&self) -> Vec<(String, String)> {
            let files = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            let mut files: Vec<_> = files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
            files.sort();
            files
        }

        fn has(&self, files: &[(&str, &str)]) {
            let files: Vec<_> = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            assert_eq!(self.files(), files);
        }
    }

    /// Puts `>` before each line.
    #[expect(clippy::unnecessary_wraps, reason = "what is given to a swap may fail")]
    fn mark(line: Line<'_>, new: &mut Vec<u8>) -> Result<()> {
        new.push(b'>');
        new.extend_from_slice(line.bytes);
        new.extend(line.terminated.then_some(b'\n'));
        Ok(())
    }

    fn push(path: &Path, text: &str) {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_new_log_has_the_name_and_the_original_is_kept_and_both_are_private() {
        let place = Place::new("a\nb");
        fs::set_permissions(&place.path, Permissions::from_mode(0o644)).unwrap();
        let kept = place.journal().swap("old", &mut mark).unwrap();
        assert_eq!(kept, place.path.with_extension("jsonl.old"));
        place.has(&[("x.jsonl", ">a\n>b"), ("x.jsonl.old", "a\nb")]);
        for path in [&place.path, &kept] {
            let status = fs::metadata(path).unwrap();
            assert_eq!(status.permissions().mode() & 0o777, 0o600);
            assert_eq!(log_file::status(path).unwrap().hard_links, 1);
        }
    }

    #[test]
    fn what_reaches_the_original_meanwhile_is_taken_over_behind_the_rest() {
        let place = Place::new("a\nb");
        // A descriptor from before, as a program has that knows nothing of locks.
        let mut writer = fs::OpenOptions::new().append(true).open(&place.path).unwrap();
        let mut came = ["c\nd", "e\n"].into_iter();
        let kept = place.journal().swap("old", &mut |line, new| {
            if !line.terminated {
                // The scan has seen its last byte by now.
                writer.write_all(came.next().unwrap_or_default().as_bytes()).unwrap();
            }
            if came.len() < 2 {
                // Whichever log has the name by now, nobody else may append to it.
                let options = OpenOptions { lock_wait: Duration::ZERO, allow_shared_file_system: true };
                let other = FileJournal::open(&place.path, options).unwrap();
                assert_eq!(
                    crate::journal::Journal::turn(&other, false).err().map(|error| error.kind()),
                    Some(ErrorKind::Locked)
                );
            }
            mark(line, new)
        });
        assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), "a\nbc\nde\n");
        assert_eq!(fs::read_to_string(&place.path).unwrap(), ">a\n>b>bc\n>d>de\n");
    }

    #[test]
    fn a_failure_while_the_new_log_is_made_changes_nothing() {
        let place = Place::new("a\nb\n");
        let error = place.journal().swap("old", &mut |line, new| {
            mark(line, new)?;
            if line.offset > 0 { Err(Error::invalid("no")) } else { Ok(()) }
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
        place.has(&[("x.jsonl", "a\nb\n")]);
    }

    #[test]
    fn an_original_that_is_kept_already_is_never_replaced() {
        let place = Place::new("a\n");
        fs::write(place.path.with_extension("jsonl.old"), "mine").unwrap();
        place.journal().swap("old", &mut mark).unwrap();
        place.journal().swap("old", &mut mark).unwrap();
        place.has(&[
            ("x.jsonl", ">>a\n"),
            ("x.jsonl.old", "mine"),
            ("x.jsonl.old-2", "a\n"),
            ("x.jsonl.old-3", ">a\n"),
        ]);
    }

    #[test]
    fn a_swap_that_was_stopped_before_its_rename_is_done_again() {
        let place = Place::new("a\n");
        fs::write(place.path.with_extension("jsonl.old"), "mine").unwrap();
        fs::hard_link(&place.path, place.path.with_extension("jsonl.old-2")).unwrap();
        place.journal().swap("old", &mut mark).unwrap();
        place.has(&[("x.jsonl", ">a\n"), ("x.jsonl.old", "mine"), ("x.jsonl.old-2", "a\n")]);
    }

    #[test]
    fn a_log_with_other_hard_links_is_left_alone() {
        let place = Place::new("a\n");
        fs::hard_link(&place.path, place.folder.path().join("y")).unwrap();
        let error = place.journal().swap("old", &mut mark).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        place.has(&[("x.jsonl", "a\n"), ("y", "a\n")]);
    }

    #[test]
    fn another_file_that_came_to_the_path_meanwhile_stays() {
        let place = Place::new("a\n");
        let other = place.folder.path().join("other");
        let error = place.journal().swap("old", &mut |line, new| {
            fs::write(&other, "other").unwrap();
            fs::rename(&other, &place.path).unwrap();
            mark(line, new)
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Gone);
        place.has(&[("x.jsonl", "other")]);
    }

    #[test]
    fn appends_wait_until_the_swap_is_over_and_go_to_the_new_log() {
        let place = Place::new("a\n");
        let journal = place.journal();
        std::thread::scope(|threads| {
            let (started, waits) = std::sync::mpsc::channel();
            threads.spawn(move || {
                waits.recv().unwrap();
                let mut turn = crate::journal::Journal::turn(&journal, false).unwrap();
                let expected = turn.end().position;
                turn.append(&Batch::new(expected, &[b"b".to_vec()])).unwrap();
            });
            place
                .journal()
                .swap("old", &mut |line, new| {
                    started.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(50));
                    mark(line, new)
                })
                .unwrap();
        });
        push(&place.path, "c\n");
        place.has(&[("x.jsonl", ">a\nb\nc\n"), ("x.jsonl.old", "a\n")]);
    }
}
