//! A controller that asked to be called is called.

use super::Finding;
use tailwater_core::Instant;

/// When the controller must be called at the latest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    due: Instant,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { due: Instant::FAR_FUTURE }
    }
}

impl Deadline {
    /// The controller asked for `due`; an earlier wish stands.
    pub(crate) fn on_asked(&mut self, due: Instant) {
        self.due = self.due.min(due);
    }

    pub(crate) fn on_called(&mut self) {
        *self = Self::default();
    }

    /// Nothing could be called before `until`.
    pub(crate) fn postpone(&mut self, until: Instant) {
        self.due = self.due.max(until);
    }

    pub(crate) fn check(&self, now: Instant) -> Finding {
        let due = self.due;
        (now > due).then(|| format!("the controller asked to be called by {due:?} and was not"))
    }
}
