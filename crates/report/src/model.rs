//! The experiment as reports walk it: configuration, then controller, then demand.

use crate::quantity::Quantity;
use std::collections::BTreeMap;
pub(crate) use tailwater_stats::naming::label;
use tailwater_stats::naming::setting;
use tailwater_stats::result::{Experiment, Fates, Run, Spread, Summary};

/// All that was measured with the same clients and objective.
pub(crate) struct Group<'a> {
    /// Logical clients.
    pub(crate) clients: u32,
    /// The objective.
    pub(crate) slo_us: f64,
    /// Median capacity of its valid runs, of all where none is; 0 when none is known.
    pub(crate) capacity_rps: f64,
    /// One line per controller and profile, in the order of the experiment.
    pub(crate) lines: Vec<Line<'a>>,
}

/// One controller across demands.
pub(crate) struct Line<'a> {
    /// Its place among all controllers of the experiment, so that it keeps its colour.
    pub(crate) index: usize,
    /// Name and profile.
    pub(crate) label: String,
    /// By rising demand.
    pub(crate) points: Vec<Point<'a>>,
}

/// One controller at one demand.
pub(crate) struct Point<'a> {
    /// Demand ÷ capacity.
    pub(crate) demand: f64,
    /// Repetitions that count.
    pub(crate) valid: u32,
    /// Repetitions that took place.
    pub(crate) total: u32,
    /// The valid runs; all runs where none is valid.
    pub(crate) runs: Vec<&'a Run>,
    summary: Option<&'a Summary>,
}

/// Its title, or the scenario's name where it has none.
pub(crate) fn name(experiment: &Experiment) -> &str {
    if experiment.title.is_empty() { &experiment.scenario } else { &experiment.title }
}

/// The experiment by clients and objective, in the order in which its runs first name them.
pub(crate) fn groups(experiment: &Experiment) -> Vec<Group<'_>> {
    let labels = labels(experiment);
    let mut keys: Vec<(u32, f64)> = Vec::new();
    let named = experiment.runs.iter().map(|run| (run.asked.clients, run.asked.slo_us));
    for key in named.chain(experiment.summary.iter().map(|s| (s.clients, s.slo_us))) {
        if !keys.iter().any(|known| known.0 == key.0 && same(known.1, key.1)) {
            keys.push(key);
        }
    }
    keys.into_iter().map(|key| group(experiment, key, &labels)).collect()
}

impl Group<'_> {
    /// Such as `100 clients, SLO 400 µs`.
    pub(crate) fn name(&self) -> String {
        setting(self.clients, self.slo_us)
    }

    /// Every demand of the group, rising.
    pub(crate) fn demands(&self) -> Vec<f64> {
        let mut all: Vec<f64> = Vec::new();
        for point in self.lines.iter().flat_map(|line| &line.points) {
            if !all.iter().any(|known| same(*known, point.demand)) {
                all.push(point.demand);
            }
        }
        all.sort_by(f64::total_cmp);
        all
    }

    /// The controllers measured at a demand.
    pub(crate) fn at(&self, demand: f64) -> impl Iterator<Item = (&Line<'_>, &Point<'_>)> {
        self.lines.iter().filter_map(move |line| {
            let point = line.points.iter().find(|point| same(point.demand, demand))?;
            Some((line, point))
        })
    }

    /// Whether demand changed within its runs.
    pub(crate) fn stepped(&self) -> bool {
        self.lines.iter().flat_map(|l| &l.points).flat_map(|p| &p.runs).any(|r| r.series.is_some())
    }
}

impl<'a> Point<'a> {
    /// Median of a quantity; `None` where it was not measured.
    pub(crate) fn median(&self, quantity: Quantity) -> Option<f64> {
        self.spread(quantity).map(|spread| spread.median)
    }

    /// Median and range: from the summary, else from the runs.
    pub(crate) fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let summarised = self.summary.and_then(|summary| summary.of.get(quantity.field()));
        let spread = match summarised {
            Some(spread) => *spread,
            None => {
                let values = self.runs.iter().map(|run| quantity.of(run));
                spread_of(values.filter(|value| !quantity.positive() || *value > 0.0).collect())?
            }
        };
        let finite = [spread.min, spread.median, spread.max].iter().all(|v| v.is_finite());
        // A percentile of nothing is stored as zero.
        (finite && !(quantity.positive() && spread.median <= 0.0)).then_some(spread)
    }

    /// Why its share of the bound is in doubt, by the first valid repetition that tells it. The share is a median: one of
    /// many repetitions does not make it doubtful.
    pub(crate) fn doubt(&self) -> Option<&'a str> {
        let valid: Vec<&'a Run> =
            self.runs.iter().copied().filter(|run| run.verdict.valid).collect();
        let doubts: Vec<&str> =
            valid.iter().filter_map(|run| run.verdict.in_doubt.as_deref()).collect();
        if 2 * doubts.len() >= valid.len() { doubts.first().copied() } else { None }
    }

    /// The fates of all valid repetitions together; zero where none is valid.
    pub(crate) fn fates(&self) -> Fates {
        let mut sum = Fates::default();
        for run in self.runs.iter().filter(|run| run.verdict.valid) {
            sum.ok = sum.ok.saturating_add(run.fates.ok);
            sum.late = sum.late.saturating_add(run.fates.late);
            sum.expired = sum.expired.saturating_add(run.fates.expired);
            sum.shed = sum.shed.saturating_add(run.fates.shed);
            sum.lost = sum.lost.saturating_add(run.fates.lost);
        }
        sum
    }
}

/// Median and range of the finite values; `None` of nothing.
pub(crate) fn spread_of(mut values: Vec<f64>) -> Option<Spread> {
    values.retain(|value| value.is_finite());
    (!values.is_empty()).then(|| Spread::of(&values))
}

/// Equal to a millionth, to which results tell demands. Objectives in µs have a thousandth at most.
pub(crate) fn same(a: f64, b: f64) -> bool {
    millionths(a) == millionths(b)
}

fn labels(experiment: &Experiment) -> Vec<(&str, &str)> {
    let mut labels = Vec::new();
    let of_runs =
        experiment.runs.iter().map(|r| (r.asked.controller.as_str(), r.asked.profile.as_str()));
    let of_summary = experiment.summary.iter().map(|s| (s.controller.as_str(), s.profile.as_str()));
    for label in of_runs.chain(of_summary) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

fn group<'a>(
    experiment: &'a Experiment,
    (clients, slo_us): (u32, f64),
    labels: &[(&'a str, &'a str)],
) -> Group<'a> {
    let runs: Vec<&Run> = experiment
        .runs
        .iter()
        .filter(|run| run.asked.clients == clients && same(run.asked.slo_us, slo_us))
        .collect();
    let summaries: Vec<&Summary> = experiment
        .summary
        .iter()
        .filter(|summary| summary.clients == clients && same(summary.slo_us, slo_us))
        .collect();
    // That of a run which does not count may be what voided it.
    let any_valid = runs.iter().any(|run| run.verdict.valid);
    let counted = runs.iter().filter(|run| run.verdict.valid || !any_valid);
    let known = counted.map(|run| run.yardstick.capacity_rps).filter(|rps| *rps > 0.0);
    let capacity_rps =
        spread_of(known.collect()).map_or(experiment.capacity_rps, |spread| spread.median);
    let lines = labels.iter().enumerate().map(|(index, (controller, profile))| Line {
        index,
        label: label(controller, profile),
        points: points(
            runs.iter()
                .filter(|r| r.asked.controller == *controller && r.asked.profile == *profile),
            summaries.iter().filter(|s| s.controller == *controller && s.profile == *profile),
        ),
    });
    let lines = lines.filter(|line| !line.points.is_empty()).collect();
    Group { clients, slo_us, capacity_rps: finite_or_zero(capacity_rps), lines }
}

fn points<'a, 'b>(
    runs: impl Iterator<Item = &'b &'a Run>,
    summaries: impl Iterator<Item = &'b &'a Summary>,
) -> Vec<Point<'a>>
where
    'a: 'b,
{
    type At<'a> = (f64, Vec<&'a Run>, Option<&'a Summary>);
    let mut by_demand: BTreeMap<i64, At<'a>> = BTreeMap::new();
    for run in runs.copied().filter(|run| run.asked.demand_ratio.is_finite()) {
        let at = by_demand.entry(millionths(run.asked.demand_ratio));
        at.or_insert((run.asked.demand_ratio, Vec::new(), None)).1.push(run);
    }
    for summary in summaries.copied().filter(|summary| summary.demand_ratio.is_finite()) {
        let at = by_demand.entry(millionths(summary.demand_ratio));
        at.or_insert((summary.demand_ratio, Vec::new(), None)).2 = Some(summary);
    }
    by_demand.into_values().map(|(demand, runs, summary)| point(demand, runs, summary)).collect()
}

fn point<'a>(demand: f64, mut runs: Vec<&'a Run>, summary: Option<&'a Summary>) -> Point<'a> {
    let total = runs.len() as u32;
    let counted = runs.iter().filter(|run| run.verdict.valid).count() as u32;
    if counted > 0 {
        runs.retain(|run| run.verdict.valid);
    }
    let summary = summary.filter(|summary| summary.repetitions > 0);
    let valid = summary.map_or(counted, |summary| summary.repetitions);
    Point { demand, valid, total: total.max(valid), runs, summary }
}

/// A float is no key, a number of millionths is.
fn millionths(value: f64) -> i64 {
    (value * 1e6).round() as i64
}

fn finite_or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, LatencyReading, Rates, RunVerdict, Yardstick};

    fn run(demand_ratio: f64, goodput_rps: f64, valid: bool) -> Run {
        Run {
            asked: AskedRun { controller: "none".into(), demand_ratio, ..AskedRun::default() },
            rates: Rates { goodput_rps, ..Rates::default() },
            verdict: RunVerdict { valid, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    #[test]
    fn medians_skip_invalid_runs() {
        let runs = vec![run(1.0, 10.0, true), run(1.0, 30.0, true), run(1.0, 900.0, false)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let groups = groups(&experiment);
        let point = &groups[0].lines[0].points[0];
        assert_eq!((point.valid, point.total), (2, 3));
        let spread = point.spread(Quantity::Goodput).expect("measured");
        assert_eq!((spread.min, spread.median, spread.max), (10.0, 20.0, 30.0));
    }

    /// 200 and 400 requests per second, where 300,000 are possible: they shared a row, in which half of the runs were invalid.
    #[test]
    fn demands_far_below_capacity_have_a_row_each() {
        let mut runs = vec![run(0.000_667, 200.0, true), run(0.001_333, 400.0, true)];
        let summary = tailwater_stats::summarise(&runs);
        runs.push(run(0.001_333, 400.0, false));
        let experiment = Experiment { runs, summary, ..Experiment::default() };
        let groups = groups(&experiment);
        assert_eq!(groups[0].demands(), [0.000_667, 0.001_333]);
        let points = &groups[0].lines[0].points;
        let found = points.iter().map(|it| (it.median(Quantity::Goodput), it.valid, it.total));
        assert_eq!(found.collect::<Vec<_>>(), [(Some(200.0), 1, 1), (Some(400.0), 1, 2)]);
    }

    /// A percentile of nothing is stored as zero, which was the shortest latency of all.
    #[test]
    fn medians_skip_what_was_not_measured() {
        let with = |p99_us| Run {
            latency: LatencyReading { p99_us, ..run(1.0, 0.0, true).latency },
            ..run(1.0, 0.0, true)
        };
        let runs = vec![with(0.0), with(500.0), with(700.0)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let groups = groups(&experiment);
        let point = &groups[0].lines[0].points[0];
        assert_eq!(point.median(Quantity::P99), Some(600.0));
        assert_eq!(point.median(Quantity::Goodput), Some(0.0), "no goodput is a goodput");
    }

    #[test]
    fn the_summary_wins_over_runs() {
        let spread = Spread { min: 1.0, median: 2.0, max: 3.0 };
        let summary = Summary {
            controller: "none".into(),
            demand_ratio: 1.0,
            repetitions: 5,
            of: BTreeMap::from([("goodput_rps".to_owned(), spread)]),
            ..Summary::default()
        };
        let experiment = Experiment {
            runs: vec![run(1.0, 10.0, true)],
            summary: vec![summary],
            ..Experiment::default()
        };
        let groups = groups(&experiment);
        let point = &groups[0].lines[0].points[0];
        assert_eq!(point.spread(Quantity::Goodput), Some(spread));
        assert_eq!((point.valid, point.total), (5, 5));
    }

    #[test]
    fn capacities_of_invalid_runs_do_not_count() {
        let with = |capacity_rps, valid| Run {
            yardstick: Yardstick { capacity_rps, ..run(1.0, 1.0, valid).yardstick },
            ..run(1.0, 1.0, valid)
        };
        let of =
            |runs: Vec<Run>| groups(&Experiment { runs, ..Experiment::default() })[0].capacity_rps;
        let halved = || vec![with(40.0, false), with(50.0, false)];
        assert_eq!(of(halved()), 45.0);
        assert_eq!(of([halved(), vec![with(100.0, true)]].concat()), 100.0);
    }

    #[test]
    fn what_is_not_finite_is_not_shown() {
        let experiment = Experiment {
            runs: vec![run(1.0, f64::NAN, true), run(f64::NAN, 1.0, true)],
            ..Experiment::default()
        };
        let groups = groups(&experiment);
        assert_eq!(groups[0].demands(), [1.0]);
        assert_eq!(groups[0].lines[0].points[0].spread(Quantity::Goodput), None);
    }
}
