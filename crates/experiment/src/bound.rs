//! What no controller can beat, for each objective, demand and capacity of an experiment.

use crate::driver::Cost;
use std::time::Duration;
use tailwater_core::{Rate, Rng};
use tailwater_stats::{BoundSpec, Knowledge, bound};
use tailwater_workload::scenario::{Configuration, Course, Cycle, Tier};
use tailwater_workload::ways::Pool;
use tailwater_workload::{Scenario, Ways, most_served};

/// Parts of a ramp, each with the bound of its middle. The bound bends where demand passes capacity; eight
/// parts miss less than half a per cent of it.
const PARTS: u32 = 8;
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
    /// demand would allow more than anyone can serve in time. A ramp counts as eight short steps.
    pub(crate) fn of(&mut self, configuration: &Configuration, capacity: Rate, cost: Cost) -> Rate {
        match &configuration.course {
            Course::Steady(amount) => self.at(configuration.slo, amount.rate(capacity), cost),
            Course::Cycle(cycle) => {
                over(cycle, capacity, |demand| self.at(configuration.slo, demand, cost))
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
        let of_service = |mean: Duration| if cost.sleeps { 0.0 } else { mean.as_secs_f64() };
        let seconds = |mean: Duration| of_service(mean) + cost.overhead_ns / 1e9;
        let mut needs: Vec<(f64, f64)> =
            modes.iter().map(|mode| (mode.share, seconds(mode.mean))).collect();
        let cores = f64::from(cost.cores * cost.replicas);
        let mut most = |demand| most_served(&mut needs, cores, demand);
        Some(match &configuration.course {
            Course::Steady(amount) => most(amount.rate(capacity)),
            Course::Cycle(cycle) => over(cycle, capacity, most),
        })
    }

    fn compute(&self, slo: Duration, demand: Rate, cost: Cost) -> Rate {
        let server = &self.scenario.server;
        if !server.paths.is_empty() {
            let each = Rate(demand.0 / f64::from(cost.replicas));
            let ways = Ways::new(&server.paths);
            let pools: Vec<Pool> = self.scenario.tiers.iter().map(|it| pool(it, cost)).collect();
            let one = ways.bound(cost.cores, cost.path_overhead_ns / 1e9, &pools, each);
            return Rate(one.0 * f64::from(cost.replicas));
        }
        let mut rng = Rng::from_seed(self.scenario.seed).split("bound costs");
        // How long a request sleeps is left out, too: no core is short of it, but the bound may be high.
        let mut service_ns = || match cost.sleeps {
            true => 0.0,
            false => f64::from(server.service.draw_ns(&mut rng)),
        };
        // What one queue has is no use to the others: one of them is played, with its part of everything. Its
        // replicas count as one, since clients may choose among these.
        let of_one = bound(BoundSpec {
            service: &mut || service_ns() + cost.overhead_ns,
            knows: Knowledge::Backlog,
            cores: cost.cores * cost.replicas / cost.queues,
            demand: Rate(demand.0 / f64::from(cost.queues)),
            slo,
            base: cost.base,
            requests: requests(variation(self.scenario, cost)),
            seed: self.scenario.seed,
        });
        Rate(of_one.0 * f64::from(cost.queues))
    }
}

/// The part of a tier's cores that each replica of the front has.
fn pool(tier: &Tier, cost: Cost) -> Pool {
    let all = cost.tier_cores.of(tier, cost.cores);
    Pool { ways: Ways::new(&tier.paths), cores: f64::from(all) / f64::from(cost.replicas) }
}

/// The mean over a cycle of what can be served at each demand.
pub(crate) fn over(cycle: &Cycle, capacity: Rate, mut served: impl FnMut(Rate) -> Rate) -> Rate {
    let of_part = |(demand, seconds): (Rate, f64)| served(demand).0 * seconds;
    Rate(parts(cycle, capacity).map(of_part).sum::<f64>() / cycle.period().as_secs_f64())
}

/// The demands of a cycle in their order, each with its length in seconds; a ramp has those of its [`PARTS`].
fn parts(cycle: &Cycle, capacity: Rate) -> impl Iterator<Item = (Rate, f64)> {
    cycle.steps.iter().flat_map(move |step| {
        let step = step.at(capacity);
        let parts = if step.end == step.rate { 1 } else { PARTS };
        (0..parts).map(move |part| {
            let middle = step.length.mul_f64((f64::from(part) + 0.5) / f64::from(parts));
            (step.rate_at(middle), step.length.as_secs_f64() / f64::from(parts))
        })
    })
}

/// The most requests per second that can be served in time in a later step than their own. Demand above `capacity`
/// waits for no longer than the objective, until less is asked for. [`over`] leaves these requests out.
pub(crate) fn carried_over(cycle: &Cycle, capacity: Rate, slo: Duration) -> Rate {
    let waiting_max = capacity.0 * slo.as_secs_f64();
    let round = |mut waiting: f64| {
        let mut carried = 0.0;
        for (demand, seconds) in parts(cycle, capacity) {
            let more = (demand.0 - capacity.0) * seconds;
            carried += waiting.min((-more).max(0.0));
            let left = (waiting + more).max(0.0);
            waiting = left.min(waiting_max);
        }
        (waiting, carried)
    };
    // The first step of a round has what the last one left.
    let (left, _) = round(0.0);
    let (_, carried) = round(left);
    Rate(carried / cycle.period().as_secs_f64())
}

/// The relative standard error of a run's goodput ÷ bound by what chance makes of service times, where so many
/// requests were answered. Bounds of paths are means, and what a request's path needs is not drawn at once: none.
pub(crate) fn error(scenario: &Scenario, cost: Cost, answered: u64) -> f64 {
    if !scenario.server.paths.is_empty() || answered == 0 {
        return 0.0;
    }
    let variation = variation(scenario, cost);
    (variation / answered as f64 + variation / f64::from(requests(variation))).sqrt()
}

/// The squared coefficient of variation of what a request's service costs a core.
fn variation(scenario: &Scenario, cost: Cost) -> f64 {
    if cost.sleeps { 0.0 } else { scenario.server.service.distribution.variation() }
}

fn requests(variation: f64) -> u32 {
    (f64::from(REQUESTS) * (variation / VARIATION).clamp(1.0, MORE_MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::TierCores;

    const TEXT: &str = r#"
slo = "100us"
clients.count = 40
demand.requests_per_second = 360_000
controller = { name = "none" }
server.service = { distribution = "exponential", mean = "10us" }
"#;

    #[test]
    fn the_bound_of_a_ramp_lies_between_those_of_its_ends_and_steps_of_it_agree() {
        let of = |steps: &str| {
            let demand = "demand.requests_per_second = 360_000";
            let text = TEXT.replace(demand, &format!("demand.steps = [{steps}]"));
            let scenario = Scenario::parse("x.toml", &text).unwrap();
            let configuration = scenario.configurations().remove(0);
            let cost = Cost {
                cores: 1,
                queues: 1,
                replicas: 1,
                sleeps: false,
                overhead_ns: 0.0,
                path_overhead_ns: 0.0,
                tier_cores: TierCores::AsSaid,
                base: Duration::ZERO,
            };
            Bounds::new(&scenario).of(&configuration, Rate(100e3), cost).0
        };
        let ramp = of("{ of_capacity = 0.5, to = 1.5, for = \"1s\" }");
        let [low, high] =
            ["0.5", "1.5"].map(|ratio| of(&format!("{{ of_capacity = {ratio}, for = \"1s\" }}")));
        assert!(low < ramp && ramp < high, "{low} {ramp} {high}");
        // Forty steps of the middle of each part.
        let fine: Vec<String> = (0..40)
            .map(|part| 0.5 + (f64::from(part) + 0.5) / 40.0)
            .map(|ratio| format!("{{ of_capacity = {ratio}, for = \"25ms\" }}"))
            .collect();
        let fine = of(&fine.join(", "));
        assert!((ramp / fine - 1.0).abs() < 0.005, "{ramp} of eight parts, {fine} of forty");
        // Demand that is 1 in the mean would allow more than the ramp does.
        assert!(ramp < 0.97 * of("{ of_capacity = 1.0, for = \"1s\" }"), "{ramp}");
    }

    /// A cycle of 2.0 and 0.5 × has 25 % of the capacity to spare, which a long objective lets it use.
    #[test]
    fn a_step_leaves_to_the_next_what_the_objective_lets_wait() {
        let of = |steps: &str, slo_ms| {
            let demand = "demand.requests_per_second = 360_000";
            let text = TEXT.replace(demand, &format!("demand.steps = [{steps}]"));
            let scenario = Scenario::parse("x.toml", &text).unwrap();
            let cycle = scenario.demand.cycle().unwrap();
            carried_over(cycle, Rate(1.0), Duration::from_millis(slo_ms)).0
        };
        let close = |found: f64, needed: f64| assert!((found - needed).abs() < 1e-9, "{found}");
        let step = |ratio: &str| format!("{{ of_capacity = {ratio}, for = \"200ms\" }}");
        let falling = format!("{}, {}", step("2.0"), step("0.5"));
        close(of(&falling, 400), 0.25);
        close(of(&falling, 20), 0.05);
        // What the last step leaves is done in the first of the next round, and may wait through a step between.
        close(of(&format!("{}, {}", step("0.5"), step("2.0")), 20), 0.05);
        close(of(&format!("{}, {}, {}", step("2.0"), step("1.0"), step("0.5")), 60), 0.1);
        assert_eq!(of(&format!("{}, {}", step("0.5"), step("0.9")), 400), 0.0);
        let ramp = "{ of_capacity = 0.5, to = 1.5, for = \"200ms\" }";
        assert!(of(ramp, 400) > 0.1, "its end waits for its beginning");
    }

    /// A core that takes 5 µs of each request serves 200,000 of them in a second, however long they sleep. The bound was one
    /// of requests that compute for as long.
    #[test]
    fn sleeping_requests_cost_no_more_than_their_overhead() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let cost = Cost {
            cores: 1,
            queues: 1,
            replicas: 1,
            sleeps: true,
            overhead_ns: 5_000.0,
            path_overhead_ns: 0.0,
            tier_cores: TierCores::AsSaid,
            base: Duration::ZERO,
        };
        let of = |cost| Bounds::new(&scenario).at(scenario.slo[0], Rate(360e3), cost).0;
        let (asleep, busy) = (of(cost), of(Cost { sleeps: false, ..cost }));
        assert!((190e3..201e3).contains(&asleep), "{asleep}");
        assert!(busy < 70e3, "{busy}");
        assert_eq!((error(&scenario, cost, 100), error(&scenario, cost, 0)), (0.0, 0.0));
    }

    /// Half of the loops' clients may wait while the cores of the other half have nothing to do.
    #[test]
    fn queues_of_their_own_have_the_bound_of_each() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let of = |cores, queues, share: f64| {
            let cost = Cost {
                cores,
                queues,
                replicas: 1,
                sleeps: false,
                overhead_ns: 0.0,
                path_overhead_ns: 0.0,
                tier_cores: TierCores::AsSaid,
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
