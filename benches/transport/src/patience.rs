//! Time limits that a leaping clock does not use up.
//!
//! A virtual machine that was suspended finds its clock minutes ahead. A wait that was cut short by
//! that alone has not failed; it may go on.

use std::time::{Duration, Instant};

/// What is left of a limit. To be asked at least every second: longer steps count as one.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    asked: Instant,
}

/// Longer than this nothing waits between two questions, unless the machine stood still.
const STEP_MAX: Duration = Duration::from_secs(1);

impl Patience {
    pub(crate) fn of(limit: Duration) -> Self {
        Self { left: limit, asked: Instant::now() }
    }

    /// Whether the limit is used up.
    pub(crate) fn is_over(&mut self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&mut self, now: Instant) -> bool {
        let step = now.saturating_duration_since(self.asked);
        self.left = self.left.saturating_sub(step.min(STEP_MAX));
        self.asked = now;
        self.left.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_and_leaps_do_not() {
        let mut patience = Patience::of(Duration::from_secs(3));
        let start = patience.asked;
        let mut over = |ms| patience.is_over_at(start + Duration::from_millis(ms));
        assert!(!over(900));
        assert!(!over(1_800));
        assert!(!over(900_000), "a leap costs one second");
        assert!(!over(900_100));
        assert!(over(900_200));
    }
}
