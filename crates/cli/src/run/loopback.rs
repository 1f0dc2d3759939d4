//! The orchestrator: starts servers and load in processes of their own, and sleeps.

use super::check;
use super::costs;
use super::interrupt::Interrupt;
use super::machine::manifest;
use super::process::{ServerProcess, perform};
use super::progress::Progress;
use super::steps::{Steps, note_demand};
use crate::failure::Failure;
use crate::job::{Asks, Job, Kind, OpenJob, OpenOutcome, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::{Nanos, Rate, Rng};
use tailwater_load::work::Spinner;
use tailwater_stats::result::{CapacityReading, Discard, Experiment, Run, Spread};
use tailwater_stats::{BoundSpec, Knowledge, Rules, bound, discard, judge, summarise};
use tailwater_workload::scenario::{
    Configuration, ControllerSpec, Placement, Reception, Transport,
};
use tailwater_workload::{Arrivals, Scenario, Ways, duration::format_duration};

/// A run that noise set aside is tried so often; the last try stands, as invalid if it must.
const TRIES: u32 = 3;
/// How long unanswered requests are waited for: without control a queue of seconds is left.
const DRAIN: Duration = Duration::from_secs(5);
/// Arrivals that the bound is computed from.
const BOUND_REQUESTS: u32 = 200_000;

/// Everything, or what was done when a signal came.
pub(super) fn run(scenario: &Scenario, interrupt: &Interrupt) -> Result<Experiment, Failure> {
    let mut orchestrator = Orchestrator::new(scenario, interrupt);
    for &clients in &scenario.clients.counts {
        match orchestrator.with_clients(clients) {
            // Whatever failed: Ctrl-C goes to the servers and to the generator, too.
            Err(_) if interrupt.signal().is_some() => break,
            result => result?,
        }
    }
    Ok(orchestrator.finish())
}

struct Orchestrator<'a> {
    scenario: &'a Scenario,
    interrupt: &'a Interrupt,
    rules: Rules,
    progress: Progress,
    experiment: Experiment,
    steps: Steps,
    bounds: BTreeMap<(u64, u64, u64), f64>,
    calibration: f64,
    sockets: u32,
}

impl<'a> Orchestrator<'a> {
    fn new(scenario: &'a Scenario, interrupt: &'a Interrupt) -> Self {
        let blocks = scenario.clients.counts.len() as u64 * u64::from(scenario.repetitions + 1);
        Self {
            scenario,
            interrupt,
            rules: Rules::default(),
            progress: Progress::new(scenario.runs() + blocks),
            experiment: Experiment {
                scenario: scenario.name.clone(),
                driver: "loopback".into(),
                seed: scenario.seed,
                slo_us: micros(scenario.slo[0]),
                manifest: manifest(),
                ..Experiment::default()
            },
            steps: Steps::default(),
            bounds: BTreeMap::new(),
            calibration: Spinner::calibrate().speed(),
            sockets: 0,
        }
    }

    /// Runs everything with so many clients, and sorts what was run, also where that was cut short.
    fn with_clients(&mut self, clients: u32) -> Result<(), Failure> {
        let first = self.experiment.runs.len();
        let result = self.repetitions(clients);
        let rank = |run: &Run| {
            self.scenario.controllers.iter().position(|controller| {
                controller.name == run.controller && check::profile(controller) == run.profile
            })
        };
        self.experiment.runs[first..].sort_by(|a, b| {
            b.slo_us
                .total_cmp(&a.slo_us)
                .then(a.demand_ratio.total_cmp(&b.demand_ratio))
                .then(rank(a).cmp(&rank(b)))
                .then(a.repetition.cmp(&b.repetition))
        });
        result
    }

    /// Repetition by repetition: capacity, then every objective, demand and controller in an order
    /// drawn anew for every other repetition; capacity once more at the end.
    fn repetitions(&mut self, clients: u32) -> Result<(), Failure> {
        let configurations: Vec<Configuration> = self
            .scenario
            .configurations()
            .into_iter()
            .filter(|configuration| configuration.clients == clients)
            .collect();
        let mut capacity = self.measure_capacity(clients, 0)?;
        for repetition in 0..self.scenario.repetitions {
            let block = self.experiment.runs.len();
            let mut order: Vec<(&Configuration, &ControllerSpec)> = configurations
                .iter()
                .flat_map(|configuration| {
                    self.scenario.controllers.iter().map(move |spec| (configuration, spec))
                })
                .collect();
            // Pairs of repetitions run forth and back (ABBA), so that drift cancels.
            shuffle(&mut order, self.scenario.seed_of_repetition(repetition & !1));
            if repetition % 2 == 1 {
                order.reverse();
            }
            for (configuration, controller) in order {
                self.one(configuration, controller, repetition, capacity)?;
            }
            let after = self.measure_capacity(clients, repetition + 1)?;
            let around = f64::midpoint(capacity, after);
            for run in &mut self.experiment.runs[block..] {
                quote(run, around);
            }
            capacity = after;
        }
        Ok(())
    }

    fn measure_capacity(&mut self, clients: u32, repetition: u32) -> Result<f64, Failure> {
        self.progress.say(&format!("capacity with {clients} clients"));
        if let Some(fixed) = self.scenario.capacity.fixed {
            self.progress.step();
            return Ok(fixed.0);
        }
        let spec = Spec::named("none");
        let server = self.start_server(&spec, self.scenario.slo[0], &["--locks", "plain"])?;
        let kind = Kind::Closed {
            in_flight: self.scenario.capacity.sweep(clients),
            measure_ns: self.scenario.capacity.duration.nanos(),
        };
        let seed = self.scenario.seed_of_repetition(repetition);
        let job = self.job(&server, spec, self.scenario.slo[0], clients, seed, kind);
        let Outcome::Closed { points, plateau_rps } = perform(&job, self.interrupt)? else {
            return Err(Failure::work("the load generator measured no capacity"));
        };
        self.progress.step();
        self.experiment.capacities.push(CapacityReading {
            clients,
            repetition,
            points,
            plateau_rps,
        });
        Ok(plateau_rps)
    }

    fn one(
        &mut self,
        configuration: &Configuration,
        controller: &ControllerSpec,
        repetition: u32,
        capacity: f64,
    ) -> Result<(), Failure> {
        let ratio = configuration.demand_ratio(Rate(capacity)).0;
        let what = format!(
            "{} at {ratio:.2} ×, {} clients, SLO {}, repetition {repetition}",
            controller.title(),
            configuration.clients,
            format_duration(configuration.slo),
        );
        self.progress.say(&what);
        for attempt in 1..=TRIES {
            let outcome = self.attempt(configuration, controller, repetition, capacity)?;
            let noise = discard(&outcome.run.noise, &self.rules);
            if noise.is_none() || attempt == TRIES {
                self.keep(configuration, outcome, noise);
                break;
            }
            let (what, why) = (what.clone(), noise.unwrap_or_default());
            self.experiment.discarded.push(Discard { what, why });
        }
        self.progress.step();
        Ok(())
    }

    fn attempt(
        &mut self,
        configuration: &Configuration,
        controller: &ControllerSpec,
        repetition: u32,
        capacity: f64,
    ) -> Result<OpenOutcome, Failure> {
        let spec = check::spec(controller);
        let locks = controller.locks.map(|policy| policy.to_string());
        let enforced = self.scenario.server.enforces_deadlines(controller);
        let mut rules: Vec<&str> = locks.iter().flat_map(|policy| ["--locks", policy]).collect();
        rules.extend((!enforced).then_some("--serve-late"));
        let server = self.start_server(&spec, configuration.slo, &rules)?;
        let plan = configuration.demand_plan(Rate(capacity));
        let kind = Kind::Open(OpenJob {
            steps: plan.steps.iter().map(|step| (step.rate.0, step.length.nanos())).collect(),
            periodic: configuration.arrivals == Arrivals::Periodic,
            warm_up_ns: configuration.warm_up.nanos(),
            measure_ns: configuration.duration.nanos(),
            drain_ns: DRAIN.nanos(),
            bin_ns: configuration.bin().map(Nanos::nanos),
        });
        let seed = self.scenario.seed_of_repetition(repetition);
        let job = self.job(&server, spec, configuration.slo, configuration.clients, seed, kind);
        let Outcome::Open(mut outcome) = perform(&job, self.interrupt)? else {
            return Err(Failure::work("the load generator ran no open loop"));
        };
        let run = &mut outcome.run;
        run.controller.clone_from(&controller.name);
        run.profile = check::profile(controller);
        run.deadlines_enforced = enforced;
        run.repetition = repetition;
        run.demand_ratio = rounded(configuration.demand_ratio(Rate(capacity)).0);
        run.asked_rps = configuration.demand_ratio(Rate(capacity)).0 * capacity;
        run.bound_rps = self.bound(configuration, capacity);
        quote(run, capacity);
        Ok(*outcome)
    }

    fn keep(
        &mut self,
        configuration: &Configuration,
        mut outcome: OpenOutcome,
        noise: Option<String>,
    ) {
        let run = &mut outcome.run;
        run.invalid_because = judge(run, &self.rules);
        run.invalid_because.extend(noise);
        run.audit = outcome.audit;
        run.valid = run.invalid_because.is_empty();
        if let Some(series) = &mut run.series {
            note_demand(series, configuration, Rate(run.capacity_rps));
        }
        if run.valid {
            self.steps.add(configuration, run, &outcome.points);
        }
        self.experiment.runs.push(outcome.run);
    }

    fn start_server(
        &mut self,
        spec: &Spec,
        slo: Duration,
        rules: &[&str],
    ) -> Result<ServerProcess, Failure> {
        self.sockets += 1;
        let mut flags = flags(self.scenario, spec, slo, self.calibration, self.sockets);
        flags.extend(rules.iter().map(|&rule| rule.to_owned()));
        ServerProcess::start(&flags, &self.scenario.text, self.interrupt)
    }

    fn job(
        &self,
        server: &ServerProcess,
        controller: Spec,
        slo: Duration,
        clients: u32,
        seed: u64,
        kind: Kind,
    ) -> Job {
        let wanted = &self.scenario.server;
        Job {
            address: server.address.clone(),
            clients,
            threads: self.scenario.clients.threads,
            cores: self.scenario.clients.cores.iter().map(|&core| core as usize).collect(),
            controller,
            slo_ns: slo.nanos(),
            seed,
            asks: Asks::Scenario(self.scenario.file.clone(), self.scenario.text.clone()),
            server_pid: server.pid(),
            server_spins: wanted.reception != Reception::Block,
            kind,
        }
    }

    /// Computed once for each objective, demand and capacity.
    fn bound(&mut self, configuration: &Configuration, capacity: f64) -> f64 {
        let demand = configuration.demand_ratio(Rate(capacity)).0 * capacity;
        let key = (configuration.slo.nanos(), demand as u64, capacity as u64);
        let scenario = self.scenario;
        *self
            .bounds
            .entry(key)
            .or_insert_with(|| bound_rps(scenario, configuration.slo, demand, capacity))
    }

    fn finish(mut self) -> Experiment {
        let first = self.scenario.clients.counts[0];
        let readings: Vec<f64> = self
            .experiment
            .capacities
            .iter()
            .filter(|reading| reading.clients == first)
            .map(|reading| reading.plateau_rps)
            .collect();
        let spread = Spread::of(&readings);
        self.experiment.capacity_rps = match self.scenario.capacity.fixed {
            Some(fixed) => fixed.0,
            None => spread.median,
        };
        self.experiment.capacity_drift =
            if spread.median > 0.0 { (spread.max - spread.min) / spread.median } else { 0.0 };
        self.experiment.summary = summarise(&self.experiment.runs);
        self.experiment.costs = costs::of(&self.experiment.runs);
        self.experiment.recoveries = self.steps.finish();
        self.experiment
    }
}

/// The bound for a server whose mean cost per request is what the capacity says: the handler's time
/// as drawn, and a constant for everything else.
pub(super) fn bound_rps(scenario: &Scenario, slo: Duration, demand: f64, capacity: f64) -> f64 {
    if !scenario.server.paths.is_empty() {
        return bound_of_paths(scenario, demand);
    }
    let service = scenario.server.service;
    let cores = scenario.server.loops;
    let mean_ns = service.mean.nanos() as f64;
    let overhead_ns = (1e9 * f64::from(cores) / capacity - mean_ns).max(0.0);
    let mut rng = Rng::from_seed(scenario.seed).split("bound service");
    bound(BoundSpec {
        service: &mut || f64::from(service.draw_ns(&mut rng)) + overhead_ns,
        knows: Knowledge::Backlog,
        cores,
        demand: Rate(demand),
        slo,
        base: Duration::ZERO,
        requests: BOUND_REQUESTS,
        seed: scenario.seed,
    })
    .0
}

/// Capacity says nothing of the cores where a lock limits it, so what a request costs beside its path is
/// left out: the bound may be high.
fn bound_of_paths(scenario: &Scenario, demand: f64) -> f64 {
    Ways::new(&scenario.server.paths).bound(scenario.server.loops, 0.0, Rate(demand)).0
}

/// Quotes a run against a capacity.
fn quote(run: &mut Run, capacity: f64) {
    run.capacity_rps = capacity;
    run.goodput_of_capacity = if capacity > 0.0 { run.goodput_rps / capacity } else { 0.0 };
    run.goodput_of_bound = if run.bound_rps > 0.0 { run.goodput_rps / run.bound_rps } else { 0.0 };
}

fn flags(
    scenario: &Scenario,
    spec: &Spec,
    slo: Duration,
    calibration: f64,
    number: u32,
) -> Vec<String> {
    let server = &scenario.server;
    let listen = match server.transport {
        Transport::Tcp => "127.0.0.1:0".into(),
        Transport::Unix => {
            let name = format!("tailwater-{}-{number}.sock", std::process::id());
            format!("unix:{}", std::env::temp_dir().join(name).display())
        }
    };
    let reception = match server.reception {
        Reception::Block => "block".into(),
        Reception::Spin(budget) => format!("spin:{}us", budget.as_micros()),
        Reception::Poll => "poll".into(),
    };
    let placement = match server.placement {
        Placement::Inline => "inline".into(),
        Placement::Workers(count) => format!("workers:{count}"),
    };
    let mut flags: Vec<String> = [
        ("--listen", listen),
        ("--controller", spec.name.clone()),
        ("--profile", spec.profile.clone()),
        ("--slo", format_duration(slo)),
        ("--loops", server.loops.to_string()),
        ("--reception", reception),
        ("--placement", placement),
        ("--calibration", calibration.to_string()),
        ("--scenario", "-".into()),
    ]
    .into_iter()
    .flat_map(|(flag, value)| [flag.to_owned(), value])
    .collect();
    for (key, value) in &spec.overrides {
        flags.extend(["--set".into(), format!("{key}={value}")]);
    }
    for core in &server.cores {
        flags.extend(["--core".into(), core.to_string()]);
    }
    flags
}

/// Fisher–Yates.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut rng = Rng::from_seed(seed).split("order");
    for last in (1..items.len()).rev() {
        let other = rng.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
        items.swap(last, other);
    }
}

fn micros(duration: Duration) -> f64 {
    duration.nanos() as f64 / 1e3
}

/// Ratios are computed from a measured capacity; groups of runs need equal ones.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}
