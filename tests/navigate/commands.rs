//! The summariser that runs a program (SPEC 6.4), with real programs.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use leaflog::{
    Cancellation, CommandSummarizer, ErrorKind, Navigation, NewEntry, Summarized, Summarizer, SummaryFailure,
    summary_prompt,
};

use super::common;
use super::support::{moved, scene, summarize};

const LONG: Duration = Duration::from_secs(60);

fn run(command: &CommandSummarizer, instructions: &str) -> Result<Summarized, SummaryFailure> {
    command.summarize(&summary_prompt(&[], Some(instructions), true), &Cancellation::new())
}

#[track_caller]
fn failure(outcome: Result<Summarized, SummaryFailure>) -> String {
    match outcome {
        Err(SummaryFailure::Failed(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_gets_the_prompt_on_stdin_and_its_output_is_the_summary() {
    let scene = scene();
    let navigator = scene.navigator().summarizer(CommandSummarizer::new("cat", [""; 0]));
    let gone = moved(navigator.navigate(&scene.answer, &summarize()));
    let text = scene.session.entry(gone.summary_entry.as_ref().unwrap()).unwrap().text();
    assert!(
        text.contains("<conversation>\n[User]: Use plan A.\n\n[Assistant]: Plan A failed.\n</conversation>"),
        "{text}"
    );
    assert!(text.contains("## Next Steps"));
    scene.assert_leaf(gone.summary_entry.as_ref());
}

#[test]
fn arguments_are_passed_as_they_are_and_a_command_line_is_the_shells() {
    let summarized = run(&CommandSummarizer::new("printf", ["%s|%s", "a b", "$HOME"]), "").unwrap();
    assert_eq!(summarized, Summarized::new("a b|$HOME"));
    let summarized = run(&CommandSummarizer::shell("printf '  %s\n\n' \"$((1 + 2))\" | tr 3 4"), "").unwrap();
    assert_eq!(summarized.text, "4");
    assert_eq!(run(&CommandSummarizer::new("printf", [r"a\377b"]), "").unwrap().text, "a\u{fffd}b");
}

#[test]
fn prompts_and_outputs_larger_than_a_pipe_do_not_hang() {
    let long = "x".repeat(900 << 10);
    let text = run(&CommandSummarizer::new("cat", [""; 0]), &long).unwrap().text;
    assert!(text.len() > long.len() && text.ends_with(&long));
    // A program that writes before it reads, and one that does not read at all.
    let eager = "head -c 500000 /dev/zero | tr '\\0' y; head -c 500000 /dev/zero | tr '\\0' e >&2; cat > /dev/null";
    assert_eq!(run(&CommandSummarizer::shell(eager), &long).unwrap().text.len(), 500_000);
    assert_eq!(run(&CommandSummarizer::new("echo", ["brief"]), &long).unwrap().text, "brief");
}

#[test]
fn every_way_to_fail_leaves_the_leaf_and_says_what_happened() {
    let scene = scene();
    let before = scene.bytes();
    let quick = Duration::from_millis(200);
    for (command, expected) in [
        (CommandSummarizer::new("false", [""; 0]), "`false` failed (exit status: 1)"),
        (
            CommandSummarizer::shell("echo partial; echo 'no\u{1b}[31m key' >&2; exit 3"),
            "`sh` failed (exit status: 3): no [31m key",
        ),
        (CommandSummarizer::shell("kill -9 $$"), "`sh` failed (signal: 9"),
        (CommandSummarizer::new("true", [""; 0]), "`true` printed nothing"),
        (CommandSummarizer::new("echo", [" "]), "`echo` printed nothing"),
        (CommandSummarizer::new("sleep", ["60"]).time_limit(quick), "`sleep` took longer than 0.2 s and was killed"),
        (CommandSummarizer::shell("trap '' PIPE TERM; yes; sleep 60"), "`sh` printed more than 1048576 bytes"),
        (CommandSummarizer::new("head", ["-c", "1048577", "/dev/zero"]), "`head` printed more than 1048576 bytes"),
        (CommandSummarizer::new("/no/such/program", [""; 0]), "`/no/such/program` cannot be run: No such file"),
    ] {
        let start = Instant::now();
        let navigator = scene.navigator().summarizer(command);
        let error = navigator.navigate(&scene.plan_a, &summarize()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Summary);
        let source = error.source().unwrap().to_string();
        assert!(source.contains(expected), "{source:?} instead of {expected:?}");
        assert!(start.elapsed() < LONG / 2, "{expected}: {:?}", start.elapsed());
    }
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn an_error_shows_the_end_of_a_long_stderr_on_one_line() {
    let script = "i=0; while [ $i -lt 2000 ]; do echo \"line $i\"; i=$((i + 1)); done >&2; exit 1";
    let message = failure(run(&CommandSummarizer::shell(script), ""));
    assert!(message.ends_with("line 1998 line 1999"), "{message}");
    assert!((2_000..2_200).contains(&message.len()) && !message.contains("line 1 "), "{}", message.len());
}

#[test]
fn an_abort_kills_the_program_and_what_it_started() {
    let scene = scene();
    let before = scene.bytes();
    let file = scene.folder.path().join("pids");
    let script = format!("sleep 61 & echo $$ $! > '{}'; wait", file.display());
    let navigator = Arc::new(scene.navigator().summarizer(CommandSummarizer::shell(script)));
    let (other, target) = (Arc::clone(&navigator), scene.plan_a.clone());
    let navigating = thread::spawn(move || other.navigate(&target, &summarize()));
    let pids = pids(&file);
    let start = Instant::now();
    navigator.abort();
    assert!(matches!(navigating.join().unwrap(), Ok(Navigation::Cancelled)));
    assert!(start.elapsed() < LONG / 2);
    assert_end(&pids);
    assert_eq!(scene.bytes(), before);
    assert!(navigator.wait_idle(Duration::ZERO));
    common::assert_reopens_alike(&scene.session);
}

#[test]
fn a_time_limit_and_an_early_end_reach_the_whole_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let script = format!("sleep 62 & echo $$ $! > '{}'; wait", file.display());
    failure(run(&CommandSummarizer::shell(script).time_limit(Duration::from_secs(3)), ""));
    assert_end(&pids(&file));
    // What stays behind is not waited for, although it holds the output open.
    let file = folder.path().join("more pids");
    let script = format!("sleep 63 & echo $$ $! > '{}'; echo done", file.display());
    let start = Instant::now();
    assert_eq!(run(&CommandSummarizer::shell(script), "").unwrap().text, "done");
    assert!(start.elapsed() < LONG / 2);
    assert_end(&pids(&file));
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_left_the_group_and_holds_the_output_is_not_waited_for() {
    let start = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left").display().to_string();
    // Whoever has not left the group by the time that the program ends is killed with it.
    let script =
        format!("setsid sh -c 'touch {left}; exec sleep 8' & while [ ! -e {left} ]; do sleep 0.01; done; echo done");
    let message = failure(run(&CommandSummarizer::shell(script), ""));
    assert!(message.contains("keeps its output open"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(6));
}

#[test]
fn a_cancelled_summary_starts_nothing_that_lasts() {
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let outcome = CommandSummarizer::new("sleep", ["60"]).summarize(&summary_prompt(&[], None, false), &cancellation);
    assert!(matches!(outcome, Err(SummaryFailure::Aborted)));
}

#[test]
fn a_command_navigates_a_branch_that_goes_on_being_used() {
    let scene = scene();
    let navigator = scene.navigator().summarizer(CommandSummarizer::shell("wc -c"));
    for _ in 0..3 {
        let gone = moved(navigator.navigate(&scene.plan_a, &summarize()));
        scene.assert_leaf(gone.leaf.as_ref());
        scene.add(NewEntry::user("more"));
    }
}

/// The process ids that a script wrote, once they are there.
fn pids(file: &Path) -> Vec<String> {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.split_whitespace().map(str::to_owned).collect();
        }
        assert!(start.elapsed() < LONG, "the script wrote no process ids");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Fails unless the processes are over soon.
#[track_caller]
fn assert_end(pids: &[String]) {
    let start = Instant::now();
    let is_there = |pid: &String| {
        let status = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout).trim().to_owned();
        !status.is_empty() && !status.starts_with('Z')
    };
    while let Some(pid) = pids.iter().find(|pid| is_there(pid)) {
        assert!(start.elapsed() < Duration::from_secs(10), "the process {pid} lives on");
        thread::sleep(Duration::from_millis(10));
    }
}
