//! Simulates what figures need. A simulation is decided by its seed, so the results do not depend on how
//! they are spread over threads.

use crate::data::{Claim, Figure, Measure};
use crate::embedded::scenario;
use crate::results::{Played, Results};
use crate::spread::spread;
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_experiment::{Piece, Watch};
use tailwater_sim::{Failure, Simulator};
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::ControllerSpec;

/// Hears of each run.
struct Each<'a>(&'a (dyn Fn() + Sync));

impl Watch for Each<'_> {
    fn begins(&mut self, _: &str) {}

    fn done(&mut self, piece: Piece) {
        if piece == Piece::Run {
            self.0();
        }
    }

    fn stops(&self) -> bool {
        false
    }
}

/// The scenarios of some figures, each once.
#[derive(Clone, Debug)]
pub struct Plan {
    seeds: u32,
    short: bool,
    scenarios: Vec<Scenario>,
}

impl Plan {
    /// Every run with so many seeds. Seeds are repetitions: the first is the scenario's own, and all
    /// controllers and demands share each. A short plan proves that the figures work, and nothing else.
    ///
    /// # Errors
    /// A scenario does not parse, which the catalogue's check excludes.
    pub fn new(figures: &[Figure], seeds: u32, short: bool) -> Result<Self, Failure> {
        let mut names: Vec<&String> = Vec::new();
        for name in figures.iter().flat_map(|figure| &figure.scenarios) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let files = names.into_iter().filter_map(|name| scenario(name));
        let scenarios = files.map(|file| -> Result<Scenario, Failure> {
            let scenario = Scenario::parse(file.path, file.text).map_err(Failure::Scenario)?;
            let mut scenario = if short { shorten(scenario) } else { scenario };
            scenario.repetitions = seeds.max(1);
            Ok(scenario)
        });
        Ok(Self { seeds: seeds.max(1), short, scenarios: scenarios.collect::<Result<_, _>>()? })
    }

    /// What these figures' claims are measured on and no more: the scenarios and controllers that they name.
    #[must_use]
    pub fn for_claims(mut self, figures: &[Figure]) -> Self {
        let claims = figures.iter().flat_map(|figure| &figure.claims);
        let named: Vec<(&str, String)> = claims.flat_map(Claim::labels).collect();
        for scenario in &mut self.scenarios {
            let is_named = |controller: &ControllerSpec| {
                let profile = controller.called();
                let mut here = named.iter().filter(|(name, _)| *name == scenario.name);
                here.any(|(_, label)| Measure::is_called(&profile, label))
            };
            scenario.controllers.retain(is_named);
        }
        self.scenarios.retain(|scenario| !scenario.controllers.is_empty());
        self
    }

    /// How many pieces of work there are, for a progress bar.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        let of = |scenario: &Scenario| scenario.runs() + scenario.clients.counts.len() as u64;
        self.scenarios.iter().map(of).sum()
    }

    /// Plays everything on so many threads; `done` hears of each piece.
    ///
    /// # Errors
    /// The first simulation that fails.
    pub fn play(&self, threads: usize, done: &(dyn Fn() + Sync)) -> Result<Results, Failure> {
        let parts = self.parts(threads, done)?;
        // The longest first, or the last thread works alone.
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by(|&one, &other| parts[other].cost.total_cmp(&parts[one].cost));
        let found = spread(threads, &order, |&index| {
            let scenario = &parts[index].scenario;
            tailwater_experiment::check(scenario).map_err(Failure::Scenario)?;
            let mut simulator = Simulator::new(scenario);
            let experiment = tailwater_experiment::run(scenario, &mut simulator, &mut Each(done))
                .map_err(|unfinished| unfinished.failure)?;
            Ok::<_, Failure>((index, experiment.runs))
        })?;
        Ok(self.collect(&parts, found))
    }

    /// Every scenario in parts, each quoted against the capacity measured with its clients.
    fn parts(&self, threads: usize, done: &(dyn Fn() + Sync)) -> Result<Vec<Part>, Failure> {
        let numbered = self.scenarios.iter().enumerate();
        let crowds: Vec<(usize, u32)> = numbered
            .flat_map(|(at, scenario)| {
                scenario.clients.counts.iter().map(move |&count| (at, count))
            })
            .collect();
        let capacities = spread(threads, &crowds, |&(at, clients)| {
            let capacity = tailwater_sim::capacity(&self.scenarios[at], clients);
            done();
            capacity
        })?;
        let quoted = crowds.iter().zip(&capacities);
        Ok(quoted
            .flat_map(|(&(at, clients), &capacity)| {
                Part::all(at, &self.scenarios[at], clients, capacity)
            })
            .collect())
    }

    /// Runs of the same scenario together, in its own order.
    fn collect(&self, parts: &[Part], mut found: Vec<(usize, Vec<Run>)>) -> Results {
        found.sort_by_key(|(index, _)| *index);
        let mut played: Vec<Played> = self.scenarios.iter().map(Played::begin).collect();
        for (index, runs) in found {
            played[parts[index].of].runs.extend(runs);
        }
        Results { seeds: self.seeds, short: self.short, played }
    }
}

/// Shorter than a single scenario's short version: there are dozens of files, some with dozens of
/// controllers.
fn shorten(scenario: Scenario) -> Scenario {
    let mut scenario = scenario.shorten();
    scenario.controllers.truncate(SHORT_CONTROLLERS_MAX);
    scenario.warm_up = scenario.warm_up.min(SHORT_TIME);
    if scenario.demand.cycle().is_none() {
        scenario.duration = scenario.duration.min(SHORT_TIME);
    }
    scenario
}

const SHORT_CONTROLLERS_MAX: usize = 5;
const SHORT_TIME: Duration = Duration::from_millis(20);

/// One controller in one configuration, as a scenario of its own.
struct Part {
    /// Which scenario it is of.
    of: usize,
    scenario: Scenario,
    /// About how many requests it simulates.
    cost: f64,
}

impl Part {
    fn all(of: usize, whole: &Scenario, clients: u32, capacity: Rate) -> Vec<Self> {
        let mut parts = Vec::new();
        for &slo in &whole.slo {
            for course in &whole.demand.courses {
                for controller in &whole.controllers {
                    let mut scenario = whole.clone();
                    scenario.slo = vec![slo];
                    scenario.clients.counts = vec![clients];
                    scenario.demand.courses = vec![course.clone()];
                    scenario.controllers = vec![controller.clone()];
                    scenario.capacity.fixed = Some(capacity);
                    let demand = scenario.configurations()[0].mean_demand(capacity).0;
                    let cost = scenario.length().as_secs_f64() * demand;
                    parts.push(Self { of, scenario, cost });
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compared, catalogue, choose};

    fn scenarios() -> Vec<Scenario> {
        let all = catalogue().expect("the files are right");
        Plan::new(&all, 1, false).expect("the scenarios parse").scenarios
    }

    #[test]
    fn controllers_and_settings_of_every_scenario_exist() {
        for scenario in scenarios() {
            tailwater_experiment::check(&scenario).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn breakwaters_testbed_is_the_frozen_one() {
        let all = scenarios();
        let mut of_breakwater = all.iter().filter(|scenario| !scenario.name.starts_with("protego"));
        let frozen = &of_breakwater.next().expect("there are some").sim;
        for scenario in of_breakwater {
            // One of them is checked against `World::paper` by the simulator's own tests.
            assert_eq!(&scenario.sim, frozen, "{}", scenario.file);
        }
    }

    #[test]
    fn claims_are_the_same_of_what_they_name_alone() {
        let figures =
            choose(catalogue().expect("the files are right"), Some("breakwater"), Some(11));
        let figures = figures.expect("it is there");
        let all = Plan::new(&figures, 1, true).expect("it parses");
        let named = all.clone().for_claims(&figures);
        assert!(named.pieces() < all.pieces() / 2, "{} of {}", named.pieces(), all.pieces());
        let compared = |plan: &Plan| {
            let results = plan.play(1, &|| {}).expect("it simulates");
            Compared::new(&figures, &results)
        };
        assert_eq!(compared(&named), compared(&all));
    }

    #[test]
    fn each_seed_plays_every_run_once_and_differs() {
        let figure =
            choose(catalogue().expect("the files are right"), Some("breakwater"), Some(10));
        let plan = Plan::new(&figure.expect("it is there"), 2, true).expect("it parses");
        let pieces = std::sync::atomic::AtomicU64::new(0);
        let count = || {
            pieces.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let results = plan.play(1, &count).expect("it simulates");
        assert_eq!(pieces.into_inner(), plan.pieces());
        assert!(results.experiments().iter().all(|played| played.short));
        let runs = results.runs("fig10");
        assert_eq!(runs.len(), 2 * SHORT_CONTROLLERS_MAX);
        for pair in runs.chunks(2) {
            assert_eq!([pair[0].asked.repetition, pair[1].asked.repetition], [0, 1]);
            assert!(
                pair[0].asked.profile == pair[1].asked.profile && pair[0].fates != pair[1].fates
            );
        }
    }
}
