//! What handlers refuse, as where a tier behind them is overloaded: work that was begun for nothing.
//!
//! The run queue is short meanwhile, so no delay tells of it. Here, too, credits whose requests bring refusals alone are
//! not issued again. Ours; `docs/paths.md`.

use super::share_shed::{self, Tally};
use crate::ewma::ROUND_TRIP;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::Nanos;

/// What a pool remembers of them. As in `pool`, relaxed atomics.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// The share of requests that handlers refused of late, as bits; touched only by the loop that claimed the update.
    share_bits: AtomicU64,
    /// From the arrival of a request to its answer, smoothed.
    sojourn_ns: AtomicU64,
}

/// What they mean for an update of the pool.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Finding {
    /// Credits that are not to be issued again.
    pub(super) lost: f64,
    /// The pool must not grow.
    pub(super) holds: bool,
}

/// The pool grows while handlers refuse less than this part of what is tolerated. Growth shows only when the requests that
/// it let in are answered: with growth up to the whole, 32 % instead of 22 % are dropped at 2.0 × of
/// `scenarios/chain.toml`.
const GROWS_BELOW: f64 = 0.5;

/// So small a share is forgotten: the pool is updated as if none had been refused.
const FORGOTTEN: f64 = 0.001;

/// Slow handlers put updates off for no longer than a slow network does.
const LONGEST: Duration = Duration::from_millis(100);

impl Refusals {
    /// A handler served or refused a request, so long after it came: where a tier is dead, refusals alone tell. Two loops may overwrite each other's sample; neither matters.
    pub(super) fn on_handled(&self, sojourn: Duration) {
        let mean_ns = ROUND_TRIP.after_any(self.sojourn_ns.load(Relaxed), sojourn.nanos());
        self.sojourn_ns.store(mean_ns, Relaxed);
    }

    /// How long a change of the pool takes to show in what handlers refuse; no time where they refuse nothing.
    pub(super) fn felt_after(&self) -> Duration {
        if self.share_bits.load(Relaxed) == 0 {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.sojourn_ns.load(Relaxed)).min(LONGEST)
    }

    /// With what was counted since the last update, while so many credits are issued.
    pub(super) fn follow(&self, tolerated: f64, tally: Tally, issued: u32) -> Finding {
        let of_handlers = Tally { shed: tally.refused, ..tally };
        let before = f64::from_bits(self.share_bits.load(Relaxed));
        let share = share_shed::follow(before, of_handlers, issued);
        let kept = if share < FORGOTTEN { 0.0 } else { share };
        self.share_bits.store(kept.to_bits(), Relaxed);
        Finding {
            lost: share_shed::beyond(share, tolerated, of_handlers),
            holds: share > GROWS_BELOW * tolerated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(served: u32, refused: u32) -> Tally {
        Tally { served, refused, ..Tally::default() }
    }

    /// Ten credits are out, and ten came back: the share is that of these alone.
    #[test]
    fn growth_ends_at_half_of_what_is_tolerated_and_credits_are_lost_beyond_it() {
        for (refused, lost, holds) in
            [(0, 0.0, false), (1, 0.0, false), (2, 0.0, true), (3, 1.0, true), (10, 8.0, true)]
        {
            let found = Refusals::default().follow(0.2, tally(10 - refused, refused), 10);
            assert!((found.lost - lost).abs() < 1e-9, "{refused}: {found:?}");
            assert_eq!(found.holds, holds, "{refused}");
        }
    }

    #[test]
    fn a_share_is_remembered_for_as_long_as_issued_credits_bring_in_requests() {
        let refusals = Refusals::default();
        assert!(refusals.follow(0.2, tally(5, 5), 20).holds, "a quarter of twenty");
        assert!(refusals.follow(0.2, tally(0, 0), 20).holds);
        let found: Vec<bool> =
            (0..3).map(|_| refusals.follow(0.2, tally(10, 0), 20).holds).collect();
        assert_eq!(found, [true, false, false], "an eighth, a sixteenth and half of that");
    }

    #[test]
    fn less_than_a_thousandth_is_forgotten() {
        for (refused, of, felt) in
            [(1, 1_000, Duration::from_millis(8)), (1, 1_001, Duration::ZERO)]
        {
            let refusals = Refusals::default();
            refusals.on_handled(Duration::from_millis(8));
            refusals.follow(0.2, tally(of - refused, refused), 10);
            assert_eq!(refusals.felt_after(), felt, "{refused} of {of}");
        }
    }

    /// What the queue shed is none that a handler refused.
    #[test]
    fn handlers_share_is_of_what_they_served_or_refused() {
        let shed = Tally { shed: 90, ..tally(9, 1) };
        let found = Refusals::default().follow(0.1, shed, 10);
        assert_eq!(found, Finding { lost: 0.0, holds: true }, "a tenth, which is tolerated");
    }

    /// Without refusals updates are as frequent as ever.
    #[test]
    fn a_change_is_felt_once_requests_are_answered_or_after_a_tenth_of_a_second() {
        let (refusals, ms) = (Refusals::default(), Duration::from_millis);
        refusals.on_handled(ms(8));
        assert_eq!(refusals.felt_after(), Duration::ZERO);
        refusals.follow(0.2, tally(5, 5), 10);
        assert_eq!(refusals.felt_after(), ms(8));
        refusals.on_handled(ms(16));
        assert_eq!(refusals.felt_after(), ms(9), "an eighth of the new");
        (0..100).for_each(|_| refusals.on_handled(ms(1_000)));
        assert_eq!(refusals.felt_after(), ms(100));
        refusals.follow(0.2, tally(10_000, 0), 10);
        assert_eq!(refusals.felt_after(), Duration::ZERO, "forgotten");
    }
}
