use serde_json::{Value, json};

use crate::support::{Place, keys, last, records};

#[test]
fn a_move_is_stored_and_the_next_entry_branches_there() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two", "three"]);
    let moved = place.json(["move", &session, &ids[0], "--json"]);
    assert_eq!(keys(&moved), ["crc", "end", "id"]);
    let record = last(&session);
    assert_eq!(
        (&record["type"], &record["targetId"], &record["fromId"]),
        (&json!("leaf"), &json!(ids[0]), &json!(ids[2]))
    );
    place.ok(["append", &session, "--text", "other"]);
    assert_eq!(last(&session)["parentId"], ids[0]);
    assert_eq!(place.ok(["move", &session, "root"]), last(&session)["id"].as_str().unwrap());
    assert_eq!(place.json(["info", &session, "--json"])["leaf"], Value::Null);
}

#[test]
fn a_move_to_where_the_leaf_is_writes_nothing() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one"]);
    let before = place.files();
    let run = place.run(["move", &session, &ids[0]]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.line(), "note: the leaf is there already; nothing was written");
    let end = std::fs::metadata(&session).unwrap().len();
    assert_eq!(place.json(["move", &session, &ids[0], "--json"]), json!({"id": null, "end": end, "crc": null}));
    assert_eq!(place.files(), before);
}

#[test]
fn a_move_with_a_summary_is_one_entry_under_the_target() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two", "three"]);
    let count = records(&session).len();
    let id = place.ok(["move", &session, &ids[1], "--summary", "was tried", "--details", r#"{"n":1e3}"#]);
    let record = last(&session);
    assert_eq!(records(&session).len(), count + 1);
    assert_eq!((&record["type"], &record["id"]), (&json!("branch_summary"), &json!(id)));
    assert_eq!((&record["parentId"], &record["fromId"]), (&json!(ids[1]), &json!(ids[2])));
    assert!(records(&session)[count].contains(r#""summary":"was tried","details":{"n":1e3}"#));
    assert_eq!(place.feed(["move", &session, "root", "--summary", "-"], "long").code, Some(0));
    assert_eq!(last(&session)["summary"], "long");
}

#[test]
fn a_compaction_keeps_what_it_is_told_to() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two", "three", "four"]);
    let roles = |session: &str| -> Vec<Value> {
        let context = place.json(["context", session, "--json"]);
        context["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect()
    };
    let id =
        place.ok(["compact", &session, &ids[2], "--summary", "short", "--tokens", "90", "--details", "{ \"a\":1 }"]);
    let record = last(&session);
    assert_eq!(
        (&record["id"], &record["summary"], &record["firstKeptEntryId"], &record["tokensBefore"], &record["details"]),
        (&json!(id), &json!("short"), &json!(ids[2]), &json!(90), &json!({"a": 1}))
    );
    assert_eq!(roles(&session), ["compactionSummary", "user", "assistant"]);
    place.ok(["compact", &session, "--summary", "nothing kept"]);
    assert_eq!(roles(&session), ["compactionSummary"]);
    place.ok([
        "compact",
        &session,
        "none",
        "--summary",
        "tail",
        "--retained-tail",
        r#"[{"role":"user","content":"kept"}]"#,
    ]);
    assert_eq!(roles(&session), ["compactionSummary", "user"]);
    assert_eq!(place.feed(["compact", &session, "--summary", "-"], "from stdin").code, Some(0));
    assert_eq!(last(&session)["summary"], "from stdin");
}

#[test]
fn a_compaction_can_keep_the_settings() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one"]);
    place.ok(["append", &session, "--entry", r#"{"type":"model_change","provider":"p","modelId":"m"}"#]);
    place.ok(["compact", &session, "--summary", "x"]);
    assert_eq!(place.json(["context", &session, "--json"])["model"], Value::Null);
    let model = json!({"provider": "p", "modelId": "m"});
    assert_eq!(place.json(["context", &session, "--json", "--settings", "path"])["model"], model);
    place.ok(["compact", &session, "--summary", "x", "--keep-settings"]);
    assert_eq!(place.json(["context", &session, "--json"])["model"], model);
}

#[test]
fn the_parts_of_a_compaction_or_summary_cannot_smuggle_in_members() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let before = place.files();
    for bad in ["{},\"firstKeptEntryId\":\"x\"", "{", "", "x"] {
        assert_eq!(place.error(1, ["compact", &session, "--summary", "x", "--details", bad])["kind"], "invalid");
        assert_eq!(place.error(1, ["move", &session, &ids[0], "--summary", "x", "--details", bad])["kind"], "invalid");
    }
    for bad in ["{}", "[],\"id\":\"x\"", "[", "1"] {
        assert_eq!(place.error(1, ["compact", &session, "--summary", "x", "--retained-tail", bad])["kind"], "invalid");
    }
    assert_eq!(place.files(), before);
}

#[test]
fn the_first_kept_entry_must_be_on_the_path() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two", "three"]);
    place.ok(["move", &session, &ids[0]]);
    let before = place.files();
    let line = place.fails(1, ["compact", &session, &ids[2], "--summary", "x"]);
    assert!(line.contains("not on the path"), "{line}");
    assert_eq!(place.files(), before);
}

#[test]
fn labels_and_names_are_set_and_cleared() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let label = || place.json(["tree", &session, "--json"])[0]["label"].clone();
    assert_eq!(keys(&place.json(["label", &session, &ids[0], " plan\nA ", "--json"])), ["crc", "end", "id"]);
    assert_eq!(label(), "plan A");
    place.ok(["label", &session, &ids[0], "--clear"]);
    assert_eq!(label(), Value::Null);
    place.ok(["label", &session, &ids[0], "-dashed"]);
    assert_eq!(label(), "-dashed");
    place.ok(["label", &session, &ids[0], ""]);
    assert_eq!(label(), Value::Null);
    let name = || place.json(["info", &session, "--json"])["name"].clone();
    assert_eq!(place.ok(["name", &session, "login"]), last(&session)["id"].as_str().unwrap());
    assert_eq!(name(), "login");
    place.ok(["name", &session, "--clear"]);
    assert_eq!(name(), Value::Null);
}

#[test]
fn a_label_by_another_process_does_not_disturb_an_appender() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let label = place.ok(["label", &session, &ids[0], "here"]);
    place.ok(["append", &session, "--text", "three", "--expect", &ids[1]]);
    assert_eq!(last(&session)["parentId"], label);
}
