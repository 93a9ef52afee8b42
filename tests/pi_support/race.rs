//! Appending to one session from several processes at once.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use leaflog::{AppendOptions, Durability, EntryId, ErrorKind, NewEntry, Receipt, Session, SessionOptions};

use super::node::{Pi, node_command, not_there};

/// Tells a process of this test binary what to append, and where.
pub(crate) const CHILD_VARIABLE: &str = "LEAFLOG_PI_CHILD";

/// What a pi appends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    pub(crate) count: usize,
    /// The length of each one's text.
    pub(crate) bytes: usize,
    /// How long it waits between two of them, so that others have a chance.
    pub(crate) pause_millis: u64,
}

/// Node's `appendFile` of promises, which 0.83 uses, writes pieces of this size. 1.6.0 writes a record at once.
pub(crate) const PIECE_BYTES_OF_NODE: usize = 512 << 10;

/// How long a process of leaflog waits between two records, so that it appends as long as the others do.
const CHILD_PAUSE: Duration = Duration::from_micros(500);

/// A process that appends, and waits for the word before it begins.
pub(crate) struct Appender {
    child: Child,
    go: ChildStdin,
    acknowledged: JoinHandle<Vec<String>>,
    errors: JoinHandle<String>,
}

impl Appender {
    /// pi, through its own package.
    pub(crate) fn pi(pi: Pi, session: &Path, messages: Messages) -> Self {
        let [count, bytes] = [messages.count, messages.bytes].map(|number| number.to_string());
        let pause = messages.pause_millis.to_string();
        let session = session.to_str().unwrap();
        let options = ["--bytes", &bytes, "--delay", &pause, "--pi", pi.version(), "--wait-go"];
        let args = [&["append.mjs", session, &count][..], &options].concat();
        Self::start(&mut node_command(&args))
    }

    /// leaflog, in a process of its own: this test binary, told to run its test `test` only.
    pub(crate) fn leaflog(test: &str, session: &Path, count: usize, name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--ignored", "--nocapture"]);
        command.env(CHILD_VARIABLE, format!("{count}\t{name}\t{}", session.display()));
        Self::start(&mut command)
    }

    /// Returns when the process is ready to begin.
    fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| not_there(&error));
        let go = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while !seen.ends_with("ready\n") {
            assert!(errors.read_line(&mut seen).unwrap() > 0, "the appender ended early: {seen}");
        }
        let acknowledged = std::thread::spawn(move || output.lines().map(Result::unwrap).collect());
        let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap());
        Self { child, go, acknowledged, errors }
    }

    /// Lets it begin.
    pub(crate) fn go(&mut self) {
        self.go.write_all(b"\n").unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end and returns the lines that it has printed.
    pub(crate) fn finish(mut self, context: &str) -> Vec<String> {
        let lines = self.acknowledged.join().unwrap();
        let errors = self.errors.join().unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "an appender failed: {status}\n{errors}\n{context}");
        lines
    }
}

/// The text of the `index`th message that `append.mjs` appends.
pub(crate) fn text_of_pi(index: usize, bytes: usize) -> String {
    let mut text = format!("pi-{index} ");
    let filling = "abcdefghijklmnopqrstuvwxyz ".chars().cycle().take(bytes.saturating_sub(text.len()));
    text.extend(filling);
    text
}

/// What one leaflog appender had acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The log's size behind the record.
    pub(crate) end: u64,
    pub(crate) crc: String,
    pub(crate) interleaved: bool,
}

impl Acknowledged {
    fn of(receipt: &Receipt, text: String) -> Self {
        let (id, crc) = (receipt.id.to_string(), receipt.crc.to_string());
        Self { id, text, end: receipt.end, crc, interleaved: receipt.interleaved }
    }

    fn to_line(&self) -> String {
        format!("ack\t{}\t{}\t{}\t{}\t{}", self.id, self.text, self.end, self.crc, self.interleaved)
    }

    /// Reads the lines of a child; the test harness prints others.
    pub(crate) fn parse(lines: &[String]) -> Vec<Self> {
        // The harness may leave its own text before the first of them.
        let lines = lines.iter().filter_map(|line| line.find("ack\t").map(|at| &line[at..]));
        let parse = |line: &str| {
            let [_, id, text, end, crc, interleaved] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let (id, text, crc) = (id.to_owned(), text.to_owned(), crc.to_owned());
            Self { id, text, end: end.parse().unwrap(), crc, interleaved: interleaved == "true" }
        };
        lines.map(parse).collect()
    }
}

/// Appends one small message to whatever the leaf is; behind damage, under the leaf that was there before it.
pub(crate) fn append_one(session: &Session, name: &str, index: usize) -> Acknowledged {
    let text = format!("{name}-{index}");
    // pi draws its ids without looking at the file; ids of another shape keep that chance out of the test.
    let entry = NewEntry::user(&text).with_id(EntryId::parse(&text).unwrap());
    let options = AppendOptions::new().durability(Durability::Os);
    let receipt = match session.append_with(entry.clone(), &options.clone().to_leaf()) {
        Err(error) if error.kind() == ErrorKind::LeafInDoubt => {
            session.append_with(entry, &options.under(session.stored_leaf())).unwrap()
        }
        receipt => receipt.unwrap(),
    };
    Acknowledged::of(&receipt, text)
}

/// What the child process of [`Appender::leaflog`] does; nothing if this is not one.
pub(crate) fn be_a_child_if_asked() {
    let Ok(order) = std::env::var(CHILD_VARIABLE) else { return };
    let [count, name, path] = order.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap();
    let session = Session::open_with(path, SessionOptions::new()).unwrap();
    eprintln!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut lines = String::new();
    for index in 0..count.parse().unwrap() {
        std::thread::sleep(CHILD_PAUSE);
        let acknowledged = append_one(&session, name, index);
        writeln!(lines, "{}", acknowledged.to_line()).unwrap();
    }
    print!("\n{lines}");
}

/// Checks that a session holds everything that was acknowledged, each appender's in its order and unharmed.
/// Returns how many records of leaflog stand between records of one pi.
pub(crate) fn check_nothing_is_lost(
    session: &Session,
    pi: &[Vec<String>],
    messages: Messages,
    leaflog: &[Vec<Acknowledged>],
    context: &str,
) -> usize {
    let mut places = HashMap::new();
    let mut texts = HashMap::new();
    let mut parents = HashMap::new();
    let mut leaf_before: HashMap<String, Option<EntryId>> = HashMap::new();
    let mut leaf = None;
    for (place, entry) in session.entries().enumerate() {
        let entry = entry.unwrap();
        assert!(!entry.is_suspect(), "{} is suspect; {context}", entry.id());
        let id = entry.id().to_string();
        leaf_before.insert(id.clone(), leaf.replace(entry.id().clone()));
        parents.insert(id.clone(), entry.parent_id().cloned());
        texts.insert(id.clone(), text_of(entry.as_bytes()));
        places.insert(id, (place, entry.position() + entry.as_bytes().len() as u64 + 1));
    }
    let of_pi: Vec<_> = (0..messages.count).map(|index| text_of_pi(index, messages.bytes)).collect();
    for ids in pi {
        for (index, id) in ids.iter().enumerate() {
            let text = texts.get(id).unwrap_or_else(|| panic!("pi's entry {id} is lost; {context}"));
            assert!(*text == of_pi[index], "the text of pi's entry {id} is harmed; {context}");
        }
        assert!(ids.is_sorted_by_key(|id| places[id].0), "pi's entries are out of order; {context}");
    }
    for acknowledged in leaflog {
        for one in acknowledged {
            let text = texts.get(&one.id).unwrap_or_else(|| panic!("leaflog's entry {} is lost; {context}", one.id));
            assert_eq!(*text, one.text, "{context}");
            assert_eq!(places[&one.id].1, one.end, "{context}");
            // It was decided under the lock, so only what takes no lock can stand between it and its parent.
            assert!(one.interleaved || parents[&one.id] == leaf_before[&one.id], "{} is misplaced; {context}", one.id);
        }
        assert!(
            acknowledged.is_sorted_by_key(|one| places[&one.id].0),
            "leaflog's entries are out of order; {context}"
        );
    }
    let acknowledged = pi.iter().map(Vec::len).sum::<usize>() + leaflog.iter().map(Vec::len).sum::<usize>();
    assert_eq!(places.len(), acknowledged, "the number of entries; {context}");
    let place = |id: &String| places[id].0;
    let spans: Vec<_> = pi.iter().map(|ids| place(&ids[0])..place(&ids[ids.len() - 1])).collect();
    let between = |one: &&Acknowledged| spans.iter().any(|span| span.contains(&place(&one.id)));
    leaflog.iter().flatten().filter(between).count()
}

/// Checks that a session holds everything that leaflog had acknowledged, and that what is lost of pi is no secret.
pub(crate) fn check_damage_is_contained(
    session: &Session,
    pi: &[Vec<String>],
    leaflog: &[Vec<Acknowledged>],
    context: &str,
) {
    for one in leaflog.iter().flatten() {
        let entry = session.entry(&one.id.parse().unwrap()).unwrap_or_else(|error| panic!("{error}; {context}"));
        assert_eq!(entry.text(), one.text, "{context}");
    }
    let lost: Vec<_> = pi.iter().flatten().filter(|id| session.entry(&id.parse().unwrap()).is_err()).collect();
    let (damage, count) = session.damage();
    assert!(count >= lost.len() as u64, "{} entries of pi are lost without a word; {context}", lost.len());
    assert!(lost.is_empty() == damage.is_empty(), "{damage:?}; {context}");
    let log = std::fs::read(session.path()).unwrap();
    let places = memchr::memmem::find_iter(&log, br#"{"type":"message","id":""#).map(|at| at + 24);
    let ids: HashSet<_> = places.map(|at| String::from_utf8_lossy(&log[at..at + 8]).into_owned()).collect();
    assert!(pi.iter().flatten().all(|id| ids.contains(id)), "bytes of pi were overwritten; {context}");
    println!("{context}: {} messages of pi torn by records in their middle, {count} damaged lines", lost.len());
}

/// The text of a message with plain characters only, taken from the record as it stands.
fn text_of(record: &[u8]) -> String {
    let record = std::str::from_utf8(record).unwrap();
    let (_, rest) = record.split_once(r#""text":""#).or_else(|| record.split_once(r#""content":""#)).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}
