//! A scenario in simulation: the same result as from real runs, decided by the seed alone.

use crate::failure::Failure;
use crate::simulate::{self, Answers, simulate_with};
use crate::threads::Switch;
use crate::tiers;
use crate::world::{Intended, Link, World};
use std::fmt;
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::retry::First;
use tailwater_core::{Nanos, Rate, Rng};
use tailwater_experiment::{
    ClosedLoop, Cost, Driver, OpenRun, Played, Silence, TierCores, capacity, changes, drain,
    faults, retry, widest,
};
use tailwater_stats::result::{Experiment, Manifest, Run, StallReading};
use tailwater_workload::scenario::{
    Configuration, ControllerSpec, Fault, LockPolicy, Model, ModelChange, StallKind, Struck,
};
use tailwater_workload::{Scenario, Stream};

/// Runs every configuration, repetition and controller of `scenario` in virtual time, as
/// [`tailwater_experiment::run()`] has it; to watch it, or to break it off, give that a [`Simulator`].
///
/// # Errors
/// See [`Failure`]; nothing has been written anywhere then.
pub fn run(scenario: &Scenario) -> Result<Experiment, Failure> {
    tailwater_experiment::check(scenario).map_err(Failure::Scenario)?;
    tailwater_experiment::run(scenario, &mut Simulator::new(scenario), &mut Silence)
        .map_err(|unfinished| unfinished.failure)
}

/// Requests per second that the scenario's server does for so many clients in a closed loop without
/// control; what the scenario takes for granted, where it does.
///
/// # Errors
/// See [`Failure`].
pub fn capacity(scenario: &Scenario, clients: u32) -> Result<Rate, Failure> {
    if let Some(fixed) = scenario.capacity.fixed {
        return Ok(fixed);
    }
    let ask = capacity::of_scenario(scenario, clients);
    let points = Simulator::new(scenario).closed_loop(&ask)?;
    Ok(Rate(capacity::plateau(&points)))
}

/// The driver of virtual time.
#[derive(Clone, Copy)]
pub struct Simulator<'a> {
    scenario: &'a Scenario,
    /// Hears what share of a run was done since the last time.
    progress: &'a (dyn Fn(f64) + Sync),
}

impl fmt::Debug for Simulator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("scenario", &self.scenario.name).finish_non_exhaustive()
    }
}

/// Progress is told in steps of this share of a run.
const PROGRESS_STEP: f64 = 0.01;

impl<'a> Simulator<'a> {
    /// For a scenario that [`tailwater_experiment::check`] has passed.
    #[must_use]
    pub const fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, progress: &|_| {} }
    }

    /// The same, telling of each hundredth of a run from whichever thread plays it.
    #[must_use]
    pub const fn telling(self, progress: &'a (dyn Fn(f64) + Sync)) -> Self {
        Self { progress, ..self }
    }
}

impl Simulator<'_> {
    /// Cores of a server of this model that can have work, and queues that share none of them. Threads can use as many
    /// cores as there are of them, and share them.
    fn shape(&self, model: Model) -> (u32, u32) {
        let Scenario { sim, server, has_models, .. } = self.scenario;
        match model.workers() as u32 {
            _ if !has_models && sim.stealing => (sim.cores, 1),
            _ if !has_models => (sim.cores, server.loops),
            0 if server.loops <= sim.cores => (server.loops, server.loops),
            workers => (sim.cores.min(server.loops + workers), 1),
        }
    }
}

impl Driver for Simulator<'_> {
    type Failure = Failure;

    fn name(&self) -> &'static str {
        "sim"
    }

    fn manifest(&self) -> Manifest {
        Manifest {
            tailwater: env!("CARGO_PKG_VERSION").into(),
            stalls: self.scenario.sim.stalls.kinds().iter().map(stalls_of).collect(),
            ..Manifest::default()
        }
    }

    fn drifts(&self) -> bool {
        false
    }

    /// As the scenario has it. Capacity says the same within the plateau's 3 %, for one that is measured. Where
    /// a message's cost depends on what else its connection has, only capacity knows what requests cost.
    fn cost(&self, controller: &ControllerSpec, capacity: Rate) -> Cost {
        let (sim, server) = (&self.scenario.sim, &self.scenario.server);
        let messages_ns = (sim.receive + sim.send).nanos() as f64;
        let by_turn = sim.coalescing || !sim.connection_cost.is_zero();
        let first = controller.model.unwrap_or(server.model);
        let (cores, queues) = widest(first, &server.changes, |model| self.shape(model));
        let (measured_cores, _) = self.shape(server.model);
        let measured_ns =
            capacity::overhead_ns(capacity, measured_cores * server.replicas, server.service.mean);
        Cost {
            cores,
            queues,
            replicas: server.replicas,
            // The simulator computes for it.
            sleeps: false,
            overhead_ns: if by_turn { measured_ns } else { messages_ns },
            path_overhead_ns: if sim.coalescing { 0.0 } else { messages_ns },
            // With threads each node of a tier has one, whatever its cores. Pins are the machine's, not the simulator's.
            tier_cores: match self.scenario.has_models {
                true => TierCores::OneEach,
                false => TierCores::AsSaid,
            },
            base: sim.rtt + 2 * sim.jitter,
        }
    }

    fn closed_loop(&mut self, ask: &ClosedLoop) -> Result<Vec<(u32, f64)>, Failure> {
        let point = |&in_flight| Ok((in_flight, closed_loop(self.scenario, ask, in_flight)?.0));
        ask.in_flight.iter().map(point).collect()
    }

    fn open_run(&mut self, ask: &OpenRun<'_>) -> Result<Played, Failure> {
        open_run(self, ask)
    }
}

/// Throughput with `in_flight` requests always under way and no control.
fn closed_loop(scenario: &Scenario, ask: &ClosedLoop, in_flight: u32) -> Result<Rate, Failure> {
    let Some(mut configuration) = scenario.configurations().into_iter().next() else {
        return Ok(Rate(0.0));
    };
    configuration.clients = ask.clients;
    let world = World {
        warm_up: ask.settle,
        measure: ask.measure,
        drain: Duration::ZERO,
        bin: None,
        faults: Vec::new(),
        switches: Vec::new(),
        // What all replicas do together, whichever clients ask first under control.
        retry: RetryConfig { first: First::Own, ..RetryConfig::default() },
        ..world_of(scenario, &configuration, ask.seed)
    };
    let mut rng = Rng::from_seed(ask.seed).split("closed loop");
    let distribution = &scenario.server.service;
    let mut service = || distribution.draw(&mut rng);
    let world = tiers::with_locks(world, LockPolicy::Plain);
    let mut none = |_| {
        let built = Spec::named("none").build(&world.node.site(world.slo, 0));
        built.expect("the controller without settings always builds")
    };
    match simulate::closed_loop(&world, in_flight, &mut service, &mut none)? {
        Answers { refused: 0, rate } => Ok(rate),
        Answers { refused, .. } => Err(Failure::Refused(refused)),
    }
}

/// The world that a scenario describes for one of its configurations.
#[must_use]
pub fn world_of(scenario: &Scenario, configuration: &Configuration, seed: u64) -> World {
    let sim = &scenario.sim;
    World {
        node: tiers::front(scenario, configuration.slo),
        replicas: scenario.server.replicas,
        retry: retry(scenario),
        tiers: tiers::tiers(scenario, configuration.slo),
        link: Link { delay: sim.rtt / 2, jitter: sim.jitter },
        clients: configuration.clients,
        slo: configuration.slo,
        warm_up: configuration.warm_up,
        measure: configuration.duration,
        drain: drain(configuration.slo),
        bin: configuration.bin(),
        sample: None,
        faults: scenario
            .faults
            .iter()
            .map(|fault| Fault { at: configuration.warm_up + fault.at, ..*fault })
            .collect(),
        switches: scenario
            .server
            .changes
            .iter()
            .map(|&ModelChange { at, model }| {
                let (at, nodes) = (configuration.warm_up + at, Struck::default());
                Switch { at, nodes, model }
            })
            .collect(),
        starved_max: Some(Duration::from_secs(1)),
        client_queue_max: u32::MAX,
        seed,
        repeat: format!("tailwater run {} --on sim --seed {}", scenario.file, scenario.seed),
    }
}

fn open_run(simulator: &Simulator<'_>, ask: &OpenRun<'_>) -> Result<Played, Failure> {
    let scenario = simulator.scenario;
    let OpenRun { configuration, controller, seed, .. } = *ask;
    let service = &scenario.server.service;
    let stream = Stream::new(&ask.demand, configuration.clients, service, seed)
        .map_err(Failure::Schedule)?;
    let world = world_of(scenario, configuration, seed);
    let mut world = tiers::with_deadlines(world, scenario, controller);
    world.node.enforce_deadlines = ask.enforces_deadlines;
    world.drain = ask.drain;
    if let Some(policy) = controller.locks {
        world = tiers::with_locks(world, policy);
    }
    if let Some(model) = controller.model {
        world = tiers::with_model(world, model);
    }
    let behind = || tiers::controllers(scenario, &ask.spec, configuration.slo, seed);
    let mut tiers: Vec<Option<Controller>> = behind()?.into_iter().map(Some).collect();
    let (fronts, target) = (world.replicas as usize, scenario.target(configuration.slo));
    let site = |node| world.node.site(target, seed.wrapping_add((node as u64) << 32));
    let mut build = |node: usize| match node.checked_sub(fronts) {
        // The successor of one that was taken is built like it, which went well before.
        Some(index) => tiers[index].take().unwrap_or_else(|| {
            behind().expect("the same specs were built before").swap_remove(index)
        }),
        None => {
            let built = ask.spec.build(&site(node));
            built.expect("the same spec was built for every objective before")
        }
    };
    let length = ask.demand.length().as_secs_f64();
    let mut told = 0.0;
    let mut intended = stream.map(Intended::from).inspect(|intended| {
        let share = intended.at.as_nanos() as f64 / 1e9 / length;
        if share - told >= PROGRESS_STEP {
            (simulator.progress)(share - told);
            told = share;
        }
    });
    let (run, trace) = simulate_with(&world, &mut intended, &mut build)?;
    let run = Run { faults: faults(scenario), changes: changes(scenario), ..run };
    Ok(Played { run, points: trace.points, trouble: None })
}

/// As results have it.
fn stalls_of(kind: &StallKind) -> StallReading {
    let lengths_us = kind.lengths.iter().map(|length| length.nanos() as f64 / 1e3).collect();
    StallReading { per_second: kind.per_second, lengths_us }
}
