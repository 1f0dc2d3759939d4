//! A progress bar for people at a terminal; silence for everybody else, but for complaints.

use crate::failure::complain;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Runs done of runs in all, and shares of those under way.
pub(crate) struct Progress {
    bar: ProgressBar,
    runs: u64,
    done: AtomicU64,
}

/// How finely shares of a run are shown.
const PARTS: u64 = 1_000;

/// Shows how far runs under way are; from any thread.
#[derive(Clone)]
pub(crate) struct Within(ProgressBar);

impl Within {
    /// So large a share of a run was done since the last time.
    pub(crate) fn advance(&self, share: f64) {
        self.0.inc((share * PARTS as f64) as u64);
    }
}

impl Progress {
    pub(crate) fn new(runs: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = match terminal {
            true => ProgressDrawTarget::stderr_with_hz(4),
            false => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template("{bar:30} {prefix}  {elapsed}, {eta} left  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(runs * PARTS), target).with_style(style);
        if terminal {
            // Time goes on within a long run, too.
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        bar.set_prefix(format!("0/{runs}"));
        Self { bar, runs, done: AtomicU64::new(0) }
    }

    pub(crate) fn within(&self) -> Within {
        Within(self.bar.clone())
    }

    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// A line of its own on standard error, above the bar where there is one.
    pub(crate) fn complain(&self, why: &str) {
        self.bar.suspend(|| complain(why));
    }

    pub(crate) fn step(&self) {
        // Relaxed: the number is all there is to know.
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.set_prefix(format!("{done}/{}", self.runs));
        self.bar.set_position(self.bar.position().max(done * PARTS));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
