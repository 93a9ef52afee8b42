//! A wish to stop, passed to whoever works.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Says that work is to stop; every clone says the same. Once cancelled it stays so.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Signal>);

#[derive(Default)]
struct Signal {
    cancelled: Mutex<bool>,
    changed: Condvar,
}

impl Cancellation {
    /// Nothing is cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for the work to stop, and wakes whoever waits. May be called from any thread, and again.
    pub fn cancel(&self) {
        *self.0.cancelled.lock() = true;
        self.0.changed.notify_all();
    }

    /// Whether the work is to stop.
    pub fn is_cancelled(&self) -> bool {
        *self.0.cancelled.lock()
    }

    /// Waits until the work is to stop, for `timeout` at most; returns whether it is.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut cancelled = self.0.cancelled.lock();
        self.0.changed.wait_while_for(&mut cancelled, |cancelled| !*cancelled, timeout);
        *cancelled
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancellation").field(&self.is_cancelled()).finish()
    }
}
