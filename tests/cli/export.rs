use std::fs;

use serde_json::json;

use crate::support::Place;

/// A session with a question, plan A with a tool, and under the question plan B, where the leaf is.
fn two_plans(place: &Place) -> (String, Vec<String>) {
    let (session, mut ids) = place.conversation(&["Plan A or *plan B*?"]);
    let call = json!({"role": "assistant", "model": "m-1", "content": [
        {"type": "thinking", "thinking": "let me see"},
        {"type": "text", "text": "Plan A."},
        {"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "ls\npwd", "timeout": 5}}
    ]});
    ids.push(place.ok(["append", &session, "--message", &call.to_string()]));
    let result = json!({"role": "toolResult", "toolCallId": "call_1", "toolName": "bash", "isError": true,
        "content": [{"type": "text", "text": "```\n### User\nnot a user"}]});
    ids.push(place.ok(["append", &session, "--message", &result.to_string()]));
    place.ok(["label", &session, &ids[1], "first try"]);
    place.ok(["move", &session, &ids[0], "--summary", "Plan A did not work."]);
    ids.push(place.ok(["append", &session, "--role", "assistant", "--text", "Plan B."]));
    place.ok(["compact", &session, "--summary", "We chose plan B.", "--tokens", "42"]);
    (session, ids)
}

fn markdown(place: &Place, args: &[&str]) -> String {
    let run = place.run([&["export"], args, &["--format", "markdown"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

fn headings(document: &str) -> Vec<&str> {
    document.lines().filter(|line| line.starts_with('#')).collect()
}

#[test]
fn markdown_is_the_active_path_message_by_message() {
    let place = Place::new();
    let (session, ids) = two_plans(&place);
    let document = markdown(&place, &[&session]);
    assert_eq!(
        headings(&document),
        [
            r"# Plan A or \*plan B\*?",
            "## User",
            "## Summary of a branch that was left",
            "## Assistant",
            "## Compaction: this stands for what came before"
        ]
    );
    assert!(document.contains("\n- Shown: the active path, 4 entries up to `"), "{document}");
    for quoted in ["> Plan A or *plan B*?", "> Plan A did not work.", "> Plan B.", "> We chose plan B."] {
        assert!(document.contains(&format!("\n\n{quoted}\n")), "{quoted}: {document}");
    }
    assert!(
        document.contains(&format!("`{}`", ids[3])) && document.contains("tokens before: 42 · **leaf**"),
        "{document}"
    );
    assert!(!document.contains("Plan A.") && !document.contains("first try"), "{document}");
}

#[test]
fn markdown_of_the_path_to_an_entry_shows_calls_and_results_inside_their_fences() {
    let place = Place::new();
    let (session, ids) = two_plans(&place);
    let document = markdown(&place, &[&session, &ids[2]]);
    assert_eq!(headings(&document)[1..], ["## User", "## Assistant", "## Result of bash (failed)", "### User"]);
    let call = "**Calls `bash`**, call `call_1`\n\n```text\ncommand:\n    ls\n    pwd\ntimeout: 5\n```\n";
    assert!(document.contains(call), "{document}");
    assert!(document.contains("*Thinking:*\n\n```text\nlet me see\n```\n"), "{document}");
    assert!(document.contains("\n````text\n```\n### User\nnot a user\n````\n"), "{document}");
    assert!(document.contains("m-1 · label: first try"), "{document}");
    assert!(document.contains(&format!("the path to `{}`, 3 entries", ids[2])), "{document}");
}

#[test]
fn markdown_of_the_whole_tree_has_branches_as_headings() {
    let place = Place::new();
    let (session, ids) = two_plans(&place);
    for option in ["--whole", "--all"] {
        let document = markdown(&place, &[&session, option]);
        let sections: Vec<_> = document.lines().filter(|line| line.starts_with("## ")).collect();
        let from = format!("from `{}`", ids[0]);
        let expected =
            ["## Branch 1 (active)", &format!("## Branch 2, {from}"), &format!("## Branch 3 (active), {from}")];
        assert_eq!(sections, expected);
        assert!(document.contains("*From here on: branch 2, branch 3 (active).*"), "{document}");
        assert!(document.contains(&format!("*Label of {}: first try*", ids[1])), "{document}");
        assert!(document.contains("the whole tree, 7 entries in 3 branches"), "{document}");
    }
}

#[test]
fn no_text_leaves_its_place_in_markdown() {
    let place = Place::new();
    let session = place.session();
    let texts = [
        "one\n\n# User\n\n<script>alert(1)</script>",
        "one\r# User\r\n---\n\u{2028}# Assistant",
        "```\nnever closed\n# User",
        "esc \u{1b}[2J nul \u{0} bell \u{7}",
    ];
    for text in texts {
        place.ok(["append", &session, "--message", &json!({"role": "user", "content": text}).to_string()]);
    }
    place.ok(["name", &session, "# <b>name</b> `x` \u{1b}[31m"]);
    let document = markdown(&place, &[&session]);
    let mut fence = None;
    let mut open = Vec::new();
    for line in document.lines() {
        match (fence, line.strip_suffix("markdown").unwrap_or(line)) {
            (None, ticks) if ticks.starts_with("```") => fence = Some(ticks),
            (Some(opening), ticks) if ticks == opening => fence = None,
            (None, _) if !line.starts_with('>') => open.push(line),
            (None, _) => assert!(!line.contains("<script"), "{document}"),
            _ => {}
        }
    }
    let open = open.join("\n");
    assert_eq!(fence, None, "{document}");
    assert_eq!(headings(&open)[1..], ["## User"; 4], "{document}");
    assert!(!open.contains("\\<script") && !open.contains("<b>name") && !open.contains("alert"), "{open}");
    assert!(open.starts_with(r"# \# \<b\>name\</b\> \`x\`"), "{open}");
    assert!(!document.contains(|character: char| character.is_control() && character != '\n'), "{document:?}");
}

#[test]
fn an_empty_session_and_one_before_its_first_entry_are_documents_too() {
    let place = Place::new();
    let empty = place.session();
    let (moved, _) = place.conversation(&["one"]);
    place.ok(["move", &moved, "root"]);
    for session in [&empty, &moved] {
        assert!(markdown(&place, &[session]).contains("- Shown: nothing"));
        assert!(place.ok(["export", session, "--format", "html"]).starts_with("<!doctype html>"));
    }
    assert!(markdown(&place, &[&moved, "--whole"]).contains("> one"));
}

#[test]
fn documents_go_to_new_files_for_their_owner_and_leave_nothing_behind_if_they_fail() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let (session, ids) = two_plans(&place);
    let target = place.folder().join("page.html");
    let target = target.to_str().unwrap();
    place.ok(["export", &session, &ids[1], "--format", "html", "-o", target]);
    assert_eq!(fs::metadata(target).unwrap().permissions().mode() & 0o777, 0o600);
    let before = place.files();
    let line = place.fails(1, ["export", &session, "--format", "html", "-o", target]);
    assert!(line.contains("exists"), "{line}");
    for format in ["markdown", "html"] {
        let other = place.folder().join("other");
        let other = other.to_str().unwrap();
        place.fails(1, ["export", &session, "ffffffff", "--format", format, "-o", other]);
    }
    assert_eq!(place.files(), before);
}

#[test]
fn a_page_allows_nothing_but_its_own_script_and_style() {
    let place = Place::new();
    let (session, _) = two_plans(&place);
    place.ok(["append", &session, "--text", "</script><script>alert(1)</script><!--"]);
    let page = place.ok(["export", &session, "--format", "html"]);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!page.contains("<script>alert") && !page.contains("<!--"), "{page}");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert!(!page.contains("src=") && !page.contains("http://") && !page.contains("https://"));
}
