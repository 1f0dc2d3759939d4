//! How many sheds may be answered by a retry: a share of the calls, and a small burst.

use tailwater_core::Ratio;

/// A bucket of tokens, counted in thousandths. It starts full; each call adds its share, each retry
/// takes a whole one. Nothing is added beyond the burst, so that a quiet hour does not save up for a
/// storm: over any stretch retries are at most `burst + share × calls`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Budget {
    held: u64,
    share: u64,
    max: u64,
}

/// A whole token: a share of calls is exact to a thousandth.
const TOKEN: u64 = 1_000;

impl Budget {
    pub(super) fn new(share: Ratio, burst: u32) -> Self {
        let max = u64::from(burst) * TOKEN;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let share = (share.0.clamp(0.0, 1.0) * TOKEN as f64).round() as u64;
        Self { held: max, share, max }
    }

    pub(super) fn on_call(&mut self) {
        self.held = (self.held + self.share).min(self.max);
    }

    /// Takes a token, if there is one.
    pub(super) const fn take(&mut self) -> bool {
        let has = self.held >= TOKEN;
        if has {
            self.held -= TOKEN;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_calls_may_be_retried_once_the_burst_is_spent() {
        let mut budget = Budget::new(Ratio(0.1), 3);
        assert_eq!((0..10).filter(|_| budget.take()).count(), 3);
        let retried = (0..1_000).filter(|_| {
            budget.on_call();
            budget.take()
        });
        assert_eq!(retried.count(), 100);
    }

    #[test]
    fn what_is_saved_up_is_bounded_by_the_burst() {
        let mut budget = Budget::new(Ratio(1.0), 2);
        (0..100).for_each(|_| budget.on_call());
        assert_eq!((0..10).filter(|_| budget.take()).count(), 2);
    }

    #[test]
    fn no_burst_means_no_retry_whatever_the_share() {
        let mut budget = Budget::new(Ratio(1.0), 0);
        budget.on_call();
        assert!(!budget.take());
    }
}
