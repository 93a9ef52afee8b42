//! Running the scripts in `tests/pi`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which of the two pis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pi {
    /// 1.6.0: today's.
    Today,
    /// 0.83.0: the generation of C12.
    OfC12,
}

impl Pi {
    pub(crate) const BOTH: [Self; 2] = [Self::Today, Self::OfC12];

    /// The name that the scripts know.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Today => "1.6",
            Self::OfC12 => "0.83",
        }
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("pi")
}

/// A command that runs Node with `args`, the first of which is a script of `tests/pi`.
pub(crate) fn node_command(args: &[impl AsRef<OsStr>]) -> Command {
    let folder = scripts();
    for package in ["pi-1.6", "pi-0.83"] {
        assert!(
            folder.join("node_modules").join(package).is_dir(),
            "the package {package} is missing: run `npm ci --ignore-scripts` in tests/pi"
        );
    }
    let mut command = Command::new("node");
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// How a script ended.
pub(crate) struct Ended {
    pub(crate) success: bool,
    pub(crate) output: String,
}

/// Runs a script to its end. Node writes to pipes piece by piece, so both are read while it runs.
pub(crate) fn run(args: &[impl AsRef<OsStr>]) -> Ended {
    let shown: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect();
    let ended = node_command(args).output().unwrap_or_else(|error| not_there(&error));
    let output = String::from_utf8_lossy(&ended.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        eprintln!("node {}: {}\n{errors}", shown.join(" "), ended.status);
    }
    Ended { success: ended.status.success(), output }
}

pub(crate) fn not_there(error: &std::io::Error) -> ! {
    panic!("cannot run `node` ({error}): install Node 20 or newer, then `npm ci --ignore-scripts` in tests/pi")
}

/// Runs a script that must succeed, and returns what it prints.
pub(crate) fn node(args: &[impl AsRef<OsStr>]) -> String {
    let ended = run(args);
    assert!(ended.success, "the script failed: {}", args[0].as_ref().to_string_lossy());
    ended.output
}

/// Writes one path a line, as the scripts take them.
pub(crate) fn write_paths<'a>(file: &Path, paths: impl IntoIterator<Item = &'a PathBuf>) {
    let lines: Vec<_> = paths.into_iter().map(|path| format!("{}\n", path.display())).collect();
    fs::write(file, lines.concat()).unwrap();
}

/// How often a part of a view was left to a rule, as `compare.mjs --skip-rule` tells.
#[derive(Debug, Default)]
pub(crate) struct LeftToRules(Vec<(String, String, usize)>);

impl LeftToRules {
    fn parse(output: &str) -> Self {
        let lines = output.lines().filter_map(|line| line.strip_prefix("left to rule "));
        let parse = |line: &str| {
            let (what, count) = line.rsplit_once(": ").unwrap();
            let (rule, part) = what.split_once(' ').unwrap();
            (rule.to_owned(), part.to_owned(), count.parse().unwrap())
        };
        Self(lines.map(parse).collect())
    }

    /// How many parts called `part` were left to `rule`.
    pub(crate) fn count(&self, rule: &str, part: &str) -> usize {
        self.0.iter().filter(|(r, p, _)| r == rule && p == part).map(|(_, _, count)| count).sum()
    }

    /// Fails if any other rule than `known` was at work.
    pub(crate) fn assert_only(&self, known: &[&str], context: &str) {
        assert!(self.rules().iter().all(|rule| known.contains(rule)), "{self:?}; {context}");
    }

    /// The rules at work.
    pub(crate) fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<_> = self.0.iter().map(|(rule, _, _)| rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

/// Compares two files of views; panics with the differences unless all that `expected` says is in `actual`.
pub(crate) fn compare(expected: &Path, actual: &Path, context: &str) -> LeftToRules {
    let ended = run(&[OsStr::new("compare.mjs"), expected.as_os_str(), actual.as_os_str(), OsStr::new("--skip-rule")]);
    let shown: Vec<_> = ended.output.lines().take(30).collect();
    assert!(ended.success, "{context}\n{}", shown.join("\n"));
    LeftToRules::parse(&ended.output)
}

/// How pi reads the sessions `paths`: writes its views to `out`.
pub(crate) fn read(pi: Pi, paths: &[PathBuf], out: &Path, brief: bool, context: &str) {
    let list = out.with_extension("paths");
    write_paths(&list, paths);
    let mut args = vec![OsStr::new("read.mjs"), list.as_os_str(), out.as_os_str(), OsStr::new("--pi")];
    args.push(OsStr::new(pi.version()));
    if brief {
        args.push(OsStr::new("--brief"));
    }
    assert!(run(&args).success, "pi {} cannot read all sessions; {context}", pi.version());
}
