use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::support::{Place, keys, records};

#[test]
fn a_new_session_is_a_private_file_with_a_header() {
    let place = Place::new();
    let created = place.json(["new", "--json"]);
    assert_eq!(keys(&created), ["id", "path"]);
    let path = created["path"].as_str().unwrap();
    let header: Value = serde_json::from_str(&records(path)[0]).unwrap();
    assert_eq!((&header["id"], &header["cwd"]), (&created["id"], &json!(place.project())));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(records(path).len(), 1);
    let path = place.ok([
        "new",
        "--id",
        "my-session",
        "--cwd",
        "/elsewhere",
        "--parent",
        "another",
        "--metadata",
        r#"{"n":1e3}"#,
    ]);
    let record = &records(&path)[0];
    assert!(record.contains(r#""metadata":{"n":1e3}"#), "{record}");
    let info = place.json(["info", "my-session", "--json"]);
    assert_eq!(
        (&info["id"], &info["cwd"], &info["parent"], &info["metadata"]),
        (&json!("my-session"), &json!("/elsewhere"), &json!("another"), &json!({"n": 1e3}))
    );
    assert_eq!(place.error(1, ["new", "--id", "my-session"])["kind"], "already-exists");
}

#[test]
fn a_session_is_named_by_path_id_part_of_an_id_or_latest() {
    let place = Place::new();
    let path = place.ok(["new", "--id", "aa-first-zz"]);
    place.ok(["new", "--id", "aa-second-yy", "--cwd", "/elsewhere"]);
    let leaf = place.ok(["append", "aa-f", "--text", "x"]);
    for name in [path.as_str(), "aa-first-zz", "aa-f", "-zz", "latest"] {
        assert_eq!(place.json(["info", "--json", "--", name])["id"], "aa-first-zz", "{name}");
    }
    let file_name = path.rsplit('/').next().unwrap();
    let mut command = place.command();
    command.current_dir(std::path::Path::new(&path).parent().unwrap()).env_remove("HOME");
    assert_eq!(command.args(["info", file_name]).output().unwrap().status.code(), Some(0));
    std::thread::sleep(std::time::Duration::from_millis(5));
    place.ok(["append", "aa-s", "--text", "y", "--parent", "root"]);
    assert_eq!(place.json(["info", "latest", "--json"])["leaf"], leaf);
    assert_eq!(place.json(["info", "latest", "--any", "--json"])["id"], "aa-second-yy");
    let line = place.fails(1, ["info", "aa-"]);
    assert!(
        line.contains("fits 2 sessions (") && line.contains("aa-first-zz") && line.contains("aa-second-yy"),
        "{line}"
    );
}

#[test]
fn the_root_is_an_option_a_variable_or_in_the_data_folder() {
    let place = Place::new();
    let other = place.folder().join("other");
    assert!(place.ok(["new", "--root", other.to_str().unwrap()]).starts_with(other.to_str().unwrap()));
    assert!(place.session().starts_with(place.root().to_str().unwrap()));
    let without = |name: &str, value: &str| {
        let output = place.command().env_remove("LEAFLOG_ROOT").env(name, value).arg("new").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let home = place.folder().join(".local/share/leaflog");
    assert!(without("LEAFLOG_ROOT", "").starts_with(home.to_str().unwrap()));
    let data = place.folder().join("data");
    assert!(without("XDG_DATA_HOME", data.to_str().unwrap()).starts_with(data.join("leaflog").to_str().unwrap()));
}

#[test]
fn forks_copy_all_or_a_path_and_leave_the_source_alone() {
    let place = Place::new();
    let (source, ids) = place.conversation(&["one", "two", "three", "four"]);
    place.ok(["move", &source, &ids[1]]);
    let other = place.ok(["append", &source, "--text", "other"]);
    let before = fs::read(&source).unwrap();
    let whole = place.json(["fork", &source, "--json"]);
    assert_eq!(keys(&whole), ["id", "path"]);
    let whole = whole["path"].as_str().unwrap();
    assert_eq!(records(whole)[1..], records(&source)[1..]);
    let info = place.json(["info", whole, "--json"]);
    assert_eq!(
        (&info["leaf"], &info["parent"], &info["cwd"]),
        (&json!(other), &json!(source), &json!(place.project()))
    );
    let cut = place.json(["fork", &source, &ids[2], "--json"]);
    assert_eq!((keys(&cut), &cut["editorText"]), (vec!["editorText", "id", "path"], &json!("three")));
    assert_eq!(place.json(["info", cut["path"].as_str().unwrap(), "--json"])["leaf"], ids[1]);
    let at = place.ok(["fork", &source, &ids[3], "--at"]);
    assert_eq!(records(&at)[1..5], records(&source)[1..5]);
    assert_eq!(place.json(["info", &at, "--json"])["leaf"], ids[3]);
    let clone = place.ok(["clone", &source]);
    assert_eq!(place.ok(["path", &clone]), place.ok(["path", &source]));
    assert_eq!(place.json(["tips", &clone, "--json"]).as_array().unwrap().len(), 1);
    let line = place.fails(1, ["fork", &source, &ids[1]]);
    assert!(line.contains("invalid fork target"), "{line}");
    assert_eq!(fs::read(&source).unwrap(), before);
}

#[test]
fn a_fork_may_be_another_projects_with_its_own_id_and_metadata() {
    let place = Place::new();
    let (source, _) = place.conversation(&["one", "two"]);
    let kept = place.ok(["append", &source, "--text", "three"]);
    place.ok(["compact", &source, &kept, "--summary", "short"]);
    let options = ["--cwd", "/elsewhere", "--id", "the-copy", "--metadata", "{\"a\":1}", "--parent", "none"];
    let leaf = place.json(["info", &source, "--json"])["leaf"].as_str().unwrap().to_owned();
    let mut args = vec!["fork", &source, &leaf, "--at", "--scope", "context"];
    args.extend(options);
    assert_eq!(place.run(&args).code, Some(0));
    let info = place.json(["info", "the-copy", "--json"]);
    assert_eq!(
        (&info["cwd"], &info["metadata"], &info["parent"], &info["leaf"]),
        (&json!("/elsewhere"), &json!({"a": 1}), &json!("none"), &json!(leaf))
    );
    // What the compaction stands for stayed behind.
    assert_eq!(place.ok(["entries", "the-copy"]).lines().count(), 2);
    assert_eq!(place.error(1, ["clone", &source, "--id", "the-copy"])["kind"], "already-exists");
    assert_eq!(place.error(1, ["fork", &source, "--metadata", "[]"])["kind"], "invalid");
}

#[test]
fn a_clone_of_an_empty_session_is_empty() {
    let place = Place::new();
    let session = place.session();
    assert_eq!(place.ok(["entries", &place.ok(["clone", &session])]), "");
}

#[test]
fn the_list_has_every_session_newest_first() {
    let place = Place::new();
    assert_eq!(place.ok(["list"]), "(no sessions)");
    assert_eq!(place.json(["list", "--json"]), json!([]));
    place.ok(["new", "--id", "old", "--cwd", "/elsewhere"]);
    place.ok(["append", "old", "--text", "first message", "--durability", "os"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let path = place.ok(["new", "--id", "young"]);
    place.ok(["append", "young", "--text", "hello"]);
    place.ok(["name", "young", "named"]);
    fs::write(place.root().join("v4.jsonl"), "{\"kind\":\"header\",\"version\":4,\"id\":\"v4\"}\n").unwrap();
    let list = place.json(["list", "--json"]);
    let names =
        ["bytes", "created", "cwd", "damaged", "firstMessage", "id", "messages", "modified", "name", "parent", "path"];
    let young = list.as_array().unwrap().iter().find(|session| session["id"] == "young").unwrap();
    assert_eq!(keys(young), names);
    let size = fs::metadata(&path).unwrap().len();
    assert_eq!(
        (&young["path"], &young["name"], &young["firstMessage"], &young["messages"], &young["bytes"]),
        (&json!(path), &json!("named"), &json!("hello"), &json!(1), &json!(size))
    );
    assert_eq!((&young["parent"], &young["damaged"]), (&Value::Null, &json!(false)));
    let ids = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    let order: Vec<_> = ids(&list).into_iter().filter(|id| id != "v4").collect();
    assert_eq!(order, ["young", "old"]);
    assert_eq!(ids(&place.json(["list", "--json", "--cwd", "/elsewhere", "--exact"])), ["old"]);
    assert_eq!(ids(&place.json(["list", "--json", "--cwd", "."])), ["young"]);
    let text = place.ok(["list"]);
    assert_eq!(text.lines().count(), 3);
    assert!(text.contains("  1 messages") && text.contains("first message") && text.contains("named"), "{text}");
    assert!(text.contains("(cannot be read: kind header, version 4)"), "{text}");
}

#[test]
fn the_list_can_show_forks_below_their_sources() {
    let place = Place::new();
    for id in ["grandparent", "other"] {
        place.ok(["new", "--id", id]);
        place.ok(["append", id, "--text", id]);
    }
    place.ok(["fork", "grandparent", "--id", "parent"]);
    place.ok(["fork", "parent", "--id", "child", "--parent", "parent"]);
    // Two that claim to be each other's forks are in the list all the same.
    place.ok(["new", "--id", "egg", "--parent", "hen"]);
    place.ok(["new", "--id", "hen", "--parent", "egg"]);
    let list = place.json(["list", "--tree", "--json"]);
    let depth_of =
        |id: &str| list.as_array().unwrap().iter().find(|session| session["id"] == id).unwrap()["depth"].clone();
    assert_eq!(["grandparent", "parent", "child", "other"].map(depth_of), [0, 1, 2, 0]);
    assert_eq!(list.as_array().unwrap().len(), 6);
    let text = place.ok(["list", "--tree"]);
    let starts: Vec<_> = text.lines().map(|line| line.split("  2026").next().unwrap().trim_end()).collect();
    assert!(starts.iter().any(|line| line.starts_with("└─ parent")), "{text}");
    assert!(starts.iter().any(|line| line.starts_with("   └─ child")), "{text}");
}

#[test]
fn titles_are_cut_by_the_columns_that_they_take() {
    let place = Place::new();
    for id in ["wide", "slim"] {
        place.ok(["new", "--id", id]);
    }
    place.ok(["name", "wide", &"方案\u{1F680}".repeat(30)]);
    place.ok(["name", "slim", &"plan A ".repeat(30)]);
    for args in [["list", "--exact"], ["list", "--tree"]] {
        let text = place.ok(args);
        let titles: Vec<_> = text.lines().map(|line| line.rsplit("B  ").next().unwrap()).collect();
        assert_eq!(titles.len(), 2, "{text}");
        for title in titles {
            assert!((59..=60).contains(&title.width()) && title.ends_with('…'), "{} columns: {title}", title.width());
        }
    }
}

#[test]
fn a_deleted_session_is_in_the_trash_and_comes_back_as_it_was() {
    let place = Place::new();
    let path = place.ok(["new", "--id", "gone"]);
    place.ok(["append", "gone", "--text", "x"]);
    let before = fs::read(&path).unwrap();
    let deleted = place.json(["delete", "gone", "--json"]);
    assert_eq!((keys(&deleted), &deleted["path"]), (vec!["path", "trash"], &json!(path)));
    assert_eq!(place.ok(["list"]), "(no sessions)");
    assert_eq!(place.error(1, ["info", "gone"])["kind"], "not-found");
    let trash = deleted["trash"].as_str().unwrap();
    assert_eq!(place.json(["list", "--deleted", "--json"]), json!([{"id": "gone", "path": trash, "original": path}]));
    assert_eq!(place.ok(["list", "--deleted"]), format!("gone  {trash}"));
    assert_eq!(place.json(["restore", "gone", "--json"]), json!({"path": path}));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(place.ok(["list", "--deleted"]), "(no deleted sessions)");
    let trash = place.ok(["delete", &path]);
    assert_eq!(place.ok(["restore", &trash]), path);
    assert_eq!(place.json(["delete", "gone", "--forever", "--json"]), json!({"path": path, "trash": null}));
    assert!(place.files().is_empty());
    assert_eq!(place.error(1, ["restore", "gone"])["kind"], "not-found");
}

#[test]
fn restoring_never_replaces_a_session() {
    let place = Place::new();
    let path = place.ok(["new", "--id", "twice"]);
    place.ok(["delete", "twice"]);
    fs::write(&path, "somebody else's").unwrap();
    let before = place.files();
    assert_eq!(place.error(1, ["restore", "twice"])["kind"], "already-exists");
    assert_eq!(place.files(), before);
}

#[test]
fn an_export_is_the_log_byte_for_byte_and_replaces_nothing() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one", "two"]);
    let mut log = fs::read(&session).unwrap();
    log.extend_from_slice(b"\n\xff not json\r\n{\"torn");
    fs::write(&session, &log).unwrap();
    let output = place.command().args(["export", &session]).output().unwrap();
    assert_eq!(output.stdout, log);
    let target = place.folder().join("copy.jsonl");
    let target = target.to_str().unwrap();
    let run = place.run(["export", &session, "--format", "jsonl", "-o", target]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(fs::read(target).unwrap(), log);
    assert_eq!(fs::metadata(target).unwrap().permissions().mode() & 0o777, 0o600);
    let before = place.files();
    let run = place.run(["export", &session, "-o", target, "--json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("already-exists"), "{}", run.stderr);
    assert_eq!(place.run(["export", &session, "-o", "/no/such/folder"]).code, Some(1));
    assert_eq!(place.files(), before);
}

#[test]
fn completions_are_there_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.ok(["completions", shell]).contains("leaflog"), "{shell}");
    }
}

#[test]
fn without_arguments_there_is_help_and_every_command_has_its_own() {
    let place = Place::new();
    let help = place.run([""; 0]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    let commands = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = commands.take_while(|line| !line.is_empty()).collect();
    let commands =
        commands.iter().filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    let mut count = 0;
    for command in commands {
        assert!(place.ok([command, "--help"]).contains("Examples:"), "{command}");
        count += 1;
    }
    assert_eq!(count, 30);
    assert!(place.ok(["--version"]).starts_with("leaflog "));
}
