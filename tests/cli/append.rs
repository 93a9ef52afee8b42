use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Place, keys, last, records};

#[test]
fn an_append_prints_the_id_and_stores_a_message_of_each_role() {
    let place = Place::new();
    let session = place.session();
    let user = place.ok(["append", &session, "--text", "hello"]);
    let record = last(&session);
    assert_eq!((&record["id"], &record["parentId"]), (&json!(user), &Value::Null));
    assert_eq!((&record["message"]["role"], &record["message"]["content"]), (&json!("user"), &json!("hello")));
    let assistant = place.ok(["append", &session, "--role", "assistant", "--text", "-x"]);
    let record = last(&session);
    assert_eq!((&record["id"], &record["parentId"]), (&json!(assistant), &json!(user)));
    assert_eq!(record["message"]["content"], json!([{"type": "text", "text": "-x"}]));
    place.ok(["append", &session, "--role", "tool", "--call-id", "c1", "--tool", "read", "--text", "done"]);
    let message = &last(&session)["message"];
    assert_eq!(
        (&message["role"], &message["toolCallId"], &message["toolName"]),
        (&json!("toolResult"), &json!("c1"), &json!("read"))
    );
    place.ok(["append", &session, "--role", "tool", "--text", ""]);
    assert_eq!(last(&session)["message"]["toolCallId"], "");
    place.ok(["append", &session, "--role", "system", "--text", "be brief"]);
    assert_eq!(last(&session)["message"]["role"], "system");
}

#[test]
fn a_receipt_names_the_end_of_the_log_and_the_checksum_of_the_record() {
    let place = Place::new();
    let session = place.session();
    let receipt = place.json(["append", &session, "--text", "hello", "--json"]);
    assert_eq!(keys(&receipt), ["crc", "end", "id"]);
    let record = last(&session);
    assert_eq!((&receipt["id"], &receipt["crc"]), (&record["id"], &record["crc"]));
    assert_eq!(receipt["end"], std::fs::metadata(&session).unwrap().len());
}

#[test]
fn payloads_come_out_as_they_went_in() {
    let odd = r#"{"n":1e3,"n":100000000000000000000000000000000000000000000000000000000001,"s":"\ud99c"}"#;
    let place = Place::new();
    let session = place.session();
    place.ok(["append", &session, "--message", &format!(r#"{{"role":"user","content":"\udc00","details":{odd}}}"#)]);
    assert!(
        records(&session)[1].contains(&format!(r#""message":{{"role":"user","content":"\udc00","details":{odd}}}"#))
    );
    place.ok(["append", &session, "--entry", &format!(r#"{{"type":"custom","customType":"x","data":{odd}}}"#)]);
    assert!(records(&session)[2].contains(&format!(r#","customType":"x","data":{odd},"prev""#)));
    let entry = r#"{"type":"from the future","id":"00000abc","timestamp":"2001-01-01T00:00:00.000Z","x":[]}"#;
    assert_eq!(place.ok(["append", &session, "--entry", entry]), "00000abc");
    assert_eq!(last(&session)["timestamp"], "2001-01-01T00:00:00.000Z");
}

#[test]
fn a_dash_reads_standard_input_exactly() {
    let place = Place::new();
    let session = place.session();
    let text = "two\nlines \u{2028}\u{1b} and a line feed\n";
    assert_eq!(place.feed(["append", &session, "--text", "-"], text).code, Some(0));
    assert_eq!(last(&session)["message"]["content"], text);
    assert_eq!(place.feed(["append", &session, "--message", "-"], "{\"role\":\n\"user\"}").code, Some(0));
    assert_eq!(last(&session)["message"], json!({"role": "user"}));
    assert_eq!(place.feed(["append", &session, "--entry", "-"], r#"{"type":"x"}"#).code, Some(0));
    assert_eq!(last(&session)["type"], "x");
    // More than an argument may hold.
    let long = "y".repeat(3 << 20);
    assert_eq!(place.feed(["append", &session, "--text", "-"], long.as_str()).code, Some(0));
    assert_eq!(last(&session)["message"]["content"], long);
    let line = place.feed(["append", &session, "--text", "-"], &b"\xff"[..]).failed(1);
    assert_eq!(line, "error: the input is not UTF-8");
}

#[test]
fn an_id_of_the_callers_is_stored_once_and_belongs_to_one_entry() {
    let place = Place::new();
    let session = place.session();
    let append = ["append", &session, "--text", "hello", "--id", "0000000a", "--json"];
    let first = place.json(append);
    place.ok(["append", &session, "--text", "more"]);
    let before = records(&session);
    let again = place.json(append);
    assert_eq!((&again["end"], &again["crc"], &again["alreadyStored"]), (&first["end"], &first["crc"], &json!(true)));
    let error = place.error(1, ["append", &session, "--text", "other", "--id", "0000000a"]);
    assert_eq!(error["kind"], "already-exists");
    assert_eq!(records(&session), before);
}

#[test]
fn a_batch_is_one_write_of_entries_and_messages() {
    let place = Place::new();
    let session = place.session();
    let input = concat!(
        "{\"role\":\"user\",\"content\":\"one\"}\r\n\n",
        "{\"type\":\"custom\",\"customType\":\"x\",\"role\":\"y\"}\n",
        "{\"type\":\"message\",\"id\":\"00000003\",\"message\":{\"role\":\"assistant\",\"content\":[]}}",
    );
    let run = place.feed(["append", &session, "--batch"], input);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let ids: Vec<_> = run.stdout.lines().collect();
    let stored = records(&session);
    assert_eq!((ids.len(), ids[2], stored.len()), (3, "00000003", 4));
    for (index, id) in ids.iter().enumerate() {
        let record: Value = serde_json::from_str(&stored[index + 1]).unwrap();
        assert_eq!(record["id"], **id);
        assert_eq!(record["parentId"], index.checked_sub(1).map_or(Value::Null, |above| json!(ids[above])));
    }
    let run = place.feed(["append", &session, "--batch", "--json"], r#"{"role":"user"}"#);
    let receipt: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(receipt["id"], last(&session)["id"]);
    assert_eq!(place.feed(["append", &session, "--batch"], "\n").stdout, "");
}

#[test]
fn a_bad_line_of_a_batch_says_its_number_and_nothing_is_stored() {
    let place = Place::new();
    let session = place.session();
    let before = records(&session);
    for (bad, said) in [
        ("{", "an entry must be one JSON object"),
        ("{}", "an entry needs a type"),
        ("{\"role\":1}", "a message needs a role"),
        ("{\"type\":\"session\"}", "cannot be appended"),
        ("{\"type\":\"x\",\"crc\":\"1\"}", "crc"),
    ] {
        let input = format!("{{\"role\":\"user\"}}\n\n{bad}\n{{\"role\":\"user\"}}\n");
        let line = place.feed(["append", &session, "--batch"], input.as_str()).failed(1);
        assert!(line.starts_with("error: line 3 of the input: ") && line.contains(said), "{line}");
        let line = place.feed(["append", &session, "--batch", "--json"], input).failed(1);
        let error: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&error["error"]["kind"], &error["error"]["inputLine"]), (&json!("invalid"), &json!(3)));
    }
    assert_eq!(records(&session), before);
}

/// A running `append --stream`.
struct Stream {
    child: Child,
    stdin: ChildStdin,
    acknowledged: Receiver<String>,
}

impl Stream {
    fn start<const N: usize>(place: &Place, args: [&str; N]) -> Self {
        let mut command = place.command();
        command.arg("append").args(args).arg("--stream");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, acknowledged) = mpsc::channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, stdin, acknowledged }
    }

    fn send(&mut self, line: &str) {
        // In one write: the reader may stop at this line, and then there is no pipe for a second one.
        self.stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next id, which must come although no further line was sent.
    fn next(&self) -> String {
        self.acknowledged.recv_timeout(Duration::from_secs(20)).expect("the id was not flushed")
    }

    /// Closes the input; returns the exit code and what is on stderr.
    fn end(self) -> (Option<i32>, String) {
        drop(self.stdin);
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn a_stream_acknowledges_each_line_when_it_is_stored() {
    let place = Place::new();
    let session = place.session();
    let mut stream = Stream::start(&place, [&session, "--durability", "os"]);
    for number in 0..3 {
        stream.send(&format!(r#"{{"role":"user","content":"{number}"}}"#));
        let id = stream.next();
        let record = last(&session);
        assert_eq!((&record["id"], &record["message"]["content"]), (&json!(id), &json!(number.to_string())));
    }
    stream.send("no json\n{\"role\":\"user\"}");
    let (code, line) = stream.end();
    assert_eq!(code, Some(1));
    assert!(line.starts_with("error: line 4 of the input: an entry must be one JSON object"), "{line}");
    assert_eq!(records(&session).len(), 4);
}

#[test]
fn a_stream_follows_its_own_entries() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let lines = "{\"role\":\"user\"}\n{\"role\":\"user\"}\n";
    let parents = |from: usize| -> Vec<Value> {
        let parent = |record: &String| serde_json::from_str::<Value>(record).unwrap()["parentId"].clone();
        records(&session)[from..].iter().map(parent).collect()
    };
    let run = place.feed(["append", &session, "--stream", "--expect", &ids[1], "--parent", &ids[0]], lines);
    let first = run.stdout.lines().next().unwrap();
    assert_eq!(parents(3), [json!(ids[0]), json!(first)]);
    let run = place.feed(["append", &session, "--stream", "--json", "--side", "--parent", "root"], lines);
    let receipts: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let from_root: Vec<_> = parents(5).into_iter().step_by(2).collect();
    assert_eq!(from_root, [Value::Null, receipts[0]["id"].clone()]);
}

#[test]
fn a_stream_with_an_expectation_stops_when_another_writer_comes_between() {
    let place = Place::new();
    let session = place.session();
    let mut stream = Stream::start(&place, [&session, "--expect", "root"]);
    stream.send(r#"{"role":"user"}"#);
    stream.next();
    stream.send(r#"{"role":"user"}"#);
    stream.next();
    let other = place.ok(["append", &session, "--text", "between"]);
    stream.send(r#"{"role":"user"}"#);
    let (code, line) = stream.end();
    assert_eq!(code, Some(3));
    assert!(line.contains(&other), "{line}");
    assert_eq!(last(&session)["id"], other);
}

#[test]
fn a_stale_expectation_changes_nothing_and_names_the_actual_leaf() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let before = place.files();
    for expected in [ids[0].as_str(), "root", "0000dead"] {
        let error = place.error(3, ["append", &session, "--text", "x", "--expect", expected]);
        assert_eq!((&error["kind"], &error["actualLeaf"]), (&json!("conflict"), &json!(ids[1])));
        let line = place.fails(3, ["append", &session, "--text", "x", "--expect", expected]);
        assert!(line.contains(&format!("the leaf is {}", ids[1])), "{line}");
    }
    place.error(3, ["move", &session, &ids[0], "--expect", &ids[0]]);
    place.error(3, ["compact", &session, "--summary", "x", "--expect", &ids[0]]);
    assert_eq!(place.files(), before);
    place.ok(["append", &session, "--text", "x", "--expect", &ids[1]]);
    place.ok(["move", &session, "root"]);
    let error = place.error(3, ["append", &session, "--text", "x", "--expect", &ids[1]]);
    assert_eq!(error["actualLeaf"], Value::Null);
    assert!(keys(&error).contains(&"actualLeaf"));
    place.ok(["append", &session, "--text", "x", "--expect", "root"]);
}

#[test]
fn an_append_goes_to_the_leaf_unless_a_parent_is_named() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let branch = place.ok(["append", &session, "--text", "branch", "--parent", &ids[0]]);
    assert_eq!(last(&session)["parentId"], ids[0]);
    assert_eq!(place.json(["info", &session, "--json"])["leaf"], branch);
    let side = place.ok(["append", &session, "--text", "aside", "--parent", &ids[1], "--side"]);
    assert_eq!(place.json(["info", &session, "--json"])["leaf"], branch);
    assert_eq!(place.json(["tips", &session, "--json"]).as_array().unwrap().len(), 2);
    let end = place.ok(["append", &session, "--text", "end"]);
    assert_eq!((&last(&session)["parentId"], end == side), (&json!(branch), false));
    place.ok(["append", &session, "--text", "new root", "--parent", "root"]);
    assert_eq!(last(&session)["parentId"], Value::Null);
}
