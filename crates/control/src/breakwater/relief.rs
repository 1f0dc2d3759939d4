//! How often a starving session may have a credit although the pool is empty.

use std::time::Duration;
use tailwater_core::Instant;

/// So many requests are served for each such credit: crowds of starving sessions then cost less than a hundredth
/// of a core, and bring in a thirtieth of what it can serve.
const EVERY: u32 = 32;
/// So many may have theirs before that counts: a few that starve are no crowd, and with slow requests the
/// pace alone would let each of them wait for seconds more.
const AT_ONCE: u32 = 16;
/// The pace while no request was served behind another: a front whose requests begin at once, and wait for locks or tiers.
/// Ours, that of the shortest requests in the papers' experiments. Without one a crowd would have its credits all at once.
const UNKNOWN: Duration = Duration::from_micros(1);

#[derive(Default)]
pub(super) struct Relief {
    /// When the credits given so far are paid for.
    paid_until: Instant,
}

impl Relief {
    /// Whether one more may be given now, with so much time between two requests that are served; zero while that is unknown.
    pub(super) fn take(&mut self, now: Instant, gap: Duration) -> bool {
        let pace = EVERY * if gap.is_zero() { UNKNOWN } else { gap };
        let paid_until = self.paid_until.max(now) + pace;
        let may = paid_until.since(now) <= pace * AT_ONCE;
        if may {
            self.paid_until = paid_until;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_relieved_at_once_and_a_crowd_at_the_pace_of_the_server() {
        let mut relief = Relief::default();
        let gap = Duration::from_micros(10);
        let mut relieved = |us: u64| {
            let now = Instant::from_nanos(us * 1_000);
            std::iter::repeat_with(|| relief.take(now, gap)).take_while(|may| *may).count()
        };
        assert_eq!(relieved(1_000_000), 16);
        assert_eq!([relieved(1_000_319), relieved(1_000_320)], [0, 1]);
        assert_eq!(relieved(5_000_000), 16, "and no more after a pause");
    }

    #[test]
    fn a_crowd_is_not_relieved_all_at_once_where_the_pace_is_unknown() {
        let mut relief = Relief::default();
        let now = |us: u64| Instant::from_nanos((1_000_000 + us) * 1_000);
        let mut may = |us| relief.take(now(us), Duration::ZERO);
        let relieved = (0..1_000).filter(|_| may(0)).count();
        assert_eq!(relieved, 16);
        assert_eq!([may(31), may(32), may(32)], [false, true, false]);
    }
}
