//! What the tests on real files share: sessions in temporary folders, hand-written logs, a check of the checksum
//! chain that owes nothing to the library, views to compare handles by, and child processes.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use leaflog::journal::{Batch, NewJournal, OpenOptions, Outcome, Sink};
use leaflog::{
    Checksum, ContextOptions, CreateOptions, Durability, EntryId, ErrorKind, Message, Receipt, Session, SessionOptions,
    Store, TreeOptions,
};
use tempfile::TempDir;

/// The header of a session that pi wrote.
pub const HEADER: &str =
    r#"{"type":"session","version":3,"id":"pi-session","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/project"}"#;

/// What keeps the sessions of a test program. Programs named `on_memory` and `on_sqlite` run the tests that are not
/// about files on those backends too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Files,
    Memory,
    Sqlite,
}

pub const BACKEND: Backend = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"on_memory" => Backend::Memory,
    b"on_sqlite" => Backend::Sqlite,
    _ => Backend::Files,
};

/// The stores in memory, which only this process can open.
static MEMORIES: Mutex<Vec<Store>> = Mutex::new(Vec::new());

/// Appends that reach the page cache: no test here cuts the power.
pub fn options() -> SessionOptions {
    SessionOptions::new().durability(Durability::Os)
}

/// A store of its own.
pub fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = match BACKEND {
        Backend::Files => Store::new(folder.path()),
        Backend::Memory => Store::in_memory(),
        Backend::Sqlite => Store::sqlite(folder.path().join("sessions.db")).unwrap(),
    };
    let store = store.with_options(options());
    if BACKEND == Backend::Memory {
        MEMORIES.lock().unwrap().push(store.clone());
    }
    (folder, store)
}

/// A new session in a store of its own.
pub fn session() -> (TempDir, Store, Session) {
    let (folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    (folder, store, session)
}

/// One more handle on a session.
pub fn open(path: impl AsRef<Path>) -> Session {
    open_with(path, options()).unwrap()
}

pub fn open_with(path: impl AsRef<Path>, options: SessionOptions) -> leaflog::Result<Session> {
    let path = path.as_ref();
    let Some(memory) = memory_of(path) else { return Session::open_with(path, options) };
    memory.with_options(options).open(path.to_str().unwrap())
}

/// The store in memory that has the session at `path`.
fn memory_of(path: &Path) -> Option<Store> {
    let memories = MEMORIES.lock().unwrap();
    let has = |store: &&Store| store.backend().sessions().unwrap().iter().any(|session| session.path == path);
    memories.iter().find(has).cloned()
}

/// The bytes of a log.
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    if BACKEND == Backend::Files {
        return fs::read(path).unwrap();
    }
    let mut bytes = Vec::new();
    open(path).log().read_to_end(&mut bytes).unwrap();
    bytes
}

pub fn id(text: &str) -> EntryId {
    EntryId::parse(text).unwrap()
}

/// A message as pi writes it: unsealed.
pub fn message(id: &str, parent: Option<&str>, role: &str, text: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:06.007Z","message":{{"role":"{role}","content":{text},"timestamp":1767323046007}}}}"#
    )
}

/// A user message as pi writes it; its text is its id.
pub fn user(id: &str, parent: Option<&str>) -> String {
    message(id, parent, "user", id)
}

/// Another entry as pi writes it, with these members behind the envelope.
pub fn entry(type_name: &str, id: &str, parent: Option<&str>, members: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"{type_name}","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:06.007Z"{members}}}"#
    )
}

/// A chain of user messages `e1`, `e2`, …
pub fn chain(count: usize) -> Vec<String> {
    let name = |number: usize| format!("e{number}");
    (1..=count).map(|number| user(&name(number), (number > 1).then(|| name(number - 1)).as_deref())).collect()
}

/// `record` as leaflog would seal it.
pub fn seal(record: &str, prev: u32) -> String {
    let covered = format!(r#"{},"prev":"{prev:08x}""#, record.strip_suffix('}').unwrap());
    format!(r#"{covered},"crc":"{:08x}"}}"#, crc32fast::hash(covered.as_bytes()))
}

/// A log in a store of its own.
pub struct Log {
    folder: TempDir,
    store: Store,
    pub path: PathBuf,
}

impl Log {
    /// A log with exactly these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let (folder, store) = store();
        let path = if BACKEND == Backend::Files {
            let path = folder.path().join("2026-01-02T03-04-05-006Z_pi-session.jsonl");
            fs::write(&path, bytes).unwrap();
            path
        } else {
            // Under an id of its own, whatever the bytes say.
            let header = session().2.header();
            let write = &mut |sink: &mut Sink<'_>| sink(bytes.as_ref());
            store.backend().create(&NewJournal::new(&header, None), write).unwrap()
        };
        Self { folder, store, path }
    }

    /// A log of pi's header and these lines.
    pub fn with<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Self {
        let mut bytes = format!("{HEADER}\n").into_bytes();
        for line in lines {
            bytes.extend_from_slice(line.as_ref());
            bytes.push(b'\n');
        }
        Self::of(bytes)
    }

    pub fn open(&self) -> Session {
        open(&self.path)
    }

    pub fn open_strict(&self) -> leaflog::Result<Session> {
        open_with(&self.path, options().strict(true))
    }

    pub fn store(&self) -> Store {
        self.store.clone()
    }

    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.path)
    }

    /// Appends bytes as a program does that knows nothing of leaflog. Where there are no files these must be lines.
    pub fn push(&self, bytes: impl AsRef<[u8]>) {
        if BACKEND == Backend::Files {
            return push(&self.path, bytes);
        }
        let lines = bytes.as_ref().strip_suffix(b"\n").expect("only files can end with an unfinished line");
        let records: Vec<_> = lines.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let journal = self.store.backend().open(&self.path, OpenOptions::default()).unwrap();
        let mut turn = journal.turn(false).unwrap();
        let expected = turn.end().position;
        assert!(matches!(turn.append(&Batch::new(expected, &records)).unwrap(), Outcome::Stored(_)));
    }
}

/// Appends bytes as a program does that knows nothing of leaflog.
pub fn push(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes.as_ref()).unwrap();
}

/// The lines of a log, without line feeds; the last one may be unfinished.
pub fn lines(path: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let bytes = bytes(path);
    let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

/// The ids of all entries in file order.
pub fn ids(session: &Session) -> Vec<String> {
    session.entries().map(|entry| entry.unwrap().id().to_string()).collect()
}

/// The stored records of all entries in file order.
pub fn records(session: &Session) -> Vec<Vec<u8>> {
    session.entries().map(|entry| entry.unwrap().as_bytes().to_vec()).collect()
}

/// The ids on the path to `from`, or to where the handle stands.
pub fn path(session: &Session, from: Option<&str>) -> Vec<String> {
    strings(session.path_ids(from.map(id).as_ref()).unwrap())
}

/// The texts of the context's messages.
pub fn texts(session: &Session) -> Vec<String> {
    session.context(&ContextOptions::new()).unwrap().messages.iter().map(Message::text).collect()
}

pub fn strings(ids: impl IntoIterator<Item = EntryId>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

pub fn leaf(session: &Session) -> Option<String> {
    session.stored_leaf().map(|leaf| leaf.to_string())
}

pub fn kind<T: std::fmt::Debug>(result: leaflog::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// Everything that a handle says of its log.
#[derive(Debug, PartialEq)]
pub struct View {
    pub leaf: Option<String>,
    pub records: Vec<Vec<u8>>,
    pub tree: Vec<(String, Option<String>, u32)>,
    pub tips: Vec<(String, u32)>,
    pub path: Vec<String>,
    pub labels: Vec<(String, leaflog::Label)>,
    pub name: Option<String>,
    pub gaps: Vec<leaflog::Gap>,
    pub damage: (Vec<leaflog::Damage>, u64),
    pub doubt: Option<leaflog::Doubt>,
    pub stats: leaflog::Stats,
    pub context: Vec<String>,
}

impl View {
    pub fn of(session: &Session) -> Self {
        let tree = session.tree(&TreeOptions::new()).unwrap().map(|node| {
            let node = node.unwrap();
            (node.id.to_string(), node.parent_id.map(|parent| parent.to_string()), node.depth)
        });
        // Bytes that are not whole records count in the size of a log, but they say nothing.
        let mut stats = session.stats().unwrap();
        stats.bytes = 0;
        let leaf = session.stored_leaf();
        let context = leaf.clone().map_or_else(Vec::new, |leaf| {
            let context = session.context(&ContextOptions::new().from(leaf)).unwrap();
            context.messages.iter().map(|message| message.as_json().to_owned()).collect()
        });
        Self {
            records: records(session),
            tree: tree.collect(),
            tips: session.tips().unwrap().into_iter().map(|tip| (tip.id.to_string(), tip.depth)).collect(),
            path: leaf.as_ref().map_or_else(Vec::new, |leaf| strings(session.path_ids(Some(leaf)).unwrap())),
            labels: session.labels().into_iter().map(|(id, label)| (id.to_string(), label)).collect(),
            name: session.name(),
            gaps: session.gaps(),
            damage: session.damage(),
            doubt: session.doubt(),
            stats,
            leaf: leaf.map(|leaf| leaf.to_string()),
            context,
        }
    }
}

/// Fails unless a fresh handle sees what this one sees.
#[track_caller]
pub fn assert_reopens_alike(session: &Session) -> Session {
    let again = open(session.path());
    assert_eq!(View::of(session), View::of(&again));
    again
}

/// What the chain of checksums says of a log.
#[derive(Debug, Default, PartialEq)]
pub struct Chained {
    pub sealed: usize,
    /// Lines with a wrong `crc`.
    pub wrong: Vec<usize>,
    /// Lines whose `prev` does not vouch for what stands before them.
    pub broken: Vec<usize>,
}

/// Follows the chain as SPEC 1.2 describes it.
pub fn follow_chain(log: &[u8]) -> Chained {
    let mut chained = Chained::default();
    let mut last_sealed = None;
    let mut offset = 0;
    for (number, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
        if let Some((before, prev, crc)) = seal_of(&text) {
            if crc32fast::hash(before.as_bytes()) == crc {
                let fits = |end: usize| prev == last_sealed.map_or(0, |start: usize| crc32fast::hash(&log[start..end]));
                // The writer that closed an unfinished line saw the log without the line feed that it wrote.
                let vouched = fits(offset) || (offset > 0 && fits(offset - 1));
                if !vouched {
                    chained.broken.push(number + 1);
                }
                chained.sealed += 1;
                last_sealed = Some(offset);
            } else {
                chained.wrong.push(number + 1);
            }
        }
        offset += line.len();
    }
    chained
}

/// What the checksum covers, `prev` and `crc`, if the line ends with a seal.
fn seal_of(line: &str) -> Option<(&str, u32, u32)> {
    let (covered, crc) = line.strip_suffix("\"}")?.rsplit_once(r#","crc":""#)?;
    let (_, prev) = covered.strip_suffix('"')?.rsplit_once(r#","prev":""#)?;
    let number = |text: &str| (text.len() == 8).then(|| u32::from_str_radix(text, 16).ok())?;
    Some((covered, number(prev)?, number(crc)?))
}

/// Fails unless every seal of the log is right.
#[track_caller]
pub fn assert_chained(path: &Path, sealed: usize) {
    let chained = follow_chain(&bytes(path));
    assert_eq!(chained, Chained { sealed, ..Chained::default() });
}

/// Fails unless a receipt tells of the record that ends where it says.
#[track_caller]
pub fn check_receipt(path: &Path, receipt: &Receipt) {
    let log = bytes(path);
    let end = usize::try_from(receipt.end).unwrap();
    assert_eq!(log[end - 1], b'\n');
    let start = log[..end - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let line = std::str::from_utf8(&log[start..end - 1]).unwrap();
    let (covered, crc) = line.rsplit_once(r#","crc":""#).unwrap();
    assert_eq!(crc, format!("{}\"}}", receipt.crc));
    assert_eq!(receipt.crc, Checksum::of(covered.as_bytes()));
    let record: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(record["id"], receipt.id.to_string());
}

/// Numbers that look random and follow from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

/// The environment variable that makes a child of a test program play a role.
const ROLE: &str = "LEAFLOG_TEST_ROLE";

/// The role that this process was started for, if it is such a child.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// An argument of a role.
pub fn argument(name: &str) -> String {
    std::env::var(format!("{ROLE}_{name}")).unwrap()
}

/// This test program again, running its test `a_child_plays_its_role` only.
pub fn child(role: &str, arguments: &[(&str, &dyn std::fmt::Display)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    prepare(&mut command, role, arguments);
    command.args(["--exact", "a_child_plays_its_role", "--nocapture"]);
    command
}

/// The same through a shell that first runs `setup`.
pub fn child_in_shell(setup: &str, role: &str, arguments: &[(&str, &dyn std::fmt::Display)]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{setup}; exec \"$0\" --exact a_child_plays_its_role --nocapture")]);
    command.arg(std::env::current_exe().unwrap());
    prepare(&mut command, role, arguments);
    command
}

fn prepare(command: &mut Command, role: &str, arguments: &[(&str, &dyn std::fmt::Display)]) {
    command.env(ROLE, role).stdout(std::process::Stdio::null());
    for (name, value) in arguments {
        command.env(format!("{ROLE}_{name}"), value.to_string());
    }
}
