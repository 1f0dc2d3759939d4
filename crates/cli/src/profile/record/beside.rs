//! All that is recorded beside a trace, as one.

use super::aside::Whose;
use super::kernel::KernelRecording;
use super::lines::{Lines, LinesRecording};
use std::path::Path;
use std::time::Duration;

/// Recordings under way, of what was asked for and can be had.
pub(in super::super) struct Beside {
    kernel: Option<KernelRecording>,
    lines: Option<LinesRecording>,
}

impl Beside {
    /// Begins, on the thread that starts the program, if that is to come. With `last`, only what happened so long before the
    /// end is written, when that has come.
    pub(in super::super) fn start(
        (kernel, lines): (bool, &Lines),
        trace: &Path,
        whose: Whose,
        last: Option<Duration>,
    ) -> Self {
        Self {
            kernel: kernel.then(|| KernelRecording::start(trace, whose, last)),
            lines: lines.start(trace, whose, last),
        }
    }

    /// The process whose threads are followed, and all that it makes.
    pub(super) fn follow(&self, pid: u32) {
        self.kernel.iter().for_each(|kernel| kernel.follow(pid));
        self.lines.iter().for_each(|lines| lines.follow(pid));
    }

    /// Ends the recordings of what was not recorded after all.
    pub(in super::super) fn discard(self) {
        self.kernel.into_iter().for_each(KernelRecording::discard);
        self.lines.into_iter().for_each(LinesRecording::discard);
    }

    /// Ends the recordings; what came of them, in words.
    pub(in super::super) fn finish(mut self) -> String {
        // Each may take longer to close what it read than the last moments do, and they are to be of one time.
        self.kernel.iter_mut().for_each(KernelRecording::end);
        self.lines.iter_mut().for_each(LinesRecording::end);
        let kernel = self.kernel.map(KernelRecording::finish).unwrap_or_default();
        let lines = self.lines.map(LinesRecording::finish).unwrap_or_default();
        format!("{kernel}{lines}")
    }
}
