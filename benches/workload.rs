//! What the benchmarks measure, leaflog and the floors alike; shared by `engine` and `ratios`.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use leaflog::{AppendOptions, Checksum, CreateOptions, Durability, NewEntry, Session, SessionOptions, Store};

/// Bytes of text in a message: what a short answer has. With envelope and seal a record is about 700 bytes.
const TEXT_BYTES: usize = 500;

/// Entries in the session that is opened.
pub(crate) const OPEN_ENTRIES: usize = 100_000;

/// How many entries a batch has.
pub(crate) const BATCH: usize = 100;

/// A text of varying words, the same at every run.
pub(crate) fn text(seed: usize) -> String {
    const WORDS: [&str; 8] = ["leaf", "branch", "commit", "vector", "the", "of", "a", "session"];
    let mut text = String::with_capacity(TEXT_BYTES + 8);
    let mut state = seed;
    while text.len() < TEXT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[(state >> 33) % WORDS.len()]);
        text.push(' ');
    }
    text
}

/// A message entry.
pub(crate) fn entry(seed: usize) -> NewEntry {
    if seed.is_multiple_of(2) { NewEntry::user(text(seed)) } else { NewEntry::assistant(text(seed)) }
}

/// A new session in `folder`.
pub(crate) fn session(folder: &Path, durability: Durability) -> Session {
    let store = Store::new(folder).with_options(SessionOptions::new().durability(durability));
    store.create(CreateOptions::new("/bench")).expect("a session can be created")
}

/// A session of [`OPEN_ENTRIES`] entries in one line, made in batches; returns its path.
pub(crate) fn long_session(folder: &Path) -> PathBuf {
    let session = session(folder, Durability::Os);
    for batch in 0..OPEN_ENTRIES / 1_000 {
        let entries = (0..1_000).map(|at| entry(batch * 1_000 + at)).collect();
        session.append_batch(entries, &AppendOptions::new()).expect("a batch is appended");
    }
    session.path()
}

/// The floor of an append: lock, stat, write, on a file of its own.
pub(crate) struct RawLog {
    path: PathBuf,
    file: File,
    record: Vec<u8>,
}

impl RawLog {
    /// A file in `folder` for records as long as leaflog's.
    pub(crate) fn new(folder: &Path) -> Self {
        let path = folder.join("raw");
        let file = OpenOptions::new().create(true).append(true).open(&path).expect("the raw file opens");
        let session = session(folder, Durability::Os);
        session.append(entry(0)).expect("an entry is appended");
        let stored = session.entries().next().expect("one entry").expect("it reads");
        let mut record = stored.as_bytes().to_vec();
        record.push(b'\n');
        Self { path, file, record }
    }

    /// `flock`, `stat`, `write`, unlock.
    pub(crate) fn append(&mut self) {
        fs2::FileExt::lock_exclusive(&self.file).expect("the lock is free");
        assert!(std::fs::metadata(&self.path).expect("the file is there").ino() > 0);
        self.file.write_all(&self.record).expect("the record is written");
        fs2::FileExt::unlock(&self.file).expect("the lock was held");
    }

    /// `write`, `fdatasync` of a growing file.
    pub(crate) fn append_durably(&mut self) {
        self.file.write_all(&self.record).expect("the record is written");
        self.file.sync_data().expect("the disk syncs");
    }
}

/// The floor of opening: finding all line feeds and a CRC over all bytes, in chunks. Returns the number of lines.
pub(crate) fn scan(path: &Path) -> usize {
    let mut file = File::open(path).expect("the log opens");
    let mut buffer = vec![0; 1 << 20];
    let mut hasher = crc32fast::Hasher::new();
    let mut lines = 0;
    loop {
        let count = file.read(&mut buffer).expect("the log reads");
        if count == 0 {
            assert!(Checksum::of(b"") != Checksum::of(&hasher.finalize().to_le_bytes()));
            return lines;
        }
        hasher.update(&buffer[..count]);
        lines += memchr::memchr_iter(b'\n', &buffer[..count]).count();
    }
}

/// The floor of a context: reading its bytes.
pub(crate) fn read(path: &Path) -> usize {
    std::fs::read(path).expect("the log reads").len()
}
