//! The order of an experiment: capacity, runs in blocks, capacity again, and the conclusion.

use crate::bound::{self, Bounds};
use crate::doubt::doubt;
use crate::drain::drain;
use crate::driver::{Driver, OpenRun, Piece, Played, Watch};
use crate::shard::Shard;
use crate::spoiled::Ended;
use crate::steps::{Steps, note_demand};
use crate::{capacity, costs, label, order, validity};
use tailwater_core::{Nanos, Rate};
use tailwater_stats::naming::RunName;
use tailwater_stats::result::{
    AskedRun, CapacityReading, Discard, Experiment, Run, RunVerdict, Yardstick,
};
use tailwater_stats::{Rules, discard, judge, summarise};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Configuration, ControllerSpec};

/// How many pieces the experiment has, or a shard of it, for a progress bar.
#[must_use]
pub fn pieces(scenario: &Scenario, shard: Shard, drifts: bool) -> u64 {
    let (configurations, repetitions) =
        (scenario.configurations(), u64::from(scenario.repetitions));
    let with = |clients: u32| {
        let pairs = pairs(scenario, &configurations, shard).into_iter();
        pairs.filter(|pair| configurations[pair.0].clients == clients).count() as u64
    };
    let of_count = |&clients: &u32| match (with(clients), drifts) {
        (0, _) => 0,
        (pairs, false) => pairs * repetitions + 1,
        (pairs, true) => {
            pairs * repetitions + repetitions * pairs.div_ceil(every(scenario) as u64) + 1
        }
    };
    scenario.clients.counts.iter().map(of_count).sum()
}

/// Configuration and controller of each pair that a shard holds, by their numbers.
fn pairs(
    scenario: &Scenario,
    configurations: &[Configuration],
    shard: Shard,
) -> Vec<(usize, usize)> {
    let controllers = 0..scenario.controllers.len();
    let of_one = |number| controllers.clone().map(move |controller| (number, controller));
    let all = (0..configurations.len()).flat_map(of_one).enumerate();
    all.filter(|(number, _)| shard.holds(*number)).map(|(_, pair)| pair).collect()
}

/// Whether a run tells of something that broke: that stands, however noisy the machine was.
const fn broke(played: &Played) -> bool {
    played.trouble.is_some() || played.run.answers.wrong > 0
}

/// Runs between two measurements of capacity, where it drifts.
fn every(scenario: &Scenario) -> usize {
    scenario.capacity.every.map_or(usize::MAX, |runs| runs as usize)
}

/// Every configuration, repetition and controller of a scenario that [`label::check`] has passed. Runs
/// stand in the file's order: objectives, clients, demands, controllers, repetitions.
///
/// # Errors
/// The driver's first failure, unless the watch stops by then, with what was run before it.
pub fn run<D: Driver>(
    scenario: &Scenario,
    driver: &mut D,
    watch: &mut dyn Watch,
) -> Result<Experiment, Unfinished<D::Failure>> {
    run_shard(scenario, Shard::WHOLE, driver, watch)
}

/// The same of a shard alone, on a driver that does not drift: capacity is measured in every shard. The result has no
/// mark of its shard yet.
///
/// # Errors
/// As [`run()`].
pub fn run_shard<D: Driver>(
    scenario: &Scenario,
    shard: Shard,
    driver: &mut D,
    watch: &mut dyn Watch,
) -> Result<Experiment, Unfinished<D::Failure>> {
    let mut conductor = Conductor::new(scenario, shard, driver, watch);
    for &clients in &scenario.clients.counts {
        let played = conductor.with_clients(clients);
        if conductor.watch.stops() {
            break;
        }
        if let Err(failure) = played {
            return Err(Unfinished { failure, made: Box::new(conductor.finish()) });
        }
    }
    Ok(conductor.finish())
}

/// An experiment that a driver's failure ended.
#[derive(Clone, Debug)]
pub struct Unfinished<F> {
    /// Why.
    pub failure: F,
    /// What was run before: sound as far as it goes, and perhaps nothing.
    pub made: Box<Experiment>,
}

/// One run's place in the result: configuration, controller, repetition.
type Place = (usize, usize, u32);

struct Conductor<'a, D> {
    scenario: &'a Scenario,
    driver: &'a mut D,
    watch: &'a mut dyn Watch,
    rules: Rules,
    configurations: Vec<Configuration>,
    /// Configuration and controller of what is run.
    pairs: Vec<(usize, usize)>,
    bounds: Bounds<'a>,
    steps: Steps,
    capacities: Vec<CapacityReading>,
    runs: Vec<(Place, Run)>,
    discarded: Vec<Discard>,
    /// Of `runs`.
    ended: Ended,
    /// That most of them do not count.
    is_told: bool,
    experiment: Experiment,
}

/// A run to be made.
struct Task<'a> {
    place: Place,
    configuration: &'a Configuration,
    controller: &'a ControllerSpec,
    measured: Measured,
}

/// The capacity that demand follows.
#[derive(Clone, Copy)]
struct Measured {
    /// As measured before the run: what is asked for is a share of it.
    before: Rate,
    /// What demands are called by: see [`label::demand_ratio`].
    first: Rate,
}

/// A run that was made, and why it is no quiet one.
struct Made {
    place: Place,
    played: Played,
    noise: Option<String>,
}

impl<'a, D: Driver> Conductor<'a, D> {
    fn new(
        scenario: &'a Scenario,
        shard: Shard,
        driver: &'a mut D,
        watch: &'a mut dyn Watch,
    ) -> Self {
        let configurations = scenario.configurations();
        let rules = validity::rules(scenario);
        let experiment = Experiment {
            rules: (rules != Rules::default()).then(|| rules.clone()),
            scenario: scenario.name.clone(),
            title: if scenario.title == scenario.name {
                String::new()
            } else {
                scenario.title.clone()
            },
            driver: driver.name().into(),
            arrivals: label::arrivals(&scenario.demand),
            service: label::service(&scenario.server),
            seed: scenario.seed,
            slo_us: scenario.slo.first().map_or(0.0, |slo| slo.nanos() as f64 / 1e3),
            manifest: driver.manifest(),
            ..Experiment::default()
        };
        Self {
            scenario,
            driver,
            watch,
            rules,
            pairs: pairs(scenario, &configurations, shard),
            configurations,
            bounds: Bounds::new(scenario),
            steps: Steps::default(),
            capacities: Vec::new(),
            runs: Vec::new(),
            discarded: Vec::new(),
            ended: Ended::default(),
            is_told: false,
            experiment,
        }
    }

    /// Block by block: a repetition of every configuration and controller, or as many runs of it as the
    /// scenario says, between two measurements of capacity.
    fn with_clients(&mut self, clients: u32) -> Result<(), D::Failure> {
        if !self.pairs.iter().any(|pair| self.configurations[pair.0].clients == clients) {
            return Ok(());
        }
        let first = self.capacity(clients, 0)?;
        if self.watch.stops() {
            return Ok(());
        }
        let mut before = first;
        let drifts = self.driver.drifts();
        // Where nothing drifts no run has to be held until the next measurement.
        let size = if drifts { every(self.scenario) } else { 2 * self.driver.at_a_time() };
        for places in self.between_measurements(clients) {
            let mut rest = &*places;
            while let Some(&(_, _, repetition)) = rest.first() {
                let (block, later) = rest.split_at(rest.len().min(size));
                rest = later;
                let mut made = Vec::new();
                let result = self.block(block, Measured { before, first }, &mut made);
                let after = if result.is_ok() && drifts && !self.watch.stops() {
                    self.capacity(clients, repetition + u32::from(rest.is_empty()))
                } else {
                    Ok(before)
                };
                let around = (before, *after.as_ref().unwrap_or(&before));
                made.into_iter().for_each(|made| self.keep(made, around, first));
                result?;
                before = after?;
                self.warn(&[], rest.is_empty());
                if self.watch.stops() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The runs in their order: repetition by repetition where capacity is measured in between, else all.
    fn between_measurements(&self, clients: u32) -> Vec<Vec<Place>> {
        let repetitions = 0..self.scenario.repetitions;
        let each = repetitions.map(|repetition| self.repetition(clients, repetition));
        if self.driver.drifts() { each.collect() } else { vec![each.flatten().collect()] }
    }

    /// Plays runs, as many at a time as the driver can, until the watch stops or one fails.
    fn block(
        &mut self,
        block: &[Place],
        measured: Measured,
        made: &mut Vec<Made>,
    ) -> Result<(), D::Failure> {
        let (scenario, configurations) = (self.scenario, self.configurations.clone());
        let task = |&place: &Place| Task {
            place,
            configuration: &configurations[place.0],
            controller: &scenario.controllers[place.1],
            measured,
        };
        let tasks: Vec<Task<'_>> = block.iter().map(task).collect();
        // One that may fail of noise is tried again before the next begins.
        let at_once = if self.driver.drifts() { 1 } else { tasks.len().max(1) };
        for tasks in tasks.chunks(at_once) {
            self.tasks(tasks, made)?;
            if self.watch.stops() {
                break;
            }
        }
        Ok(())
    }

    /// Plays runs at once.
    fn tasks(&mut self, tasks: &[Task<'_>], made: &mut Vec<Made>) -> Result<(), D::Failure> {
        let titles: Vec<String> = tasks.iter().map(|task| self.title(task)).collect();
        match &titles[..] {
            [one] => self.watch.begins(one),
            all => self.watch.begins(&format!("{} runs, from {} on", all.len(), all[0])),
        }
        let asks: Vec<OpenRun<'_>> = tasks.iter().map(|task| self.ask(task)).collect();
        let played = self.driver.open_runs(&asks)?;
        for ((task, title), played) in tasks.iter().zip(&titles).zip(played) {
            made.push(self.quiet(task, title, played)?);
            self.watch.done(Piece::Run);
            self.warn(made, false);
        }
        Ok(())
    }

    /// Tells once that most runs so far do not count, while others are left. Those in `made` have not been quoted yet, and
    /// count as steady.
    fn warn(&mut self, made: &[Made], is_round_over: bool) {
        if self.is_told || self.watch.stops() {
            return;
        }
        let mut ended = self.ended.clone();
        for Made { played: Played { run, trouble, .. }, .. } in made {
            ended.add(run, &self.rules, trouble.as_deref());
        }
        let all = self.pairs.len() as u64 * u64::from(self.scenario.repetitions);
        let spoiled = ended.spoiled(is_round_over).filter(|spoiled| spoiled.ended < all);
        if let Some(spoiled) = spoiled {
            self.is_told = true;
            self.watch.spoiled(&spoiled);
        }
    }

    /// Configuration and controller of each run, by their numbers.
    fn repetition(&self, clients: u32, repetition: u32) -> Vec<Place> {
        let with_them = self.pairs.iter().copied();
        let mut block: Vec<_> =
            with_them.filter(|pair| self.configurations[pair.0].clients == clients).collect();
        let seed = self.scenario.seed_of_repetition(repetition & !1);
        order::of_block(&mut block, repetition, self.driver.drifts(), seed);
        let place = |(configuration, controller)| (configuration, controller, repetition);
        block.into_iter().map(place).collect()
    }

    fn capacity(&mut self, clients: u32, repetition: u32) -> Result<Rate, D::Failure> {
        self.watch.begins(&format!("capacity with {clients} clients"));
        let found = match self.scenario.capacity.fixed {
            Some(fixed) => fixed,
            None => {
                let points =
                    self.driver.closed_loop(&capacity::of_scenario(self.scenario, clients))?;
                let plateau_rps = capacity::plateau(&points);
                let reading = CapacityReading { clients, repetition, points, plateau_rps };
                self.capacities.push(reading);
                Rate(plateau_rps)
            }
        };
        self.watch.done(Piece::Capacity);
        Ok(found)
    }

    /// Tries until a run is quiet; `played` is the first try. One with trouble or wrong answers stands: noise may
    /// come of what broke, and a second try would hide it.
    fn quiet(
        &mut self,
        task: &Task<'_>,
        title: &str,
        mut played: Played,
    ) -> Result<Made, D::Failure> {
        let mut attempt = 1;
        let noise = loop {
            match discard(&played.run, &self.rules) {
                Some(why) if attempt < self.scenario.tries && !broke(&played) => {
                    self.discarded.push(Discard { what: title.to_owned(), why });
                }
                noise => break noise,
            }
            attempt += 1;
            let ask = self.ask(task);
            played = self.driver.open_run(&ask)?;
        };
        self.name(task, &mut played.run);
        Ok(Made { place: task.place, played, noise })
    }

    /// What the run is called, as results call it.
    fn title(&self, task: &Task<'_>) -> String {
        let Task { configuration, controller, measured, place } = *task;
        let name = RunName {
            controller: &controller.name,
            profile: &label::profile_among(controller, configuration, &self.scenario.demand),
            demand_ratio: label::demand_ratio(configuration, measured.first),
            clients: configuration.clients,
            slo_us: configuration.slo.nanos() as f64 / 1e3,
            repetition: place.2,
        };
        name.to_string()
    }

    fn ask<'t>(&self, task: &Task<'t>) -> OpenRun<'t> {
        let Task { configuration, controller, measured, .. } = *task;
        OpenRun {
            configuration,
            controller,
            spec: label::spec(controller),
            demand: configuration.demand_plan(measured.before),
            drain: drain(configuration.slo),
            enforces_deadlines: self.scenario.server.enforces_deadlines(controller),
            seed: self.scenario.seed_of_repetition(task.place.2),
        }
    }

    /// What the driver leaves open: how results call the run and its demand.
    fn name(&self, task: &Task<'_>, run: &mut Run) {
        let Task { configuration, controller, measured, .. } = *task;
        run.asked = AskedRun {
            controller: controller.name.clone(),
            profile: label::profile_among(controller, configuration, &self.scenario.demand),
            arrivals: configuration.arrivals.to_string(),
            deadlines_enforced: self.scenario.server.enforces_deadlines(controller),
            repetition: task.place.2,
            demand_ratio: label::demand_ratio(configuration, measured.first),
            // As the driver played it.
            clients: run.asked.clients,
            slo_us: run.asked.slo_us,
        };
        run.rates.asked_rps = configuration.mean_demand(measured.before).0;
        self.name_classes(run);
    }

    /// Drivers count classes by number.
    fn name_classes(&self, run: &mut Run) {
        let modes = self.scenario.server.service.modes();
        for (class, mode) in run.classes.iter_mut().zip(modes) {
            mode.name.clone_into(&mut class.class);
        }
    }

    /// Quotes a run against the mean of the capacities around it, judges it and keeps it.
    fn keep(&mut self, made: Made, around: (Rate, Rate), first_capacity: Rate) {
        let Made { place, played: Played { mut run, points, trouble }, noise } = made;
        let configuration = &self.configurations[place.0];
        let (before, after) = around;
        let capacity = Rate(f64::midpoint(before.0, after.0));
        let cost = self.driver.cost(&self.scenario.controllers[place.1], capacity);
        let drift = (after.0 - before.0).abs();
        run.yardstick = Yardstick {
            capacity_rps: capacity.0,
            capacity_drift: if capacity.0 > 0.0 { drift / capacity.0 } else { 0.0 },
            bound_rps: self.bounds.of(configuration, before, cost).0,
            bound_error: bound::error(self.scenario, cost, run.fates.ok + run.fates.late),
        };
        let known = self.bounds.of_known_costs(configuration, before, cost);
        run.known_bound_rps = known.map_or(0.0, |known| known.0);
        run.rates = run.rates.quoted(&run.yardstick);
        self.ended.add(&run, &self.rules, trouble.as_deref());
        let broken = judge(&run, &self.rules);
        run.verdict = RunVerdict::of(broken.into_iter().chain(noise).chain(trouble));
        run.verdict.in_doubt = doubt(&run, self.scenario, configuration, around);
        if let Some(series) = &mut run.series {
            note_demand(series, configuration, first_capacity);
        }
        if run.verdict.valid {
            self.steps.add(configuration, first_capacity, &run.asked, &points);
        }
        self.runs.push((place, run));
    }

    fn finish(mut self) -> Experiment {
        self.runs.sort_by_key(|(place, _)| *place);
        let runs: Vec<Run> = self.runs.into_iter().map(|(_, run)| run).collect();
        let clients = self.capacities.first().map_or(0, |reading| reading.clients);
        let (measured, drift) = capacity::conclude(&self.capacities, clients);
        Experiment {
            capacity_rps: self.scenario.capacity.fixed.map_or(measured, |fixed| fixed.0),
            capacity_drift: drift,
            summary: summarise(&runs),
            costs: costs::of(&runs),
            recoveries: self.steps.finish(),
            capacities: self.capacities,
            discarded: self.discarded,
            runs,
            ..self.experiment
        }
    }
}
