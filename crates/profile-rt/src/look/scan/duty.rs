//! When the scanner lets its core go: so that it takes no more than a share of one, and so that nobody waits for it long.

use super::WHOLE;
use tailwater_profile::record::Ticks;

/// It looks for this long between two breaks: long enough to find most calls that are longer, and short against what
/// a thread of the program may have to wait for the core.
const STINT_US: u64 = 50;
/// The longest rest. A stint that earns a longer one was spent without the core for the most part: the scanner had to
/// wait for it, or the process was stopped. The thread that ends the process waits for the scanner, for a second or so
/// (`session`).
const REST_MAX_US: u64 = 100_000;

/// What it is to do after a stint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Break {
    /// Lets others have the core, if any wait for it: of a whole core it owes no more.
    Yield,
    /// Sleeps for so many microseconds.
    Rest(u64),
}

/// Its turns of looking and resting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duty {
    /// In 65536ths of a core.
    cpu: u64,
    us: Ticks,
    /// When it last woke.
    awake: Ticks,
}

impl Duty {
    /// It may take `cpu` of a core from `now` on; a tick is a `us`-th of a microsecond.
    pub(crate) fn new(cpu: u64, us: Ticks, now: Ticks) -> Self {
        Self { cpu: cpu.clamp(1, WHOLE), us: us.max(1), awake: now }
    }

    /// The break that it owes, if it is time: for its share's sake no less.
    pub(crate) fn owes(&self, now: Ticks) -> Option<Break> {
        let worked = now.saturating_sub(self.awake);
        if worked < self.us * STINT_US {
            return None;
        }
        // A longer stint, too, ends in the longest rest.
        let worked = worked.min(1 << 40);
        match (worked * (WHOLE - self.cpu) / self.cpu).div_ceil(self.us) {
            0 => Some(Break::Yield),
            us => Some(Break::Rest(us.min(REST_MAX_US))),
        }
    }

    /// It goes on.
    pub(crate) fn wake(&mut self, now: Ticks) {
        self.awake = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_round_takes_the_share_is_kept() {
        for (cpu, rounds) in [(WHOLE / 4, [100, 700, 90_000]), (WHOLE / 100, [5_000, 100, 3])] {
            let (mut now, mut worked) = (0, 0);
            let mut duty = Duty::new(cpu, 2_000, now);
            for round in rounds.into_iter().cycle().take(100_000) {
                now += round;
                worked += round;
                if let Some(Break::Rest(us)) = duty.owes(now) {
                    now += us * 2_000;
                    duty.wake(now);
                }
            }
            // The last stint is not rested from yet.
            assert!(worked * WHOLE <= now * cpu + 200_000 * WHOLE, "{worked} of {now}");
            assert!(worked * WHOLE > now * cpu / 2, "{worked} of {now}");
        }
    }

    #[test]
    fn a_stint_in_which_the_process_was_stopped_is_not_rested_from_as_long() {
        let minute = 60_000_000 * 2_000;
        assert_eq!(Duty::new(WHOLE / 100, 2_000, 0).owes(minute), Some(Break::Rest(REST_MAX_US)));
        assert_eq!(Duty::new(1, 1, 0).owes(u64::MAX), Some(Break::Rest(REST_MAX_US)));
    }

    #[test]
    fn of_a_whole_core_too_each_stint_ends_where_others_may_have_it() {
        let mut duty = Duty::new(WHOLE, 2_000, 0);
        assert_eq!(duty.owes(STINT_US * 2_000 - 1), None);
        assert_eq!(duty.owes(STINT_US * 2_000), Some(Break::Yield));
        duty.wake(STINT_US * 2_000);
        assert_eq!(duty.owes(STINT_US * 2_000 + 1), None);
        assert_eq!(duty.owes(1 << 50), Some(Break::Yield), "nor does it rest from having waited");
    }
}
