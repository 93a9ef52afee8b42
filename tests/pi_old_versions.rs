//! pi as the oracle of old versions (SPEC 8.4): its own migration and leaflog's make the same of random files of versions
//! 1 and 2, and both generations of pi read what `migrate` has written as leaflog reads it.
//!
//! The npm package of 0.83 has no migration and refuses these versions, so only 1.6.0 can say what they mean.
//! `LEAFLOG_PI_SEED` changes what is written.

#[allow(dead_code, reason = "shared with tests/pi.rs")]
mod pi_support;

use std::fs;
use std::path::{Path, PathBuf};

use leaflog::{Session, SessionOptions, migrate};
use serde_json::Value;

use pi_support::files::{sessions, temporary_folder};
use pi_support::node::{Pi, node_command, run, write_paths};
use pi_support::random::{Random, seed};
use pi_support::view::check_against_pi;

/// How many sessions of each version are compared.
const SESSIONS: usize = 300;

/// How pi spells what JSON allows in several ways; a migration keeps all of it.
const TEXTS: [&str; 8] = [
    "plain",
    "",
    "a\\nb",
    "\\u4f1a\\u8bdd \u{4f1a}\u{8bdd}",
    "\\ud83d\\ude00",
    "hookMessage",
    "\\\"id\\\":\\\"x\\\"",
    "\u{2028}",
];

/// Writes the lines of a random session.
struct Writer<'a> {
    random: &'a mut Random,
    version: u64,
    /// Whether lines may be damaged, which 0.83 does not read.
    damaged: bool,
    lines: Vec<String>,
    /// The ids of version 2.
    ids: Vec<String>,
    /// How many lines pi has parsed so far.
    parsed: usize,
}

impl Writer<'_> {
    fn write(&mut self, number: usize) -> String {
        let id = format!("old-{}-{number}", self.version);
        let version =
            ["", "\"version\":1,", "\"version\":2,"][if self.version == 2 { 2 } else { self.random.below(2) }];
        self.push(format!(
            r#"{{"type":"session",{version}"id":"{id}","timestamp":"2025-11-02T03:04:05.006Z","cwd":"/project"}}"#
        ));
        for _ in 0..self.random.below(30) {
            match self.random.below(if self.damaged { 12 } else { 9 }) {
                0..=5 => self.message(),
                6 => self.compaction(),
                7 => self.entry("thinking_level_change", r#","thinkingLevel":"high""#),
                8 => self.entry("custom", r#","customType":"x","data":{"firstKeptEntryIndex":1,"n":[1e3,1.50]}"#),
                9 => self.lines.push("{\"type\":\"message\",\"timest".to_owned()),
                10 => self.lines.push(String::new()),
                _ => self.push(r#"{"type":"session","id":"again","version":9}"#.to_owned()),
            }
        }
        self.lines.join("\n") + "\n"
    }

    fn push(&mut self, line: String) {
        self.lines.push(line);
        self.parsed += 1;
    }

    /// An entry; of version 2 under any earlier one.
    fn entry(&mut self, type_name: &str, members: &str) {
        let time = r#""timestamp":"2025-11-02T03:04:06.007Z""#;
        let line = if self.version == 1 {
            // Ids mean nothing yet.
            let id = self.random.pick(&["", "", "", r#","id":"mine""#, r#","parentId":"mine","id":"yours""#]);
            format!(r#"{{"type":"{type_name}"{id},{time}{members}}}"#)
        } else {
            let id = format!("{:08x}", self.ids.len() + 1);
            let parent = if self.random.chance(70) { self.ids.last() } else { self.random.maybe(&self.ids) };
            let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
            self.ids.push(id.clone());
            format!(r#"{{"type":"{type_name}","id":"{id}","parentId":{parent},{time}{members}}}"#)
        };
        self.push(line);
    }

    fn message(&mut self) {
        let text = self.random.pick(&TEXTS);
        let block = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        let message = match self.random.below(4) {
            0 => format!(r#"{{"role":"user","content":"{text}","timestamp":1762052646007}}"#),
            1 => format!(r#"{{"role":"user","content":{block},"timestamp":1762052646007}}"#),
            2 => format!(
                r#"{{"role":"hookMessage","customType":"x","content":"{text}","display":true,"details":{{"role":"hookMessage"}},"timestamp":1762052646007}}"#
            ),
            _ => format!(
                r#"{{"role":"assistant","content":{block},"api":"a","provider":"p","model":"m","usage":{{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":1e-3}}}},"stopReason":"stop","timestamp":1762052646007}}"#
            ),
        };
        self.entry("message", &format!(r#","message":{message}"#));
    }

    fn compaction(&mut self) {
        let kept = if self.version == 1 { self.first_kept_index() } else { self.first_kept_id() };
        self.entry("compaction", &format!(r#","summary":"so far"{kept},"tokensBefore":1234"#));
    }

    /// What is kept, as a number: mostly an entry before, at times the header, the compaction itself, what comes later or
    /// never, or no number of a line at all.
    fn first_kept_index(&mut self) -> String {
        let before = self.random.below(self.parsed);
        let itself = self.parsed;
        let index = match self.random.below(16) {
            0 => "0".to_owned(),
            1 => itself.to_string(),
            2 => (itself + 1).to_string(),
            3 => "9999".to_owned(),
            4 => self.random.pick(&["-1", "1.5", "1e999", "null", "\"2\"", "-0"]).to_owned(),
            5 => format!("{before}.0e0"),
            6 => return String::new(),
            _ => before.to_string(),
        };
        format!(r#","firstKeptEntryIndex":{index}"#)
    }

    fn first_kept_id(&mut self) -> String {
        self.random.maybe(&self.ids).map_or_else(String::new, |id| format!(r#","firstKeptEntryId":"{id}""#))
    }
}

/// Random sessions of `version` in the folder of a project below `root`.
fn write_old(root: &Path, version: u64, damaged: bool) -> Vec<PathBuf> {
    let folder = root.join("--project--");
    fs::create_dir_all(&folder).unwrap();
    let mut random = Random::new(seed(), 0x6f6c_6400 + version + 2 * u64::from(damaged));
    for number in 0..SESSIONS {
        let mut writer =
            Writer { random: &mut random, version, damaged, lines: Vec::new(), ids: Vec::new(), parsed: 0 };
        let text = writer.write(number);
        fs::write(folder.join(format!("2025-11-02T03-04-05-006Z_old-{version}-{number}.jsonl")), text).unwrap();
    }
    sessions(root)
}

/// Writes what leaflog makes of the entries of a session, for `migrate.mjs`.
fn write_upgraded(path: &Path, session: &Session) {
    let mut text = Vec::new();
    for entry in session.entries() {
        text.extend_from_slice(entry.unwrap().as_bytes());
        text.push(b'\n');
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".upgraded");
    fs::write(name, text).unwrap();
}

#[test]
#[ignore = "needs Node and the pi packages: npm ci --ignore-scripts in tests/pi"]
fn versions_1_and_2_become_what_pi_makes_of_them_and_migrating_keeps_that() {
    for version in [1, 2] {
        let context = format!("version {version}, seed {}", seed());
        let folder = temporary_folder();
        let root = folder.path().join("sessions");
        let paths = write_old(&root, version, true);
        let list = folder.path().join("paths");
        write_paths(&list, &paths);
        let originals: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        let opened: Vec<_> = paths.iter().map(|path| Session::open(path).unwrap()).collect();
        let compare = || {
            let ended = run(&["migrate.mjs", list.to_str().unwrap()]);
            let shown: Vec<_> = ended.output.lines().take(12).collect();
            assert!(ended.success, "{context}\n{}", shown.join("\n"));
            serde_json::from_str::<Value>(ended.output.lines().last().unwrap()).unwrap()
        };
        for (path, session) in paths.iter().zip(&opened) {
            assert_eq!(session.header().version, version, "{context}");
            write_upgraded(path, session);
        }
        let counts = compare();
        let count = |name: &str| counts[name].as_u64().unwrap();
        assert_eq!(count("sessions"), SESSIONS as u64, "{context}");
        assert!(
            count("kept") > 50 && count("compactions") > count("kept") && count("custom") > 100,
            "{counts}; {context}"
        );
        assert!(count("ownKept") > 0 || version == 2, "{counts}; {context}");

        // What is migrated says the same, with the ids that were seen before, and pi finds it to be of version 3.
        for ((path, session), original) in paths.iter().zip(&opened).zip(&originals) {
            let before: Vec<_> = session.entries().map(|entry| entry.unwrap().id().clone()).collect();
            let done = migrate(path, &SessionOptions::new()).unwrap().unwrap();
            assert_eq!(&fs::read(&done.backup).unwrap(), original, "{context}");
            let session = Session::open(path).unwrap();
            let after: Vec<_> = session.entries().map(|entry| entry.unwrap().id().clone()).collect();
            assert_eq!(after, before, "{}; {context}", path.display());
        }
    }
}

#[test]
#[ignore = "needs Node and the pi packages: npm ci --ignore-scripts in tests/pi"]
fn both_pis_read_migrated_sessions_as_leaflog_does() {
    for version in [1, 2] {
        let folder = temporary_folder();
        let paths = write_old(&folder.path().join("sessions"), version, false);
        let refused = folder.path().join("refused");
        let list = folder.path().join("paths");
        write_paths(&list, &paths);
        let args = ["read.mjs", list.to_str().unwrap(), refused.to_str().unwrap(), "--pi", "0.83", "--brief"];
        assert!(!node_command(&args).output().unwrap().status.success());
        let refusals = fs::read_to_string(&refused).unwrap();
        assert_eq!(
            refusals.matches("unsupported session version").count(),
            paths.len(),
            "0.83 reads version {version}"
        );

        for path in &paths {
            assert!(migrate(path, &SessionOptions::new()).unwrap().is_some());
        }
        let before: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        for pi in Pi::BOTH {
            let context = format!("pi {}, version {version}, seed {}", pi.version(), seed());
            let out = folder.path().join(pi.version());
            let (seen, left) = check_against_pi(pi, &paths, &out, &context);
            assert_eq!(seen.len(), SESSIONS, "{context}");
            left.assert_only(&["3.5"], &context);
        }
        let after: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        assert!(before == after, "a pi has changed a migrated session");
    }
}
