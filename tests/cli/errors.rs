use serde_json::json;

use crate::support::Place;

/// Every command that takes a session, with arguments that are right apart from it.
const COMMANDS: [&[&str]; 20] = [
    &["append", "S", "--text", "x"],
    &["append", "S", "--batch"],
    &["move", "S", "root"],
    &["compact", "S", "--summary", "x"],
    &["label", "S", "00000001", "x"],
    &["name", "S", "x"],
    &["fork", "S"],
    &["clone", "S"],
    &["tree", "S"],
    &["path", "S"],
    &["context", "S"],
    &["entries", "S"],
    &["show", "S", "00000001"],
    &["tips", "S"],
    &["stats", "S"],
    &["info", "S"],
    &["export", "S"],
    &["export", "S", "--format", "markdown"],
    &["export", "S", "--format", "html"],
    &["delete", "S"],
];

/// Runs every command on what is not a session that can be used, twice.
fn all_fail(place: &Place, session: &str, kind: &str) {
    let before = place.files();
    for command in COMMANDS {
        let mut args: Vec<_> = command.iter().map(|arg| if *arg == "S" { session } else { arg }).collect();
        let line = place.fails(1, &args);
        assert!(line.starts_with("error: "), "{args:?}: {line}");
        args.push("--json");
        let line = place.fails(1, &args);
        assert!(line.starts_with(&format!("{{\"error\":{{\"kind\":\"{kind}\",\"message\":\"")), "{args:?}: {line}");
    }
    assert_eq!(place.files(), before, "{session}");
}

#[test]
fn a_session_that_is_not_there_is_an_error_of_every_command() {
    let place = Place::new();
    place.session();
    all_fail(&place, "ffffffff", "not-found");
    all_fail(&place, "/no/such/session.jsonl", "not-found");
    all_fail(&place, "latest\n", "not-found");
    all_fail(&place, "", "invalid");
}

#[test]
fn an_ambiguous_name_is_an_error_of_every_command() {
    let place = Place::new();
    place.ok(["new", "--id", "same-1"]);
    place.ok(["new", "--id", "same-2"]);
    all_fail(&place, "same", "invalid");
}

#[test]
fn a_file_that_is_not_a_session_is_refused_and_left_alone_by_every_command() {
    let place = Place::new();
    for (name, content) in [
        ("notes.jsonl", "just text\n"),
        ("empty.jsonl", ""),
        ("blank.jsonl", "\n\n"),
        ("array.jsonl", "[1]\n"),
        ("binary.jsonl", "\0\u{1}\0"),
        (
            "headless.jsonl",
            "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"x\",\"message\":{}}\n",
        ),
    ] {
        all_fail(&place, &place.file(name, content), "not-a-session");
    }
}

#[test]
fn a_folder_is_not_a_session() {
    let place = Place::new();
    all_fail(&place, place.project().to_str().unwrap(), "not-a-session");
}

#[test]
fn a_format_that_this_build_does_not_know_is_named() {
    let place = Place::new();
    let v4 = place.file("v4.jsonl", "{\"kind\":\"header\",\"version\":4,\"id\":\"x\"}\n");
    let error = place.error(1, ["tree", &v4]);
    assert_eq!((&error["kind"], &error["path"]), (&json!("unsupported"), &json!(v4)));
    let v5 =
        place.file("v5.jsonl", "{\"type\":\"session\",\"version\":5,\"id\":\"x\",\"timestamp\":\"x\",\"cwd\":\"/\"}\n");
    let before = place.files();
    assert_eq!(place.ok(["tree", &v5]), "(empty tree)");
    assert_eq!(place.error(1, ["append", &v5, "--text", "x"])["kind"], "unsupported");
    assert_eq!(place.files(), before);
}

#[test]
fn an_unknown_entry_is_an_error_of_every_command_that_takes_one() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one"]);
    place.ok(["move", &session, "root"]);
    let leaf_entry = place.ok(["entries", &session, "--after", &ids[0]]);
    let leaf_entry: serde_json::Value = serde_json::from_str(&leaf_entry).unwrap();
    let leaf_entry = leaf_entry["id"].as_str().unwrap();
    let before = place.files();
    for args in [
        &["append", &session, "--text", "x", "--parent", "0000dead"] as &[_],
        &["append", &session, "--text", "x", "--parent", "0000dead", "--side"],
        &["append", &session, "--entry", "{\"type\":\"label\",\"targetId\":\"0000dead\",\"label\":\"x\"}"],
        &["move", &session, "0000dead"],
        &["move", &session, "0000dead", "--summary", "x"],
        &["compact", &session, "0000dead", "--summary", "x"],
        &["label", &session, "0000dead", "x"],
        &["path", &session, "0000dead"],
        &["context", &session, "--from", "0000dead"],
        &["entries", &session, "--after", "0000dead"],
        &["show", &session, "0000dead"],
    ] {
        let line = place.fails(1, args);
        assert_eq!(line, "error: there is no entry 0000dead in this session", "{args:?}");
    }
    for args in [["fork", &session, "0000dead", "--json"], ["fork", &session, "0000dead", "--at"]] {
        assert!(place.fails(1, args).contains("invalid fork target 0000dead: there is no entry"), "{args:?}");
    }
    for args in [["move", &session, leaf_entry], ["fork", &session, leaf_entry]] {
        assert!(place.fails(1, args).contains("is a leaf entry"), "{args:?}");
    }
    assert_eq!(place.files(), before);
}

#[test]
fn bad_json_is_refused_without_repeating_it() {
    let place = Place::new();
    let session = place.session();
    let before = place.files();
    for bad in ["", "{", "[]", "secret", "{\"role\":\"user\"", "{\"secret\":1}", "{\"role\":1}", "{} {}"] {
        for option in ["--message", "--entry"] {
            let line = place.fails(1, ["append", &session, option, bad]);
            assert!(line.starts_with("error: ") && !line.contains("secret"), "{bad}: {line}");
            assert_eq!(place.error(1, ["append", &session, option, bad])["kind"], "invalid");
        }
    }
    for metadata in ["", "[]", "{", "secret"] {
        assert_eq!(place.fails(1, ["new", "--metadata", metadata]), "error: the metadata must be a JSON object");
    }
    assert_eq!(place.files(), before);
}

/// What cannot be understood.
const WRONG: [&[&str]; 32] = [
    &["nonsense"],
    &["tree"],
    &["tree", "S", "more"],
    &["tree", "S", "--nonsense"],
    &["append", "S"],
    &["append", "S", "--text", "x", "--message", "{}"],
    &["append", "S", "--text", "x", "--batch"],
    &["append", "S", "--batch", "--stream"],
    &["append", "S", "--batch", "--id", "00000001"],
    &["append", "S", "--text", "x", "--side"],
    &["append", "S", "--text", "x", "--role", "nobody"],
    &["append", "S", "--text", "x", "--call-id", "c"],
    &["append", "S", "--message", "{}", "--role", "user"],
    &["append", "S", "--text", "x", "--durability", "maybe"],
    &["append", "S", "--text", "x", "--parent", ""],
    &["move", "S"],
    &["move", "S", "root", "--details", "{}"],
    &["compact", "S"],
    &["compact", "S", "--summary", "x", "--tokens", "many"],
    &["label", "S", "00000001"],
    &["label", "S", "00000001", "x", "--clear"],
    &["name", "S"],
    &["fork", "S", "--at"],
    &["fork", "S", "--scope", "context"],
    &["new", "--id", "not/an/id"],
    &["entries", "S", "--limit", "-1"],
    &["export", "S", "--format", "pdf"],
    &["export", "S", "00000001"],
    &["export", "S", "00000001", "--whole", "--format", "markdown"],
    &["list", "--deleted", "--tree"],
    &["restore"],
    &["completions", "tcsh"],
];

#[test]
fn wrong_usage_is_one_line_and_exits_2() {
    let place = Place::new();
    let session = place.session();
    let before = place.files();
    for args in WRONG {
        let args: Vec<_> = args.iter().map(|arg| if *arg == "S" { session.as_str() } else { arg }).collect();
        let line = place.fails(2, &args);
        assert!(line.starts_with("error: ") && line.ends_with("(--help says more)"), "{args:?}: {line}");
        let json = place.fails(2, [args.as_slice(), &["--json"]].concat());
        assert!(json.starts_with("{\"error\":{\"kind\":\"usage\""), "{args:?}: {json}");
    }
    assert_eq!(place.files(), before);
}

#[test]
fn errors_name_file_line_and_offset_where_they_are_known() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one"]);
    let mut log = std::fs::read(&session).unwrap();
    let offset = log.len();
    log.extend_from_slice(b"garbage\n");
    std::fs::write(&session, log).unwrap();
    let error = place.error(4, ["info", &session, "--strict"]);
    assert_eq!(
        (&error["kind"], &error["path"], &error["line"], &error["offset"]),
        (&json!("corrupt"), &json!(session), &json!(3), &json!(offset))
    );
    let line = place.fails(4, ["info", &session, "--strict"]);
    assert!(line.contains(&session) && line.contains(&format!("line 3, offset {offset}")), "{line}");
}

#[test]
fn a_deleted_session_that_does_not_fit_one_name_is_an_error() {
    let place = Place::new();
    for id in ["same-1", "same-2"] {
        place.ok(["new", "--id", id]);
        place.ok(["delete", id]);
    }
    let before = place.files();
    assert_eq!(place.error(1, ["restore", "same"])["kind"], "invalid");
    assert_eq!(place.error(1, ["restore", "other"])["kind"], "not-found");
    assert_eq!(place.error(1, ["restore", "/no/such/.trash/x.jsonl.deleted-1"])["kind"], "not-found");
    assert_eq!(place.files(), before);
}
