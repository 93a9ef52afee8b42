use std::fs;

use serde_json::{Value, json};

use crate::support::{Place, keys};

fn entries(hits: &Value) -> Vec<&str> {
    hits.as_array().unwrap().iter().map(|hit| hit["entry"].as_str().unwrap_or("-")).collect()
}

#[test]
fn text_is_found_in_messages_summaries_labels_and_names_on_every_branch() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["Use plan A.", "Plan A is done.", "thanks"]);
    place.ok(["move", &session, &ids[0]]);
    let other = place.ok(["append", &session, "--role", "assistant", "--text", "Rather not plan A."]);
    let summary = place.ok(["move", &session, "root", "--summary", "We left plan A."]);
    place.ok(["label", &session, &ids[2], "the end of plan A"]);
    place.ok(["name", &session, "plan A or B"]);
    let hits = place.json(["search", "plan A", "--json"]);
    assert_eq!(entries(&hits), ["-", &ids[2], &ids[0], &other, &summary]);
    let places: Vec<_> = hits.as_array().unwrap().iter().map(|hit| hit["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["name", "label", "text", "text", "text"]);
    assert!(
        hits.as_array().unwrap().iter().all(|hit| keys(hit) == ["entry", "path", "piece", "place", "role", "session"])
    );
    assert_eq!((&hits[2]["role"], &hits[2]["piece"]), (&json!("user"), &json!("Use plan A.")));
    assert_eq!(hits[2]["path"], session);
    assert_eq!(entries(&place.json(["search", "plan A", &session, "--role", "assistant", "--json"])), [&other]);
    assert_eq!(entries(&place.json(["search", "PLAN a", "-i", "--role", "user", "--json"])), [&ids[2], &ids[0]]);
    assert_eq!(entries(&place.json(["search", "^(Plan|thanks)", "--regex", "--json"])), [&ids[1], &ids[2]]);
    assert_eq!(place.json(["search", "plan A", "--limit", "2", "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(place.ok(["search", "nothing of the kind"]), "");
    assert_eq!(place.json(["search", "nothing of the kind", "--json"]), json!([]));
    let id = place.json(["info", &session, "--json"])["id"].as_str().unwrap().to_owned();
    assert_eq!(place.ok(["search", "thanks"]), format!("{id} {} user: thanks", ids[2]));
    // A cleared label is none.
    place.ok(["label", &session, &ids[2], "--clear"]);
    assert_eq!(place.json(["search", "the end", "--json"]), json!([]));
}

#[test]
fn escapes_of_json_are_seen_through() {
    let place = Place::new();
    let session = place.session();
    for (id, content) in [
        ("e1", r#""say \"方案\" \/ \u65b9\u6848\ttab""#),
        ("e2", r#""line one\nline two \ud83d\ude80""#),
        ("e3", r#"[{"type":"text","text":"pl"},{"type":"text","text":"an A"},{"type":"image","data":"secret"}]"#),
        ("e4", r#""half \ud83d of a pair""#),
    ] {
        place.ok(["append", &session, "--id", id, "--message", &format!(r#"{{"role":"user","content":{content}}}"#)]);
    }
    for (pattern, found) in [
        ("\"方案\" / 方案\ttab", "e1"),
        ("one\nline", "e2"),
        ("\u{1F680}", "e2"),
        ("plan A", "e3"),
        ("half \u{fffd} of", "e4"),
    ] {
        assert_eq!(entries(&place.json(["search", pattern, "--json"])), [found], "{pattern:?}");
    }
    // What is not text is not searched: neither keys, ids, nor images.
    for pattern in ["content", "e1", "secret", "\\u65b9"] {
        assert_eq!(place.json(["search", pattern, "--json"]), json!([]), "{pattern:?}");
    }
    let line = place.ok(["search", "one\nline"]);
    assert!(!line.contains('\n') && line.contains("line one line two"), "{line}");
}

#[test]
fn pieces_are_cut_around_the_match() {
    let place = Place::new();
    let session = place.session();
    let text = format!("{}here{}", "方".repeat(500), "案".repeat(500));
    place.ok(["append", &session, "--text", &text]);
    let hits = place.json(["search", "here", "--json"]);
    assert_eq!(hits[0]["piece"], format!("…{}here{}…", "方".repeat(40), "案".repeat(40)));
    place.ok(["append", &session, "--text", "\u{1b}[31mred\u{7}"]);
    assert!(!place.ok(["search", "red"]).contains(['\u{1b}', '\u{7}']));
}

#[test]
fn all_sessions_are_searched_newest_first_and_one_that_cannot_be_read_stops_nothing() {
    let place = Place::new();
    let (first, _) = place.conversation(&["find me"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let second = place.ok(["new", "--cwd", "/elsewhere"]);
    place.ok(["append", &second, "--text", "find me too"]);
    let folder = std::path::Path::new(&first).parent().unwrap().to_owned();
    fs::write(folder.join("2026_broken.jsonl"), "find me\n").unwrap();
    fs::write(folder.join("2026_other.jsonl"), "{\"kind\":\"header\",\"version\":4}\nfind me\n").unwrap();
    let before = place.files();
    let run = place.run(["search", "find me", "--json"]);
    let hits: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, run.stderr.lines().count()), (Some(0), 2), "what was left out is told");
    let paths: Vec<_> = hits.as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [&second, &first]);
    let told = place.run(["search", "find me"]).stderr;
    assert_eq!(told.lines().filter(|line| line.contains("was not searched")).count(), 2, "{told}");
    let hits = place.json(["search", "find me", "--cwd", "/elsewhere", "--json"]);
    assert_eq!(hits.as_array().unwrap().len(), 1, "files of no project are none of this one");
    assert_eq!(place.files(), before, "searching writes nothing");
    // A line that is damaged does not hide the others.
    let log = fs::read_to_string(&second).unwrap() + "{\"broken\n";
    fs::write(&second, log).unwrap();
    assert!(place.run(["search", "too", &second]).stdout.contains("find me too"));
}

#[test]
fn patterns_that_make_no_sense_are_refused() {
    let place = Place::new();
    let (session, _) = place.conversation(&["a[b", "--text"]);
    let error = place.error(1, ["search", "a[b", "--regex"]);
    assert!(error["message"].as_str().unwrap().contains("unclosed character class"), "{error}");
    assert_eq!(place.ok(["search", "a[b"]).lines().count(), 1, "a fixed string is no expression");
    assert_eq!(place.ok(["search", "A[B", "-i"]).lines().count(), 1);
    assert_eq!(place.ok(["search", "--", "--text", &session]).lines().count(), 1);
    assert!(place.fails(2, ["search", ""]).contains("empty pattern"));
    place.fails(2, ["search", "x", &session, "--cwd", "/x"]);
}
