//! Copies of the session, compaction, and whether everything is still there at the end.

use leaflog::{Compaction, EntryId, Fork, ForkOptions, Forked, NewEntry, Session, SessionOptions};

use super::life::Life;
use super::{Stage, log_of, texts};
use crate::failure::Failure;

pub(super) fn play(stage: &mut Stage<'_>, life: Life) -> Result<(), Failure> {
    let source = log_of(&life.session)?;
    let mut copies = vec![fork_before(stage, &life)?, fork_at(stage, &life)?];
    copies.push(fork_whole(stage, &life)?);
    copies.push(clone(stage, &life)?);
    stage.hold("after four copies the source's file has not changed by a byte", log_of(&life.session)? == source)?;
    let plan_b = compact(stage, &life)?;
    let session = reopen(stage, life.session)?;
    let plan_a = [life.first, life.fork_point, life.ask_plan_a, life.end_of_plan_a];
    let path = switch_to_plan_a(stage, &session, &plan_a)?;
    switch_to_plan_b(stage, &session, &plan_b)?;
    verify(stage, &session, &source, &copies, [&path, &plan_b])
}

fn copy(stage: &Stage<'_>, life: &Life, fork: &Fork) -> Result<Forked, Failure> {
    Ok(stage.store.fork(&life.session, fork, ForkOptions::new())?)
}

/// Whether the first records behind the header are those of `entries`, byte for byte.
fn holds_copies(copy: &Session, source: &Session, entries: &[EntryId]) -> Result<bool, Failure> {
    for id in entries {
        if copy.entry(id)?.as_bytes() != source.entry(id)?.as_bytes() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fork_before(stage: &mut Stage<'_>, life: &Life) -> Result<Session, Failure> {
    stage.begin(
        "fork before u2",
        "A fork is a new session: here the path to before a question, to ask it anew there.",
    )?;
    let Forked { session, editor_text, .. } = copy(stage, life, &Fork::Before(life.ask_plan_a.clone()))?;
    stage.show(&session)?;
    let path = session.path_ids(None)?;
    stage.hold("it holds u1 and a1, byte for byte", {
        path == [life.first.clone(), life.fork_point.clone()] && holds_copies(&session, &life.session, &path)?
    })?;
    let question = life.session.entry(&life.ask_plan_a)?.text();
    stage.hold("the question came along for the editor", editor_text == Some(question))?;
    let parent = Some(life.session.path().to_string_lossy().into_owned());
    stage.hold("its header names the source", session.header().parent_session == parent)?;
    let refused = copy(stage, life, &Fork::Before(life.fork_point.clone()));
    stage.hold("before anything but a user message there is no such fork", refused.is_err())?;
    Ok(session)
}

fn fork_at(stage: &mut Stage<'_>, life: &Life) -> Result<Session, Failure> {
    stage.begin("fork at a3", "The path up to and with an entry becomes a task of its own, and goes on there.")?;
    let session = copy(stage, life, &Fork::At(life.end_of_plan_a.clone()))?.session;
    let leaf = session.leaf();
    stage.say(&session, "f1", NewEntry::user("Fix the redirect test."))?;
    stage.show(&session)?;
    stage.hold("the copy's leaf was a3", leaf.as_ref() == Some(&life.end_of_plan_a))?;
    let path = life.session.path_ids(Some(&life.end_of_plan_a))?;
    stage.hold("it holds plan A, byte for byte", holds_copies(&session, &life.session, &path)?)?;
    stage.hold("the source knows nothing of f1", {
        let source = Session::open(life.session.path())?;
        session.leaf().is_some_and(|new| source.entry(&new).is_err())
    })?;
    Ok(session)
}

fn fork_whole(stage: &mut Stage<'_>, life: &Life) -> Result<Session, Failure> {
    stage
        .begin("fork the whole session", "Without an entry everything is copied: all branches, and where it stands.")?;
    let session = copy(stage, life, &Fork::Whole)?.session;
    stage.show(&session)?;
    stage.hold("it stands at a5, as the source does", session.leaf() == life.session.leaf())?;
    stage.hold("it has the same ends", session.tips()? == life.session.tips()?)?;
    let records = |session: &Session| -> Result<Vec<Vec<u8>>, Failure> {
        session.entries().map(|entry| Ok(entry?.as_bytes().to_vec())).collect()
    };
    stage.hold("every record is the same, byte for byte", records(&session)? == records(&life.session)?)?;
    Ok(session)
}

fn clone(stage: &mut Stage<'_>, life: &Life) -> Result<Session, Failure> {
    stage.begin("clone", "A clone is a fork at the leaf: the path that is in use, without the other plans.")?;
    let leaf = life.session.leaf().unwrap_or_else(|| life.end_of_plan_b.clone());
    let session = copy(stage, life, &Fork::At(leaf))?.session;
    stage.show(&session)?;
    stage.hold("it stands at a5", session.leaf().as_ref() == Some(&life.end_of_plan_b))?;
    stage.hold("the model sees there what it sees in the source", texts(&session)? == texts(&life.session)?)?;
    stage.hold("it has one end", session.tips()?.len() == 1)?;
    Ok(session)
}

fn compact(stage: &mut Stage<'_>, life: &Life) -> Result<Vec<EntryId>, Failure> {
    let session = &life.session;
    stage.begin("compact", "The window is nearly full: a summary stands for all before u5. The tree keeps it all.")?;
    let compaction = Compaction::new("The login flow was explained; plan A was tried before.")
        .first_kept(life.ask_plan_b.clone())
        .tokens_before(90_000);
    let receipt = session.compact(compaction)?;
    stage.call("c1", &receipt);
    stage.say(session, "u6", NewEntry::user("Then delete the old code."))?;
    let end = stage.say(session, "a6", NewEntry::assistant("Done, plan B is complete."))?;
    stage.show(session)?;
    let roles: Vec<_> = super::messages(session)?.iter().map(leaflog::Message::role).collect();
    let expected = ["compactionSummary", "user", "assistant", "user", "assistant"];
    stage.hold("the model sees the summary, then u5 and what came after it", roles == expected)?;
    let path = session.path_ids(None)?;
    stage.hold("the path still reaches back to u1", path.first() == Some(&life.first) && path.last() == Some(&end))?;
    Ok(path)
}

fn reopen(stage: &mut Stage<'_>, session: Session) -> Result<Session, Failure> {
    stage.begin("reopen", "All state comes from replaying the file: tree, leaf and context are those of before.")?;
    let (before, leaf, tips) = (texts(&session)?, session.leaf(), session.tips()?);
    let path = session.path();
    drop(session);
    let session = stage.store.open(&path.to_string_lossy())?;
    stage.show(&session)?;
    stage.hold("it stands at a6", session.leaf() == leaf)?;
    stage.hold("the context is the same", texts(&session)? == before)?;
    stage.hold("the ends are the same", session.tips()? == tips)?;
    Ok(session)
}

fn switch_to_plan_a(stage: &mut Stage<'_>, session: &Session, marks: &[EntryId; 4]) -> Result<Vec<EntryId>, Failure> {
    stage.begin("switch to plan A", "Either plan is one move away. The compaction is not on this path.")?;
    session.move_to(Some(&marks[3]))?;
    stage.show(session)?;
    let path = session.path_ids(None)?;
    stage.hold("plan A is there: six entries from u1 over u2 to a3", {
        path.len() == 6 && marks.iter().all(|mark| path.contains(mark))
    })?;
    stage.hold("the model sees all six, in full", texts(session)?.len() == 6)?;
    Ok(path)
}

fn switch_to_plan_b(stage: &mut Stage<'_>, session: &Session, plan_b: &[EntryId]) -> Result<(), Failure> {
    stage.begin("switch to plan B", "And back again.")?;
    session.move_to(plan_b.last())?;
    stage.show(session)?;
    stage.hold("plan B is there, with its compaction", session.path_ids(None)? == plan_b)
}

fn verify(
    stage: &mut Stage<'_>,
    session: &Session,
    source: &[u8],
    copies: &[Session],
    [plan_a, plan_b]: [&[EntryId]; 2],
) -> Result<(), Failure> {
    stage.begin("verify", "A last look at everything, strictly: any damage would be an error now.")?;
    let strict = || SessionOptions::new().strict(true);
    let reopened = Session::open_with(session.path(), strict())?;
    stage.show(&reopened)?;
    stage.hold("both plans are still there", {
        reopened.path_ids(plan_a.last())? == plan_a && reopened.path_ids(None)? == plan_b
    })?;
    stage.hold("the file was only ever appended to", log_of(session)?.starts_with(source))?;
    let ids: Vec<_> = copies.iter().map(Session::id).collect();
    let listed = stage.store.list(&leaflog::ListOptions::new())?;
    let found = listed.iter().filter(|info| ids.contains(&info.id) || info.id == session.id()).count();
    stage.hold("the folder lists the session and its four copies", found == ids.len() + 1)?;
    let mut whole = true;
    for copy in copies {
        let reopened = Session::open_with(copy.path(), strict())?;
        whole &= reopened.leaf() == copy.leaf() && reopened.damage().1 == 0;
    }
    stage.hold("every copy opens where it stood", whole)
}
