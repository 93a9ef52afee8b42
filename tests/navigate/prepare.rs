//! From entries to a prompt, each part alone (SPEC 6.2).

use leaflog::{
    Compaction, ContextOptions, NewEntry, PreparedBranch, Session, collect_branch, estimate_tokens, prepare_branch,
    summary_prompt,
};

use super::common;
use super::support::calls;

/// The tokens of one message.
fn tokens(message: &str) -> u64 {
    let (_folder, _, session) = common::session();
    session.append(NewEntry::message(message).unwrap()).unwrap();
    let context = session.context(&ContextOptions::new()).unwrap();
    estimate_tokens(&context.messages[0])
}

/// Everything from the root to the leaf.
fn prepared(session: &Session, budget: Option<u64>) -> PreparedBranch {
    let entries: Vec<_> = session.path_entries(None).unwrap().map(Result::unwrap).collect();
    prepare_branch(&entries, budget)
}

fn texts(prepared: &PreparedBranch) -> Vec<String> {
    prepared.messages.iter().map(leaflog::Message::text).collect()
}

#[test]
fn tokens_are_utf_16_units_by_four_rounded_up() {
    for (message, expected) in [
        (r#"{"role":"user","content":""}"#, 0),
        (r#"{"role":"user","content":"1234"}"#, 1),
        (r#"{"role":"user","content":"12345"}"#, 2),
        (r#"{"role":"user","content":"😀😀"}"#, 1),
        (r#"{"role":"user","content":"\ud83d\ude00\ud83d\ud83d1"}"#, 2),
        (r#"{"role":"user","content":"漢字かな"}"#, 1),
        (r#"{"role":"user","content":[{"type":"text","text":"12"},{"type":"text","text":"34"}]}"#, 1),
        (r#"{"role":"user","content":[{"type":"image","data":"abcd"},{"type":"text","text":"1"}]}"#, 1201),
        (r#"{"role":"custom","content":[{"type":"image"},{"type":"image"}]}"#, 2400),
        (r#"{"role":"toolResult","content":[{"type":"text","text":"12345678"}]}"#, 2),
        (r#"{"role":"assistant","content":[{"type":"text","text":"12"},{"type":"thinking","thinking":"345"}]}"#, 2),
        (r#"{"role":"assistant","content":[{"type":"image"}]}"#, 0),
        // A name and the arguments as JavaScript prints them: {"a":"é"} are 9 units.
        (r#"{"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{ "a" : "\u00e9" }}]}"#, 4),
        (r#"{"role":"assistant","content":[{"type":"toolCall","name":"b","arguments":{"a":"\ud83d"}}]}"#, 4),
        (r#"{"role":"bashExecution","command":"12345","output":"678"}"#, 2),
        (r#"{"role":"system","content":"a long system prompt"}"#, 0),
        (r#"{"role":"from the future","content":"text"}"#, 0),
        (r#"{"role":"user","content":null}"#, 0),
        (r#"{"role":"user"}"#, 0),
    ] {
        assert_eq!(tokens(message), expected, "{message}");
    }
}

#[test]
fn the_newest_messages_fill_the_budget_to_the_last_token_and_the_first_that_does_not_fit_ends_it() {
    let (_folder, _, session) = common::session();
    for text in ["1", "22222222", "3333", "4444"] {
        session.append(NewEntry::user(text)).unwrap();
    }
    let fits = |budget| texts(&prepared(&session, budget));
    assert_eq!(fits(None), ["1", "22222222", "3333", "4444"]);
    assert_eq!(fits(Some(5)), ["1", "22222222", "3333", "4444"]);
    assert_eq!(fits(Some(4)), ["22222222", "3333", "4444"]);
    // "1" would fit behind what does not.
    assert_eq!(fits(Some(3)), ["3333", "4444"]);
    assert_eq!(prepared(&session, Some(3)).tokens, 2);
    assert_eq!(fits(Some(0)), [""; 0]);
}

#[test]
fn an_earlier_summary_still_goes_in_while_a_tenth_of_the_budget_is_free() {
    let (_folder, _, session) = common::session();
    session.append(NewEntry::user("before")).unwrap();
    session.compact(Compaction::new("a summary of a long past")).unwrap();
    session.append(NewEntry::user("x".repeat(4 * 9))).unwrap();
    let long = "x".repeat(36);
    assert_eq!(texts(&prepared(&session, Some(11))), ["a summary of a long past", &long]);
    assert_eq!(prepared(&session, Some(11)).tokens, 15);
    assert_eq!(texts(&prepared(&session, Some(10))), [long]);
}

#[test]
fn only_what_was_said_counts_and_summaries_have_their_own_roles() {
    let (_folder, _, session) = common::session();
    let add = |entry| session.append(entry).unwrap().id;
    let first = add(NewEntry::user("ask"));
    add(NewEntry::tool_result("c", "read", "a file"));
    add(NewEntry::model_change("p", "m"));
    add(NewEntry::custom("state", "1").unwrap());
    add(NewEntry::custom_message("note", r#""noted""#, false).unwrap());
    add(NewEntry::message(r#"{"role":"bashExecution","command":"ls","output":"o"}"#).unwrap());
    let tail = r#"[{"role":"user","content":"ask again"}]"#;
    let system = r#"{"role":"system","content":"s"}"#;
    session.compact(Compaction::new("so far").retained_tail(tail).system_message(system)).unwrap();
    session.set_label(&first, "l").unwrap();
    add(NewEntry::from_json(r#"{"type":"branch_summary","fromId":"root","summary":"elsewhere"}"#).unwrap());
    add(NewEntry::from_json(r#"{"type":"branch_summary","fromId":"root","summary":""}"#).unwrap());
    let branch = prepared(&session, None);
    let roles: Vec<_> = branch.messages.iter().map(leaflog::Message::role).collect();
    assert_eq!(roles, ["user", "custom", "bashExecution", "compactionSummary", "branchSummary"]);
    assert_eq!(texts(&branch), ["ask", "noted", "ls", "so far", "elsewhere"]);
}

#[test]
fn a_context_edit_holds_for_the_summary_too() {
    let (_folder, _, session) = common::session();
    let secret = session.append(NewEntry::user("the password is 1234")).unwrap().id;
    let reading = session.append(calls(&[("read", r#"{"path":"secret.txt"}"#)])).unwrap().id;
    let long = session.append(NewEntry::user("a long story")).unwrap().id;
    for (target, replacement) in [(&secret, "null"), (&reading, "null"), (&long, r#"{"content":"short"}"#)] {
        let edit = format!(r#"{{"type":"context_edit","targetId":"{target}","replacement":{replacement}}}"#);
        session.append(NewEntry::from_json(&edit).unwrap()).unwrap();
    }
    let branch = prepared(&session, None);
    assert_eq!(texts(&branch), ["short"]);
    assert!(branch.read_files.is_empty());
}

#[test]
fn files_come_from_tool_calls_and_from_earlier_summaries_that_no_hook_made() {
    let (_folder, _, session) = common::session();
    let add = |entry| session.append(entry).unwrap().id;
    let summary = |read: &str, modified: &str, more: &str| {
        NewEntry::from_json(&format!(
            r#"{{"type":"branch_summary","fromId":"root","summary":"s",
                "details":{{"readFiles":{read},"modifiedFiles":{modified}}}{more}}}"#
        ))
        .unwrap()
    };
    add(summary(r#"["s.rs","w.rs",7]"#, r#"["t.rs"]"#, ""));
    add(summary(r#"["hook.rs"]"#, "[]", r#","fromHook":true"#));
    add(summary(r#""no list""#, "null", r#","fromHook":false"#));
    add(calls(&[
        ("read", r#"{"path":"b.rs"}"#),
        ("read", r#"{"path":"b.rs"}"#),
        ("write", r#"{"path":"w.rs","content":"x"}"#),
        ("edit", r#"{"path":"e.rs"}"#),
        ("read", r#"{"path":"e.rs"}"#),
        ("read", r#"{"path":""}"#),
        ("read", r#"{"path":3}"#),
        ("read", "null"),
        ("grep", r#"{"path":"g.rs"}"#),
    ]));
    add(NewEntry::message(
        r#"{"role":"user","content":[{"type":"toolCall","name":"read","arguments":{"path":"u.rs"}}]}"#,
    )
    .unwrap());
    let branch = prepared(&session, None);
    assert_eq!(branch.read_files, ["b.rs", "s.rs"]);
    assert_eq!(branch.modified_files, ["e.rs", "t.rs", "w.rs"]);
}

#[test]
fn files_are_sorted_as_javascript_sorts_and_end_with_the_first_message_over_the_budget() {
    let (_folder, _, session) = common::session();
    let add = |entry| session.append(entry).unwrap().id;
    add(calls(&[("read", r#"{"path":"too old"}"#)]));
    add(calls(&[("read", r#"{"path":"over the budget"}"#)]));
    add(calls(&[("read", r#"{"path":"\uffee"}"#), ("read", r#"{"path":"😀"}"#), ("read", r#"{"path":"a"}"#)]));
    let newest = prepared(&session, None).tokens - prepared_without_last(&session);
    let branch = prepared(&session, Some(newest));
    assert_eq!(branch.messages.len(), 1);
    // In UTF-16 an emoji stands before U+FFEE.
    assert_eq!(branch.read_files, ["a", "over the budget", "😀", "\u{ffee}"]);
}

fn prepared_without_last(session: &Session) -> u64 {
    let mut entries: Vec<_> = session.path_entries(None).unwrap().map(Result::unwrap).collect();
    entries.pop();
    prepare_branch(&entries, None).tokens
}

#[test]
fn the_conversation_has_the_shape_that_pi_gives_it() {
    let (_folder, _, session) = common::session();
    let add = |message: &str| session.append(NewEntry::message(message).unwrap()).unwrap().id;
    add(r#"{"role":"system","content":"not part of it"}"#);
    add(r#"{"role":"user","content":[{"type":"text","text":"a\ud83d"},{"type":"image"},{"type":"text","text":"b"}]}"#);
    add(r#"{"role":"user","content":""}"#);
    add(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"one"},
        {"type":"toolCall","id":"c","name":"edit","arguments":{"path":"x.rs","edits":[{"old":"\u4e2d","n":1e3}]}},
        {"type":"thinking","thinking":"so"},{"type":"text","text":"two"},
        {"type":"toolCall","id":"d","name":"ls","arguments":{}}]}"#);
    add(r#"{"role":"bashExecution","command":"ls","output":"o","excludeFromContext":true}"#);
    add(r#"{"role":"bashExecution","command":"ls","output":""}"#);
    let expected = "<conversation>\n[User]: a\u{fffd}b\n\n[Assistant thinking]: hm\nso\n\n[Assistant]: one\ntwo\n\n\
                    [Assistant tool calls]: edit(path=\"x.rs\", edits=[{\"old\":\"中\",\"n\":1e3}]); ls()\n\n\
                    [User]: Ran `ls`\n(no output)\n</conversation>\n\n";
    let messages = prepared(&session, None).messages;
    let prompt = summary_prompt(&messages, None, false);
    assert!(prompt.user.starts_with(expected), "{}", prompt.user);
    assert_eq!(prompt.to_string(), format!("{}\n\n{}", prompt.system, prompt.user));
}

#[test]
fn a_long_tool_result_is_cut_between_characters() {
    let (_folder, _, session) = common::session();
    // The 2,000th unit would be half an emoji.
    session.append(NewEntry::tool_result("c", "read", format!("{}😀 and more", "x".repeat(1_999)))).unwrap();
    let messages = session.context(&ContextOptions::new()).unwrap().messages;
    let prompt = summary_prompt(&messages, None, false).user;
    let expected = format!("[Tool result]: {}\n\n[... 11 more characters truncated]\n<", "x".repeat(1_999));
    assert!(prompt.contains(&expected), "{prompt}");
}

#[test]
fn a_prepared_branch_makes_a_summary_without_a_navigator() {
    let (_folder, _, session) = common::session();
    let question = session.append(NewEntry::user("ask")).unwrap().id;
    let leaf = session.append(calls(&[("write", r#"{"path":"x.rs"}"#)])).unwrap().id;
    let left = collect_branch(&session, Some(&leaf), &question).unwrap();
    let summary = prepare_branch(&left.entries, None).summary(" done ", None);
    assert!(summary.text.ends_with(":\n\ndone\n\n<modified-files>\nx.rs\n</modified-files>"), "{}", summary.text);
    session.move_with(Some(&question), Some(summary.into()), &leaflog::AppendOptions::new()).unwrap();
    let again = common::assert_reopens_alike(&session);
    let stored = again.entry(&again.leaf().unwrap()).unwrap();
    assert_eq!(stored.member("details").as_deref(), Some(r#"{"modifiedFiles":["x.rs"],"readFiles":[]}"#));
}
