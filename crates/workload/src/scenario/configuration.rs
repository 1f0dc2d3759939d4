//! One point of a scenario's cross product.

use super::demand::{Course, Cycle};
use crate::arrivals::Arrivals;
use crate::demand::{DemandPlan, Step};
use std::time::Duration;
use tailwater_core::{Rate, Ratio};

/// Objective, clients and demand of a run; controllers and repetitions are the driver's loops.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// The objective that goodput counts against.
    pub slo: Duration,
    /// Logical clients.
    pub clients: u32,
    /// Their demand.
    pub course: Course,
    /// How their requests are spread.
    pub arrivals: Arrivals,
    /// How long the first demand is offered before measuring begins.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
}

impl Configuration {
    /// The plan of a whole run, warm-up included, for a measured capacity.
    #[must_use]
    pub fn demand_plan(&self, capacity: Rate) -> DemandPlan {
        let arrivals = self.arrivals;
        let steps = match &self.course {
            Course::Steady(amount) => {
                let length = self.warm_up + self.duration;
                return DemandPlan::constant(amount.rate(capacity), length, arrivals);
            }
            Course::Cycle(cycle) => self.cycle_steps(cycle, capacity),
        };
        DemandPlan { steps, arrivals }
    }

    /// Mean demand of the measured window, for a measured capacity.
    #[must_use]
    pub fn mean_demand(&self, capacity: Rate) -> Rate {
        match &self.course {
            Course::Steady(amount) => amount.rate(capacity),
            Course::Cycle(cycle) => {
                let all: f64 = cycle.steps.iter().map(|step| step.at(capacity).requests()).sum();
                Rate(all / cycle.period().as_secs_f64())
            }
        }
    }

    /// [`Configuration::mean_demand`] ÷ capacity; zero without capacity.
    #[must_use]
    pub fn demand_ratio(&self, capacity: Rate) -> Ratio {
        let demand = self.mean_demand(capacity).0;
        Ratio(if capacity.0 > 0.0 { demand / capacity.0 } else { 0.0 })
    }

    /// Width of the bins of the time series; `None` when demand does not change.
    #[must_use]
    pub const fn bin(&self) -> Option<Duration> {
        match &self.course {
            Course::Steady(_) => None,
            Course::Cycle(cycle) => Some(cycle.bin),
        }
    }

    fn cycle_steps(&self, cycle: &Cycle, capacity: Rate) -> Vec<Step> {
        let warm_up = cycle
            .steps
            .first()
            .map(|first| Step::steady(first.amount.rate(capacity), self.warm_up));
        let cycles =
            (0..cycle.repeat).flat_map(|_| cycle.steps.iter().map(|step| step.at(capacity)));
        warm_up.into_iter().chain(cycles).collect()
    }
}
