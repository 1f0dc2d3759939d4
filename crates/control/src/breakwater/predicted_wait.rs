//! How long a request that comes now will wait: what is before it, at the pace of the moment.

use crate::ewma::Ewma;
use std::time::Duration;
use tailwater_core::Instant;

/// Requests that wait to be started, and the smoothed time between completions while any waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PredictedWait {
    waiting: u32,
    gap_ns: u64,
    /// The last completion, if requests waited then: only such gaps tell the server's pace.
    last: Option<Instant>,
}

/// A gap counts as at most so many times the usual one: a stall of the machine ends by itself, and
/// would otherwise make everything look late for a hundred requests.
const GAP_OUTLIER: u64 = 8;

/// The pace of the moment is that of some 32 completions: single ones vary as service times do.
const GAP: Ewma = Ewma::one_in(32);

impl PredictedWait {
    pub(super) const fn join(&mut self) {
        self.waiting += 1;
    }

    pub(super) const fn leave(&mut self, count: u32) {
        self.waiting = self.waiting.saturating_sub(count);
    }

    /// A request is done. Whether that told the pace: another had waited since the last one.
    pub(super) fn complete(&mut self, now: Instant) -> bool {
        let last = std::mem::replace(&mut self.last, (self.waiting > 0).then_some(now));
        if let Some(last) = last {
            let gap = now.nanos_since(last);
            let most = if self.gap_ns == 0 { gap } else { GAP_OUTLIER * self.gap_ns };
            self.gap_ns = GAP.after_any(self.gap_ns, gap.min(most));
        }
        last.is_some()
    }

    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Zero until the pace is known.
    pub(super) fn wait(&self) -> Duration {
        Duration::from_nanos(u64::from(self.waiting).saturating_mul(self.gap_ns))
    }

    /// The smoothed time between completions while requests wait; zero until it is known.
    pub(super) const fn gap(&self) -> Duration {
        Duration::from_nanos(self.gap_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn the_wait_is_what_stands_before_at_the_pace_of_the_moment() {
        let mut predicted = PredictedWait::default();
        (0..20).for_each(|_| predicted.join());
        for round in 1..=10 {
            predicted.leave(1);
            predicted.complete(at(10 * round));
        }
        assert_eq!(predicted.gap(), Duration::from_micros(10));
        assert_eq!(predicted.wait(), Duration::from_micros(100));
    }

    #[test]
    fn a_gap_counts_for_a_thirty_second_of_the_pace() {
        let mut predicted = PredictedWait::default();
        (0..4).for_each(|_| predicted.join());
        let told = [10, 20, 62].map(|us| predicted.complete(at(us)));
        assert_eq!(told, [false, true, true], "a gap has two ends");
        assert_eq!(predicted.gap(), Duration::from_micros(11), "32 more than the 10 before");
    }

    #[test]
    fn idle_time_and_stalls_do_not_count_as_pace() {
        let mut predicted = PredictedWait::default();
        (0..3).for_each(|_| predicted.join());
        predicted.complete(at(10));
        predicted.complete(at(20));
        predicted.leave(3);
        predicted.complete(at(30));
        predicted.join();
        assert!(!predicted.complete(at(9_000)));
        assert_eq!(predicted.gap(), Duration::from_micros(10), "nothing waited meanwhile");
        predicted.complete(at(14_000));
        assert!(predicted.gap() < Duration::from_micros(13), "{:?}", predicted.gap());
    }
}
