//! Exported pages in a real browser: what is shown, by mouse and by keyboard, and that nothing else happens.
#![cfg(feature = "cli")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Random, session};
use leaflog::{AppendOptions, BranchSummary, Compaction, EntryId, NewEntry, Session};
use serde_json::{Value, json};

/// Texts that would do harm if they were taken for anything but text.
const HOSTILE: [&str; 9] = [
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror=\"window.harmed = 2\">",
    "<!-- <script> --!> ]]> &lt;b&gt; &amp;",
    "\u{202e}txt.exe \u{2066}isolated \u{200f}right to left",
    "<svg onload=window.harmed=3><style>*{display:none}</style>",
    "javascript:window.harmed=4",
    "{{constructor.constructor('window.harmed=5')()}} ${window.harmed=6}",
    "</textarea></title></noscript><iframe src=\"https://example.com/\"></iframe>",
    "<base href=\"https://example.com/\"><link rel=stylesheet href=\"https://example.com/x.css\">",
];

const TOOL_OUTPUT: &str = "running 12 tests\ntest recovery::a_torn_tail ... ok\n";

/// A PNG of one pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Browsers that are looked for if `LEAFLOG_BROWSER` names none.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];

fn browser() -> PathBuf {
    let named = std::env::var_os("LEAFLOG_BROWSER").map(PathBuf::from);
    let found = named.or_else(|| BROWSERS.iter().map(PathBuf::from).find(|path| path.exists()));
    found.expect("there is no Chromium or Chrome; install it, or name one in LEAFLOG_BROWSER")
}

/// Runs a script of `tests/browser` with what it is to expect on its standard input.
fn check(script: &str, page: &Path, expected: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let module = folder.join("node_modules/playwright-core");
    assert!(module.is_dir(), "playwright-core is missing: run `npm ci --ignore-scripts` in tests/browser");
    let wanted = page.with_extension("expected.json");
    fs::write(&wanted, expected.to_string()).unwrap();
    let mut command = Command::new("node");
    command.current_dir(&folder).arg(script).args([page, &wanted]).stdin(Stdio::null());
    let ended = command.env("LEAFLOG_BROWSER", browser()).output().expect("Node 20 or newer can be run");
    let said = [ended.stdout, ended.stderr].concat();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn export(session: &Session, folder: &Path, more: &[&str]) -> PathBuf {
    let page = folder.join("page.html");
    let mut command = assert_cmd::Command::cargo_bin("leaflog").unwrap();
    command.arg("export").arg(session.path()).args(["--format", "html", "-o"]).arg(&page).args(more);
    command.assert().success();
    page
}

/// Alternating questions, calls of tools with their results, and answers: `count` entries.
fn talk(session: &Session, topic: &str, count: usize, random: &mut Random) -> Vec<EntryId> {
    let entries = (0..count).map(|number| match number % 4 {
        0 => NewEntry::user(format!(
            "{topic} {number}: what about the torn tail?\n\nIt should cost *one* record at most."
        )),
        1 => NewEntry::message(&call(&format!("call_{topic}_{number}"), number)).unwrap(),
        2 => {
            let text = TOOL_OUTPUT.repeat(1 + random.below(60));
            NewEntry::tool_result(format!("call_{topic}_{}", number - 1), "bash", text)
        }
        _ => NewEntry::assistant(answer(topic, number)),
    });
    let entries = entries.collect();
    session.append_batch(entries, &AppendOptions::new()).unwrap().into_iter().map(|receipt| receipt.id).collect()
}

fn call(id: &str, number: usize) -> String {
    let thinking = format!("The reader stops at the last line feed, so I look at step {number}.");
    json!({"role": "assistant", "model": "some-model", "content": [
        {"type": "thinking", "thinking": thinking},
        {"type": "text", "text": "I run the tests first."},
        {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "cargo test recovery", "timeout": 60}}
    ]})
    .to_string()
}

fn answer(topic: &str, number: usize) -> String {
    format!(
        "## {topic}, step {number}\n\nThe tail is **kept** as a line that readers skip; `append` writes behind it:\n\n\
         ```rust\nif !log.ends_with(b\"\\n\") {{\n    write.insert(0, b'\\n');\n}}\n```\n\nSo nothing is lost."
    )
}

/// A session of 1,000 entries with branches, a compaction, and texts that mean harm. Returns what there is to see.
fn thousand_entries(session: &Session) -> Value {
    let mut random = Random::new(7);
    session.set_name("Torn tails <b>and</b> branches").unwrap();
    let first = talk(session, "Plan", 500, &mut random);
    session.set_label(&first[99], "plan A").unwrap();
    let left = talk(session, "Left", 100, &mut random);
    let summary = BranchSummary::new("Left: it copied too much.");
    session.move_with(Some(&first[299]), Some(summary), &AppendOptions::new()).unwrap();
    let active = talk(session, "Active", 200, &mut random);
    session
        .compact(Compaction::new("We keep torn lines.").first_kept(active[150].clone()).tokens_before(123_456))
        .unwrap();
    session.move_to(Some(&first[49])).unwrap();
    let early = talk(session, "Early", 98, &mut random);
    let mut hostile = HOSTILE.map(str::to_owned).to_vec();
    hostile.push(format!("one long line {}", "x<b>".repeat(1 << 18)));
    let entries = hostile.iter().map(NewEntry::user).collect();
    let tips = session.append_batch(entries, &AppendOptions::new()).unwrap();
    let raw = r#"{"role":"user","content":"nul \u0000, lone \ud83d and \udc00, escape \u001b[31m"}"#;
    let odd = session.append(NewEntry::message(raw).unwrap()).unwrap().id;
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"x","name":"</script><b>","arguments":{"<i>":"</script><img src=x onerror=window.harmed=7>"}}]}"#;
    let tool = session.append(NewEntry::message(call).unwrap()).unwrap().id;
    session.set_label(&tool, "</script><script>window.harmed=8</script>").unwrap();
    let pictures = json!({"role": "user", "content": [
        {"type": "image", "mimeType": "image/png", "data": PICTURE},
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"}
    ]});
    let pictures = session.append(NewEntry::message(&pictures.to_string()).unwrap()).unwrap().id;
    let rest = talk(session, "End", 1000 - session.entries().count(), &mut random);
    json!({
        "treeEntries": session.tree(&leaflog::TreeOptions::new()).unwrap().count(),
        "hostile": hostile,
        "leaf": rest.last().unwrap().to_string(),
        "odd": odd.to_string(), "tool": tool.to_string(),
        "pictures": pictures.to_string(),
        "early": early[0].to_string(), "left": left.last().unwrap().to_string(), "leftMiddle": left[40].to_string(),
        "long": tips.last().unwrap().id.to_string(),
        "active": session.path_ids(None).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "leftPath": session.path_ids(left.last()).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

#[test]
#[ignore = "needs Node, Chromium or Chrome, and playwright-core: npm ci --ignore-scripts in tests/browser"]
fn a_page_of_a_thousand_entries_shows_every_branch_by_mouse_and_keyboard_and_does_no_harm() {
    let (folder, _store, session) = session();
    let expected = thousand_entries(&session);
    let page = export(&session, folder.path(), &[]);
    if let Some(copy) = std::env::var_os("LEAFLOG_PAGE_COPY") {
        fs::copy(&page, copy).unwrap();
    }
    check("page.mjs", &page, &expected);
}

#[test]
#[ignore = "needs Node, Chromium or Chrome, and playwright-core: npm ci --ignore-scripts in tests/browser"]
fn a_page_of_a_long_path_is_filled_in_where_it_is_looked_at() {
    let (folder, _store, session) = session();
    let path = talk(&session, "Long", 3000, &mut Random::new(11));
    let page = export(&session, folder.path(), &[&path[1234].to_string()]);
    check(
        "long.mjs",
        &page,
        &json!({"opensAt": 1234, "path": path.iter().map(ToString::to_string).collect::<Vec<_>>()}),
    );
}
