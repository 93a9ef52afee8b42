//! The one-way order of the layers, read from the sources: error and model, codec, journal, index, session, check and
//! navigate, store.
//!
//! A layer may name itself and the layers before it. `lib.rs` only re-exports, the command line sees the public API
//! only, files are touched in a few places, and the time is asked for in one.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers with their ranks. `error` and `model` see each other: an error may carry an entry's id.
const RANKS: [(&str, u8); 10] = [
    ("error", 0),
    ("model", 0),
    ("codec", 1),
    ("journal", 2),
    ("index", 3),
    ("session", 4),
    ("navigate", 5),
    ("check", 5),
    ("store", 6),
    // The suite for backends, which is of no use to the others.
    ("conformance", 7),
];

/// What touches files, and the only library files that may.
const FILE_ACCESS: [&str; 9] = [
    "std::fs",
    "std::os::unix::fs",
    "rustix::fs",
    "fs2::",
    ".exists()",
    ".is_file()",
    ".is_dir()",
    ".read_dir()",
    ".canonicalize()",
];
const FILE_ACCESS_ALLOWED: [&str; 9] = [
    "journal/file/database_file.rs",
    "journal/file/file_system.rs",
    "journal/file/folder.rs",
    "journal/file/lock.rs",
    "journal/file/log_file.rs",
    "journal/file/publish.rs",
    "journal/file/swap.rs",
    "journal/file/trash.rs",
    "journal/file/writer.rs",
];

/// What asks for the time, and who may: the one clock, the ids of sessions, deadlines of locks and waits,
/// and when to show progress.
const CLOCKS: [(&str, &[&str]); 4] = [
    ("SystemTime::now", &[]),
    ("jiff::Timestamp::now", &["model/time.rs"]),
    ("now_v7", &["model/id.rs"]),
    (
        "Instant::now",
        &[
            "journal/mod.rs",
            "journal/memory.rs",
            "journal/sqlite/database.rs",
            "conformance/journals.rs",
            "journal/file/lock.rs",
            "journal/file/writer.rs",
            "navigate/command.rs",
            "bin/leaflog/output/progress.rs",
            "bin/leaflog/commands/watch.rs",
        ],
    ),
];

/// A broken rule: where, and which.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src/{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// A source file: its path below `src`, and its lines without comments.
struct Source {
    file: String,
    lines: Vec<String>,
}

impl Source {
    fn new(file: &str, text: &str) -> Self {
        Self { file: file.to_owned(), lines: text.lines().map(|line| without_comment(line).to_owned()).collect() }
    }

    fn breach(&self, line: usize, rule: impl Into<String>) -> Breach {
        Breach { file: self.file.clone(), line, rule: rule.into() }
    }

    /// The lines, counted from 1.
    fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.lines.iter().map(String::as_str))
    }

    /// The names of the modules around the file's code: `index/apply.rs` is `index`, `apply`.
    fn module(&self) -> Vec<&str> {
        let path = self.file.strip_suffix(".rs").unwrap_or(&self.file);
        path.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect()
    }

    /// Every top-level module of the crate that the file names, with its line.
    fn references(&self) -> Vec<(usize, String)> {
        let mut module = self.module();
        let mut found = Vec::new();
        for (number, line) in self.numbered() {
            let tokens: Vec<_> = paths(line).collect();
            for path in tokens {
                let parts: Vec<_> = path.split("::").collect();
                let supers = parts.iter().take_while(|part| **part == "super").count();
                let named = match parts[0] {
                    "crate" => parts.get(1).copied().unwrap_or_default(),
                    "super" if supers < module.len() => module[0],
                    "super" => parts.get(supers).copied().unwrap_or_default(),
                    _ => continue,
                };
                found.push((number, named.to_owned()));
            }
            // Modules inside a file are its tests, at its end.
            if line.trim_start().starts_with("mod ") && line.trim_end().ends_with('{') {
                module.push("inner");
            }
        }
        found
    }
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The paths in a line of code, such as `crate::model::EntryId` or `super::table`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let in_path = |character: char| character.is_alphanumeric() || matches!(character, '_' | ':' | '{');
    line.split(move |character| !in_path(character)).map(|path| path.trim_start_matches(':')).filter(|path| {
        let first = path.split("::").next();
        path.contains("::") && matches!(first, Some("crate" | "super"))
    })
}

fn order(source: &Source) -> Vec<Breach> {
    let rank_of = |layer: &str| RANKS.iter().find(|(name, _)| *name == layer).map(|(_, rank)| *rank);
    let Some(layer) = source.module().first().copied() else { return Vec::new() };
    let Some(rank) = rank_of(layer) else {
        return vec![source.breach(1, format!("the layer {layer} has no rank in tests/layers.rs"))];
    };
    let mut breaches = Vec::new();
    for (line, named) in source.references() {
        match rank_of(&named) {
            Some(other) if named == layer || other < rank || (rank == 0 && other == 0) => {}
            Some(_) => breaches.push(source.breach(line, format!("{layer} must not know {named}"))),
            None => {
                breaches.push(source.breach(line, format!("`{named}` is no layer; name the module, one per `use`")));
            }
        }
    }
    breaches
}

fn file_access(source: &Source) -> Vec<Breach> {
    let allowed = FILE_ACCESS_ALLOWED.contains(&source.file.as_str());
    let mut uses = source.numbered().filter_map(|(line, code)| {
        let token = FILE_ACCESS.iter().find(|token| code.contains(**token))?;
        Some(source.breach(line, format!("`{token}` outside of the files that may touch files")))
    });
    match uses.next() {
        Some(_) if allowed => Vec::new(),
        None if allowed => vec![source.breach(1, "touches no files any more; take it off the list")],
        first => first.into_iter().chain(uses).collect(),
    }
}

fn clock(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, code) in source.numbered() {
        for (token, allowed) in CLOCKS {
            if code.contains(token) && !allowed.contains(&source.file.as_str()) {
                breaches.push(source.breach(line, format!("`{token}`: the one clock is model::Timestamp::now")));
            }
        }
    }
    breaches
}

/// `lib.rs` holds attributes, `mod` lines and re-exports.
fn no_logic(source: &Source) -> Vec<Breach> {
    let logic = ["fn ", "impl ", "impl<", "trait ", "static ", "macro_rules!"];
    let is_logic =
        |code: &str| logic.iter().any(|token| code.trim_start().trim_start_matches("pub ").starts_with(token));
    let lines = source.numbered().filter(|(_, code)| is_logic(code));
    lines.map(|(line, _)| source.breach(line, "lib.rs holds no logic")).collect()
}

/// The command line is a crate of its own, so the compiler keeps it to the public API unless it includes sources.
fn no_inclusion(source: &Source) -> Vec<Breach> {
    let lines = source.numbered().filter(|(_, code)| code.contains("#[path") || code.contains("include!("));
    lines.map(|(line, _)| source.breach(line, "the command line sees the public API only")).collect()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources can be listed") {
            let path: PathBuf = entry.expect("the sources can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(&root).expect("it is below the root").to_string_lossy().replace('\\', "/");
                sources.push(Source::new(&file, &fs::read_to_string(&path).expect("a source can be read")));
            }
        }
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    sources
}

fn assert_none(breaches: &[Breach]) {
    let list: Vec<_> = breaches.iter().map(Breach::to_string).collect();
    assert!(list.is_empty(), "\n{}", list.join("\n"));
}

#[test]
fn every_layer_names_only_itself_and_the_layers_before_it() {
    let sources = sources();
    assert!(sources.len() > 30, "only {} sources were found", sources.len());
    let library = sources.iter().filter(|source| !source.file.starts_with("bin/"));
    assert_none(&library.flat_map(order).collect::<Vec<_>>());
}

#[test]
fn the_crate_root_re_exports_only_and_the_command_line_sees_the_public_api_only() {
    for source in &sources() {
        if source.file == "lib.rs" {
            assert_none(&no_logic(source));
        }
        if source.file.starts_with("bin/") {
            assert_none(&no_inclusion(source));
        }
    }
}

#[test]
fn files_are_touched_by_the_file_backend_only() {
    let sources = sources();
    let library = sources.iter().filter(|source| !source.file.starts_with("bin/"));
    assert_none(&library.flat_map(file_access).collect::<Vec<_>>());
    for allowed in FILE_ACCESS_ALLOWED {
        assert!(sources.iter().any(|source| source.file == allowed), "there is no src/{allowed}");
    }
}

#[test]
fn the_time_is_asked_for_in_one_place() {
    assert_none(&sources().iter().flat_map(clock).collect::<Vec<_>>());
}

#[test]
fn a_breach_is_told_with_its_file_and_line() {
    let source = Source::new("codec/line.rs", "use crate::model::Text;\n\nuse crate::session::Session; // why\n");
    let breaches = order(&source);
    assert_eq!(breaches.len(), 1);
    assert_eq!(breaches[0].to_string(), "src/codec/line.rs:3: codec must not know session");

    for (file, code, breach) in [
        ("codec/mod.rs", "fn x() -> super::index::Row {}", Some("codec must not know index")),
        ("index/apply.rs", "use super::table::Row;", None),
        ("index/apply.rs", "use super::super::store::Store;", Some("index must not know store")),
        ("index/apply.rs", "mod tests {\n    use super::super::table::Row;", None),
        ("index/apply.rs", "mod tests {\n    use super::super::super::store;", Some("index must not know store")),
        ("error.rs", "use crate::model::EntryId;", None),
        ("model/id.rs", "use crate::error::Error;", None),
        ("model/id.rs", "use crate::{error, store};", Some("`{error` is no layer; name the module, one per `use`")),
        ("store/mod.rs", "/// See [`crate::store`].\nuse crate::session::Fork;", None),
        (
            "journal/mod.rs",
            "fn x(x: crate::Result<()>) {}",
            Some("`Result` is no layer; name the module, one per `use`"),
        ),
        ("newcomer/mod.rs", "", Some("the layer newcomer has no rank in tests/layers.rs")),
    ] {
        let found = order(&Source::new(file, code)).pop().map(|breach| breach.rule);
        assert_eq!(found.as_deref(), breach, "{file}: {code}");
    }

    let source = Source::new("session/read.rs", "\nfn now() { std::time::SystemTime::now() }\nuse std::fs;");
    assert_eq!(clock(&source)[0].line, 2);
    assert_eq!(file_access(&source)[0].line, 3);
    assert_eq!(file_access(&Source::new("journal/file/lock.rs", ""))[0].line, 1);
    assert_eq!(no_logic(&Source::new("lib.rs", "mod x;\npub use x::Y;\npub fn z() {}"))[0].line, 3);
    assert_eq!(no_inclusion(&Source::new("bin/leaflog/main.rs", "#[path = \"x.rs\"]"))[0].line, 1);
}
