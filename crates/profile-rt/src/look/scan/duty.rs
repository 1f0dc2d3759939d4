//! When the scanner lets its core go, so that it takes no more than a share of one.

use super::WHOLE;
use tailwater_profile::record::Ticks;

/// It looks for this long between two rests: long enough to find most calls that are longer, and short against what
/// a thread of the program may have to wait for the core.
const STINT_US: u64 = 50;
/// The longest rest. A stint that earns a longer one was spent without the core for the most part: the scanner had to
/// wait for it, or the process was stopped. The thread that ends the process waits for the scanner, for a second or so
/// (`session`).
const REST_MAX_US: u64 = 100_000;

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

    /// For how many microseconds it is to rest, if it is time: for its share's sake no less.
    pub(crate) fn rest_us(&self, now: Ticks) -> Option<u64> {
        let worked = now.saturating_sub(self.awake);
        let is_due = self.cpu < WHOLE && worked >= self.us * STINT_US;
        // A longer stint, too, ends in the longest rest.
        let worked = worked.min(1 << 40);
        let rest = || (worked * (WHOLE - self.cpu) / self.cpu).div_ceil(self.us).min(REST_MAX_US);
        is_due.then(rest)
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
                if let Some(us) = duty.rest_us(now) {
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
        assert_eq!(Duty::new(WHOLE / 100, 2_000, 0).rest_us(minute), Some(REST_MAX_US));
        assert_eq!(Duty::new(1, 1, 0).rest_us(u64::MAX), Some(REST_MAX_US));
    }

    #[test]
    fn a_whole_core_is_never_let_go() {
        assert_eq!(Duty::new(WHOLE, 2_000, 0).rest_us(1 << 50), None);
    }
}
