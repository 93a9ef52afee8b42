use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{BINARY, Place, Run, records};

fn repl<const N: usize>(place: &Place, lines: [&str; N]) -> Run {
    place.feed(["repl"], lines.join("\n") + "\n")
}

/// The lines that were printed, without an error.
#[track_caller]
fn printed<const N: usize>(place: &Place, lines: [&str; N]) -> Vec<String> {
    let run = repl(place, lines);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_exercise_of_the_lesson_gives_the_tree_that_it_describes() {
    let place = Place::new();
    let out = printed(
        &place,
        [
            "send user 你好",
            "send assistant 我是 agent",
            "send user 写代码",
            "tree",
            "branch @2",
            "send user 换个问法",
            "tree",
        ],
    );
    let [path, a, b, c, rest @ ..] = &out[..] else { panic!("{out:?}") };
    let [straight @ .., at, d, one, two, three, four] = rest else { panic!("{out:?}") };
    assert_eq!(
        straight,
        [format!("● {a} user: 你好"), format!("● {b} assistant: 我是 agent"), format!("● {c} user: 写代码 ← leaf")]
    );
    assert!(at.starts_with(&format!("at {b}")));
    // Two branches go off from the second entry; the leaf is at the end of the new one.
    assert_eq!(one, &format!("● {a} user: 你好"));
    assert_eq!(two, &format!("● {b} assistant: 我是 agent"));
    assert_eq!(three, &format!("  ├─ {c} user: 写代码"));
    assert_eq!(four, &format!("● └─ {d} user: 换个问法 ← leaf"));
    assert_eq!(records(path).len(), 5, "branching wrote nothing");
    assert_eq!(place.json(["tips", path, "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn every_command_does_what_it_says() {
    let place = Place::new();
    let out = printed(
        &place,
        [
            "# a comment, and an empty line",
            "",
            "tree",
            "ctx",
            "new",
            "tree",
            "ctx",
            "send user How?",
            "send tool output  with  spaces",
            "send assistant \"Plan A.\"",
            "label @3 \"plan A\"",
            "name two plans",
            "navigate @1",
            "move \"plan A\"",
            "move root we start again",
            "send user Again.",
            "move @3",
            "compact @3 \"What came before.\"",
            "ctx",
            "help",
            "list",
            "quit",
            "send user never",
        ],
    );
    let text = out.join("\n");
    let path = &out[2];
    assert_eq!(out[0], "(no session yet; 'send' starts one)");
    assert_eq!((out[3].as_str(), out[4].as_str()), ("(empty tree)", "(empty)"));
    assert!(text.contains("at the place before the first entry\nHow?"));
    let context = "compactionSummary: What came before.\nassistant: \"Plan A.\"";
    assert!(text.contains(context), "{text}");
    for command in [
        "new", "send", "branch", "move", "navigate", "fork", "clone", "compact", "label", "name", "tree", "ctx", "list",
    ] {
        assert!(out.iter().any(|line| line.starts_with(&format!("{command} "))), "{command} is in the help");
    }
    assert!(out.last().unwrap().contains("two plans"), "{:?}", out.last());
    assert_eq!(place.json(["info", path, "--json"])["name"], "two plans");
    let log = fs::read_to_string(path).unwrap();
    assert!(log.contains("we start again") && log.contains("output  with  spaces") && !log.contains("never"));
    assert!(place.ok(["tree", path]).contains("[plan A]"));
}

#[test]
fn forks_are_sessions_of_their_own_and_open_goes_there() {
    let place = Place::new();
    let out = printed(&place, ["send user one", "send assistant two", "send user three", "fork @2", "clone", "fork"]);
    let [source, .., at, _, clone, _, leaf, hint] = &out[..] else { panic!("{out:?}") };
    assert_eq!((records(at).len(), records(clone).len(), records(leaf).len()), (3, 4, 4));
    let id = place.json(["info", leaf, "--json"])["id"].as_str().unwrap().to_owned();
    assert!(hint.contains(&format!("open {id}")));
    let out = printed(&place, [&format!("open {id}"), "send assistant four", "ctx"]);
    assert_eq!(out[0], *leaf);
    assert_eq!(out[2..], ["user: one", "assistant: two", "user: three", "assistant: four"]);
    assert_eq!(records(source).len(), 4, "the source is as it was");
    // The session that was named, and the latest.
    let run = place.feed(["repl", source], "ctx\n");
    assert_eq!(run.stdout, "user: one\nassistant: two\nuser: three\n");
    assert_eq!(place.feed(["repl", "latest"], "ctx\n").stdout.lines().count(), 4);
}

#[test]
fn open_takes_whatever_names_a_session_elsewhere() {
    let place = Place::new();
    let database = format!("sqlite:{}", place.folder().join("sessions.db").display());
    let stored = place.ok(["new", "--root", &database]);
    let (session, _) = place.conversation(&["one"]);
    let spaced = place.folder().join("a copy.jsonl");
    fs::copy(&session, &spaced).unwrap();
    let spaced = spaced.to_str().unwrap();
    let open = |name: &str| printed(&place, [&format!("open {name}")]);
    assert_eq!(open("latest"), [session.as_str()]);
    assert_eq!(open(&stored), [stored.as_str()]);
    assert_eq!([open(spaced), open(&format!("\"{spaced}\""))], [[spaced], [spaced]]);
    // Damage is told as by every other command.
    fs::write(spaced, fs::read_to_string(spaced).unwrap() + "garbage\n").unwrap();
    let run = repl(&place, [&format!("open {spaced}")]);
    assert_eq!(run.code, Some(0));
    assert!(run.line().starts_with("note: 1 damaged records"), "{}", run.stderr);
}

#[test]
fn a_line_that_fails_says_why_and_the_next_one_runs() {
    let place = Place::new();
    let run = repl(
        &place,
        [
            "branch @1",
            "send user one",
            "send",
            "send robot beep",
            "frobnicate",
            "branch nobody",
            "branch @7",
            "branch",
            "compact @1",
            "label",
            "open nobody",
            "navigate \u{1b}[31m",
            "send assistant two",
        ],
    );
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout.lines().count(), 3, "{}", run.stdout);
    let said: Vec<_> = run.stderr.lines().collect();
    for (line, expected) in said.iter().zip([
        "line 1: error: there is no session yet",
        "line 3: error: it is: send ROLE TEXT",
        "line 4: error: \"robot\" is no role",
        "line 5: error: there is no command \"frobnicate\"",
        "line 6: error: there is no entry \"nobody\"",
        "line 7: error: there is no message number 7",
        "line 8: error: it is: branch ENTRY",
        "line 9: error: it is: compact ENTRY SUMMARY",
        "line 10: error: it is: label ENTRY [TEXT]",
        "line 11: error: there is no session \"nobody\"",
        "line 12: error: ",
    ]) {
        assert!(line.starts_with(expected), "{line} instead of {expected}");
    }
    assert_eq!(said.len(), 11);
    assert!(!run.stderr.contains('\u{1b}'));
    assert_eq!(place.error(2, ["repl"])["kind"], "usage");
    assert_eq!(place.feed(["repl", "nobody"], "").code, Some(1));
    assert_eq!(place.feed(["repl"], "").code, Some(0));
    let run = place.feed(["repl"], *b"send user \xFF\r\nsend user two\r\nctx");
    assert_eq!((run.code, run.line().as_str()), (Some(1), "line 1: error: the input is not UTF-8"));
    assert_eq!(run.stdout.lines().last(), Some("user: two"));
}

#[test]
fn entries_are_named_by_ids_their_beginnings_labels_and_numbers() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one"]);
    for (id, text) in [("aaaa1111", "x"), ("aaaa2222", "y"), ("bbbb3333", "z")] {
        place.ok(["append", &session, "--id", id, "--text", text]);
    }
    place.ok(["label", &session, "aaaa1111", "here"]);
    place.ok(["label", &session, "bbbb3333", "a"]);
    let at = |name: &str| {
        let run = place.feed(["repl", &session], format!("branch {name}\n"));
        if run.code == Some(0) { run.stdout[3..11].to_owned() } else { run.stderr }
    };
    assert_eq!(at("aaaa2222"), "aaaa2222");
    assert_eq!(at("aaaa2"), "aaaa2222");
    assert_eq!(at("here"), "aaaa1111");
    assert_eq!(at("a"), "bbbb3333", "a label comes before the beginning of an id");
    assert_eq!(at("@2"), "aaaa1111");
    assert!(at("aaaa").contains("fits several ids: aaaa1111, aaaa2222"), "{}", at("aaaa"));
    assert!(at("@0").contains("no message number 0") && at("@x").contains("behind @ comes a number"));
    let leaf = place.json(["info", &session, "--json"])["leaf"].as_str().unwrap().to_owned();
    assert!(at("leaf").contains(&leaf) || at(&leaf).contains(&leaf));
}

#[test]
fn what_others_append_is_seen_and_gone_on_from() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let mut child = place.command();
    child.args(["repl", &session]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut say = |line: &str| {
        use std::io::{BufRead as _, Write as _};
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    };
    let three = say("send user three");
    let four = place.ok(["append", &session, "--role", "assistant", "--text", "four"]);
    let five = say("send user five");
    assert!(say(&format!("branch {}", ids[0])).starts_with(&format!("at {}", ids[0])));
    let six = place.ok(["append", &session, "--text", "six"]);
    let seven = say("send assistant seven");
    drop(input);
    assert!(child.wait().unwrap().success());
    let parent = |id: &str| {
        let tree = place.json(["tree", &session, "--json"]);
        let node = tree.as_array().unwrap().iter().find(|node| node["id"] == id).unwrap().clone();
        node["parentId"].as_str().unwrap().to_owned()
    };
    assert_eq!([parent(&four), parent(&five), parent(&six), parent(&seven)], [three, four, five, ids[0].clone()]);
}

#[test]
fn a_session_that_is_gone_does_not_hold_the_user() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one"]);
    let mut child = place.command();
    child.args(["repl", &session]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut say = |line: &str| {
        use std::io::Write as _;
        writeln!(input, "{line}").unwrap();
    };
    let mut answer = String::new();
    say("ctx");
    std::io::BufRead::read_line(&mut output, &mut answer).unwrap();
    assert_eq!(answer, "user: one\n");
    place.ok(["delete", &session]);
    for line in ["send user two", "tree", "list", "help", "new", "send user three", "quit"] {
        say(line);
    }
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!((run.code, run.stderr.lines().count()), (Some(1), 2), "{}", run.stderr);
    assert!(run.stderr.lines().all(|line| line.contains("no longer at its path")), "{}", run.stderr);
    assert!(rest.contains("(no sessions)") && rest.contains("show this") && rest.lines().count() > 15, "{rest}");
}

#[test]
fn a_text_for_the_editor_keeps_its_lines() {
    let place = Place::new();
    let session = place.session();
    let first = place.ok(["append", &session, "--text", "one\ntwo\u{1b}[31m"]);
    place.ok(["append", &session, "--role", "assistant", "--text", "ok"]);
    let run = place.feed(["repl", &session], format!("navigate {first}\n"));
    assert_eq!(run.stdout, "at the place before the first entry\none\ntwo[31m\n");
}

/// Types into the repl on a pseudo-terminal of Python's, and looks at what is shown.
const TERMINAL: &str = r#"
import os, pty, re, sys, time, select
binary, project, home, root = sys.argv[1:5]
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(project)
    os.execve(binary, [binary], {"HOME": home, "LEAFLOG_ROOT": root, "TERM": "xterm"})
seen = ""
def until(pattern):
    global seen
    deadline = time.time() + 20
    while not re.search(pattern, seen):
        if time.time() > deadline:
            sys.exit("no %r in %r" % (pattern, seen))
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode("utf-8", "replace")
    seen = seen[re.search(pattern, seen).end():]
def type(text):
    os.write(terminal, text.encode())
until("leaflog> ")
type("se\tus\thello\r")
until(r"\.jsonl")
until(r"leaflog \S+> ")
type("this is given up\x03")
until(r"leaflog \S+> ")
type("lab\t@1 \"plan A\"\r")
until(r"leaflog \S+> ")
type("branch \"pl\t\r")
until("nothing is written until something is sent")
until(r"leaflog \S+> ")
type("nonsense\r")
until("there is no command")
until(r"leaflog \S+> ")
type("\x1b[A\x1b[A\x1b[A\x1b[A\r")
until("\r\n[0-9a-f]{8}\r\n")
# Between two lines the terminal is in its ordinary mode, where this is no key: until it is read as one, again.
deadline = time.time() + 20
while True:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        sys.exit(os.waitstatus_to_exitcode(status))
    if time.time() > deadline:
        sys.exit("it does not end")
    try:
        type("\x04")
        if select.select([terminal], [], [], 0.2)[0]:
            os.read(terminal, 65536)
    except OSError:
        # Nobody is at the other end any more.
        time.sleep(0.05)
"#;

#[test]
#[ignore = "needs python3 for a terminal"]
fn on_a_terminal_lines_are_edited_completed_and_remembered() {
    let place = Place::new();
    let run = Command::new("python3")
        .args(["-c", TERMINAL, BINARY])
        .args([place.project(), place.folder().to_owned(), place.root()])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let history = place.folder().join(".local/state/leaflog/history");
    let remembered = fs::read_to_string(&history).unwrap();
    assert!(remembered.contains("send user hello") && !remembered.contains("given up"), "{remembered}");
    assert_eq!(fs::metadata(history).unwrap().permissions().mode() & 0o777, 0o600);
}
