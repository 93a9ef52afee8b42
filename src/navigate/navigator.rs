//! The navigator: one thing at a time, and moves with or without a summary (SPEC 6.1 to 6.3).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::attempt::Attempt;
use super::hooks::{After, Before, NavigationDecision, NavigationEvent, NavigationPlan};
use super::options::NavigateOptions;
use super::phase::{Phase, PhaseGuard, Phases};
use super::summarizer::{Summarizer, Summary};
use crate::error::{Error, Result};
use crate::model::EntryId;
use crate::session::Session;

/// Goes from place to place in a session, and keeps turns, compactions and navigations out of each other's way (SPEC 6).
///
/// A host that drives an agent shares one navigator among its threads. It holds a guard for each turn and compaction;
/// [`navigate`](Self::navigate) works only while there is none, since a leaf that moves under a running turn would
/// decide by chance where the answer goes. [`abort`](Self::abort) asks whatever is under way to stop, a summary that
/// has started too.
///
/// The phases are those of this navigator. Other handles and processes may append at any time; the move notices
/// (SPEC 3.7).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use leaflog::{
///     Cancellation, CreateOptions, NavigateOptions, Navigation, Navigator, NewEntry, Prompt, Store, Summarized,
/// };
///
/// # let folder = tempfile::tempdir().expect("a temporary folder");
/// # let store = Store::new(folder.path());
/// let session = Arc::new(store.create(CreateOptions::new("/home/me/project"))?);
/// let question = session.append(NewEntry::user("Use plan A."))?.id;
/// session.append(NewEntry::assistant("Plan A needs an API that is gone."))?;
///
/// let model = |prompt: &Prompt, _: &Cancellation| {
///     assert!(prompt.user.contains("an API that is gone"));
///     Ok(Summarized::new("Plan A fails: its API is gone."))
/// };
/// let navigator = Navigator::new(Arc::clone(&session)).summarizer(model);
/// let Navigation::Moved(moved) = navigator.navigate(&question, &NavigateOptions::new().summarize(true))? else {
///     panic!("nothing stood in the way");
/// };
/// assert_eq!(moved.editor_text.as_deref(), Some("Use plan A."));
/// assert_eq!(session.leaf(), moved.summary_entry);
/// # Ok::<(), leaflog::Error>(())
/// ```
pub struct Navigator {
    pub(super) session: Arc<Session>,
    phases: Phases,
    pub(super) summarizer: Option<Box<dyn Summarizer>>,
    pub(super) before: Option<Before>,
    pub(super) after: Option<After>,
}

/// What became of a navigation.
#[derive(Debug)]
#[must_use = "the leaf may be where it was"]
pub enum Navigation {
    /// The leaf is where it was to go.
    Moved(Moved),
    /// The target was the leaf already: nothing happened, and no hook was asked.
    Unchanged,
    /// The hook, an abort or the summariser stopped it: nothing moved.
    Cancelled,
    /// The leaf was no longer the one that was seen at the start: nothing moved (SPEC 3.7). The handle stands at the
    /// actual leaf now.
    Conflict {
        /// Says where the leaf is; of kind [`ErrorKind::Conflict`](crate::ErrorKind::Conflict).
        error: Error,
        /// The summary, so that it need not be made again.
        summary: Option<Summary>,
    },
}

/// Where a navigation went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The leaf now: the label entry, the summary entry, or the entry that was gone to; `None` is before the first one.
    pub leaf: Option<EntryId>,
    /// The text of the user or custom message that was selected, to be edited and sent again: its text blocks joined,
    /// with lone surrogates as U+FFFD. `None` if something else was selected.
    pub editor_text: Option<String>,
    /// The entry that holds the summary, if there is one.
    pub summary_entry: Option<EntryId>,
}

impl Navigator {
    /// A navigator of `session`, without summariser and hooks.
    pub fn new(session: Arc<Session>) -> Self {
        Self { session, phases: Phases::default(), summarizer: None, before: None, after: None }
    }

    /// Who writes the summaries.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.summarizer = Some(Box::new(summarizer));
        self
    }

    /// Asked before each navigation, with what it is about to do; may cancel it, supply the summary, or change the
    /// instructions (SPEC 6.3). Replaces the hook that was set before.
    #[must_use]
    pub fn before(
        mut self,
        hook: impl Fn(&NavigationPlan<'_>) -> Result<NavigationDecision> + Send + Sync + 'static,
    ) -> Self {
        self.before = Some(Box::new(hook));
        self
    }

    /// Told after each move (SPEC 6.3), before the phase is over: nothing else starts until it returns. Replaces the
    /// listener that was set before.
    #[must_use]
    pub fn after(mut self, listener: impl Fn(&NavigationEvent) + Send + Sync + 'static) -> Self {
        self.after = Some(Box::new(listener));
        self
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// What is under way.
    pub fn phase(&self) -> Phase {
        self.phases.phase()
    }

    /// Starts a turn, which is over when the guard is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if something is under way.
    pub fn begin_turn(&self) -> Result<PhaseGuard> {
        self.phases.enter(Phase::Turn)
    }

    /// Starts a compaction, which is over when the guard is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if something is under way.
    pub fn begin_compaction(&self) -> Result<PhaseGuard> {
        self.phases.enter(Phase::Compaction)
    }

    /// Asks whatever is under way to stop, and returns whether there was something. Does not wait for it; see
    /// [`wait_idle`](Self::wait_idle).
    pub fn abort(&self) -> bool {
        self.phases.abort()
    }

    /// Waits until nothing is under way, for `timeout` at most; returns whether that is so.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.phases.wait_idle(timeout)
    }

    /// Moves the leaf to where work on `target` goes on (SPEC 6.1, 6.2).
    ///
    /// For a user message or a custom message that is its parent, and its text is returned for the editor; for
    /// anything else it is the entry itself. What is stored is one write: the summary with its label, the label alone,
    /// or a leaf entry. A label is an entry, and the leaf then. Which branch is left, and which leaf the move expects,
    /// is what this handle knows; [`Session::refresh`] takes in what others appended.
    ///
    /// # Errors
    ///
    /// The leaf stays where it is on every error but [`ErrorKind::Undecided`](crate::ErrorKind::Undecided).
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) names the phase that is under way; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such entry;
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if it is a leaf entry, if a summary is needed and there is no summariser, or if the
    /// reserve leaves no room for a conversation; [`ErrorKind::Summary`](crate::ErrorKind::Summary) if the summariser failed, with the reason as
    /// source; what the hook returns; and what [`Session::append`] may return but a conflict, which is a
    /// [`Navigation::Conflict`].
    pub fn navigate(&self, target: &EntryId, options: &NavigateOptions) -> Result<Navigation> {
        let guard = self.phases.enter(Phase::BranchSummary)?;
        match Attempt::new(self, target, options, guard.cancellation())? {
            Some(attempt) => attempt.run(),
            None => Ok(Navigation::Unchanged),
        }
    }
}

impl fmt::Debug for Navigator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Navigator")
            .field("session", &self.session)
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}
