//! From an empty session to two plans in one tree.

use std::path::Path;

use leaflog::{BranchSummary, CreateOptions, EntryId, NewEntry, Role, Session};

use super::{Stage, log_of, texts};
use crate::failure::Failure;

const PLAN_A: &str = "请用方案 A 重构登录流程。";
const USE_PLAN_B: &str = "请改用方案 B。";
const PLAN_B: &str = "请用方案 B 重构登录流程。";

/// The session, and the entries of it that later steps come back to.
pub(super) struct Life {
    pub(super) session: Session,
    /// The root.
    pub(super) first: EntryId,
    /// The answer to the first question, under which all plans branch.
    pub(super) fork_point: EntryId,
    pub(super) ask_plan_a: EntryId,
    pub(super) end_of_plan_a: EntryId,
    pub(super) ask_plan_b: EntryId,
    pub(super) end_of_plan_b: EntryId,
}

pub(super) fn play(stage: &mut Stage<'_>, folder: &Path) -> Result<Life, Failure> {
    let session = new(stage, folder)?;
    let [first, fork_point, ask_plan_a, end_of_plan_a] = three_rounds(stage, &session)?;
    branch_back(stage, &session, &fork_point, &end_of_plan_a)?;
    let end_of_branch = new_branch(stage, &session, &fork_point, &end_of_plan_a)?;
    move_with_summary(stage, &session, &end_of_plan_a, &end_of_branch)?;
    let question = navigate(stage, &session, &ask_plan_a, &fork_point)?;
    let (ask_plan_b, end_of_plan_b) = edited_question(stage, &session, &fork_point, &question)?;
    Ok(Life { session, first, fork_point, ask_plan_a, end_of_plan_a, ask_plan_b, end_of_plan_b })
}

fn new(stage: &mut Stage<'_>, folder: &Path) -> Result<Session, Failure> {
    stage.begin("new", "A session is one file. It begins with its header and nothing else.")?;
    let session = stage.store.create(CreateOptions::new(folder.join("project")))?;
    stage.show(&session)?;
    let records = log_of(&session)?.split_inclusive(|byte| *byte == b'\n').count();
    stage.hold("the file holds one record, the header", records == 1)?;
    stage.hold("the leaf is before the first entry", session.leaf().is_none() && session.entries().next().is_none())?;
    Ok(session)
}

fn three_rounds(stage: &mut Stage<'_>, session: &Session) -> Result<[EntryId; 4], Failure> {
    stage.begin("three rounds", "Every entry names its parent: the leaf of that moment. So far it is one line.")?;
    let first = stage.say(session, "u1", NewEntry::user("How does the login flow work?"))?;
    let fork_point =
        stage.say(session, "a1", NewEntry::assistant("login.ts checks, fetches and redirects, all in one."))?;
    let ask = stage.say(session, "u2", NewEntry::user(PLAN_A))?;
    stage.say(session, "a2", NewEntry::assistant("Plan A (方案 A): I split login.ts into three functions."))?;
    stage.say(session, "u3", NewEntry::user("Do the tests pass?"))?;
    let end = stage.say(session, "a3", NewEntry::assistant("Not yet: the redirect test fails under plan A."))?;
    stage.show(session)?;
    let path = session.path_ids(None)?;
    let chained = path.windows(2).all(|pair| session.entry(&pair[1]).is_ok_and(|e| e.parent_id() == Some(&pair[0])));
    stage.hold("six entries, each the child of the one before", path.len() == 6 && chained)?;
    stage.hold("the model sees all six messages", texts(session)?.len() == 6)?;
    Ok([first, fork_point, ask, end])
}

fn branch_back(stage: &mut Stage<'_>, session: &Session, back_to: &EntryId, end: &EntryId) -> Result<(), Failure> {
    stage.begin("branch back to a1", "Second thoughts. A branch only moves the pointer; the file is not touched.")?;
    let before = log_of(session)?;
    session.branch(Some(back_to))?;
    stage.show(session)?;
    stage.hold("not a byte was written", log_of(session)? == before)?;
    stage.hold("the session stands at a1 here", session.leaf().as_ref() == Some(back_to))?;
    let reopened = Session::open(session.path())?;
    stage.hold("who opens it now still stands at a3", reopened.leaf().as_ref() == Some(end))
}

fn new_branch(stage: &mut Stage<'_>, session: &Session, from: &EntryId, old_end: &EntryId) -> Result<EntryId, Failure> {
    stage.begin("a new branch", "The next message becomes a second child of a1. Plan A stays as it is.")?;
    let before = log_of(session)?;
    let ask = stage.say(session, "u4", NewEntry::user(USE_PLAN_B))?;
    let end =
        stage.say(session, "a4", NewEntry::assistant("Plan B (方案 B) needs a session API that is not there yet."))?;
    stage.show(session)?;
    stage.hold("u4 is a child of a1", session.entry(&ask)?.parent_id() == Some(from))?;
    stage.hold("all that was in the file still is, byte for byte", log_of(session)?.starts_with(&before))?;
    let tips: Vec<_> = session.tips()?.into_iter().map(|tip| tip.id).collect();
    stage.hold("there are two ends: a3 and a4", tips == [old_end.clone(), end.clone()])?;
    stage.hold("the model sees plan B and nothing of plan A", !texts(session)?.iter().any(|text| text == PLAN_A))?;
    Ok(end)
}

fn move_with_summary(stage: &mut Stage<'_>, session: &Session, to: &EntryId, from: &EntryId) -> Result<(), Failure> {
    stage.begin("move back to plan A, with a summary", "What plan B taught goes along as a summary, a child of a3.")?;
    let summary = BranchSummary::new("Plan B was tried: it needs a session API that is not there.");
    let receipt = session.move_with(Some(to), Some(summary), &leaflog::AppendOptions::new())?;
    let receipt = receipt.ok_or_else(|| Failure::Step("the move wrote nothing".to_owned()))?;
    let id = stage.call("s1", &receipt);
    stage.show(session)?;
    let entry = session.entry(&id)?;
    stage.hold("s1 is a child of a3 and says that it comes from a4", {
        entry.parent_id() == Some(to) && entry.text_member("fromId") == Some(from.to_string())
    })?;
    let texts = texts(session)?;
    stage.hold("the model sees plan A and the summary, not plan B itself", {
        texts.len() == 7 && texts.iter().any(|text| text == PLAN_A) && !texts.iter().any(|text| text == USE_PLAN_B)
    })?;
    let reopened = Session::open(session.path())?;
    stage.hold("who opens it now stands at s1", reopened.leaf() == Some(id))
}

/// What choosing an old message in a tree view does (C12, 6): a user message takes the leaf to its parent, and its
/// text goes to the editor.
fn navigate(stage: &mut Stage<'_>, session: &Session, to: &EntryId, parent: &EntryId) -> Result<String, Failure> {
    stage.begin("navigate to u2", "To ask an old question anew, the leaf goes to before it: to its parent a1.")?;
    let chosen = session.entry(to)?;
    let (target, editor_text) = match chosen.role() {
        Some(Role::User) => (chosen.parent_id().cloned(), chosen.text()),
        _ => (Some(to.clone()), String::new()),
    };
    session.move_to(target.as_ref())?;
    stage.show(session)?;
    stage.hold("the leaf is a1", session.leaf().as_ref() == Some(parent))?;
    stage.hold(&format!("the editor holds the old question: {PLAN_A}"), editor_text == PLAN_A)?;
    let reopened = Session::open(session.path())?;
    stage.hold("who opens it now stands at a1 too: this move is stored", reopened.leaf().as_ref() == Some(parent))?;
    Ok(editor_text)
}

fn edited_question(
    stage: &mut Stage<'_>,
    session: &Session,
    parent: &EntryId,
    question: &str,
) -> Result<(EntryId, EntryId), Failure> {
    stage.begin(
        "the question anew",
        "Plan A becomes plan B in the editor and is sent: a sibling of the old question.",
    )?;
    let question = question.replace("方案 A", "方案 B");
    let ask = stage.say(session, "u5", NewEntry::user(&question))?;
    let end =
        stage.say(session, "a5", NewEntry::assistant("Plan B (方案 B): I wrote the session API first. Tests pass."))?;
    stage.show(session)?;
    let children = session.children(Some(parent))?;
    stage.hold("a1 has three children: u2, u4 and u5", children.len() == 3 && children.last() == Some(&ask))?;
    stage.hold(&format!("the new question is: {PLAN_B}"), session.entry(&ask)?.text() == PLAN_B)?;
    stage
        .hold("the model sees it instead of the old one", texts(session)?.get(2).is_some_and(|text| text == PLAN_B))?;
    Ok((ask, end))
}
