//! How far long work is, on a terminal only.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner shows no progress.
const AFTER: Duration = Duration::from_millis(300);

/// A bar on stderr, which draws itself only if that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// Progress over sessions.
    pub(crate) fn of_sessions() -> Self {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{pos} of {len} sessions {wide_bar}") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    pub(crate) fn update(&self, done: usize, all: usize) {
        if self.bar.is_hidden() && self.started.elapsed() > AFTER {
            self.bar.set_length(all as u64);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
