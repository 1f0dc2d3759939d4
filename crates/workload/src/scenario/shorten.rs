//! The short version of a scenario, which shows that it runs and little more.

use super::demand::{Course, Cycle};
use super::{Demand, Scenario};
use crate::arrivals::Arrivals;
use std::time::Duration;

const WARM_UP_MAX: Duration = Duration::from_millis(100);
const DURATION_MAX: Duration = Duration::from_millis(300);
const STEP_BINS_MAX: u32 = 10;

impl Scenario {
    /// The same experiment for continuous integration: one repetition, tried once, the first objective and client
    /// count, the lowest and the highest demand, short runs. Its numbers are too few to quote.
    #[must_use]
    pub fn shorten(mut self) -> Self {
        self.repetitions = 1;
        self.tries = 1;
        self.slo.truncate(1);
        self.clients.counts.truncate(1);
        self.demand = shorten_demand(self.demand);
        self.warm_up = self.warm_up.min(WARM_UP_MAX);
        let before = self.duration;
        let periods: Vec<Duration> =
            self.demand.arrivals.iter().filter_map(Arrivals::period).collect();
        // One swing at least. What was whole numbers of several periods stays as long as it was.
        self.duration = match periods[..] {
            [] => self.duration.min(DURATION_MAX),
            [period] => self.duration.min(period * whole(DURATION_MAX, period)),
            _ => self.duration,
        };
        if let Some(cycle) = self.demand.cycle() {
            self.duration = cycle.length();
        }
        let scale = self.duration.as_secs_f64() / before.as_secs_f64();
        for fault in &mut self.faults {
            fault.at = fault.at.mul_f64(scale);
            fault.length = fault.length.mul_f64(scale);
        }
        for change in &mut self.server.changes {
            change.at = change.at.mul_f64(scale);
        }
        self.capacity.duration = self.capacity.duration.min(WARM_UP_MAX);
        self
    }
}

/// How many periods fill at least this time.
fn whole(time: Duration, period: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(period.as_nanos())).unwrap_or(u32::MAX)
}

fn shorten_demand(demand: Demand) -> Demand {
    let swings = demand.arrivals.iter().any(|arrivals| arrivals.period().is_some());
    let mut courses: Vec<Course> =
        demand.courses.into_iter().map(|course| shorten_cycle(course, swings)).collect();
    courses.sort_by(|one, other| height(one).total_cmp(&height(other)));
    if courses.len() > 2 {
        courses.drain(1..courses.len() - 1);
    }
    Demand { courses, ..demand }
}

fn height(course: &Course) -> f64 {
    match course {
        Course::Steady(amount) => amount.number(),
        Course::Cycle(_) => 0.0,
    }
}

/// Every step stays, and a whole number of bins; as long as it was where arrivals swing in it.
fn shorten_cycle(course: Course, swings: bool) -> Course {
    let Course::Cycle(mut cycle) = course else {
        return course;
    };
    for step in cycle.steps.iter_mut().filter(|_| !swings) {
        step.length = step.length.min(cycle.bin * STEP_BINS_MAX);
    }
    Course::Cycle(Cycle { repeat: 1, ..cycle })
}
