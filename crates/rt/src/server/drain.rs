//! How far a loop is on its way to its end, and when it looks at its connections for theirs.

use std::time::Duration;
use tailwater_core::Instant;

/// How often connections are looked at for whether they may end.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The longest that a client may wait for its last word after its last answer.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// A look walks over all connections: a twentieth of the loop's time at most, unless the machine stands still meanwhile.
const REST_PER_LOOK: u32 = 20;

/// How far a loop's draining is. The first look at its connections is due at once.
#[derive(Default, Debug)]
pub(super) struct Drain {
    stage: Stage,
    next_look: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Stage {
    /// It serves.
    #[default]
    Off,
    /// It serves what it accepted.
    On,
    /// Patience is at its end: connections have been told, and end at this time at the latest.
    Over(Instant),
}

impl Drain {
    /// True if it had not begun.
    pub(super) fn begin(&mut self) -> bool {
        let begins = !self.has_begun();
        if begins {
            self.stage = Stage::On;
        }
        begins
    }

    pub(super) const fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::Off)
    }

    /// When the loop has its next turn at the latest; `None` before it has begun.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.has_begun().then(|| now + LOOK_EVERY)
    }

    pub(super) fn is_look_due(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// Connections were looked at from `began` to `ended`.
    pub(super) fn looked(&mut self, began: Instant, ended: Instant) {
        let rest = ended.since(began).saturating_mul(REST_PER_LOOK);
        self.next_look = ended + rest.clamp(LOOK_EVERY, LOOK_MAX);
    }

    /// Whether patience is at its end and connections have not been told.
    pub(super) fn gives_up(&self, now: Instant, until: Instant) -> bool {
        self.stage == Stage::On && now >= until
    }

    /// All connections have been told, and end at this time at the latest.
    pub(super) fn end_by(&mut self, end: Instant) {
        self.stage = Stage::Over(end);
    }

    /// Whether connections that are still there are waited for no longer.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Over(end) if now >= end)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::at;
    use super::*;

    /// Looks of so many milliseconds, each as soon as it is due, in a second of a loop that does nothing else.
    fn looks_in_a_second(took: u64) -> u64 {
        let (mut drain, mut taken) = (Drain::default(), 0);
        let mut ms = 0;
        while ms < 1_000 {
            if drain.is_look_due(at(ms)) {
                drain.looked(at(ms), at(ms + took));
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

    #[test]
    fn a_drain_begins_once_gives_up_once_and_is_late_from_its_end_on() {
        let mut drain = Drain::default();
        assert!(!drain.has_begun() && !drain.gives_up(at(9), at(9)));
        assert_eq!(drain.next_due(at(1)), None);
        assert!(drain.begin() && !drain.begin(), "once");
        assert_eq!(drain.next_due(at(1)), Some(at(2)));
        assert!(!drain.gives_up(at(8), at(9)) && drain.gives_up(at(9), at(9)));
        assert!(!drain.is_late(at(9)));
        drain.end_by(at(20));
        assert!(!drain.gives_up(at(10), at(9)), "once");
        assert!(!drain.is_late(at(19)) && drain.is_late(at(20)));
        assert!(drain.has_begun() && !drain.begin());
    }
}
