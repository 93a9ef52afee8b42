//! A session with a branch to leave, and a summariser that writes down what it is asked.

use std::sync::{Arc, Mutex};

use leaflog::{
    Cancellation, EntryId, NavigateOptions, Navigation, Navigator, NewEntry, Prompt, Session, Store, Summarized,
    Summarizer, SummaryFailure,
};
use tempfile::TempDir;

use super::common::{self, assert_reopens_alike};

/// What the stub answers.
pub(crate) const TEXT: &str = "Plan A needs an API that is gone.";
pub(crate) const USAGE: &str = r#"{"input":7,"output":3}"#;

/// A question, its answer, and plan A, which is where the session stands.
pub(crate) struct Scene {
    pub(crate) session: Arc<Session>,
    pub(crate) question: EntryId,
    pub(crate) answer: EntryId,
    pub(crate) plan_a: EntryId,
    pub(crate) result_a: EntryId,
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

pub(crate) fn scene() -> Scene {
    let (folder, store, session) = common::session();
    let add = |entry| session.append(entry).unwrap().id;
    let question = add(NewEntry::user("How do we do it?"));
    let answer = add(NewEntry::assistant("There are two plans."));
    let plan_a = add(NewEntry::user("Use plan A."));
    let result_a = add(NewEntry::assistant("Plan A failed."));
    Scene { session: Arc::new(session), question, answer, plan_a, result_a, store, folder }
}

impl Scene {
    pub(crate) fn navigator(&self) -> Navigator {
        Navigator::new(Arc::clone(&self.session))
    }

    pub(crate) fn add(&self, entry: NewEntry) -> EntryId {
        self.session.append(entry).unwrap().id
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        common::bytes(self.session.path())
    }

    /// Fails unless a fresh handle sees what this one sees, with the leaf there.
    #[track_caller]
    pub(crate) fn assert_leaf(&self, leaf: Option<&EntryId>) {
        assert_eq!(self.session.leaf().as_ref(), leaf);
        assert_eq!(assert_reopens_alike(&self.session).leaf().as_ref(), leaf);
    }
}

/// Writes [`TEXT`] and remembers what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Stub(Arc<Mutex<Vec<Prompt>>>);

impl Stub {
    pub(crate) fn asked(&self) -> Vec<Prompt> {
        self.0.lock().unwrap().clone()
    }

    /// What was asked the only time.
    #[track_caller]
    pub(crate) fn prompt(&self) -> Prompt {
        let asked = self.asked();
        assert_eq!(asked.len(), 1);
        asked[0].clone()
    }
}

impl Summarizer for Stub {
    fn summarize(&self, prompt: &Prompt, _: &Cancellation) -> Result<Summarized, SummaryFailure> {
        self.0.lock().unwrap().push(prompt.clone());
        Ok(Summarized::new(TEXT).usage(USAGE))
    }
}

pub(crate) fn summarize() -> NavigateOptions {
    NavigateOptions::new().summarize(true)
}

#[track_caller]
pub(crate) fn moved(navigation: leaflog::Result<Navigation>) -> leaflog::Moved {
    match navigation.unwrap() {
        Navigation::Moved(moved) => moved,
        other => panic!("{other:?}"),
    }
}

/// An assistant message that calls tools: each a name and its arguments.
pub(crate) fn calls(calls: &[(&str, &str)]) -> NewEntry {
    let call = |(name, arguments): &(&str, &str)| {
        format!(r#"{{"type":"toolCall","id":"c","name":"{name}","arguments":{arguments}}}"#)
    };
    let blocks: Vec<_> = calls.iter().map(call).collect();
    NewEntry::message(&format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","))).unwrap()
}
