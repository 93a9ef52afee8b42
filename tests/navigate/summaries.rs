//! What is summarised and what is stored (SPEC 6.2).

use std::sync::Arc;

use leaflog::{
    Cancellation, Compaction, EntryKind, ErrorKind, NavigateOptions, Navigation, NewEntry, Prompt, Summarized,
    SummaryFailure, collect_branch,
};

use super::common::{self, strings};
use super::support::{Stub, TEXT, USAGE, calls, moved, scene, summarize};

type Outcome = fn() -> Result<Summarized, SummaryFailure>;

#[test]
fn a_summary_is_stored_under_the_new_leaf_with_preamble_files_usage_and_where_it_came_from() {
    let scene = scene();
    let edits = [("read", r#"{"path":"b.rs"}"#), ("read", r#"{"path":"a.rs"}"#), ("edit", r#"{"path":"b.rs"}"#)];
    let old_leaf = scene.add(calls(&edits));
    let stub = Stub::default();
    let gone = moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.plan_a, &summarize()));
    let summary = scene.session.entry(gone.summary_entry.as_ref().unwrap()).unwrap();
    assert_eq!((gone.leaf.as_ref(), gone.editor_text.as_deref()), (Some(summary.id()), Some("Use plan A.")));
    assert_eq!((summary.kind(), summary.parent_id()), (EntryKind::BranchSummary, Some(&scene.answer)));
    assert_eq!(summary.text_member("fromId"), Some(old_leaf.to_string()));
    let text = summary.text();
    let (preamble, rest) = text.split_once(TEXT).unwrap();
    assert!(preamble.contains("branch") && preamble.ends_with(":\n\n"), "{preamble}");
    assert_eq!(rest, "\n\n<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>");
    let details = summary.member("details").unwrap();
    let details: serde_json::Value = serde_json::from_str(&details).unwrap();
    assert_eq!(details, serde_json::json!({ "readFiles": ["a.rs"], "modifiedFiles": ["b.rs"] }));
    assert_eq!(summary.member("usage").as_deref(), Some(USAGE));
    assert_eq!(summary.member("fromHook").as_deref(), Some("false"));
    scene.assert_leaf(Some(summary.id()));
    assert_eq!(common::texts(&scene.session), ["How do we do it?", "There are two plans.", &text]);
    // The selected message goes to the editor, so it is no more part of what is left than the common history.
    let asked = stub.prompt().user;
    assert!(
        asked.starts_with("<conversation>\n[Assistant]: Plan A failed.\n\n[Assistant tool calls]: read("),
        "{asked}"
    );
}

#[test]
fn a_label_goes_to_the_summary_entry() {
    let scene = scene();
    let before = common::lines(scene.session.path()).len();
    let navigator = scene.navigator().summarizer(Stub::default());
    let gone = moved(navigator.navigate(&scene.plan_a, &summarize().label("left plan A")));
    let summary = gone.summary_entry.unwrap();
    assert_eq!(scene.session.label(&summary).unwrap().text, "left plan A");
    assert_eq!(common::lines(scene.session.path()).len(), before + 2);
    let leaf = scene.session.entry(gone.leaf.as_ref().unwrap()).unwrap();
    assert_eq!((leaf.kind(), leaf.parent_id()), (EntryKind::Label, Some(&summary)));
    scene.assert_leaf(gone.leaf.as_ref());
}

#[test]
fn what_is_left_reaches_from_behind_the_deepest_common_ancestor_to_the_old_leaf() {
    let scene = scene();
    let label = scene.session.set_label(&scene.plan_a, "A").unwrap().id;
    scene.session.move_to(Some(&scene.answer)).unwrap();
    let plan_b = scene.add(NewEntry::user("Use plan B."));
    let result_b = scene.add(NewEntry::assistant("B works."));
    let left = |old, target| {
        let left = collect_branch(&scene.session, old, target).unwrap();
        (left.common_ancestor, strings(left.entries.iter().map(|entry| entry.id().clone())))
    };
    let shared = Some(scene.answer.clone());
    let branch_a = strings([scene.plan_a.clone(), scene.result_a.clone(), label.clone()]);
    assert_eq!(left(Some(&label), &result_b), (shared.clone(), branch_a));
    assert_eq!(left(Some(&result_b), &scene.plan_a), (shared, strings([plan_b.clone(), result_b.clone()])));
    // Of a target on the old path, it is the target itself; of one behind the old leaf, that leaf.
    assert_eq!(left(Some(&result_b), &plan_b), (Some(plan_b.clone()), strings([result_b.clone()])));
    assert_eq!(left(Some(&plan_b), &result_b), (Some(plan_b.clone()), vec![]));
    assert_eq!(left(None, &result_b), (None, vec![]));
}

#[test]
fn without_a_common_ancestor_everything_to_the_physical_root_is_left() {
    let scene = scene();
    scene.session.move_to(None).unwrap();
    let other = scene.add(NewEntry::user("Another start."));
    let left = collect_branch(&scene.session, Some(&scene.result_a), &other).unwrap();
    assert_eq!((left.common_ancestor, left.entries.len()), (None, 4));
    let stub = Stub::default();
    let gone = moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.result_a, &summarize()));
    assert!(stub.prompt().user.contains("Another start."));
    scene.assert_leaf(gone.summary_entry.as_ref());
}

#[test]
fn an_ancestor_behind_a_compactions_boundary_is_not_common_to_the_context_paths() {
    let scene = scene();
    scene.session.compact(Compaction::new("what was").first_kept(scene.plan_a.clone())).unwrap();
    let leaf = scene.add(NewEntry::assistant("going on"));
    // The old leaf's context path starts at plan A, the target's at the root.
    let left = collect_branch(&scene.session, Some(&leaf), &scene.answer).unwrap();
    assert_eq!((left.common_ancestor, left.entries.len()), (None, 6));
    let left = collect_branch(&scene.session, Some(&leaf), &scene.plan_a).unwrap();
    assert_eq!((left.common_ancestor, left.entries.len()), (Some(scene.plan_a.clone()), 3));
}

#[test]
fn with_nothing_to_collect_nobody_is_asked_and_the_move_is_plain() {
    let scene = scene();
    scene.session.move_to(Some(&scene.answer)).unwrap();
    let stub = Stub::default();
    let gone = moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.result_a, &summarize()));
    assert_eq!((gone.summary_entry, stub.asked().len()), (None, 0));
    scene.assert_leaf(Some(&scene.result_a));
    // That needs no summariser either.
    scene.session.move_to(None).unwrap();
    moved(scene.navigator().navigate(&scene.result_a, &summarize()));
}

#[test]
fn entries_without_messages_and_messages_over_the_budget_give_a_summary_that_says_so_and_nobody_is_asked() {
    let scene = scene();
    scene.add(NewEntry::thinking_level_change("high"));
    scene.add(NewEntry::tool_result("c", "read", "text"));
    let stub = Stub::default();
    let navigator = scene.navigator().summarizer(stub.clone());
    let check = |gone: leaflog::Moved| {
        let summary = scene.session.entry(gone.summary_entry.as_ref().unwrap()).unwrap();
        assert_eq!(summary.text(), "No content to summarize");
        assert_eq!(summary.member("usage"), None);
        let details: serde_json::Value = serde_json::from_str(&summary.member("details").unwrap()).unwrap();
        assert_eq!(details, serde_json::json!({ "readFiles": [], "modifiedFiles": [] }));
        scene.assert_leaf(Some(summary.id()));
    };
    check(moved(navigator.navigate(&scene.result_a, &summarize())));
    scene.add(NewEntry::assistant("far too long for so small a model"));
    check(moved(navigator.navigate(&scene.answer, &summarize().context_window(11).reserve(5))));
    assert!(stub.asked().is_empty());
}

#[test]
fn the_budget_is_the_window_less_the_reserve_and_the_newest_messages_are_taken_first() {
    let scene = scene();
    let asked = |options: NavigateOptions| {
        scene.session.move_to(Some(&scene.result_a)).unwrap();
        let stub = Stub::default();
        moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.answer, &options));
        stub.prompt().user
    };
    // "Plan A failed." are 14 characters, so 4 tokens; "Use plan A." are 11, so 3.
    let narrow = asked(summarize().context_window(106).reserve(100));
    assert!(narrow.contains("Plan A failed.") && !narrow.contains("Use plan A."), "{narrow}");
    assert!(asked(summarize().context_window(107).reserve(100)).contains("Use plan A."));
    // By default 111,616 tokens of conversation fit.
    let long = |tokens: usize| NewEntry::assistant("x".repeat(tokens * 4));
    for (tokens, fits) in [(111_616, true), (111_617, false)] {
        scene.session.move_to(Some(&scene.answer)).unwrap();
        scene.add(long(tokens));
        let stub = Stub::default();
        moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.answer, &summarize()));
        assert_eq!(stub.asked().len(), usize::from(fits), "{tokens}");
    }
}

#[test]
fn a_window_without_room_and_a_missing_summariser_are_told_and_nothing_moves() {
    let scene = scene();
    let before = scene.bytes();
    let navigator = scene.navigator().summarizer(Stub::default());
    for (window, reserve) in [(16_384, 16_384), (0, 1)] {
        let options = summarize().context_window(window).reserve(reserve);
        assert_eq!(common::kind(navigator.navigate(&scene.plan_a, &options)), ErrorKind::Invalid);
    }
    assert_eq!(common::kind(scene.navigator().navigate(&scene.plan_a, &summarize())), ErrorKind::Invalid);
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn instructions_stand_behind_leaflogs_own_or_instead_of_them() {
    let scene = scene();
    let asked = |options| {
        scene.session.move_to(Some(&scene.result_a)).unwrap();
        let stub = Stub::default();
        moved(scene.navigator().summarizer(stub.clone()).navigate(&scene.plan_a, &options));
        stub.prompt()
    };
    let own = asked(summarize());
    for heading in ["## Goal", "## Constraints & Preferences", "## Progress", "## Key Decisions", "## Next Steps"] {
        assert!(own.user.contains(&format!("\n{heading}\n")), "{heading}");
    }
    for heading in ["### Done", "### In Progress", "### Blocked"] {
        assert!(own.user.contains(&format!("\n{heading}\n")), "{heading}");
    }
    let both = asked(summarize().instructions("only the errors"));
    assert!(both.user.starts_with(&own.user) && both.user.ends_with("only the errors"));
    let alone = asked(summarize().instructions("only the errors").replace_instructions(true));
    assert!(alone.user.ends_with("</conversation>\n\nonly the errors"), "{}", alone.user);
    assert_eq!(asked(summarize().instructions(" ").replace_instructions(true)), own);
}

#[test]
fn a_failed_summary_moves_nothing_and_says_why() {
    let scene = scene();
    let before = scene.bytes();
    let reasons: [(Outcome, &str); 4] = [
        (|| Err(SummaryFailure::failed("the model is overloaded")), "the model is overloaded"),
        (|| Err(std::io::Error::other("no route to host").into()), "no route to host"),
        (|| Ok(Summarized::new(" \n")), "no text"),
        (|| Ok(Summarized::new("text").usage("{broken")), "must be JSON"),
    ];
    for (outcome, reason) in reasons {
        let navigator = scene.navigator().summarizer(move |_: &Prompt, _: &Cancellation| outcome());
        let error = navigator.navigate(&scene.plan_a, &summarize().label("x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Summary);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(reason), "{source}");
        assert_eq!(navigator.phase(), leaflog::Phase::Idle);
    }
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn a_summariser_that_was_stopped_cancels_the_navigation() {
    let scene = scene();
    let before = scene.bytes();
    let navigator = scene.navigator().summarizer(|_: &Prompt, _: &Cancellation| Err(SummaryFailure::Aborted));
    assert!(matches!(navigator.navigate(&scene.plan_a, &summarize()), Ok(Navigation::Cancelled)));
    assert_eq!(scene.bytes(), before);
    scene.assert_leaf(Some(&scene.result_a));
}

#[test]
fn a_summary_before_the_first_entry_is_a_root() {
    let scene = scene();
    let gone = moved(scene.navigator().summarizer(Stub::default()).navigate(&scene.question, &summarize()));
    let summary = scene.session.entry(gone.summary_entry.as_ref().unwrap()).unwrap();
    assert_eq!(summary.parent_id(), None);
    scene.assert_leaf(Some(summary.id()));
    // Leaving from before the first entry, there is nothing to summarise.
    scene.session.move_to(None).unwrap();
    let gone = moved(scene.navigator().navigate(&scene.answer, &summarize()));
    assert_eq!(gone.summary_entry, None);
}

#[test]
fn the_whole_of_c12_section_19_with_a_summary() {
    let scene = scene();
    let navigator = scene.navigator().summarizer(Stub::default());
    let gone = moved(navigator.navigate(&scene.plan_a, &summarize()));
    let plan_b = scene.add(NewEntry::user(gone.editor_text.unwrap().replace('A', "B")));
    scene.add(NewEntry::assistant("Plan B works."));
    let texts = common::texts(&scene.session);
    assert_eq!(
        [&texts[..2], &texts[3..]].concat(),
        ["How do we do it?", "There are two plans.", "Use plan B.", "Plan B works."]
    );
    assert!(texts[2].contains(TEXT));
    // Both plans stay, and one may go back; whoever does leaves a summary of plan B.
    assert_eq!(scene.session.common_ancestor(&scene.plan_a, &plan_b).unwrap(), Some(scene.answer.clone()));
    moved(navigator.navigate(&scene.result_a, &summarize()));
    let texts = common::texts(&scene.session);
    assert_eq!(texts[..4], ["How do we do it?", "There are two plans.", "Use plan A.", "Plan A failed."]);
    assert!(texts[4].contains(TEXT));
    common::assert_reopens_alike(&scene.session);
    assert_eq!(Arc::strong_count(&scene.session), 2);
}
