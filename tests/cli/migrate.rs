//! Sessions of old versions on the command line.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Place, keys};

const FIRST: &str = r#"{"type":"session","id":"first","timestamp":"2025-11-02T03:04:05.006Z","cwd":"/project"}
{"type":"message","timestamp":"2025-11-02T03:04:06.007Z","message":{"role":"user","content":"hello"}}
"#;

const SECOND: &str = r#"{"type":"session","version":2,"id":"second","timestamp":"2025-12-02T03:04:05.006Z","cwd":"/project"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"2025-12-02T03:04:06.007Z","message":{"role":"hookMessage","content":"hello"}}
"#;

fn put(place: &Place, name: &str, text: &str) -> PathBuf {
    let folder = place.root().join("--project--");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_old_session_is_shown_and_exported_as_it_is_and_appending_names_the_command() {
    let place = Place::new();
    let path = put(&place, "first.jsonl", FIRST);
    let before = place.files();
    let info = place.json(["info", "first", "--json"]);
    assert_eq!(info["version"], 1);
    assert!(place.ok(["tree", "first"]).contains("user: hello"));
    assert_eq!(place.json(["list", "--json"])[0]["damaged"], false);
    assert_eq!(place.ok(["export", "first"]) + "\n", FIRST);
    let error = place.error(1, ["append", "first", "--text", "x"]);
    assert_eq!(error["kind"], "unsupported");
    assert!(error["message"].as_str().unwrap().contains("leaflog migrate"));
    assert_eq!(place.files(), before);

    let leaf = info["leaf"].clone();
    let done = place.json(["migrate", "first", "--json"]);
    let backup = format!("{}.v1", path.display());
    assert_eq!(done, json!({"path": text(&path), "migrated": true, "from": 1, "backup": backup, "entries": 1}));
    assert_eq!(fs::read_to_string(backup).unwrap(), FIRST);
    assert_eq!(place.json(["info", "first", "--json"])["leaf"], leaf);
    place.ok(["append", "first", "--text", "x"]);
}

#[test]
fn a_session_of_today_has_nothing_to_migrate() {
    let place = Place::new();
    let session = place.session();
    let before = place.files();
    let run = place.run(["migrate", &session]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert!(run.line().contains("nothing to do"));
    let done = place.json(["migrate", &session, "--json"]);
    assert_eq!((keys(&done).len(), &done["migrated"], &done["backup"]), (5, &json!(false), &Value::Null));
    assert_eq!(place.files(), before);
}

#[test]
fn all_migrates_what_it_can_and_tells_of_the_first_that_it_cannot() {
    let place = Place::new();
    put(&place, "first.jsonl", FIRST);
    let second = put(&place, "second.jsonl", SECOND);
    put(&place, "other.jsonl", "{\"kind\":\"header\",\"version\":4,\"id\":\"x\"}\n");
    put(&place, "none.jsonl", "no session\n");
    place.session();
    let link = place.folder().join("link");
    fs::hard_link(&second, &link).unwrap();

    let run = place.run(["migrate", "--all", "--json"]);
    assert_eq!(run.code, Some(1));
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!((&error["error"]["kind"], &error["error"]["path"]), (&json!("denied"), &json!(text(&second))));
    let done: Value = serde_json::from_str(&run.stdout).unwrap();
    let migrated = done.as_array().unwrap().iter().filter(|session| session["migrated"] == true);
    assert_eq!((migrated.count(), done.as_array().unwrap().len()), (1, 2));
    assert_eq!(fs::read_to_string(&second).unwrap(), SECOND);

    fs::remove_file(link).unwrap();
    let run = place.run(["migrate", "--all"]);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 1));
    assert!(run.stdout.contains("from version 2, 1 entries; the original is"), "{}", run.stdout);
    assert_eq!(run.line(), "note: 1 sessions migrated, of 3 looked at");
}

#[test]
fn a_session_or_all_is_wanted() {
    let place = Place::new();
    place.fails(2, ["migrate"]);
    place.fails(2, ["migrate", "x", "--all"]);
    place.fails(2, ["migrate", "--any", "--all"]);
    place.fails(1, ["migrate", "nowhere"]);
}
