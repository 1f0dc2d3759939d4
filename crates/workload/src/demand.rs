//! How much is asked for, and when: steps of constant rate, and ramps between two rates.

use crate::arrivals::Arrivals;
use std::time::Duration;
use tailwater_core::Rate;

/// The demand of one run, warm-up included: one step after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct DemandPlan {
    /// In order of time.
    pub steps: Vec<Step>,
    /// How requests are spread within them.
    pub arrivals: Arrivals,
}

/// A time of demand that is constant, or goes straight from one rate to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Requests per second of all clients together when it begins; zero for a pause.
    pub rate: Rate,
    /// The same when it ends.
    pub end: Rate,
    /// How long it lasts.
    pub length: Duration,
}

impl Step {
    /// One rate throughout.
    #[must_use]
    pub const fn steady(rate: Rate, length: Duration) -> Self {
        Self { rate, end: rate, length }
    }

    /// The demand at a time from its beginning.
    #[must_use]
    pub fn rate_at(&self, at: Duration) -> Rate {
        let slope = self.end.0 - self.rate.0;
        if slope == 0.0 {
            return self.rate;
        }
        Rate(self.rate.0 + slope * at.div_duration_f64(self.length).min(1.0))
    }

    /// How many requests are to be expected.
    #[must_use]
    pub fn requests(&self) -> f64 {
        f64::midpoint(self.rate.0, self.end.0) * self.length.as_secs_f64()
    }
}

impl DemandPlan {
    /// One rate throughout.
    #[must_use]
    pub fn constant(rate: Rate, length: Duration, arrivals: Arrivals) -> Self {
        Self { steps: vec![Step::steady(rate, length)], arrivals }
    }

    /// How long it lasts in all.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.steps.iter().fold(Duration::ZERO, |sum, step| sum.saturating_add(step.length))
    }

    /// How many requests are to be expected.
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.steps.iter().map(Step::requests).sum()
    }

    /// The demand at a time from the start; zero after the end. The end of a step belongs to the next.
    #[must_use]
    pub fn rate_at(&self, at: Duration) -> Rate {
        let mut begin = Duration::ZERO;
        for step in &self.steps {
            let end = begin.saturating_add(step.length);
            if at < end {
                return step.rate_at(at.saturating_sub(begin));
            }
            begin = end;
        }
        Rate(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_knows_its_length_its_requests_and_its_rate_at_any_time() {
        let step = |rate, ms| Step::steady(Rate(rate), Duration::from_millis(ms));
        let plan = DemandPlan {
            steps: vec![step(1_000.0, 500), step(0.0, 100), step(4_000.0, 250)],
            arrivals: Arrivals::Poisson,
        };
        assert_eq!(plan.length(), Duration::from_millis(850));
        assert!((plan.requests() - 1_500.0).abs() < 1e-9);
        let at = |ms| plan.rate_at(Duration::from_millis(ms)).0;
        assert_eq!(
            [at(0), at(499), at(500), at(600), at(849), at(850)],
            [1_000.0, 1_000.0, 0.0, 4_000.0, 4_000.0, 0.0]
        );
    }

    #[test]
    fn a_ramp_goes_straight_from_one_rate_to_the_other() {
        let (second, ms) = (Duration::from_secs(1), Duration::from_millis);
        let ramp = Step { rate: Rate(1_000.0), end: Rate(3_000.0), length: second };
        let plan = DemandPlan {
            steps: vec![ramp, Step::steady(Rate(3_000.0), second)],
            arrivals: Arrivals::Poisson,
        };
        assert!((plan.requests() - 5_000.0).abs() < 1e-9);
        let at = |of| plan.rate_at(ms(of)).0;
        assert_eq!([at(0), at(250), at(500), at(1_000)], [1_000.0, 1_500.0, 2_000.0, 3_000.0]);
    }
}
