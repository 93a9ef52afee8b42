//! What a session is being used for, one thing at a time (SPEC 6.1).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::cancellation::Cancellation;
use crate::error::{Error, ErrorKind, Result};

/// What a session is being used for (SPEC 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing; only now may one navigate.
    #[default]
    Idle,
    /// The agent answers or runs tools.
    Turn,
    /// A compaction is being made.
    Compaction,
    /// A navigation is under way, with or without a summary.
    BranchSummary,
}

impl Phase {
    /// The name that errors and the command line use; those of pi.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Turn => "turn",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch_summary",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The phase that a navigator is in.
#[derive(Default)]
pub(super) struct Phases(Arc<Shared>);

#[derive(Default)]
struct Shared {
    now: Mutex<Now>,
    idle: Condvar,
}

#[derive(Default)]
struct Now {
    phase: Phase,
    cancellation: Cancellation,
}

impl Phases {
    pub(super) fn phase(&self) -> Phase {
        self.0.now.lock().phase
    }

    /// Starts `phase`, which is over when the guard is dropped.
    pub(super) fn enter(&self, phase: Phase) -> Result<PhaseGuard> {
        let mut now = self.0.now.lock();
        if now.phase != Phase::Idle {
            let message = format!("busy: the phase is {}; abort it, or wait until it is over", now.phase);
            return Err(Error::new(ErrorKind::Busy, message));
        }
        *now = Now { phase, cancellation: Cancellation::new() };
        Ok(PhaseGuard { shared: Arc::clone(&self.0), cancellation: now.cancellation.clone() })
    }

    pub(super) fn abort(&self) -> bool {
        let now = self.0.now.lock();
        let busy = now.phase != Phase::Idle;
        if busy {
            now.cancellation.cancel();
        }
        busy
    }

    pub(super) fn wait_idle(&self, timeout: Duration) -> bool {
        let mut now = self.0.now.lock();
        self.0.idle.wait_while_for(&mut now, |now| now.phase != Phase::Idle, timeout);
        now.phase == Phase::Idle
    }
}

/// Holds a phase; dropping it, on whatever way out, frees it.
#[must_use = "the phase is over as soon as the guard is dropped"]
pub struct PhaseGuard {
    shared: Arc<Shared>,
    cancellation: Cancellation,
}

impl PhaseGuard {
    /// Whether [`Navigator::abort`](super::Navigator::abort) asked for the phase to end.
    pub fn is_aborted(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// What `abort` cancels, to pass on to whoever does the work.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }
}

impl Drop for PhaseGuard {
    fn drop(&mut self) {
        self.shared.now.lock().phase = Phase::Idle;
        self.shared.idle.notify_all();
    }
}

impl fmt::Debug for PhaseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseGuard").field("aborted", &self.is_aborted()).finish_non_exhaustive()
    }
}
