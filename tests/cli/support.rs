//! A folder of sessions, and the binary run on it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_leaflog");

/// A root with sessions, a project's folder, and nothing of the user's own environment.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.project()).unwrap();
        place
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder().join("root")
    }

    /// The current folder of every run.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder().join("project")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(BINARY);
        command.current_dir(self.project());
        command.env_clear().env("HOME", self.folder()).env("LEAFLOG_ROOT", self.root());
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.command().args(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs with `input` on standard input.
    pub(crate) fn feed<const N: usize>(&self, args: [&str; N], input: impl Into<Vec<u8>>) -> Run {
        let mut command = assert_cmd::Command::from_std(self.command());
        command.args(args).write_stdin(input.into()).output().unwrap().into()
    }

    /// Runs what must go well, without a word on stderr; returns the output without the last line feed.
    pub(crate) fn ok<const N: usize>(&self, args: [&str; N]) -> String {
        let run = self.run(args);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
        run.stdout.strip_suffix('\n').unwrap_or(&run.stdout).to_owned()
    }

    pub(crate) fn json<const N: usize>(&self, args: [&str; N]) -> Value {
        let printed = self.ok(args);
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{args:?}: {error}: {printed}"))
    }

    /// Runs what must fail with `code`, without an answer and with one line on stderr; returns that.
    pub(crate) fn fails<A: AsRef<OsStr>>(&self, code: i32, args: impl IntoIterator<Item = A>) -> String {
        self.run(args).failed(code)
    }

    /// Runs what must fail with `code`, with `--json`; returns the error.
    pub(crate) fn error<const N: usize>(&self, code: i32, args: [&str; N]) -> Value {
        let mut args: Vec<_> = args.into();
        args.push("--json");
        let line = self.fails(code, args);
        let report: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        report["error"].clone()
    }

    /// A new session's path.
    pub(crate) fn session(&self) -> String {
        self.ok(["new"])
    }

    /// A new session with alternating messages of user and assistant, and their ids.
    pub(crate) fn conversation(&self, texts: &[&str]) -> (String, Vec<String>) {
        let session = self.session();
        let ids = texts.iter().enumerate().map(|(number, text)| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            self.ok(["append", &session, "--role", role, "--text", text])
        });
        let ids = ids.collect();
        (session, ids)
    }

    /// Every file below the place, with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.folder().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// A file beside the store.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Run {
    /// Checks that it failed with `code`, without an answer, and returns its one line.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        self.line()
    }

    /// The one line on stderr.
    pub(crate) fn line(&self) -> String {
        let lines: Vec<_> = self.stderr.lines().collect();
        assert!(self.stderr.ends_with('\n') && lines.len() == 1, "not one line: {:?}", self.stderr);
        lines[0].to_owned()
    }
}

/// The records of a log, with the header.
pub(crate) fn records(path: &str) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The last record of a log.
pub(crate) fn last(path: &str) -> Value {
    serde_json::from_str(records(path).last().unwrap()).unwrap()
}

/// The names of an object's members, in order of the alphabet.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
