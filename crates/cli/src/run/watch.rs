//! The user at the terminal watches: by the progress bar, and with a hand on Ctrl-C.

use crate::progress::Progress;
use tailwater_experiment::{Piece, Watch};
use tailwater_program::interrupt::Interrupt;

/// Shows progress and stops at signals.
pub(super) struct Watcher<'a> {
    progress: &'a Progress,
    interrupt: &'a Interrupt,
}

impl<'a> Watcher<'a> {
    pub(super) const fn new(progress: &'a Progress, interrupt: &'a Interrupt) -> Self {
        Self { progress, interrupt }
    }
}

impl Watch for Watcher<'_> {
    fn begins(&mut self, what: &str) {
        self.progress.say(what);
    }

    fn done(&mut self, _: Piece) {
        self.progress.step();
    }

    /// Ctrl-C goes to the servers and to the generator, too: whatever failed since then failed of it.
    fn stops(&self) -> bool {
        self.interrupt.signal().is_some()
    }
}
