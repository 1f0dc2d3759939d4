//! How much is asked for, and when: steps of constant rate.

use std::time::Duration;
use tailwater_core::{Nanos, Rate};

/// The demand of one run, warm-up included: one step after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct DemandPlan {
    /// In order of time.
    pub steps: Vec<Step>,
    /// How requests are spread within them.
    pub arrivals: Arrivals,
}

/// A time of constant demand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Requests per second of all clients together; zero for a pause.
    pub rate: Rate,
    /// How long it lasts.
    pub length: Duration,
}

/// How requests are spread in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// Exponential gaps: many independent clients (Breakwater §5.2).
    Poisson,
    /// Equal gaps. For tests: real clients do not agree like this, and queues look too short.
    Periodic,
}

impl Arrivals {
    /// Both kinds by the name that scenario files use.
    pub const NAMES: &'static [(&'static str, Self)] =
        &[("poisson", Self::Poisson), ("periodic", Self::Periodic)];
}

impl DemandPlan {
    /// One rate throughout.
    #[must_use]
    pub fn constant(rate: Rate, length: Duration, arrivals: Arrivals) -> Self {
        Self { steps: vec![Step { rate, length }], arrivals }
    }

    /// How long it lasts in all.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.steps.iter().fold(Duration::ZERO, |sum, step| sum.saturating_add(step.length))
    }

    /// How many requests are to be expected.
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.steps.iter().map(|step| step.rate.0 * step.length.as_secs_f64()).sum()
    }

    /// The demand at a time from the start; zero after the end. The end of a step belongs to the next.
    #[must_use]
    pub fn rate_at(&self, at: Duration) -> Rate {
        let mut until_ns = 0_u64;
        for step in &self.steps {
            until_ns = until_ns.saturating_add(step.length.nanos());
            if at.nanos() < until_ns {
                return step.rate;
            }
        }
        Rate(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_knows_its_length_its_requests_and_its_rate_at_any_time() {
        let step = |rate, ms| Step { rate: Rate(rate), length: Duration::from_millis(ms) };
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
}
