use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::support::{Place, records};

#[test]
fn entries_are_printed_once_each_as_they_come_byte_for_byte() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let mut command = place.command();
    command.args(["watch", &session, "--since", &ids[0], "--limit", "5"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut seen = vec![lines.next().unwrap()];
    for text in ["three", "four"] {
        place.ok(["append", &session, "--text", text]);
        seen.push(lines.next().unwrap());
    }
    // A program that takes no lock, with a line that comes in two pieces.
    let foreign = r#"{"type":"custom","id":"foreign1","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z","customType":"x","n":1e3}"#;
    let append = |bytes: &str| {
        use std::io::Write as _;
        std::fs::OpenOptions::new().append(true).open(&session).unwrap().write_all(bytes.as_bytes()).unwrap();
    };
    append(&foreign[..40]);
    std::thread::sleep(std::time::Duration::from_millis(60));
    append(&format!("{}\n", &foreign[40..]));
    seen.push(lines.next().unwrap());
    place.ok(["append", &session, "--parent", &ids[1], "--text", "five"]);
    seen.push(lines.next().unwrap());
    assert_eq!((lines.next(), child.wait().unwrap().code()), (None, Some(0)));
    assert_eq!(seen, records(&session)[2..]);
}

#[test]
fn watching_ends_in_time_and_when_nobody_reads_and_says_when_the_log_is_gone() {
    let place = Place::new();
    let (session, _) = place.conversation(&["one"]);
    assert_eq!(place.ok(["watch", &session, "--timeout", "0.05"]), "");
    assert_eq!(place.ok(["watch", &session, "--since", "root", "--timeout", "0"]), records(&session)[1]);
    assert_eq!(place.ok(["watch", &session, "--since", "root", "--limit", "1"]), records(&session)[1]);
    assert_eq!(place.error(1, ["watch", "nobody"])["kind"], "not-found");
    let mut command = place.command();
    command.args(["watch", &session]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    place.ok(["delete", &session]);
    let run: crate::support::Run = child.wait_with_output().unwrap().into();
    assert!(run.failed(1).contains("no longer at its path"));
}
