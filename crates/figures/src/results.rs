//! What was simulated.

use tailwater_experiment::Driver as _;
use tailwater_sim::Simulator;
use tailwater_stats::result::{Experiment, Manifest, Run};
use tailwater_stats::summarise;
use tailwater_workload::Scenario;

/// The runs of every scenario that was played.
#[derive(Debug)]
pub struct Results {
    pub(crate) seeds: u32,
    /// Of short versions of the scenarios, which prove that they work.
    pub(crate) short: bool,
    pub(crate) played: Vec<Played>,
}

/// One scenario.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) name: String,
    pub(crate) seed: u64,
    /// By configuration, then controller, then repetition.
    pub(crate) runs: Vec<Run>,
    /// As the simulator tells it.
    pub(crate) manifest: Manifest,
}

impl Played {
    pub(crate) fn begin(scenario: &Scenario) -> Self {
        let manifest = Simulator::new(scenario).manifest();
        Self { name: scenario.name.clone(), seed: scenario.seed, runs: Vec::new(), manifest }
    }
}

impl Results {
    /// The runs of a scenario of this name; none when it was not played.
    pub(crate) fn runs(&self, scenario: &str) -> &[Run] {
        let played = self.played.iter().find(|played| played.name == scenario);
        played.map(|played| played.runs.as_slice()).unwrap_or_default()
    }

    /// As experiments, with every number.
    #[must_use]
    pub fn experiments(&self) -> Vec<Experiment> {
        let experiment = |played: &Played| Experiment {
            scenario: played.name.clone(),
            driver: "sim".into(),
            seed: played.seed,
            short: self.short,
            capacity_rps: played.runs.first().map_or(0.0, |run| run.yardstick.capacity_rps),
            slo_us: played.runs.first().map_or(0.0, |run| run.asked.slo_us),
            runs: played.runs.clone(),
            summary: summarise(&played.runs),
            manifest: played.manifest.clone(),
            ..Experiment::default()
        };
        self.played.iter().map(experiment).collect()
    }

    /// One scenario's, of as many seeds as the runs have.
    #[cfg(test)]
    pub(crate) fn of(name: &str, runs: Vec<Run>) -> Self {
        let seeds = runs.iter().map(|run| run.asked.repetition + 1).max().unwrap_or(1);
        let manifest = Manifest::default();
        let played = vec![Played { name: name.into(), seed: 1, runs, manifest }];
        Self { seeds, short: false, played }
    }
}
