//! What the runs of a scenario are quoted against: capacity and bound.

use crate::experiment::{Failure, world_of};
use crate::simulate::simulate_with;
use crate::tiers;
use crate::world::{Load, World};
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::catalog::Spec;
use tailwater_control::retry::First;
use tailwater_core::{Nanos, Rate, Rng};
use tailwater_stats::bound::{BoundSpec, Knowledge, bound};
use tailwater_stats::result::CapacityReading;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Configuration, Course, LockPolicy};

/// Measured once for each number of clients, and each objective and demand.
pub(crate) struct Bench<'a> {
    scenario: &'a Scenario,
    /// One for each number of clients.
    pub(crate) capacities: Vec<CapacityReading>,
    /// By objective and demand.
    bounds: Vec<(Duration, f64, Rate)>,
}

/// Plays of [`bound`]; three digits.
const BOUND_REQUESTS: u32 = 200_000;

impl<'a> Bench<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, capacities: Vec::new(), bounds: Vec::new() }
    }

    /// Requests per second that this number of clients gets served without control.
    pub(crate) fn capacity(&mut self, clients: u32) -> Result<Rate, Failure> {
        if let Some(fixed) = self.scenario.capacity.fixed {
            return Ok(fixed);
        }
        let known = |reading: &&CapacityReading| reading.clients == clients;
        if let Some(reading) = self.capacities.iter().find(known) {
            return Ok(Rate(reading.plateau_rps));
        }
        let mut points = Vec::new();
        for in_flight in self.scenario.capacity.sweep(clients) {
            points.push((in_flight, self.closed_loop(clients, in_flight)?.0));
        }
        let plateau_rps = points.iter().map(|point| point.1).fold(0.0, f64::max);
        self.capacities.push(CapacityReading { clients, repetition: 0, points, plateau_rps });
        Ok(Rate(plateau_rps))
    }

    /// Throughput with `in_flight` requests always under way and no control.
    fn closed_loop(&self, clients: u32, in_flight: u32) -> Result<Rate, Failure> {
        let scenario = self.scenario;
        let Some(mut configuration) = scenario.configurations().into_iter().next() else {
            return Ok(Rate(0.0));
        };
        configuration.clients = clients;
        let world = World {
            warm_up: scenario.capacity.duration / 3,
            measure: scenario.capacity.duration,
            drain: Duration::ZERO,
            bin: None,
            faults: Vec::new(),
            // What all replicas do together, whichever clients ask first under control.
            retry: RetryConfig { first: First::Own, ..RetryConfig::default() },
            ..world_of(scenario, &configuration, scenario.seed)
        };
        let mut rng = Rng::from_seed(scenario.seed).split("closed loop");
        let distribution = scenario.server.service;
        let mut service = || distribution.draw(&mut rng);
        let load = Load::Closed { in_flight, service: &mut service };
        let world = tiers::with_locks(world, LockPolicy::Plain);
        let mut none = |_| {
            let built = Spec::named("none").build(&world.node.site(world.slo, 0));
            built.expect("the controller without settings always builds")
        };
        let (run, _) = simulate_with(&world, load, &mut none)?;
        Ok(Rate(run.throughput_rps))
    }

    /// What no controller can beat; over steps, the mean by their length.
    pub(crate) fn bound(&mut self, configuration: &Configuration, capacity: Rate) -> Rate {
        match &configuration.course {
            Course::Steady(amount) => self.bound_at(configuration.slo, amount.rate(capacity)),
            Course::Cycle(cycle) => {
                let goodput = cycle.steps.iter().map(|step| {
                    let rate = self.bound_at(configuration.slo, step.amount.rate(capacity));
                    rate.0 * step.length.as_secs_f64()
                });
                Rate(goodput.sum::<f64>() / cycle.period().as_secs_f64())
            }
        }
    }

    fn bound_at(&mut self, slo: Duration, demand: Rate) -> Rate {
        let front = tiers::front(self.scenario, slo);
        let replicas = self.scenario.server.replicas;
        if let Some(paths) = &front.paths {
            let each = Rate(demand.0 / f64::from(replicas));
            return Rate(paths.bound(&front, each).0 * f64::from(replicas));
        }
        let known = |entry: &&(Duration, f64, Rate)| entry.0 == slo && entry.1 == demand.0;
        if let Some(&(_, _, found)) = self.bounds.iter().find(known) {
            return found;
        }
        let sim = &self.scenario.sim;
        let mut rng = Rng::from_seed(self.scenario.seed).split("bound costs");
        let distribution = self.scenario.server.service;
        let overhead_ns = (sim.receive + sim.send).nanos() as f64;
        let mut cost = || f64::from(distribution.draw_ns(&mut rng)) + overhead_ns;
        let found = bound(BoundSpec {
            service: &mut cost,
            knows: Knowledge::Backlog,
            cores: sim.cores * replicas,
            demand,
            slo,
            base: sim.rtt + 2 * sim.jitter,
            requests: BOUND_REQUESTS,
            seed: self.scenario.seed,
        });
        self.bounds.push((slo, demand.0, found));
        found
    }
}
