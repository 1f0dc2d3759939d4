//! The user at the terminal watches: by the progress bar, and with a hand on Ctrl-C.

use super::spoiled::Advice;
use crate::progress::Progress;
use tailwater_experiment::{Piece, Spoiled, Watch};
use tailwater_program::interrupt::Interrupt;

/// Shows progress and stops at signals.
pub(super) struct Watcher<'a> {
    progress: &'a Progress,
    interrupt: &'a Interrupt,
    /// What to say where most runs do not count; `None` says nothing.
    advice: Option<Advice<'a>>,
}

impl<'a> Watcher<'a> {
    pub(super) const fn new(progress: &'a Progress, interrupt: &'a Interrupt) -> Self {
        Self { progress, interrupt, advice: None }
    }

    /// The same, which tells of runs that do not count.
    pub(super) fn advising(self, advice: Advice<'a>) -> Self {
        Self { advice: Some(advice), ..self }
    }
}

impl Watch for Watcher<'_> {
    fn begins(&mut self, what: &str) {
        self.progress.say(what);
    }

    fn done(&mut self, _: Piece) {
        self.progress.step();
    }

    fn spoiled(&mut self, spoiled: &Spoiled) {
        if let Some(advice) = &self.advice {
            self.progress.complain(&advice.line(spoiled));
        }
    }

    /// Ctrl-C goes to the servers and to the generator, too: whatever failed since then failed of it.
    fn stops(&self) -> bool {
        self.interrupt.signal().is_some()
    }
}
