//! What no controller can beat, for each objective, demand and capacity of an experiment.

use crate::driver::Cost;
use std::time::Duration;
use tailwater_core::{Rate, Rng};
use tailwater_stats::{BoundSpec, Knowledge, bound};
use tailwater_workload::scenario::{Configuration, Course};
use tailwater_workload::{Scenario, Ways, most_served};

/// Requests that are played for a bound; three digits.
const REQUESTS: u32 = 200_000;
/// So often more are played where service times spread far. The error of their mean is then half a per cent,
/// as long as their squared coefficient of variation is below 40.
const MORE_MAX: f64 = 10.0;
/// The squared coefficient of variation from which more are played: bimodal ones have 2.25.
const VARIATION: f64 = 4.0;

/// Bounds of a scenario, each computed once.
#[derive(Clone, Debug)]
pub(crate) struct Bounds<'a> {
    scenario: &'a Scenario,
    known: Vec<(Key, Rate)>,
}

type Key = (Duration, f64, Cost);

impl<'a> Bounds<'a> {
    /// None yet.
    pub(crate) const fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, known: Vec::new() }
    }

    /// The bound of a configuration whose demand is in shares of `capacity`, at what requests cost. Over steps
    /// it is the mean by their length: a server that does nothing in a pause cannot do it later, so the mean
    /// demand would allow more than anyone can serve in time.
    pub(crate) fn of(&mut self, configuration: &Configuration, capacity: Rate, cost: Cost) -> Rate {
        match &configuration.course {
            Course::Steady(amount) => self.at(configuration.slo, amount.rate(capacity), cost),
            Course::Cycle(cycle) => {
                let goodput = cycle.steps.iter().map(|step| {
                    let rate = self.at(configuration.slo, step.amount.rate(capacity), cost);
                    rate.0 * step.length.as_secs_f64()
                });
                Rate(goodput.sum::<f64>() / cycle.period().as_secs_f64())
            }
        }
    }

    fn at(&mut self, slo: Duration, demand: Rate, cost: Cost) -> Rate {
        let key = (slo, demand.0, cost);
        if let Some((_, found)) = self.known.iter().find(|(known, _)| *known == key) {
            return *found;
        }
        let found = self.compute(slo, demand, cost);
        self.known.push((key, found));
        found
    }

    /// The same for a server that knows what each class costs; nothing where there are no classes. Time and
    /// chance are left out: it may be high. Each step of a cycle counts as [`Bounds::of`] has it.
    pub(crate) fn of_known_costs(
        &self,
        configuration: &Configuration,
        capacity: Rate,
        cost: Cost,
    ) -> Option<Rate> {
        let server = &self.scenario.server;
        let modes = server.classes.then(|| server.service.modes())?;
        let seconds = |mean: Duration| mean.as_secs_f64() + cost.overhead_ns / 1e9;
        let mut needs: Vec<(f64, f64)> =
            modes.iter().map(|mode| (mode.share, seconds(mode.mean))).collect();
        let cores = f64::from(cost.cores * cost.replicas);
        let mut most = |demand| most_served(&mut needs, cores, demand).0;
        Some(Rate(match &configuration.course {
            Course::Steady(amount) => most(amount.rate(capacity)),
            Course::Cycle(cycle) => {
                let served = cycle
                    .steps
                    .iter()
                    .map(|step| most(step.amount.rate(capacity)) * step.length.as_secs_f64());
                served.sum::<f64>() / cycle.period().as_secs_f64()
            }
        }))
    }

    fn compute(&self, slo: Duration, demand: Rate, cost: Cost) -> Rate {
        let server = &self.scenario.server;
        if !server.paths.is_empty() {
            let each = Rate(demand.0 / f64::from(cost.replicas));
            let ways = Ways::new(&server.paths);
            let one = ways.bound(cost.cores, cost.path_overhead_ns / 1e9, each);
            return Rate(one.0 * f64::from(cost.replicas));
        }
        let mut rng = Rng::from_seed(self.scenario.seed).split("bound costs");
        // What one queue has is no use to the others: one of them is played, with its part of everything. Its
        // replicas count as one, since clients may choose among these.
        let of_one = bound(BoundSpec {
            service: &mut || f64::from(server.service.draw_ns(&mut rng)) + cost.overhead_ns,
            knows: Knowledge::Backlog,
            cores: cost.cores * cost.replicas / cost.queues,
            demand: Rate(demand.0 / f64::from(cost.queues)),
            slo,
            base: cost.base,
            requests: requests(server.service.distribution.variation()),
            seed: self.scenario.seed,
        });
        Rate(of_one.0 * f64::from(cost.queues))
    }
}

fn requests(variation: f64) -> u32 {
    (f64::from(REQUESTS) * (variation / VARIATION).clamp(1.0, MORE_MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
slo = "100us"
clients.count = 40
demand.requests_per_second = 360_000
controller = { name = "none" }
server.service = { distribution = "exponential", mean = "10us" }
"#;

    /// Half of the loops' clients may wait while the cores of the other half have nothing to do.
    #[test]
    fn queues_of_their_own_have_the_bound_of_each() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let of = |cores, queues, share: f64| {
            let cost = Cost {
                cores,
                queues,
                replicas: 1,
                overhead_ns: 0.0,
                path_overhead_ns: 0.0,
                base: Duration::ZERO,
            };
            Bounds::new(&scenario).at(scenario.slo[0], Rate(share * 360e3), cost).0
        };
        let (central, own, one) = (of(4, 1, 1.0), of(4, 4, 1.0), of(1, 1, 0.25));
        assert_eq!(own, 4.0 * one);
        assert!(own < 0.98 * central, "{own} with queues of their own, {central} with one");
        assert!((of(4, 2, 1.0) - own) > 1e3, "two cores share a queue");
    }
}
