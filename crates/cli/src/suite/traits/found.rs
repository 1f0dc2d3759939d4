//! What was found: medians over the runs of a load that count, of those without the watch and of those with it.

use super::answered::answered;
use super::cost::Cost;
use super::loads::Loads;
use super::quantity::{OF_EVERY_RUN, PLAIN, Quantity, Seen, WATCHED};
use super::switching::{self, BySource};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tailwater_experiment::capacity;
use tailwater_stats::result::{
    CapacityReading, DataUsed, Experiment, Fates, Manifest, Run, Spread,
};

/// Every service that was asked for.
#[derive(Serialize, Deserialize)]
pub(super) struct Found {
    /// Where, when and with what.
    pub(super) manifest: Manifest,
    /// Whether it shows only that everything works; no file says so of before this was told.
    #[serde(default)]
    pub(super) short: bool,
    /// What it costs to switch threads, in µs.
    pub(super) switch_us: BySource,
    /// What ended it before its last service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cut_short: Option<String>,
    pub(super) services: Vec<ServiceFound>,
}

/// One service.
#[derive(Serialize, Deserialize)]
pub(super) struct ServiceFound {
    pub(super) service: String,
    /// As the scenario has it.
    pub(super) title: String,
    /// How the mid-tier's threads share the work, as --model has it.
    pub(super) model: String,
    pub(super) capacity: Saturation,
    /// What it was asked at.
    pub(super) chosen: Loads,
    /// A load each, rising; none where it was measured what the watch costs.
    pub(super) loads: Vec<LoadFound>,
    /// What the watch costs, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    pub(super) data: Vec<DataUsed>,
}

/// The closed-loop sweep.
#[derive(Serialize, Deserialize)]
#[serde(from = "CapacityReading")]
pub(super) struct Saturation {
    #[serde(flatten)]
    pub(super) reading: CapacityReading,
    /// Whether its last step still rises: the service then bears more than what was reached. Files of before it was told have
    /// the points that tell it.
    pub(super) still_rising: bool,
}

impl From<CapacityReading> for Saturation {
    fn from(reading: CapacityReading) -> Self {
        Self { still_rising: capacity::still_rises(&reading.points), reading }
    }
}

/// A service at a load, which was played twice.
#[derive(Serialize, Deserialize)]
pub(super) struct LoadFound {
    /// Requests per second.
    pub(super) rps: f64,
    /// The same ÷ capacity.
    pub(super) of_capacity: f64,
    /// Without the watch: latency, and what the kernel counts anyway.
    pub(super) plain: RunsFound,
    /// With it: what nothing else tells. Its latency is that of servers that are watched.
    pub(super) watched: RunsFound,
}

/// The runs of a load that were watched alike.
#[derive(Serialize, Deserialize)]
pub(super) struct RunsFound {
    pub(super) runs: usize,
    /// Those that count. With none the numbers are of runs that do not.
    pub(super) valid: usize,
    /// Why others do not count, each reason once.
    pub(super) invalid_because: BTreeSet<String>,
    /// Answers that were not what was asked for; one voids its run.
    pub(super) wrong_answers: u64,
    /// The least share of its requests that one of the runs answered: latency is of these alone.
    pub(super) answered: f64,
    /// What became of the requests of the runs that count, or of all where none does; none in files of before it was told.
    #[serde(default)]
    pub(super) fates: Fates,
    /// Answers per second.
    pub(super) throughput_rps: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    /// Of the run with the median p50: shares of requests, and the latency that they do not exceed.
    pub(super) latency: Vec<(f64, f64)>,
    /// Segments that TCP sent again, of all programs, per query; `None` where that could not be read, and without the watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retransmissions: Option<f64>,
    /// What the watch could not have, and what to type; each sentence once.
    pub(super) missing: BTreeSet<String>,
    /// Events of the kernel that were lost in all its runs.
    pub(super) events_lost: u64,
    /// The front first.
    pub(super) tiers: Vec<TierFound>,
}

/// A tier at a load.
#[derive(Serialize, Deserialize)]
pub(super) struct TierFound {
    /// Empty for the front.
    pub(super) tier: String,
    pub(super) nodes: u32,
    /// By key; see `quantity.rs`.
    pub(super) per_query: BTreeMap<String, f64>,
    /// What its switches take of its CPU time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) switching_percent: BySource,
    /// System calls by the kernel's names; empty without the watch.
    pub(super) syscalls: BTreeMap<String, f64>,
}

impl TierFound {
    /// As tables call it.
    pub(super) fn name(&self) -> &str {
        if self.tier.is_empty() { "front" } else { &self.tier }
    }
}

/// What was found at each load, rising, by runs without the watch and by such with it.
pub(super) fn loads(
    plain: &Experiment,
    watched: &Experiment,
    switch_us: &BySource,
) -> Vec<LoadFound> {
    let all = || plain.runs.iter().chain(&watched.runs);
    let mut rps: Vec<f64> = all().map(|run| run.rates.asked_rps).collect();
    rps.sort_by(f64::total_cmp);
    rps.dedup();
    let load = |rps: f64| {
        let at = |of: &Experiment, quantities: &[Quantity]| {
            let runs: Vec<&Run> = of.runs.iter().filter(|run| run.rates.asked_rps == rps).collect();
            runs_found(&runs, quantities, switch_us)
        };
        let of_capacity = |run: &Run| run.rates.asked_rps / run.yardstick.capacity_rps;
        LoadFound {
            rps,
            of_capacity: median(all().filter(|run| run.rates.asked_rps == rps).map(of_capacity))
                .unwrap_or(0.0),
            plain: at(plain, PLAIN),
            watched: at(watched, WATCHED),
        }
    };
    rps.into_iter().map(load).collect()
}

fn runs_found(runs: &[&Run], quantities: &[Quantity], switch_us: &BySource) -> RunsFound {
    let valid: Vec<&Run> = runs.iter().copied().filter(|run| run.verdict.valid).collect();
    let counted: &[&Run] = if valid.is_empty() { runs } else { &valid };
    let median = |of: fn(&Run) -> f64| median(counted.iter().map(|run| of(run))).unwrap_or(0.0);
    let queries = |run: &Run| run.tiers.first()?.received_rps.filter(|queries| *queries > 0.0);
    let traits = || counted.iter().filter_map(|run| Some((*run, run.traits.as_ref()?)));
    let again =
        traits().filter_map(|(run, seen)| Some(seen.retransmissions_per_s? / queries(run)?));
    let tiers = counted.iter().map(|run| run.tiers.len()).max().unwrap_or(0);
    RunsFound {
        runs: runs.len(),
        valid: valid.len(),
        invalid_because: runs
            .iter()
            .flat_map(|run| run.verdict.invalid_because.iter().cloned())
            .collect(),
        wrong_answers: runs.iter().map(|run| run.answers.wrong).sum(),
        answered: counted.iter().map(|run| answered(run)).fold(1.0, f64::min),
        fates: counted.iter().map(|run| run.fates).sum(),
        throughput_rps: median(|run| run.rates.throughput_rps),
        p50_us: median(|run| run.latency.p50_us),
        p99_us: median(|run| run.latency.p99_us),
        p999_us: median(|run| run.latency.p999_us),
        latency: middle(counted),
        retransmissions: self::median(again),
        missing: traits().flat_map(|(_, seen)| seen.missing.iter().cloned()).collect(),
        events_lost: traits().map(|(_, seen)| seen.events_lost).sum(),
        tiers: (0..tiers).map(|at| tier((counted, at), quantities, switch_us)).collect(),
    }
}

/// The distribution of the run with the median p50: percentiles of several runs are those of none.
fn middle(runs: &[&Run]) -> Vec<(f64, f64)> {
    let mut runs = runs.to_vec();
    runs.sort_by(|one, other| one.latency.p50_us.total_cmp(&other.latency.p50_us));
    let run = runs.get(runs.len().saturating_sub(1) / 2);
    run.and_then(|run| run.traits.as_ref()).map(|seen| seen.latency.clone()).unwrap_or_default()
}

fn tier((runs, at): (&[&Run], usize), quantities: &[Quantity], switch_us: &BySource) -> TierFound {
    let seen: Vec<Seen<'_>> = runs.iter().filter_map(|run| Seen::of(run, at)).collect();
    let reading = runs.iter().find_map(|run| run.tiers.get(at));
    let per_query = quantities.iter().filter_map(|quantity| {
        let values: Vec<f64> = seen.iter().filter_map(|one| (quantity.of)(one)).collect();
        let is_told = values.len() == seen.len() || !OF_EVERY_RUN.contains(&quantity.key);
        Some((quantity.key.to_owned(), median(values).filter(|_| is_told)?))
    });
    let per_query: BTreeMap<String, f64> = per_query.collect();
    let mut calls: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, count) in seen.iter().flat_map(Seen::calls_by_name) {
        calls.entry(name.to_owned()).or_default().push(count);
    }
    let calls = calls.into_iter().filter_map(|(name, counts)| Some((name, median(counts)?)));
    TierFound {
        tier: reading.map(|reading| reading.tier.clone()).unwrap_or_default(),
        nodes: reading.map_or(0, |reading| reading.nodes),
        switching_percent: switching::percent(&per_query, switch_us),
        per_query,
        syscalls: calls.collect(),
    }
}

fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| Spread::of(&values).median)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::quantity::tests::run;
    use super::*;
    use tailwater_stats::result::{LatencyReading, Rates, RunVerdict, Yardstick};

    /// A load of three runs, of which two count.
    pub(in super::super) fn experiment() -> Experiment {
        let with = |p50_us: f64, valid: bool| {
            let mut run = Run {
                latency: LatencyReading { p50_us, ..run().latency },
                verdict: RunVerdict { valid, ..run().verdict },
                rates: Rates { asked_rps: 100.0, ..run().rates },
                yardstick: Yardstick { capacity_rps: 1e3, ..run().yardstick },
                ..run()
            };
            let traits = run.traits.as_mut().expect("it was watched");
            traits.latency = vec![(0.5, p50_us), (1.0, 2.0 * p50_us)];
            traits.retransmissions_per_s = Some(50.0);
            run.fates = Fates { ok: p50_us as u64, lost: 2, ..Fates::default() };
            if !valid {
                run.verdict.invalid_because.push("noise".into());
            }
            run
        };
        let later = Run {
            rates: Rates { asked_rps: 900.0, ..with(300.0, false).rates },
            ..with(300.0, false)
        };
        let runs = vec![later, with(100.0, true), with(9_000.0, false), with(120.0, true)];
        Experiment { runs, ..Experiment::default() }
    }

    #[test]
    fn shares_of_which_one_run_has_none_have_no_median() {
        let mut experiment = experiment();
        let share = |experiment: &Experiment| {
            let found = loads(experiment, experiment, &BySource::new());
            found[0].plain.tiers[0].per_query.get("running_percent").copied()
        };
        assert_eq!(share(&experiment), Some(20.0));
        // Of one of the two that count, queries overlap: the other alone would tell of a calm machine.
        experiment.runs[1].tiers[0].cores_used = Some(0.9);
        assert_eq!(share(&experiment), None);
        let found = loads(&experiment, &experiment, &BySource::new());
        assert!(found[0].plain.tiers[0].per_query.contains_key("core_ms"));
    }

    #[test]
    fn retransmissions_that_no_run_could_read_are_not_known() {
        let mut experiment = experiment();
        for run in &mut experiment.runs {
            run.traits.as_mut().expect("it was watched").retransmissions_per_s = None;
        }
        assert_eq!(
            loads(&experiment, &experiment, &BySource::new())[0].watched.retransmissions,
            None
        );
    }

    #[test]
    fn each_load_has_medians_of_the_runs_that_count() {
        let found = loads(&experiment(), &experiment(), &BySource::new());
        let [low, high] = &found[..] else { panic!("two loads") };
        assert_eq!((low.rps, low.of_capacity, high.rps), (100.0, 0.1, 900.0));
        let (low, high) = (&low.watched, &high.watched);
        assert_eq!((low.runs, low.valid), (3, 2));
        assert_eq!(low.answered, 100.0 / 102.0, "the least of those that count");
        assert_eq!((low.fates.ok, low.fates.lost), (220, 4), "of both that count");
        assert_eq!((low.p50_us, low.retransmissions), (110.0, Some(0.5)));
        assert_eq!(low.latency, [(0.5, 100.0), (1.0, 200.0)], "of a run that took place");
        assert_eq!(low.invalid_because, ["noise".to_owned()].into());
        assert_eq!((high.valid, high.p50_us), (0, 300.0), "told, and marked");
        let names: Vec<_> = low.tiers.iter().map(|tier| (tier.name(), tier.nodes)).collect();
        assert_eq!(names, [("front", 4), ("leaf", 4)]);
        assert_eq!(low.tiers[0].syscalls["sendto"], 5.0);
        assert!(low.tiers[1].syscalls.is_empty() && !low.tiers[1].per_query.contains_key("futex"));
    }

    /// The watch may make latency longer, and a load may be spoilt in one kind of run alone.
    #[test]
    fn what_is_told_without_the_watch_comes_from_runs_without_it() {
        let (mut plain, watched) = (experiment(), experiment());
        for run in &mut plain.runs {
            run.latency.p50_us /= 2.0;
            run.tiers[1].cores_used = Some(0.02);
            run.verdict.valid = run.rates.asked_rps > 100.0;
        }
        let found = loads(&plain, &watched, &BySource::new());
        let [low, high] = &found[..] else { panic!("two loads") };
        assert_eq!((low.plain.p50_us, low.watched.p50_us), (60.0, 110.0));
        assert_eq!((low.plain.valid, low.watched.valid), (0, 2));
        assert_eq!((high.plain.valid, high.watched.valid), (1, 0));
        let of = |runs: &RunsFound, key| runs.tiers[1].per_query.get(key).copied();
        assert_eq!((of(&low.plain, "core_ms"), of(&low.watched, "core_ms")), (Some(0.2), None));
        let of = |runs: &RunsFound, key| runs.tiers[0].per_query.get(key).copied();
        assert_eq!((of(&low.plain, "futex"), of(&low.watched, "futex")), (None, Some(1.0)));
    }
}
