use std::fs;

use serde_json::json;

use crate::support::{Place, keys};

/// A database's location beside the usual root.
fn database(place: &Place) -> String {
    format!("sqlite:{}", place.folder().join("sessions.db").display())
}

#[test]
fn every_command_works_on_a_database_as_it_does_on_files() {
    let place = Place::new();
    let root = database(&place);
    let ok = |args: &[&str]| {
        let run = place.run([&["--root", &root], args].concat());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{args:?}");
        run.stdout.strip_suffix('\n').unwrap_or(&run.stdout).to_owned()
    };
    let session = ok(&["new", "--id", "mine"]);
    assert_eq!(session, format!("{root}#mine"));
    let first = ok(&["append", "mine", "--text", "Use plan A."]);
    let answer = ok(&["append", "latest", "--role", "assistant", "--text", "Done."]);
    ok(&["move", "min", &first]);
    // The path alone names the database too.
    let other = place.ok(["append", &session, "--role", "assistant", "--text", "Done differently."]);
    ok(&["label", "mine", &answer, "A"]);
    ok(&["name", "mine", "two plans"]);
    ok(&["move", "mine", &other]);
    assert!(ok(&["tree", "mine"]).contains("Done differently."));
    assert!(ok(&["context", "mine"]).contains("Done differently."));
    assert_eq!(ok(&["path", "mine"]).lines().count(), 2);
    assert_eq!(ok(&["tips", "mine"]).lines().count(), 2);
    assert!(ok(&["show", "mine", &first]).contains("Use plan A."));
    assert!(ok(&["stats", "mine", "--json"]).contains("\"messages\":3"));
    assert!(ok(&["info", "mine", "--json"]).contains("two plans"));
    let fork = ok(&["fork", "mine", &answer, "--at"]);
    assert!(fork.starts_with(&format!("{root}#")) && ok(&["list"]).lines().count() == 2);
    assert_eq!(ok(&["list", "--json", "--tree"]).matches("\"parent\":\"mine\"").count(), 1);
    ok(&["compact", "mine", "--summary", "short"]);
    let log = ok(&["export", "mine"]);
    assert!(
        log.starts_with(r#"{"type":"session""#) && log.lines().count() == ok(&["entries", "mine"]).lines().count() + 1
    );
    let deleted = ok(&["delete", "mine"]);
    assert!(deleted.starts_with(&format!("{session}~")), "{deleted}");
    assert_eq!(place.error(1, ["info", &session])["kind"], "not-found");
    assert_eq!(ok(&["restore", "mine"]), session);
    assert_eq!(place.ok(["delete", &session, "--forever"]), session);
    assert!(!place.root().exists(), "nothing went to the usual root");
}

#[test]
fn sessions_go_from_files_to_a_database_and_back_byte_for_byte() {
    let place = Place::new();
    let (session, _) = place.conversation(&["方案 A", "done \u{1F600}"]);
    let other = place.session();
    let root = place.root();
    let (files, database) = (root.to_str().unwrap(), database(&place));
    let back = place.folder().join("back");
    let copied = place.json(["copy", files, &database, "--json"]);
    assert_eq!(copied.as_array().unwrap().len(), 2);
    assert_eq!(keys(&copied[0]), ["bytes", "copied", "from", "id", "to"]);
    assert!(copied.as_array().unwrap().iter().all(|session| session["copied"] == json!(true)));
    let again = place.ok(["copy", &format!("file:{files}"), &database]);
    assert_eq!(again.matches("there already").count(), 2, "{again}");
    place.ok(["copy", &database, &format!("file:{}", back.display())]);
    for path in [&session, &other] {
        let there = path.replace(files, back.to_str().unwrap());
        assert!(fs::read(path).unwrap() == fs::read(there).unwrap(), "{path}");
    }
    // What went on in one of them is not overwritten, the others are copied all the same.
    place.ok(["append", &session, "--text", "more"]);
    let third = place.session();
    let run = place.run(["copy", files, &database]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("1 of 3 sessions were not copied"), "{}", run.stderr);
    let id = third.rsplit('_').next().unwrap().trim_end_matches(".jsonl");
    assert_eq!(place.json(["--root", &database, "info", id, "--json"])["id"], id);
    // One of them only.
    let single = place.folder().join("single");
    place.ok(["copy", files, single.to_str().unwrap(), id]);
    assert_eq!(place.json(["--root", single.to_str().unwrap(), "list", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(place.error(1, ["copy", files, &database, "nobody"])["kind"], "not-found");
}

#[test]
fn a_log_is_imported_from_a_file_and_from_a_pipe_and_never_over_another() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one", "two"]);
    let exported = place.folder().join("exported.jsonl");
    place.ok(["export", &session, "--output", exported.to_str().unwrap()]);
    let error = place.error(1, ["import", exported.to_str().unwrap()]);
    assert_eq!(error["kind"], "already-exists");
    place.ok(["delete", &session, "--forever"]);
    let imported = place.ok(["import", exported.to_str().unwrap()]);
    assert_eq!(imported, session, "the header says where it belongs");
    assert_eq!(fs::read(&imported).unwrap(), fs::read(&exported).unwrap());

    place.ok(["delete", &session, "--forever"]);
    let run = place.feed(["import", "-", "--json"], fs::read(&exported).unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(keys(&serde_json::from_str(&run.stdout).unwrap()), ["id", "path"]);
    assert_eq!(fs::read(&session).unwrap(), fs::read(&exported).unwrap());

    let notes = place.file("notes.txt", "these are notes\n");
    let before = place.files();
    assert_eq!(place.error(1, ["import", &notes])["kind"], "not-a-session");
    assert_eq!(place.error(1, ["import", "missing.jsonl"])["kind"], "not-found");
    assert_eq!(place.feed(["import", "-"], "").code, Some(1));
    assert_eq!(place.files(), before);
}

#[test]
fn sessions_follow_their_project() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one", "two"]);
    let second = place.session();
    let moved = place.ok(["relocate", &session, "/new/home"]);
    assert_ne!(moved, session);
    assert_eq!(place.json(["info", &moved, "--json"])["cwd"], "/new/home");
    assert_eq!(place.json(["list", "--cwd", "/new/home", "--json"])[0]["path"], moved);
    assert_eq!(place.json(["info", "latest", "--json"])["path"], second, "it is none of this project any more");
    let project = place.project();
    let all = place.json(["relocate", "--project", project.to_str().unwrap(), "/new/home", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!(place.json(["list", "--cwd", "/new/home", "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(place.error(1, ["relocate", "nobody", "/new/home"])["kind"], "not-found");
    assert!(place.fails(2, ["relocate", "latest"]).contains("<DIR>"));
}
