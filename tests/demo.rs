//! The demo, step by step, against literal text.
#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// All that the demo prints, with its folder as `<folder>`.
const EXPECTED: &str = include_str!("cli/demo.txt");

fn demo(temporary: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaflog"));
    command.arg("demo").args(args).env_clear().env("TMPDIR", temporary).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_step_shows_the_tree_and_the_context_that_the_seeds_describe() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &[]);
    assert_eq!((output.status.code(), text(output.stderr).as_str()), (Some(0), ""));
    let printed = text(output.stdout);
    let first = printed.lines().next().unwrap();
    let folder = first.strip_prefix("The life of a session, played in ").unwrap();
    assert!(Path::new(folder).starts_with(temporary.path()));
    let printed = printed.replace(folder, "<folder>");
    // Line by line, so that a difference names its step.
    let mut step = "";
    for (number, (printed, expected)) in printed.lines().zip(EXPECTED.lines()).enumerate() {
        if expected.as_bytes().get(2) == Some(&b'.') {
            step = expected;
        }
        assert_eq!(printed, expected, "line {}, in step {step}", number + 1);
    }
    assert_eq!(printed, EXPECTED);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "the folder is still there");
}

#[test]
fn a_folder_that_is_named_is_kept_with_all_sessions_in_it() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("kept");
    let folder = folder.to_str().unwrap();
    // Twice in one folder: nothing of the first time is in the way.
    for times in 1..=2 {
        let output = demo(temporary.path(), &["--dir", folder]);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
        assert!(text(output.stdout).ends_with(&format!("The sessions are in {folder}\n")));
        let mut list = Command::new(env!("CARGO_BIN_EXE_leaflog"));
        let list = list.args(["list", "--json", "--strict", "--root", folder]).output().unwrap();
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        assert_eq!(list.as_array().unwrap().len(), 5 * times);
    }
}

#[test]
fn with_json_every_check_is_a_line() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--json"]);
    let lines: Vec<Value> = text(output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, checks) = lines.split_last().unwrap();
    assert!(checks.iter().all(|check| check["holds"] == true));
    assert_eq!((end["steps"].as_u64(), end["checks"].as_u64()), (Some(16), Some(checks.len() as u64)));
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let output = demo(temporary.path(), &["--dir", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(output.stderr).lines().count(), 1);
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
}
