//! Section 19 of C12, from the first question to the switch back, on every backend.

use std::sync::Arc;

use leaflog::{
    Cancellation, ContextOptions, CreateOptions, EntryKind, Message, NavigateOptions, Navigation, Navigator, NewEntry,
    Prompt, Session, Store, Summarized,
};

fn context(session: &Session) -> Vec<String> {
    session.context(&ContextOptions::new()).unwrap().messages.iter().map(Message::text).collect()
}

/// What the host does with a navigation: the text for the editor, or it fails.
fn navigate(session: &Arc<Session>, target: &leaflog::EntryId, summarize: bool) -> leaflog::Moved {
    let model = |prompt: &Prompt, _: &Cancellation| {
        assert!(
            prompt.user.contains("Plan A failed: the API is gone.") && !prompt.user.contains("Read the login code.")
        );
        Ok(Summarized::new("Plan A: the API is gone."))
    };
    let navigator = Navigator::new(Arc::clone(session)).summarizer(model);
    match navigator.navigate(target, &NavigateOptions::new().summarize(summarize)).unwrap() {
        Navigation::Moved(moved) => moved,
        other => panic!("{other:?}"),
    }
}

fn play(store: &Store, summarize: bool) {
    let session = Arc::new(store.create(CreateOptions::new("/projects/login")).unwrap());
    let say = |entry: NewEntry| session.append(entry).unwrap().id;
    say(NewEntry::user("Read the login code."));
    let common = say(NewEntry::assistant("Read."));
    let question = say(NewEntry::user("请用方案 A 重构登录流程。"));
    let plan_a = say(NewEntry::assistant("Plan A failed: the API is gone."));
    let before: Vec<_> = session.entries().map(|entry| entry.unwrap().as_bytes().to_vec()).collect();

    // The user selects the old question; its text goes to the editor, the leaf before it.
    let moved = navigate(&session, &question, summarize);
    assert_eq!(moved.editor_text.as_deref(), Some("请用方案 A 重构登录流程。"));
    assert_eq!(moved.summary_entry.is_some(), summarize);
    let revised = say(NewEntry::user(moved.editor_text.unwrap().replace('A', "B")));
    let plan_b = say(NewEntry::assistant("Plan B works."));

    // The model sees the common path and plan B, and of plan A the summary if there is one.
    let summary = |texts: &[String]| texts.iter().filter(|text| text.contains("Plan A: the API is gone.")).count();
    let seen = context(&session);
    assert_eq!(seen[..2], ["Read the login code.", "Read."]);
    assert_eq!(seen[seen.len() - 2..], ["请用方案 B 重构登录流程。", "Plan B works."]);
    assert_eq!((seen.len(), summary(&seen)), if summarize { (5, 1) } else { (4, 0) });
    assert!(!seen.iter().any(|text| text.contains("Plan A failed") || text.contains("方案 A")));
    // The revised question is the old one's sibling; with a summary, the summary is.
    let sibling = moved.summary_entry.unwrap_or_else(|| revised.clone());
    assert_eq!(session.children(Some(&common)).unwrap(), [question.clone(), sibling]);

    // All of plan A is kept as it was, and either plan is a move away, after a restart too.
    let reopened = store.open(session.id().as_str()).unwrap();
    assert_eq!(reopened.leaf(), Some(plan_b.clone()));
    assert_eq!(context(&reopened), seen);
    let now: Vec<_> = reopened.entries().map(|entry| entry.unwrap().as_bytes().to_vec()).collect();
    assert!(now.starts_with(&before));
    reopened.move_to(Some(&plan_a)).unwrap();
    assert_eq!(
        context(&reopened),
        ["Read the login code.", "Read.", "请用方案 A 重构登录流程。", "Plan A failed: the API is gone."]
    );
    reopened.move_to(Some(&plan_b)).unwrap();
    assert_eq!(context(&store.open(session.id().as_str()).unwrap()), seen);
    let tips: Vec<_> = reopened.tips().unwrap().into_iter().map(|tip| tip.id).collect();
    assert_eq!(tips, [plan_a, plan_b]);
    let summaries = reopened.entries().filter(|entry| entry.as_ref().unwrap().kind() == EntryKind::BranchSummary);
    assert_eq!(summaries.count(), usize::from(summarize));
}

#[test]
fn plan_a_is_kept_and_plan_b_goes_on_from_before_it_with_and_without_a_summary_on_every_backend() {
    let folder = tempfile::tempdir().unwrap();
    for summarize in [false, true] {
        play(&Store::new(folder.path().join("files")), summarize);
        play(&Store::in_memory(), summarize);
        play(&Store::sqlite(folder.path().join("sessions.db")).unwrap(), summarize);
    }
}
