//! What the model sees (SPEC 3.5, 4), reopened.

mod common;

use leaflog::{
    AppendOptions, Compaction, Context, ContextOptions, EntryId, ErrorKind, NewEntry, Session, SessionOptions,
    Settings, SettingsFrom, to_llm,
};

fn session() -> (tempfile::TempDir, Session) {
    let (folder, _, session) = common::session();
    (folder, session)
}

/// The context as a reopened session gives it.
fn context(session: &Session) -> Context {
    common::open(session.path()).context(&ContextOptions::new()).unwrap()
}

fn texts(context: &Context) -> Vec<String> {
    context.messages.iter().map(leaflog::Message::text).collect()
}

fn add(session: &Session, entry: NewEntry) -> EntryId {
    session.append(entry).unwrap().id
}

fn raw(session: &Session, json: &str) -> EntryId {
    add(session, NewEntry::from_json(json).unwrap())
}

#[test]
fn the_kept_range_loses_its_system_messages_only_if_the_compaction_brings_its_own() {
    let (_folder, session) = session();
    let system = add(&session, NewEntry::system("old prompt"));
    add(&session, NewEntry::user("one"));
    let before = session.leaf();
    session.compact(Compaction::new("sum").first_kept(system.clone())).unwrap();
    add(&session, NewEntry::user("two"));
    assert_eq!(texts(&context(&session)), ["sum", "old prompt", "one", "two"]);
    session.move_to(before.as_ref()).unwrap();
    let own = r#"{"role":"system","content":"new prompt"}"#;
    session.compact(Compaction::new("sum").first_kept(system).system_message(own)).unwrap();
    add(&session, NewEntry::system("later prompt"));
    assert_eq!(texts(&context(&session)), ["new prompt", "sum", "one", "later prompt"]);
}

#[test]
fn only_the_newest_compaction_sets_the_boundary_and_older_ones_are_silent() {
    let (_folder, session) = session();
    let one = add(&session, NewEntry::user("one"));
    let two = add(&session, NewEntry::assistant("two"));
    session.compact(Compaction::new("first").first_kept(two.clone())).unwrap();
    add(&session, NewEntry::user("three"));
    // The range reaches back behind the older compaction.
    session.compact(Compaction::new("second").first_kept(one)).unwrap();
    assert_eq!(texts(&context(&session)), ["second", "one", "two", "three"]);
    // Going back between the two finds the first one whole (field report D7).
    session.move_to(Some(&two)).unwrap();
    assert_eq!(texts(&context(&session)), ["one", "two"]);
}

#[test]
fn a_retained_tail_even_an_empty_one_replaces_the_kept_range() {
    let (_folder, session) = session();
    let one = add(&session, NewEntry::user("one"));
    let leaf = session.leaf();
    session.compact(Compaction::new("sum").first_kept(one.clone()).retained_tail("[]")).unwrap();
    assert_eq!(texts(&context(&session)), ["sum"]);
    session.move_to(leaf.as_ref()).unwrap();
    let tail = r#"[{"role":"user","content":"tail","n":1e3}]"#;
    session.compact(Compaction::new("sum").first_kept(one).retained_tail(tail)).unwrap();
    let context = context(&session);
    assert_eq!(texts(&context), ["sum", "tail"]);
    assert_eq!(context.messages[1].as_json(), r#"{"role":"user","content":"tail","n":1e3}"#);
}

#[test]
fn a_first_kept_entry_that_is_absent_off_the_path_or_the_compaction_itself_keeps_nothing() {
    let (_folder, session) = session();
    let one = add(&session, NewEntry::user("one"));
    let other = add(&session, NewEntry::assistant("other branch"));
    session.move_to(Some(&one)).unwrap();
    let at = session.leaf();
    for (first_kept, reported) in [(String::new(), None), (other.to_string(), Some(other.clone()))] {
        session.move_to(at.as_ref()).unwrap();
        raw(&session, &format!(r#"{{"type":"compaction","summary":"sum","firstKeptEntryId":"{first_kept}"}}"#));
        add(&session, NewEntry::user("after"));
        let context = context(&session);
        assert_eq!(texts(&context), ["sum", "after"]);
        assert_eq!(context.off_path_first_kept, reported);
    }
    let error = session.compact(Compaction::new("x").first_kept(other)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    session.move_to(at.as_ref()).unwrap();
    session.compact(Compaction::new("nothing kept")).unwrap();
    let context = context(&session);
    assert_eq!((texts(&context), context.off_path_first_kept), (vec!["nothing kept".to_owned()], None));
}

#[test]
fn settings_come_from_the_context_path_or_the_whole_path_and_can_be_kept() {
    let (_folder, session) = session();
    add(&session, NewEntry::model_change("p", "m"));
    add(&session, NewEntry::thinking_level_change("high"));
    add(&session, NewEntry::active_tools_change(&["read", "bash"]));
    add(&session, NewEntry::user("one"));
    let at = session.leaf();
    let all = context(&session).settings;
    assert_eq!(all.model.as_ref().map(|model| model.model_id.as_str()), Some("m"));
    session.compact(Compaction::new("sum")).unwrap();
    assert_eq!(context(&session).settings, Settings::default());
    let whole = session.context(&ContextOptions::new().settings(SettingsFrom::WholePath)).unwrap().settings;
    assert_eq!(whole, all);
    session.move_to(at.as_ref()).unwrap();
    let bytes = session.bytes();
    session.compact(Compaction::new("sum").keep_settings(true)).unwrap();
    assert_eq!(context(&session).settings, all);
    assert!(session.bytes() > bytes);
    let resolved = all.resolve(&Settings::default(), |_| false, &["bash"]);
    assert_eq!(resolved.model, None);
    assert_eq!(resolved.active_tool_names, Some(vec!["bash".to_owned()]));
}

#[test]
fn transforms_run_after_the_selection_those_of_the_session_first() {
    let (folder, session) = session();
    add(&session, NewEntry::user("gone"));
    session.compact(Compaction::new("sum")).unwrap();
    add(&session, NewEntry::custom("note", r#"{"n":1}"#).unwrap());
    add(&session, NewEntry::user("a"));
    let for_session = ContextOptions::new()
        .transform(|mut entries| {
            assert_eq!(entries.len(), 3);
            entries.pop();
            entries
        })
        .projector("note", |entry, index, all| {
            assert_eq!((index, all.len()), (1, 1 + index));
            vec![format!(r#"{{"role":"user","content":{}}}"#, entry.member("data").unwrap())]
        });
    let options = SessionOptions::new().context(for_session);
    let reopened = common::open_with(session.path(), options).unwrap();
    let for_call = ContextOptions::new().transform(|entries| {
        assert_eq!(entries.len(), 2);
        entries
    });
    let context = reopened.context(&for_call).unwrap();
    assert_eq!(context.messages[1].as_json(), r#"{"role":"user","content":{"n":1}}"#);
    assert_eq!(context.messages.len(), 2);
    drop(folder);
}

#[test]
fn open_calls_and_orphan_results_are_reported_and_the_last_complete_turn_is_named() {
    let (_folder, session) = session();
    let user = add(&session, NewEntry::user("go"));
    add(&session, NewEntry::tool_result("lost", "bash", "orphan"));
    let complete = session.leaf();
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{}},{"type":"toolCall","id":"c2","name":"read","arguments":{}}]}"#;
    let assistant = add(&session, NewEntry::message(call).unwrap());
    add(&session, NewEntry::tool_result("c1", "bash", "ok"));
    let reopened = common::open(session.path());
    let context = reopened.context(&ContextOptions::new().drop_orphan_results(true)).unwrap();
    let open: Vec<_> = context.open_tool_calls.iter().map(|call| (call.id.as_str(), call.entry.clone())).collect();
    assert_eq!(open, [("c2", Some(assistant))]);
    assert_eq!(context.orphan_results.as_slice(), complete.as_slice());
    assert_eq!(context.messages.len(), 3);
    assert_eq!(reopened.last_complete_turn().unwrap(), complete);
    reopened.move_to(Some(&user)).unwrap();
    assert_eq!(reopened.last_complete_turn().unwrap(), Some(user));
}

#[test]
fn context_edits_summaries_and_custom_messages_become_what_pi_makes_of_them() {
    let (_folder, session) = session();
    let secret = add(&session, NewEntry::user("secret"));
    raw(&session, &format!(r#"{{"type":"context_edit","targetId":"{secret}","replacement":{{"content":"one"}}}}"#));
    raw(&session, &format!(r#"{{"type":"context_edit","targetId":"{secret}","replacement":{{"content":"two"}}}}"#));
    add(&session, NewEntry::custom_message("note", r#""hint""#, true).unwrap());
    add(&session, NewEntry::message(r#"{"role":"user","content":null}"#).unwrap());
    session
        .move_with(session.leaf().as_ref(), Some(leaflog::BranchSummary::new("left")), &AppendOptions::new())
        .unwrap();
    let context = context(&session);
    assert_eq!(texts(&context), ["two", "hint", "", "left"]);
    assert_eq!(context.messages[2].as_json(), r#"{"role":"user","content":[]}"#);
    let roles: Vec<_> = to_llm(&context.messages).iter().map(leaflog::Message::role).collect();
    assert_eq!(roles, ["user"; 4]);
}

#[test]
fn payloads_come_out_as_they_went_in() {
    let (_folder, session) = session();
    let message = r#"{"role":"user","content":"\ud99c \u0000","n":123456789012345678901234567890123456789012345678901234567890,"n":1e3,"a":[ 1,2 ]}"#;
    add(&session, NewEntry::message(message).unwrap());
    assert_eq!(context(&session).messages[0].as_json(), message);
}
