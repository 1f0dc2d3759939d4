//! A scenario in simulation: the same result as from real runs, decided by the seed alone.

use crate::bench::Bench;
use crate::simulate::{Broken, simulate, simulate_with};
use crate::tiers;
use crate::trace::Trace;
use crate::world::{Intended, Link, Load, World};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec, SpecError};
use tailwater_core::{Instant, Nanos, Rate};
use tailwater_stats::result::{CapacityReading, Experiment, Manifest, Run, StallReading};
use tailwater_stats::{Rules, judge, summarise};
use tailwater_workload::scenario::{Configuration, ControllerSpec, Fault, StallKind};
use tailwater_workload::schedule::Entry;
use tailwater_workload::{Scenario, ScenarioError, Schedule, ScheduleError, Stream};

/// Why a scenario could not be simulated.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The scenario names a controller or setting that the catalog does not know; its author acts.
    Scenario(ScenarioError),
    /// It asks for requests that cannot be scheduled; its author acts.
    Schedule(ScheduleError),
    /// A check failed; we must act.
    Broken(Broken),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Schedule(error) => error.fmt(f),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// Runs every configuration, repetition and controller of `scenario` in virtual time. `progress`
/// hears how many of how many runs are done, and may break off: what was run until then is the result.
///
/// Capacity is measured once for each number of clients, in a closed loop without control: in
/// simulation a second measurement could only differ by its seed.
///
/// # Errors
/// See [`Failure`]; nothing has been written anywhere then.
pub fn run(
    scenario: &Scenario,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Experiment, Failure> {
    let rigs = scenario
        .controllers
        .iter()
        .map(|said| Rig::check(scenario, said))
        .collect::<Result<Vec<_>, _>>()?;
    let mut bench = Bench::new(scenario);
    let mut runs = Vec::new();
    'all: for configuration in scenario.configurations() {
        let capacity = bench.capacity(configuration.clients)?;
        let bound = bench.bound(&configuration, capacity);
        for repetition in 0..scenario.repetitions {
            for rig in &rigs {
                let mut run = run_once(scenario, &configuration, rig, repetition, capacity)?;
                finish(&mut run, bound);
                runs.push(run);
                if progress(runs.len() as u64, scenario.runs()).is_break() {
                    break 'all;
                }
            }
        }
    }
    Ok(experiment(scenario, bench.capacities, runs))
}

/// Requests per second that the scenario's server does for so many clients in a closed loop without
/// control; what the scenario takes for granted, where it does.
///
/// # Errors
/// See [`Failure`].
pub fn capacity(scenario: &Scenario, clients: u32) -> Result<Rate, Failure> {
    Bench::new(scenario).capacity(clients)
}

/// The world that a scenario describes for one of its configurations.
#[must_use]
pub fn world_of(scenario: &Scenario, configuration: &Configuration, seed: u64) -> World {
    let sim = &scenario.sim;
    World {
        node: tiers::front(scenario, configuration.slo),
        replicas: scenario.server.replicas,
        retry: tiers::retry(scenario),
        tiers: tiers::tiers(scenario, configuration.slo),
        link: Link { delay: sim.rtt / 2, jitter: sim.jitter },
        clients: configuration.clients,
        slo: configuration.slo,
        warm_up: configuration.warm_up,
        measure: configuration.duration,
        drain: (10 * configuration.slo).max(Duration::from_millis(20)),
        bin: configuration.bin(),
        sample: None,
        faults: scenario
            .faults
            .iter()
            .map(|fault| Fault { at: configuration.warm_up + fault.at, ..*fault })
            .collect(),
        starved_max: Some(Duration::from_secs(1)),
        client_queue_max: u32::MAX,
        seed,
        repeat: format!("tailwater run {} --on sim --seed {}", scenario.file, scenario.seed),
    }
}

/// A controller of the scenario, known to the catalog.
struct Rig {
    spec: Spec,
    /// As the scenario has it.
    said: ControllerSpec,
    /// How reports call the variant.
    profile: String,
}

impl Rig {
    fn check(scenario: &Scenario, said: &ControllerSpec) -> Result<Self, Failure> {
        let spec = tiers::spec_of(said);
        let departures = said.departures();
        let profile = match (&said.label, departures.is_empty()) {
            (Some(label), _) => label.clone(),
            (None, true) => said.profile.clone(),
            (None, false) => format!("{} ({})", said.profile, departures.join(", ")),
        };
        let place = |error: SpecError| {
            let place = said.place_of(&error.culprit);
            Failure::Scenario(scenario.error_at(place, error.message))
        };
        for &slo in &scenario.slo {
            spec.build(&tiers::front(scenario, slo).site(scenario.target(slo), 0))
                .map_err(place)?;
            tiers::controllers(scenario, &spec, slo, 0)?;
        }
        Ok(Self { spec, said: said.clone(), profile })
    }

    fn world(&self, scenario: &Scenario, configuration: &Configuration, seed: u64) -> World {
        let world = world_of(scenario, configuration, seed);
        let world = tiers::with_deadlines(world, scenario, &self.said);
        match self.said.locks {
            Some(policy) => tiers::with_locks(world, policy),
            None => world,
        }
    }

    fn build(&self, site: &Site) -> Controller {
        self.spec.build(site).expect("the same spec was built for every objective before")
    }
}

fn run_once(
    scenario: &Scenario,
    configuration: &Configuration,
    rig: &Rig,
    repetition: u32,
    capacity: Rate,
) -> Result<Run, Failure> {
    let seed = scenario.seed_of_repetition(repetition);
    let plan = configuration.demand_plan(capacity);
    let service = &scenario.server.service;
    let stream =
        Stream::new(&plan, configuration.clients, service, seed).map_err(Failure::Schedule)?;
    let world = rig.world(scenario, configuration, seed);
    let behind = || tiers::controllers(scenario, &rig.spec, configuration.slo, seed);
    let mut tiers: Vec<Option<Controller>> = behind()?.into_iter().map(Some).collect();
    let (fronts, target) = (world.replicas as usize, scenario.target(configuration.slo));
    let mut build = |node: usize| match node.checked_sub(fronts) {
        // The successor of one that was taken is built like it, which went well before.
        Some(index) => tiers[index].take().unwrap_or_else(|| {
            behind().expect("the same specs were built before").swap_remove(index)
        }),
        None => rig.build(&world.node.site(target, seed.wrapping_add((node as u64) << 32))),
    };
    let mut intended = stream.map(intended_of);
    let (mut run, _) = simulate_with(&world, Load::Open(&mut intended), &mut build)?;
    run.controller.clone_from(&rig.spec.name);
    run.profile.clone_from(&rig.profile);
    run.deadlines_enforced = world.node.enforce_deadlines;
    run.repetition = repetition;
    run.demand_ratio = configuration.demand_ratio(capacity).0;
    run.capacity_rps = capacity.0;
    run.asked_rps = run.demand_ratio * capacity.0;
    if let Some(series) = &mut run.series {
        let bin = Duration::from_secs_f64(series.bin_us / 1e6);
        for (index, ratio) in (0_u32..).zip(&mut series.demand_ratio) {
            let asked = plan.rate_at(configuration.warm_up + bin * index);
            *ratio = asked.0 / capacity.0;
        }
    }
    Ok(run)
}

/// [`simulate`] for a precomputed schedule.
///
/// # Errors
/// [`Failure::Broken`] when a check fails.
pub fn simulate_schedule(
    world: &World,
    schedule: &Schedule,
    controller: &Controller,
) -> Result<(Run, Trace), Failure> {
    let mut intended = schedule.entries.iter().copied().map(intended_of);
    simulate(world, Load::Open(&mut intended), controller).map_err(Failure::Broken)
}

/// An entry of a schedule, as the clients take it.
#[must_use]
pub fn intended_of(entry: Entry) -> Intended {
    Intended {
        at: Instant::from_nanos(entry.at),
        client: entry.client,
        service: Duration::from_nanos(u64::from(entry.service_ns)),
    }
}

/// Quotes the run against capacity and bound and judges it.
fn finish(run: &mut Run, bound: Rate) {
    let share = |whole: f64| {
        if whole > 0.0 { run.goodput_rps / whole } else { 0.0 }
    };
    run.goodput_of_capacity = share(run.capacity_rps);
    run.goodput_of_bound = share(bound.0);
    run.bound_rps = bound.0;
    run.invalid_because = judge(run, &Rules::default());
    run.valid = run.invalid_because.is_empty();
}

fn experiment(scenario: &Scenario, capacities: Vec<CapacityReading>, runs: Vec<Run>) -> Experiment {
    Experiment {
        scenario: scenario.name.clone(),
        driver: "sim".into(),
        seed: scenario.seed,
        capacity_rps: runs.first().map_or(0.0, |run| run.capacity_rps),
        slo_us: scenario.slo.first().map_or(0.0, |slo| slo.nanos() as f64 / 1e3),
        summary: summarise(&runs),
        runs,
        capacities,
        manifest: Manifest {
            tailwater: env!("CARGO_PKG_VERSION").into(),
            stalls: scenario.sim.stalls.kinds().iter().map(stalls_of).collect(),
            ..Manifest::default()
        },
        ..Experiment::default()
    }
}

/// As results have it.
fn stalls_of(kind: &StallKind) -> StallReading {
    let lengths_us = kind.lengths.iter().map(|length| length.nanos() as f64 / 1e3).collect();
    StallReading { per_second: kind.per_second, lengths_us }
}
