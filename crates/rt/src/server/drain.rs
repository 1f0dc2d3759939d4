//! How far a loop is on its way to its end.

use std::time::Duration;
use tailwater_core::Instant;

/// How often connections are looked at for whether they may end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(1);

/// How far a loop's draining is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drain {
    /// It serves.
    Off,
    /// It serves what it accepted.
    On,
    /// Patience is at its end: connections have been told, and end at this time at the latest.
    Over(Instant),
}

impl Drain {
    pub(super) const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }
}
