use std::process::Stdio;

use crate::support::Place;
use leaflog::{AppendOptions, CreateOptions, Durability, NewEntry, Session, SessionOptions, Store};
use unicode_width::UnicodeWidthStr as _;

fn create(place: &Place) -> Session {
    let store = Store::new(place.root()).with_options(SessionOptions::new().durability(Durability::Os));
    store.create(CreateOptions::new(place.project())).unwrap()
}

fn name(session: &Session) -> String {
    session.path().to_str().unwrap().to_owned()
}

/// Turns of a user and an assistant, with settings in between; 30 branches from 30 places.
fn long(place: &Place) -> Session {
    let session = create(place);
    let mut ids = Vec::new();
    for number in 0..1000 {
        if number % 33 == 32 {
            session.move_to(Some(&ids[number * 7 % ids.len()])).unwrap();
        }
        let entry = match number % 4 {
            0 => NewEntry::user(format!("请用方案 {number} 重构登录流程。").repeat(3)),
            1 => NewEntry::assistant(format!("done {number} \u{1F680}").repeat(20)),
            2 => NewEntry::tool_result("c", "bash", "output ".repeat(30)),
            _ => NewEntry::thinking_level_change("high"),
        };
        ids.push(session.append_with(entry, &AppendOptions::new().to_leaf()).unwrap().id);
    }
    session
}

#[test]
fn a_long_session_with_many_branches_stays_readable() {
    let place = Place::new();
    let session = long(&place);
    let tips = session.tips().unwrap().len();
    assert!(tips >= 25, "{tips}");
    let drawn = place.ok(["tree", &name(&session)]);
    let lines: Vec<_> = drawn.lines().collect();
    assert_eq!(lines.len(), 750, "settings are not shown");
    for line in &lines {
        assert!(line.width() <= 110, "{} columns: {line}", line.width());
    }
    // Only branches indent: what stands before the ids never needs more columns than branches lie around each other.
    let indent = |line: &&str| line.find(|character: char| character.is_ascii_hexdigit()).unwrap();
    let deepest = lines.iter().map(|line| line[..indent(line)].width()).max().unwrap();
    assert!(deepest <= 2 + 3 * tips.min(32), "{deepest}");
    assert!(lines[..20].iter().all(|line| line[..indent(line)].width() <= 8), "the first turns do not drift");
    assert_eq!(lines.iter().filter(|line| line.ends_with("← leaf")).count(), 1);
    // Every shown entry is there once.
    let json = place.json(["tree", &name(&session), "--json"]);
    assert_eq!(json.as_array().unwrap().len(), 1000, "programs get all of it");
    for node in json.as_array().unwrap() {
        let shown = drawn.contains(node["id"].as_str().unwrap());
        assert_eq!(shown, node["type"] == "message", "{node}");
    }
}

#[test]
fn what_only_sets_or_marks_something_is_hidden_unless_all_is_asked_for() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one"]);
    let target = &ids[0];
    let control = [
        ("label", format!(r#""targetId":"{target}","label":"here""#)),
        ("session_info", r#""name":"a name""#.to_owned()),
        ("model_change", r#""provider":"p","modelId":"m""#.to_owned()),
        ("thinking_level_change", r#""thinkingLevel":"high""#.to_owned()),
        ("active_tools_change", r#""activeToolNames":["read"]"#.to_owned()),
        ("custom", r#""customType":"c","data":{}"#.to_owned()),
        ("usage", r#""usage":{}"#.to_owned()),
        ("context_edit", format!(r#""targetId":"{target}","replacement":{{"content":"1"}}"#)),
    ];
    for (kind, fields) in &control {
        place.ok(["append", &session, "--entry", &format!(r#"{{"type":"{kind}",{fields}}}"#)]);
    }
    // Of the conversation, though no message; and what nobody knows yet.
    let message = r#"{"type":"custom_message","customType":"c","content":"note","display":true}"#;
    let note = place.ok(["append", &session, "--entry", message]);
    let news = place.ok(["append", &session, "--entry", r#"{"type":"from_the_future"}"#]);
    let drawn = place.ok(["tree", &session]);
    let starts: Vec<_> = drawn.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(starts, [target, &note, &news], "{drawn}");
    let all = place.ok(["tree", &session, "--all"]);
    assert_eq!(all.lines().count(), 3 + control.len(), "{all}");
    for (kind, _) in control {
        assert!(all.lines().any(|line| line.split(' ').nth(2).unwrap().trim_end_matches(':') == kind), "{kind}: {all}");
    }
}

#[test]
fn a_few_words_stay_however_deep_a_branch_lies() {
    let place = Place::new();
    let session = create(&place);
    let add = |text: &str| session.append_with(NewEntry::user(text), &AppendOptions::new().to_leaf()).unwrap().id;
    let mut fork = add("root");
    for _ in 0..60 {
        let next = add("on");
        session.move_to(Some(&fork)).unwrap();
        add("aside");
        session.move_to(Some(&next)).unwrap();
        fork = next;
    }
    add("请用方案 B 重构登录流程。请用方案 B 重构登录流程。");
    let drawn = place.ok(["tree", &name(&session)]);
    let deepest = drawn.lines().find(|line| line.ends_with("← leaf")).unwrap();
    assert!(deepest.contains(": 请用方案 B 重构登录"), "{deepest}");
    assert!(drawn.lines().all(|line| line.width() <= 150), "levels that do not fit are counted, not drawn");
}

#[test]
fn a_limit_shows_the_lines_around_the_leaf_and_says_how_many_are_left_out() {
    let place = Place::new();
    let session = long(&place);
    let all = place.ok(["tree", &name(&session)]);
    let at = all.lines().position(|line| line.ends_with("← leaf")).unwrap();
    let drawn = place.ok(["tree", &name(&session), "--limit", "40"]);
    let lines: Vec<_> = drawn.lines().collect();
    let shown: Vec<_> = lines.iter().filter(|line| !line.contains(" more ")).collect();
    assert_eq!(shown.len(), 40);
    assert!(shown.iter().any(|line| line.ends_with("← leaf")));
    let whole: Vec<_> = all.lines().collect();
    let start = whole.iter().position(|line| line == shown[0]).unwrap();
    assert_eq!(
        whole[start..start + 40],
        shown.iter().map(|line| **line).collect::<Vec<_>>()[..],
        "the drawing is the same"
    );
    assert!(start <= at && lines[0].contains(&format!("… {start} more above")));
    assert_eq!(place.ok(["tree", &name(&session), "--limit", "5000"]), all);
}

#[test]
fn filters_leave_what_was_asked_for_and_keep_the_leaf_in_sight() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two", "three", "four"]);
    place.ok(["label", &session, &ids[1], "plan A"]);
    place.ok(["move", &session, &ids[1]]);
    let other = place.ok(["append", &session, "--role", "user", "--text", "other"]);
    place.ok(["name", &session, "a name"]);
    let users = place.ok(["tree", &session, "--filter", "user"]);
    let expected = format!("● {} user: one\n  ├─ {} user: three\n● └─ {other} user: other ← leaf", ids[0], ids[2]);
    assert_eq!(users, expected, "what is hidden hands its children on, and the leaf to what is above it");
    let labels = place.ok(["tree", &session, "--filter", "labels"]);
    assert_eq!(labels, format!("● {} assistant: two [plan A] ← leaf", ids[1]));
    assert_eq!(place.ok(["tree", &session]).lines().count(), 5);
    assert!(place.ok(["tree", &session]).lines().any(|line| line.ends_with("other ← leaf")));
    assert_eq!(place.ok(["tree", &session, "--all"]), place.ok(["tree", &session, "--filter", "all"]));
    assert_eq!(place.ok(["tree", &session, "--all"]).lines().count(), 7);
    assert_eq!(place.json(["tree", &session, "--filter", "user", "--json"]).as_array().unwrap().len(), 3);
    place.fails(2, ["tree", &session, "--all", "--filter", "user"]);
    let (bare, _) = place.conversation(&["one"]);
    assert_eq!(place.ok(["tree", &bare, "--filter", "labels"]), "(empty tree)");
}

#[test]
fn times_stand_in_one_column_when_they_are_asked_for() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one", "two"]);
    let drawn = place.ok(["tree", &session, "--time"]);
    let year = &place.json(["tips", &session, "--json"])[0]["timestamp"].as_str().unwrap()[..4].to_owned();
    for line in drawn.lines() {
        let time = line.strip_prefix("● ").unwrap();
        assert!(
            time.starts_with(year.as_str()) && time.as_bytes()[10] == b' ' && time.as_bytes()[19] == b' ',
            "{line}"
        );
    }
    assert!(!place.ok(["tree", &session]).contains(&format!("{year}-")));
}

#[test]
fn colours_are_for_terminals_and_nothing_from_a_session_reaches_one() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["\u{1b}[31mred\u{1b}[0m", "two"]);
    place.ok(["label", &session, &ids[0], "\u{1b}]0;title\u{7}label"]);
    assert!(!place.ok(["tree", &session]).contains('\u{1b}'));
    let painted = place.ok(["tree", &session, "--color", "always"]);
    assert!(painted.contains("\u{1b}[1;36muser\u{1b}[0m") && painted.contains("\u{1b}[1;32m ← leaf"), "{painted:?}");
    assert!(!painted.contains("\u{1b}[31m") && !painted.contains("\u{1b}]0;") && !painted.contains('\u{7}'));
    let strip = |text: &str| {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, code)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = code.split_once('m').unwrap().1;
        }
        plain + rest
    };
    assert_eq!(strip(&painted), place.ok(["tree", &session]));
}

/// Runs a command under a pseudo-terminal 60 columns wide, which `script` (util-linux) provides.
fn on_terminal(place: &Place, session: &str, variables: &[(&str, &str)]) -> String {
    let mut command = std::process::Command::new("script");
    let line = format!("stty cols 60; '{}' tree '{session}'", crate::support::BINARY);
    command.args(["-qec", &line, "/dev/null"]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", place.folder()).env("SHELL", "/bin/sh").envs(variables.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
#[ignore = "needs `script` of util-linux for a terminal"]
fn on_a_terminal_there_are_colours_and_lines_fit() {
    let place = Place::new();
    let (session, _) = place.conversation(&["方案".repeat(80).as_str(), "two"]);
    let painted = on_terminal(&place, &session, &[]);
    assert!(painted.contains("\u{1b}[1;36muser"), "{painted:?}");
    let plain = on_terminal(&place, &session, &[("NO_COLOR", "1")]);
    assert!(!plain.contains('\u{1b}') && plain.lines().count() == 2, "{plain:?}");
    assert!(plain.lines().all(|line| line.width() <= 60), "{plain}");
}
