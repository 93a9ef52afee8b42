use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, Run, keys, last, records};

/// A question, an answer, plan A and its result, where the session stands.
fn plans(place: &Place) -> (String, Vec<String>) {
    place.conversation(&["How?", "Two plans.", "Use plan A.", "Plan A failed."])
}

#[test]
fn a_user_message_moves_the_leaf_before_it_and_prints_its_text() {
    let place = Place::new();
    let (session, ids) = plans(&place);
    let before = records(&session).len();
    let printed = place.ok(["navigate", &session, &ids[2]]);
    assert_eq!(printed, format!("{}\nUse plan A.", ids[1]));
    assert_eq!(records(&session).len(), before + 1);
    assert_eq!(place.json(["info", &session, "--json"])["leaf"], ids[1]);
    let moved = place.json(["navigate", &session, &ids[3], "--json"]);
    assert_eq!(keys(&moved), ["cancelled", "editorText", "leaf", "summaryEntry"]);
    assert_eq!(moved, json!({"cancelled": false, "leaf": ids[3], "editorText": null, "summaryEntry": null}));
    let first = place.json(["navigate", &session, &ids[0], "--json"]);
    assert_eq!((&first["leaf"], &first["editorText"]), (&Value::Null, &json!("How?")));
    assert_eq!(place.ok(["navigate", &session, &ids[2], "--label", "again"]).lines().count(), 2);
    let here = place.json(["info", &session, "--json"])["leaf"].as_str().unwrap().to_owned();
    let run = place.run(["navigate", &session, &here]);
    assert_eq!((run.code, run.stdout.trim_end()), (Some(0), here.as_str()));
    assert!(run.stderr.contains("nothing was written"), "{}", run.stderr);
    assert_eq!(place.error(1, ["navigate", &session, "nobody"])["kind"], "not-found");
    // For people nothing that a terminal obeys, for programs the text as it is.
    let odd = place.ok(["append", &session, "--text", "one\ntwo\u{1b}[31m"]);
    place.ok(["append", &session, "--role", "assistant", "--text", "ok"]);
    assert!(place.ok(["navigate", &session, &odd]).ends_with("\none\ntwo[31m"));
    place.ok(["move", &session, &odd]);
    place.ok(["append", &session, "--role", "assistant", "--text", "ok"]);
    assert_eq!(place.json(["navigate", &session, &odd, "--json"])["editorText"], "one\ntwo\u{1b}[31m");
}

#[test]
fn a_command_writes_the_summary_of_what_is_left() {
    let place = Place::new();
    let (session, ids) = plans(&place);
    let prompt = place.folder().join("prompt");
    let summarizer = format!("cat > '{}'; echo 'Plan A needs an API that is gone.'", prompt.display());
    let moved = place.json([
        "navigate",
        &session,
        &ids[2],
        "--summarize",
        "--summarizer",
        &summarizer,
        "--instructions",
        "Look at the API.",
        "--label",
        "plan A",
        "--json",
    ]);
    let prompt = fs::read_to_string(prompt).unwrap();
    assert!(prompt.contains("Plan A failed.") && prompt.contains("Look at the API.") && prompt.contains("Next Steps"));
    assert!(!prompt.contains("Two plans."), "what is common is not summed up");
    let summary = moved["summaryEntry"].as_str().unwrap();
    let shown: Value = serde_json::from_str(&place.ok(["show", &session, summary, "--json"])).unwrap();
    assert_eq!((&shown["parentId"], &shown["fromId"]), (&json!(ids[1]), &json!(ids[3])));
    assert!(shown["summary"].as_str().unwrap().contains("an API that is gone"));
    assert_eq!(moved["editorText"], "Use plan A.");
    assert!(place.ok(["tree", &session]).contains("plan A"));
    // From the environment, with nothing but the caller's own words.
    let mut command = place.command();
    command.env("LEAFLOG_SUMMARIZER", "cat > ../prompt; echo done");
    let args = ["navigate", &session, &ids[3], "--summarize", "--instructions", "Only this.", "--replace-instructions"];
    let run: Run = command.args(args).output().unwrap().into();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let prompt = fs::read_to_string(place.folder().join("prompt")).unwrap();
    assert!(prompt.contains("Only this.") && !prompt.contains("Next Steps"), "{prompt}");
    // The budget leaves out what does not fit.
    let (session, ids) =
        place.conversation(&["How?", "Two plans.", "A: do it.", "old words ".repeat(400).as_str(), "and then"]);
    let tight = ["--window", "1100", "--reserve", "1000", "--summarizer", "cat > ../prompt; echo done"];
    place.run([&["navigate", &session, &ids[1], "--summarize"], &tight[..]].concat());
    let prompt = fs::read_to_string(place.folder().join("prompt")).unwrap();
    assert!(prompt.contains("and then") && !prompt.contains("old words"));
}

#[test]
fn a_summariser_that_fails_hangs_says_nothing_or_too_much_moves_nothing_and_says_what_happened() {
    let place = Place::new();
    let (session, ids) = plans(&place);
    let before = fs::read(&session).unwrap();
    for (summarizer, said) in [
        ("echo 'no key' >&2; exit 3", "failed (exit status: 3): no key"),
        ("sleep 60", "took longer than 0.3 s and was killed"),
        ("true", "printed nothing"),
        ("yes", "printed more than 1048576 bytes"),
        ("/no/such/program", "/no/such/program"),
    ] {
        let timeout = if summarizer.starts_with("sleep") { "0.3" } else { "60" };
        let args = ["navigate", &session, &ids[2], "--summarize", "--summarizer", summarizer, "--timeout", timeout];
        let line = place.fails(1, args);
        assert!(line.contains(said), "{line}");
        assert_eq!(fs::read(&session).unwrap(), before, "{summarizer}");
    }
    assert_eq!(
        place.error(1, ["navigate", &session, &ids[2], "--summarize", "--summarizer", "true"])["kind"],
        "summary"
    );
    for wrong in [
        vec!["--summarize"],
        vec!["--instructions", "x"],
        vec!["--summarize", "--replace-instructions"],
        vec!["--summarize", "--summarizer", "true", "--timeout", "-1"],
        vec!["--summarize", "--summarizer", "true", "--timeout", "soon"],
    ] {
        let line = place.fails(2, [vec!["navigate", &session, &ids[2]], wrong].concat());
        assert!(line.contains("--help says more"), "{line}");
    }
    assert_eq!(fs::read(&session).unwrap(), before);
}

/// Starts a navigation whose summariser says when it runs and then waits.
fn started(place: &Place, session: &str, target: &str, more: &[&str]) -> (Child, String) {
    let running = place.folder().join("running");
    let script =
        format!("cat > /dev/null; echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 60; echo late", running.display());
    let args = [&["navigate", session, target, "--summarize", "--summarizer", &script], more].concat();
    let child = place.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !running.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "the summariser does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, fs::read_to_string(running).unwrap().trim().to_owned())
}

fn signal(name: &str, pid: &str) -> bool {
    std::process::Command::new("kill").args([name, pid]).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_summary_that_has_started_is_interrupted_with_all_that_it_started() {
    for (name, json) in [("-INT", false), ("-TERM", true)] {
        let place = Place::new();
        let (session, ids) = plans(&place);
        let before = fs::read(&session).unwrap();
        let (child, summarizer) = started(&place, &session, &ids[2], if json { &["--json"] } else { &[] });
        assert!(signal(name, &child.id().to_string()));
        let start = Instant::now();
        let run: Run = child.wait_with_output().unwrap().into();
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        assert!(run.line().contains("the leaf is where it was") && start.elapsed() < Duration::from_secs(30));
        if json {
            let printed: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!((&printed["cancelled"], &printed["leaf"]), (&json!(true), &json!(ids[3])));
        } else {
            assert_eq!(run.stdout, "");
        }
        assert!(!signal("-0", &summarizer), "the summariser is gone");
        assert_eq!(fs::read(&session).unwrap(), before);
    }
}

#[test]
fn a_leaf_that_moves_meanwhile_is_a_conflict_and_the_summary_is_handed_over() {
    for json in [false, true] {
        let place = Place::new();
        let (session, ids) = plans(&place);
        let more = place.folder().join("more");
        // The summariser itself is the other process that moves the leaf.
        let script = format!(
            "cat > /dev/null; '{}' append '{session}' --text meanwhile > '{}'; echo 'What was learnt.'",
            crate::support::BINARY,
            more.display()
        );
        let args = ["navigate", &session, &ids[2], "--summarize", "--summarizer", &script];
        let run = place.run([&args[..], if json { &["--json"] } else { &[] }].concat());
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        let appended = fs::read_to_string(more).unwrap();
        if json {
            let error = serde_json::from_str::<Value>(&run.line()).unwrap()["error"].clone();
            assert!(error["summary"].as_str().unwrap().contains("What was learnt."));
            assert_eq!((&error["kind"], &error["actualLeaf"]), (&json!("conflict"), &json!(appended.trim())));
        } else {
            assert!(run.stdout.contains("What was learnt.") && run.line().contains("the summary was not stored"));
        }
        assert_eq!(last(&session)["id"], appended.trim());
    }
}
