//! The order of an experiment: capacity, runs in blocks, capacity again, and the conclusion.

use crate::bound::Bounds;
use crate::driver::{Driver, OpenRun, Piece, Played, Watch};
use crate::steps::{Steps, note_demand};
use crate::{capacity, costs, label, order, validity};
use tailwater_core::duration::format_duration;
use tailwater_core::{Nanos, Rate};
use tailwater_stats::result::{CapacityReading, Discard, Experiment, Run};
use tailwater_stats::{Rules, discard, judge, summarise};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Configuration, ControllerSpec};

/// A run that noise set aside is tried so often; the last try stands, as invalid if it must.
const TRIES: u32 = 3;

/// How many pieces the experiment has, for a progress bar.
#[must_use]
pub fn pieces(scenario: &Scenario, drifts: bool) -> u64 {
    let blocks = if drifts { u64::from(scenario.repetitions) + 1 } else { 1 };
    scenario.runs() + scenario.clients.counts.len() as u64 * blocks
}

/// Every configuration, repetition and controller of a scenario that [`label::check`] has passed. Runs
/// stand in the file's order: objectives, clients, demands, controllers, repetitions.
///
/// # Errors
/// The driver's first failure, unless the watch stops by then: what was run until then is the result.
pub fn run<D: Driver>(
    scenario: &Scenario,
    driver: &mut D,
    watch: &mut dyn Watch,
) -> Result<Experiment, D::Failure> {
    let mut conductor = Conductor::new(scenario, driver, watch);
    for &clients in &scenario.clients.counts {
        match conductor.with_clients(clients) {
            Ok(()) if conductor.watch.stops() => break,
            Err(_) if conductor.watch.stops() => break,
            result => result?,
        }
    }
    Ok(conductor.finish())
}

/// One run's place in the result: configuration, controller, repetition.
type Place = (usize, usize, u32);

struct Conductor<'a, D> {
    scenario: &'a Scenario,
    driver: &'a mut D,
    watch: &'a mut dyn Watch,
    rules: Rules,
    configurations: Vec<Configuration>,
    bounds: Bounds<'a>,
    steps: Steps,
    capacities: Vec<CapacityReading>,
    runs: Vec<(Place, Run)>,
    discarded: Vec<Discard>,
    experiment: Experiment,
}

/// A run to be made, and what it is quoted against.
struct Task<'a> {
    place: Place,
    configuration: &'a Configuration,
    controller: &'a ControllerSpec,
    capacity: Rate,
    /// What demands are called by: see [`label::demand_ratio`].
    first_capacity: Rate,
}

impl<'a, D: Driver> Conductor<'a, D> {
    fn new(scenario: &'a Scenario, driver: &'a mut D, watch: &'a mut dyn Watch) -> Self {
        let rules = validity::rules(&scenario.validity);
        let experiment = Experiment {
            rules: (rules != Rules::default()).then_some(rules),
            scenario: scenario.name.clone(),
            driver: driver.name().into(),
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
            configurations: scenario.configurations(),
            bounds: Bounds::new(scenario),
            steps: Steps::default(),
            capacities: Vec::new(),
            runs: Vec::new(),
            discarded: Vec::new(),
            experiment,
        }
    }

    /// Block by block: a repetition of every configuration and controller, between two measurements of
    /// capacity. Its runs are quoted against the mean of the two.
    fn with_clients(&mut self, clients: u32) -> Result<(), D::Failure> {
        let first_capacity = self.capacity(clients, 0)?;
        let mut before = first_capacity;
        for repetition in 0..self.scenario.repetitions {
            let begin = self.runs.len();
            for (configuration, controller) in self.block(clients, repetition) {
                let configurations = self.configurations[configuration].clone();
                let task = Task {
                    place: (configuration, controller, repetition),
                    configuration: &configurations,
                    controller: &self.scenario.controllers[controller],
                    capacity: before,
                    first_capacity,
                };
                self.task(&task)?;
                if self.watch.stops() {
                    return Ok(());
                }
            }
            if self.driver.drifts() {
                let after = self.capacity(clients, repetition + 1)?;
                let around = f64::midpoint(before.0, after.0);
                self.runs[begin..].iter_mut().for_each(|(_, run)| quote(run, around));
                before = after;
            }
        }
        Ok(())
    }

    /// Configuration and controller of each run, by their numbers.
    fn block(&self, clients: u32, repetition: u32) -> Vec<(usize, usize)> {
        let numbered = self.configurations.iter().enumerate();
        let with_them = numbered.filter(|(_, configuration)| configuration.clients == clients);
        let controllers = 0..self.scenario.controllers.len();
        let mut block: Vec<_> = with_them
            .flat_map(|(number, _)| controllers.clone().map(move |controller| (number, controller)))
            .collect();
        let seed = self.scenario.seed_of_repetition(repetition & !1);
        order::of_block(&mut block, repetition, self.driver.drifts(), seed);
        block
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

    /// Tries until a run is quiet, and keeps it.
    fn task(&mut self, task: &Task<'_>) -> Result<(), D::Failure> {
        let what = self.title(task);
        self.watch.begins(&what);
        for attempt in 1..=TRIES {
            let played = self.attempt(task)?;
            let noise = discard(&played.run.noise, &self.rules);
            match noise {
                Some(why) if attempt < TRIES => {
                    self.discarded.push(Discard { what: what.clone(), why });
                }
                noise => {
                    self.keep(task, played, noise);
                    break;
                }
            }
        }
        self.watch.done(Piece::Run);
        Ok(())
    }

    fn title(&self, task: &Task<'_>) -> String {
        format!(
            "{} at {:.2} ×, {} clients, SLO {}, repetition {}",
            task.controller.title(),
            label::demand_ratio(task.configuration, task.first_capacity),
            task.configuration.clients,
            format_duration(task.configuration.slo),
            task.place.2,
        )
    }

    fn attempt(&mut self, task: &Task<'_>) -> Result<Played, D::Failure> {
        let Task { configuration, controller, capacity, .. } = *task;
        let enforces_deadlines = self.scenario.server.enforces_deadlines(controller);
        let mut played = self.driver.open_run(&OpenRun {
            configuration,
            controller,
            spec: label::spec(controller),
            demand: configuration.demand_plan(capacity),
            enforces_deadlines,
            seed: self.scenario.seed_of_repetition(task.place.2),
        })?;
        let cost = self.driver.cost(capacity);
        let run = &mut played.run;
        run.controller.clone_from(&controller.name);
        run.profile = label::profile(controller);
        run.deadlines_enforced = enforces_deadlines;
        run.repetition = task.place.2;
        run.demand_ratio = label::demand_ratio(configuration, task.first_capacity);
        run.asked_rps = configuration.mean_demand(capacity).0;
        run.bound_rps = self.bounds.of(configuration, capacity, cost).0;
        self.name_classes(run);
        let known = self.bounds.of_known_costs(configuration, capacity, cost);
        run.known_bound_rps = known.map_or(0.0, |known| known.0);
        quote(run, capacity.0);
        Ok(played)
    }

    /// Drivers count classes by number.
    fn name_classes(&self, run: &mut Run) {
        let modes = self.scenario.server.service.modes();
        for (class, mode) in run.classes.iter_mut().zip(modes) {
            mode.name.clone_into(&mut class.class);
        }
    }

    fn keep(&mut self, task: &Task<'_>, played: Played, noise: Option<String>) {
        let Played { mut run, points } = played;
        run.invalid_because = judge(&run, &self.rules);
        run.invalid_because.extend(noise);
        run.valid = run.invalid_because.is_empty();
        if let Some(series) = &mut run.series {
            note_demand(series, task.configuration, task.first_capacity);
        }
        if run.valid {
            self.steps.add(task.configuration, task.first_capacity, &run, &points);
        }
        self.runs.push((task.place, run));
    }

    fn finish(mut self) -> Experiment {
        self.runs.sort_by_key(|(place, _)| *place);
        let runs: Vec<Run> = self.runs.into_iter().map(|(_, run)| run).collect();
        let clients = self.scenario.clients.counts.first().copied().unwrap_or(0);
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

/// Quotes a run against a capacity.
fn quote(run: &mut Run, capacity: f64) {
    run.capacity_rps = capacity;
    run.goodput_of_capacity = if capacity > 0.0 { run.goodput_rps / capacity } else { 0.0 };
    run.goodput_of_bound = if run.bound_rps > 0.0 { run.goodput_rps / run.bound_rps } else { 0.0 };
}
