//! What the two seed documents say, point by point, where no other test looks at that very point. `docs/seeds.md` names
//! each of these.

mod common;

use std::sync::Arc;

use common::{assert_reopens_alike, bytes, kind, lines, path, store, texts};
use leaflog::{
    AppendOptions, BranchSummary, Compaction, ContextOptions, CreateOptions, EntryId, EntryKind, ErrorKind, Fork,
    ForkOptions, NavigateOptions, Navigation, Navigator, NewEntry, Scope, Session, Store, TreeOptions,
};

/// A question and an answer, then plan A with its result.
struct Plans {
    _folder: tempfile::TempDir,
    store: Store,
    session: Session,
    answer: EntryId,
    question_a: EntryId,
    result_a: EntryId,
}

fn plans() -> Plans {
    let (folder, store) = store();
    let session = store.create(CreateOptions::new("/project")).unwrap();
    let say = |entry: NewEntry| session.append(entry).unwrap().id;
    say(NewEntry::user("How?"));
    let answer = say(NewEntry::assistant("Two plans."));
    let question_a = say(NewEntry::user("plan A"));
    let result_a = say(NewEntry::assistant("A done"));
    Plans { _folder: folder, store, session, answer, question_a, result_a }
}

// C12, the misconceptions (section 20).

#[test]
fn a_branch_copies_no_entry_and_shares_the_history_before_it() {
    let plans = plans();
    let before = lines(plans.session.path());
    plans.session.move_to(Some(&plans.answer)).unwrap();
    let plan_b = plans.session.append(NewEntry::user("plan B")).unwrap().id;
    let after = lines(plans.session.path());
    assert_eq!(after.len(), before.len() + 2, "the move and the question");
    assert_eq!(after[..before.len()], before);
    let shared = plans.session.common_ancestor(&plans.result_a, &plan_b).unwrap();
    assert_eq!(shared, Some(plans.answer));
}

#[test]
fn a_branch_stays_in_its_session_and_a_fork_makes_another() {
    let plans = plans();
    let sessions = || plans.store.list(&leaflog::ListOptions::new()).unwrap().len();
    plans.session.move_to(Some(&plans.answer)).unwrap();
    assert_eq!(sessions(), 1);
    let fork = plans.store.fork(&plans.session, &Fork::At(plans.result_a.clone()), ForkOptions::new()).unwrap().session;
    assert_eq!(sessions(), 2);
    assert_ne!(fork.id(), plans.session.id());
    assert!(fork.header().parent_session.is_some());
    assert_eq!(plans.session.leaf(), Some(plans.answer), "the source stands where it stood");
}

#[test]
fn an_old_question_that_is_sent_again_is_a_sibling_and_not_an_addition() {
    let plans = plans();
    let navigator = Navigator::new(Arc::new(common::open(plans.session.path())));
    let Navigation::Moved(moved) = navigator.navigate(&plans.question_a, &NavigateOptions::new()).unwrap() else {
        panic!("nothing stood in the way")
    };
    assert_eq!((moved.leaf, moved.editor_text.as_deref()), (Some(plans.answer.clone()), Some("plan A")));
    let revised = navigator.session().append(NewEntry::user("plan B")).unwrap().id;
    assert_eq!(navigator.session().children(Some(&plans.answer)).unwrap(), [plans.question_a, revised]);
    assert_eq!(texts(navigator.session()), ["How?", "Two plans.", "plan B"]);
}

#[test]
fn the_entries_of_a_session_are_not_what_the_model_sees() {
    let plans = plans();
    plans.session.set_label(&plans.answer, "label").unwrap();
    plans.session.move_to(Some(&plans.answer)).unwrap();
    plans.session.append(NewEntry::user("plan B")).unwrap();
    let kinds: Vec<_> = plans.session.entries().map(|entry| entry.unwrap().kind()).collect();
    assert_eq!(kinds.len(), 7);
    assert!(kinds.contains(&EntryKind::Leaf) && kinds.contains(&EntryKind::Label));
    assert_eq!(texts(&assert_reopens_alike(&plans.session)), ["How?", "Two plans.", "plan B"]);
}

#[test]
fn a_branch_summary_loses_words_and_the_branch_loses_none() {
    let plans = plans();
    let before = bytes(plans.session.path());
    let summary = BranchSummary::new("A was tried.");
    plans.session.move_with(Some(&plans.answer), Some(summary), &AppendOptions::new()).unwrap().unwrap();
    let seen = texts(&assert_reopens_alike(&plans.session));
    assert_eq!(seen, ["How?", "Two plans.", "A was tried."]);
    assert!(bytes(plans.session.path()).starts_with(&before));
    plans.session.move_to(Some(&plans.result_a)).unwrap();
    assert_eq!(texts(&plans.session), ["How?", "Two plans.", "plan A", "A done"]);
}

#[test]
fn going_back_changes_neither_entries_nor_ids_and_old_entries_can_be_gone_on_from() {
    let plans = plans();
    let records = || common::records(&plans.session);
    let before = records();
    for target in [Some(&plans.answer), None, Some(&plans.result_a), Some(&plans.question_a)] {
        plans.session.move_to(target).unwrap();
        plans.session.append(NewEntry::assistant("from there")).unwrap();
        assert!(records().starts_with(&before));
    }
    let fork = plans.store.fork(&plans.session, &Fork::At(plans.result_a.clone()), ForkOptions::new()).unwrap().session;
    assert_eq!(common::records(&fork), before);
}

// C12, sections 9, 10 and 16.

#[test]
fn a_fork_in_the_words_of_section_10_gives_what_each_wish_asks_for() {
    let plans = plans();
    plans.session.move_to(Some(&plans.answer)).unwrap();
    plans.session.append(NewEntry::user("plan B")).unwrap();
    let fork = |fork: Fork| plans.store.fork(&plans.session, &fork, ForkOptions::new()).unwrap();
    // The whole session with its branches.
    let whole = fork(Fork::Whole).session;
    assert_eq!((whole.tips().unwrap().len(), texts(&whole)), (2, texts(&plans.session)));
    // A task of its own from some point, and going on from a result.
    let at = fork(Fork::At(plans.result_a.clone())).session;
    assert_eq!((at.leaf().as_ref(), texts(&at).len()), (Some(&plans.result_a), 4));
    // Changing an old question.
    let before = fork(Fork::Before(plans.question_a.clone()));
    assert_eq!(before.editor_text.as_deref(), Some("plan A"));
    assert_eq!(before.session.leaf(), Some(plans.answer.clone()));
    let wrong = plans.store.fork(&plans.session, &Fork::Before(plans.answer.clone()), ForkOptions::new());
    let error = wrong.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("invalid fork target"));
}

#[test]
fn a_fork_of_a_context_starts_at_the_boundary_of_the_compaction() {
    let plans = plans();
    plans.session.compact(Compaction::new("short").first_kept(plans.question_a.clone())).unwrap();
    let leaf = plans.session.leaf().unwrap();
    let options = ForkOptions::new().scope(Scope::Context);
    let copy = plans.store.fork(&plans.session, &Fork::At(leaf), options).unwrap().session;
    assert_eq!(texts(&copy), texts(&plans.session));
    assert_eq!(common::ids(&copy)[0], plans.question_a.to_string());
}

#[test]
fn settings_begin_at_their_defaults_belong_to_the_path_and_are_no_write_of_reading() {
    let plans = plans();
    let settings = |session: &Session| session.context(&ContextOptions::new()).unwrap().settings;
    let first = settings(&plans.session);
    assert_eq!((first.model.is_none(), first.thinking_level.as_str(), first.active_tool_names), (true, "off", None));
    plans.session.append(NewEntry::model_change("anthropic", "m1")).unwrap();
    plans.session.append(NewEntry::thinking_level_change("high")).unwrap();
    plans.session.append(NewEntry::active_tools_change(&["read"])).unwrap();
    let leaf = plans.session.leaf().unwrap();
    assert_eq!(settings(&plans.session).thinking_level, "high");
    // Before them, they do not hold.
    plans.session.move_to(Some(&plans.answer)).unwrap();
    let before = bytes(plans.session.path());
    assert_eq!(settings(&plans.session).thinking_level, "off");
    assert_eq!(bytes(plans.session.path()), before, "reading settings writes none");
    // Behind a boundary they fall back, unless they are kept.
    plans.session.move_to(Some(&leaf)).unwrap();
    plans.session.compact(Compaction::new("short")).unwrap();
    assert_eq!((settings(&plans.session).thinking_level.as_str(), settings(&plans.session).model), ("off", None));
    plans.session.move_to(Some(&leaf)).unwrap();
    plans.session.compact(Compaction::new("short").keep_settings(true)).unwrap();
    let kept = settings(&assert_reopens_alike(&plans.session));
    assert_eq!(kept.thinking_level, "high");
    assert_eq!(kept.active_tool_names.as_deref(), Some(&["read".to_owned()][..]));
    // An assistant's message names its model too.
    plans.session.move_to(None).unwrap();
    let message = r#"{"role":"assistant","content":[],"provider":"p","model":"m2"}"#;
    plans.session.append(NewEntry::message(message).unwrap()).unwrap();
    assert!(settings(&plans.session).model.is_some());
}

#[test]
fn a_tree_view_has_nodes_parents_labels_the_active_path_and_the_leaf() {
    let plans = plans();
    plans.session.set_label(&plans.result_a, "A").unwrap();
    plans.session.move_to(Some(&plans.answer)).unwrap();
    let plan_b = plans.session.append(NewEntry::user("plan B")).unwrap().id;
    let hidden = TreeOptions::new().hide([EntryKind::Label]);
    let nodes: Vec<_> = plans.session.tree(&hidden).unwrap().map(Result::unwrap).collect();
    let active: Vec<_> = nodes.iter().filter(|node| node.active).map(|node| node.id.to_string()).collect();
    assert_eq!(active, path(&plans.session, None));
    let leaf: Vec<_> = nodes.iter().filter(|node| node.leaf).map(|node| node.id.clone()).collect();
    assert_eq!(leaf, [plan_b]);
    assert!(nodes.iter().all(|node| node.kind == EntryKind::Message), "control entries are no bubbles");
    for node in &nodes {
        assert_eq!(node.parent_id.as_ref(), plans.session.entry(&node.id).unwrap().parent_id());
    }
    let labelled: Vec<_> = nodes.iter().filter_map(|node| Some((node.id.clone(), node.label.clone()?))).collect();
    assert_eq!(labelled, [(plans.result_a.clone(), "A".to_owned())]);
}

// S14.

#[test]
fn the_parent_of_an_entry_is_the_leaf_of_before_and_the_leaf_is_the_entry_then() {
    let (_folder, _, session) = common::session();
    let mut last = None;
    for number in 0..5 {
        let id = session.append(NewEntry::user(number.to_string())).unwrap().id;
        assert_eq!(session.entry(&id).unwrap().parent_id(), last.as_ref());
        assert_eq!(session.leaf().as_ref(), Some(&id));
        last = Some(id);
    }
    assert_eq!(path(&assert_reopens_alike(&session), None), common::ids(&session), "from the root to the leaf");
}

#[test]
fn a_branch_moves_a_pointer_and_writes_nothing() {
    let plans = plans();
    let before = bytes(plans.session.path());
    plans.session.branch(Some(&plans.answer)).unwrap();
    assert_eq!(bytes(plans.session.path()), before);
    assert_eq!(kind(plans.session.branch(Some(&common::id("nobody")))), ErrorKind::NotFound);
    let plan_b = plans.session.append(NewEntry::user("plan B")).unwrap().id;
    assert_eq!(plans.session.entry(&plan_b).unwrap().parent_id(), Some(&plans.answer));
    assert!(bytes(plans.session.path()).starts_with(&before));
}

#[test]
fn a_summary_hangs_under_the_target_and_not_under_the_branch_that_was_left() {
    let plans = plans();
    let summary = BranchSummary::new("A was tried.");
    let receipt = plans.session.move_with(Some(&plans.answer), Some(summary), &AppendOptions::new()).unwrap().unwrap();
    let entry = plans.session.entry(&receipt.id).unwrap();
    assert_eq!(entry.parent_id(), Some(&plans.answer));
    assert_eq!(entry.text_member("fromId"), Some(plans.result_a.to_string()));
    // Under the branch that was left, the model would see that branch and not the target's.
    assert_eq!(texts(&plans.session), ["How?", "Two plans.", "A was tried."]);
}

#[test]
fn the_context_of_a_compaction_is_its_summary_and_what_it_keeps_while_all_stays_stored() {
    let plans = plans();
    let before = bytes(plans.session.path());
    plans.session.compact(Compaction::new("What came before.").first_kept(plans.question_a.clone())).unwrap();
    plans.session.append(NewEntry::user("on")).unwrap();
    assert_eq!(texts(&assert_reopens_alike(&plans.session)), ["What came before.", "plan A", "A done", "on"]);
    assert!(bytes(plans.session.path()).starts_with(&before));
    assert_eq!(plans.session.tree(&TreeOptions::new()).unwrap().count(), 6);
    assert_eq!(path(&plans.session, None).len(), 6, "the path goes through to the root");
}
