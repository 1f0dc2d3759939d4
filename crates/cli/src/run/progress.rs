//! A progress bar for people at a terminal; silence for everybody else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;

/// Runs done of runs in all.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(runs: u64) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        };
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed}, {eta} left  {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::with_draw_target(Some(runs), target).with_style(style))
    }

    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
