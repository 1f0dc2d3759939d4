//! Repetitions folded into medians with their range.

use crate::result::{AskedRun, Run, Summary};
use crate::spread::Spread;
use std::collections::BTreeMap;

/// The valid runs, grouped by controller, profile, clients, SLO and demand ratio, in order of first
/// appearance. A configuration without a valid run has no summary.
///
/// `of` holds every numeric field by its name; fates as shares of all intended requests by
/// `fates.ok` and so on, noise by `noise.steal_ratio` and so on. What no run has a reading of is left out. Percentiles of
/// latencies, and what requests cost the server, are those of the runs that have some; zero where none has.
#[must_use]
pub fn summarise(runs: &[Run]) -> Vec<Summary> {
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in runs.iter().filter(|run| run.verdict.valid) {
        match groups.iter_mut().find(|group| alike(&group[0].asked, &run.asked)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups.iter().map(|group| fold(group)).collect()
}

/// The configurations that have no valid run, and so no summary: what they are called and asked for, and nothing else.
pub(crate) fn without_valid_run(runs: &[Run]) -> Vec<Summary> {
    let mut groups: Vec<(&Run, bool)> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|(first, _)| alike(&first.asked, &run.asked)) {
            Some((_, is_sound)) => *is_sound |= run.verdict.valid,
            None => groups.push((run, run.verdict.valid)),
        }
    }
    let summary = |(first, _): (&Run, bool)| {
        let asked_rps = ("asked_rps".to_owned(), Spread::of(&[first.rates.asked_rps]));
        of_asked(&first.asked, 0, [asked_rps].into())
    };
    groups.into_iter().filter(|(_, is_sound)| !is_sound).map(summary).collect()
}

/// What was found in so many repetitions of what was asked for.
fn of_asked(asked: &AskedRun, repetitions: u32, of: BTreeMap<String, Spread>) -> Summary {
    Summary {
        controller: asked.controller.clone(),
        profile: asked.profile.clone(),
        clients: asked.clients,
        slo_us: asked.slo_us,
        demand_ratio: asked.demand_ratio,
        repetitions,
        of,
    }
}

fn alike(a: &AskedRun, b: &AskedRun) -> bool {
    // A demand of 1.2 × capacity may have been computed in more than one way.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    a.controller == b.controller
        && a.profile == b.profile
        && a.clients == b.clients
        && near(a.slo_us, b.slo_us)
        && near(a.demand_ratio, b.demand_ratio)
}

fn fold(group: &[&Run]) -> Summary {
    let spread = |(name, field): &(&str, Field)| {
        let values: Vec<f64> = group.iter().map(|run| field(run)).collect();
        ((*name).to_owned(), Spread::of(&values))
    };
    // What was not measured is stored as zero, and would be the shortest latency of all, or the cheapest request.
    let measured = |(name, field): &(&str, Field)| {
        let values: Vec<f64> = group.iter().map(|run| field(run)).filter(|it| *it > 0.0).collect();
        ((*name).to_owned(), Spread::of(&values))
    };
    let read = |(name, field): &(&str, Reading)| {
        let values: Vec<f64> = group.iter().filter_map(|run| field(run)).collect();
        (!values.is_empty()).then(|| ((*name).to_owned(), Spread::of(&values)))
    };
    let of = FIELDS
        .iter()
        .map(spread)
        .chain(MEASURED.iter().map(measured))
        .chain(READINGS.iter().filter_map(read))
        .collect();
    of_asked(&group[0].asked, group.len() as u32, of)
}

/// Reads one quantity of a run.
type Field = fn(&Run) -> f64;

/// The same where a run may have no reading of it.
type Reading = fn(&Run) -> Option<f64>;

/// What varies between repetitions.
const FIELDS: [(&str, Field); 24] = [
    ("capacity_rps", |run| run.yardstick.capacity_rps),
    ("capacity_drift", |run| run.yardstick.capacity_drift),
    ("bound_rps", |run| run.yardstick.bound_rps),
    ("asked_rps", |run| run.rates.asked_rps),
    ("offered_rps", |run| run.rates.offered_rps),
    ("throughput_rps", |run| run.rates.throughput_rps),
    ("goodput_rps", |run| run.rates.goodput_rps),
    ("goodput_of_capacity", |run| run.rates.goodput_of_capacity),
    ("goodput_of_bound", |run| run.rates.goodput_of_bound),
    ("fates.ok", |run| share(run, run.fates.ok)),
    ("fates.late", |run| share(run, run.fates.late)),
    ("fates.expired", |run| share(run, run.fates.expired)),
    ("fates.shed", |run| share(run, run.fates.shed)),
    ("fates.lost", |run| share(run, run.fates.lost)),
    ("unsent", |run| run.unsent as f64),
    ("drop_ratio", |run| run.refusals.drop_ratio),
    ("lateness_p50_us", |run| run.generator.lateness_p50_us),
    ("lateness_p95_us", |run| run.generator.lateness_p95_us),
    ("lateness_p99_us", |run| run.generator.lateness_p99_us),
    ("slipped_us", |run| run.generator.slipped_us),
    ("explicit_credits_rps", |run| run.server.explicit_credits_rps),
    ("noise.steal_ratio", |run| run.noise.steal_ratio),
    ("noise.load_involuntary_per_s", |run| run.noise.load_involuntary_per_s),
    ("noise.load_run_delay_ratio", |run| run.noise.load_run_delay_ratio),
];

/// The same of what some runs have none of: percentiles of nothing, and counts and times of a server that could not be read.
const MEASURED: [(&str, Field); 7] = [
    ("p50_us", |run| run.latency.p50_us),
    ("p99_us", |run| run.latency.p99_us),
    ("p999_us", |run| run.latency.p999_us),
    ("reject_p50_us", |run| run.refusals.reject_p50_us),
    ("server_cpu_ns_per_request", |run| run.server.cpu_ns_per_request),
    ("rx_per_request", |run| run.server.rx_per_request),
    ("tx_per_request", |run| run.server.tx_per_request),
];

/// The same of what is not always read.
const READINGS: [(&str, Reading); 3] = [
    ("noise.server_involuntary_per_s", |run| run.noise.server_involuntary_per_s),
    ("noise.server_run_delay_ratio", |run| run.noise.server_run_delay_ratio),
    ("noise.foreign_cpu_ratio", |run| run.noise.foreign_cpu_ratio),
];

fn share(run: &Run, count: u64) -> f64 {
    tailwater_core::Ratio::of(count, run.fates.total()).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Fates, LatencyReading, Rates, RefusalReading, RunVerdict, ServerReading};

    fn run(controller: &str, demand_ratio: f64, goodput_rps: f64) -> Run {
        Run {
            asked: AskedRun {
                controller: controller.to_owned(),
                demand_ratio,
                ..AskedRun::default()
            },
            rates: Rates { goodput_rps, ..Rates::default() },
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            fates: Fates { ok: 3, shed: 1, ..Fates::default() },
            ..Run::default()
        }
    }

    #[test]
    fn interleaved_valid_runs_are_grouped_in_order_of_appearance() {
        let invalid = Run {
            verdict: RunVerdict { valid: false, ..run("none", 0.3, 1e9).verdict },
            ..run("none", 0.3, 1e9)
        };
        let runs = [
            invalid.clone(),
            run("none", 0.1 + 0.2, 10.0),
            run("breakwater", 0.3, 50.0),
            run("none", 0.3, 30.0),
            run("none", 1.2, 5.0),
            Run {
                verdict: RunVerdict { valid: false, ..run("seda", 0.3, 1.0).verdict },
                ..run("seda", 0.3, 1.0)
            },
            run("none", 0.3, 20.0),
        ];
        let found = summarise(&runs);
        let names: Vec<_> = found.iter().map(|s| (&*s.controller, s.repetitions)).collect();
        assert_eq!(names, [("none", 3), ("breakwater", 1), ("none", 1)]);
        assert_eq!(found[0].of["goodput_rps"], Spread { min: 10.0, median: 20.0, max: 30.0 });
        assert_eq!(found[0].of["fates.ok"].median, 0.75);
        assert_eq!(found[0].of["fates.shed"].median, 0.25);
    }

    #[test]
    fn configurations_without_a_valid_run_are_named_once() {
        let void = |controller| Run {
            verdict: RunVerdict { valid: false, ..run(controller, 1.0, 1.0).verdict },
            rates: Rates { asked_rps: 7.0, ..run(controller, 1.0, 1.0).rates },
            ..run(controller, 1.0, 1.0)
        };
        let runs = [void("none"), void("seda"), run("none", 1.0, 1.0), void("seda"), void("none")];
        let found = without_valid_run(&runs);
        let names: Vec<_> = found.iter().map(|it| (&*it.controller, it.repetitions)).collect();
        assert_eq!(names, [("seda", 0)]);
        assert_eq!(found[0].of["asked_rps"].median, 7.0);
    }

    #[test]
    fn a_reading_that_is_not_there_is_no_zero() {
        let blind = |mut run: Run| {
            run.noise.server_involuntary_per_s = None;
            run
        };
        let mut read = run("none", 1.0, 1.0);
        read.noise.server_involuntary_per_s = Some(40.0);
        let key = "noise.server_involuntary_per_s";
        let found = summarise(&[read.clone(), blind(read.clone())]);
        assert_eq!(found[0].of[key], Spread { min: 40.0, median: 40.0, max: 40.0 });
        let found = summarise(&[blind(read)]);
        assert!(!found[0].of.contains_key(key), "{found:?}");
    }

    /// It counted as a latency of 0 µs: nothing answered in one run of three made the median lower.
    #[test]
    fn what_was_not_measured_is_no_small_number() {
        let with = |it| Run {
            latency: LatencyReading { p99_us: it, ..run("none", 1.0, 1.0).latency },
            refusals: RefusalReading { reject_p50_us: it, ..run("none", 1.0, 1.0).refusals },
            server: ServerReading {
                cpu_ns_per_request: it,
                rx_per_request: it,
                tx_per_request: it,
                ..ServerReading::default()
            },
            ..run("none", 1.0, 1.0)
        };
        let found = summarise(&[with(0.0), with(500.0), with(700.0)]);
        let cost = ["server_cpu_ns_per_request", "rx_per_request", "tx_per_request"];
        for key in ["p99_us", "reject_p50_us"].into_iter().chain(cost) {
            assert_eq!(found[0].of[key], Spread { min: 500.0, median: 600.0, max: 700.0 }, "{key}");
        }
        assert_eq!(found[0].repetitions, 3);
        assert_eq!(summarise(&[with(0.0)])[0].of["p99_us"], Spread::default());
    }

    #[test]
    fn every_numeric_field_of_a_run_is_summarised() {
        let json = serde_json::to_value(Run::default()).unwrap();
        let of = &summarise(&[run("none", 1.0, 1.0)])[0].of;
        let key = ["clients", "slo_us", "repetition", "demand_ratio"];
        for (name, value) in json.as_object().unwrap() {
            if value.is_number() && !key.contains(&name.as_str()) {
                assert!(of.contains_key(name), "{name} is missing from FIELDS");
            }
            for inner in value.as_object().into_iter().flat_map(|object| object.keys()) {
                assert!(of.contains_key(&format!("{name}.{inner}")), "{name}.{inner} is missing");
            }
        }
    }
}
