//! How far a loop is on its way to its end, and when it looks at its connections for theirs.

use std::time::Duration;
use tailwater_core::Instant;

/// How often connections are looked at for whether they may end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The longest that a client may wait for its last word after its last answer.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// A look walks over all connections: a twentieth of the loop's time at most, unless the machine stands still meanwhile.
const REST_PER_LOOK: u32 = 20;

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

/// When connections are looked at for whether they may end. The first look is due at once.
#[derive(Default, Debug)]
pub(super) struct Looks {
    next: Instant,
}

impl Looks {
    pub(super) fn are_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Connections were looked at from `began` to `ended`.
    pub(super) fn looked(&mut self, began: Instant, ended: Instant) {
        let rest = ended.since(began).saturating_mul(REST_PER_LOOK);
        self.next = ended + rest.clamp(LOOK_EVERY, LOOK_MAX);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::at;
    use super::*;

    /// Looks of so many milliseconds, each as soon as it is due, in a second of a loop that does nothing else.
    fn looks_in_a_second(took: u64) -> u64 {
        let (mut looks, mut taken) = (Looks::default(), 0);
        let mut ms = 0;
        while ms < 1_000 {
            if looks.are_due(at(ms)) {
                looks.looked(at(ms), at(ms + took));
                taken += 1;
                ms += took;
            } else {
                ms += 1;
            }
        }
        taken
    }

    #[test]
    fn looks_take_a_twentieth_of_a_loops_time_and_are_put_off_by_a_tenth_of_a_second_at_most() {
        let taken = [0, 1, 2, 4, 100].map(looks_in_a_second);
        // Rests of 1, 20, 40, 80 and 100 ms, the last of which would have been two seconds.
        assert_eq!(taken, [1_000, 48, 24, 12, 5]);
    }
}
