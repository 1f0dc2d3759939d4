//! What was simulated, and how claims ask for it.

use tailwater_stats::result::{Experiment, Run, Series};
use tailwater_stats::summarise;
use tailwater_workload::Scenario;

/// The runs of every scenario that was played.
pub(crate) struct Results {
    pub(crate) played: Vec<Played>,
}

/// One scenario.
pub(crate) struct Played {
    pub(crate) scenario: Scenario,
    /// By configuration, then controller, then repetition.
    pub(crate) runs: Vec<Run>,
}

impl Results {
    /// The runs of a scenario of this name; none when it was not played.
    pub(crate) fn runs(&self, scenario: &str) -> &[Run] {
        let played = self.played.iter().find(|played| played.scenario.name == scenario);
        played.map(|played| played.runs.as_slice()).unwrap_or_default()
    }

    /// The run of a label nearest to a demand (× capacity), within 1 %: the first repetition.
    pub(crate) fn at(&self, scenario: &str, label: &str, demand: f64) -> Option<&Run> {
        self.runs(scenario)
            .iter()
            .filter(|run| run.profile == label)
            .find(|run| (run.demand_ratio / demand - 1.0).abs() < 0.01)
    }

    /// The only run of a label, or the first.
    pub(crate) fn of(&self, scenario: &str, label: &str) -> Option<&Run> {
        self.runs(scenario).iter().find(|run| run.profile == label)
    }

    /// Goodput of one label over another's at a demand, in per cent above it.
    pub(crate) fn gain(
        &self,
        scenario: &str,
        (one, other): (&str, &str),
        demand: f64,
    ) -> Option<f64> {
        let one = self.at(scenario, one, demand)?.goodput_rps;
        let other = self.at(scenario, other, demand)?.goodput_rps;
        (other > 0.0).then(|| (one / other - 1.0) * 100.0)
    }

    /// As experiments, for whoever wants every number.
    pub(crate) fn experiments(&self) -> Vec<Experiment> {
        let experiment = |played: &Played| Experiment {
            scenario: played.scenario.name.clone(),
            driver: "sim".into(),
            seed: played.scenario.seed,
            capacity_rps: played.runs.first().map_or(0.0, |run| run.capacity_rps),
            slo_us: played.runs.first().map_or(0.0, |run| run.slo_us),
            runs: played.runs.clone(),
            summary: summarise(&played.runs),
            ..Experiment::default()
        };
        self.played.iter().map(experiment).collect()
    }
}

/// The bins of a series that lie in a stretch of time, in seconds.
pub(crate) fn stretch(values: &[f64], series: &Series, from_s: f64, to_s: f64) -> Vec<f64> {
    let bin_s = series.bin_us / 1e6;
    let inside =
        |at: usize| (at as f64 + 0.5) * bin_s >= from_s && (at as f64 + 0.5) * bin_s < to_s;
    let numbered = values.iter().enumerate();
    numbered.filter(|(at, _)| inside(*at)).map(|(_, value)| *value).collect()
}
