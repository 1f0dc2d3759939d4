//! Figures 3 and 5 to 13 of Protego (NSDI '23).
//!
//! What counts as the same was written down here after first runs had been seen:
//! `docs/figures-protego.md` says what that means for the count of numbers that agree.

mod mutexes;
mod applications;
mod parts;

use super::figure::{Drawn, Figure, Mark, Panel, Quantity};
use super::quantity::DEMAND;
use super::results::Results;
use tailwater_report::LineStyle;
use tailwater_stats::result::Run;

pub(super) const FIGURES: &[Figure] = &[
    mutexes::FIG_3,
    mutexes::FIG_5,
    applications::FIG_6,
    applications::FIG_7,
    applications::FIG_8,
    mutexes::FIG_9,
    mutexes::FIG_10,
    parts::FIG_11,
    parts::FIG_12,
    applications::FIG_13,
];

const TEXT: &str = "Protego, text";
const CODE: &str = "Protego, published code";
const GIVING_UP: &str = "Protego, published code, giving up";
const OURS: &str = "tailwater";
const BREAKWATER: &str = "Breakwater";
const SEDA: &str = "SEDA, as in the text";
const SEDA_TARGET: &str = "SEDA, steered to the target";
const SEDA_DEFAULT: &str = "SEDA, default";

const PROTEGOS: &[&str] = &[TEXT, CODE, GIVING_UP, OURS];
/// Those that serve their clients: the text's law drops nothing, since it lets nobody in.
const SERVING: &[&str] = &[CODE, GIVING_UP, OURS];
const SEDAS: &[&str] = &[SEDA, SEDA_TARGET, SEDA_DEFAULT];

/// A quantity against demand.
const fn panel(
    name: &'static str,
    from: &'static [&'static str],
    y: &'static Quantity,
    stated: &'static [Mark],
) -> Panel {
    let drawn = Drawn::Points { x: &DEMAND, y, style: LineStyle::Joined };
    Panel { name, title: "against demand", from, keep: |_| true, drawn, stated }
}

fn of<'a>(results: &'a Results, scenario: &str, who: &str) -> impl Iterator<Item = &'a Run> {
    results.runs(scenario).iter().filter(move |run| run.profile == who)
}

/// At so many thousand requests per second.
fn at<'a>(results: &'a Results, scenario: &str, who: &str, demand: f64) -> Option<&'a Run> {
    of(results, scenario, who).find(|run| (run.asked_rps / 1e3 / demand - 1.0).abs() < 0.01)
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

fn drops(run: &Run) -> f64 {
    run.drop_ratio * 100.0
}

/// The highest goodput, in thousands per second.
fn best(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).map(|run| run.goodput_rps / 1e3))
}

/// p99 over the objective, at the demand where it is highest.
fn over_target(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).map(|run| run.p99_us / run.slo_us))
}

/// Runs of two labels at the same demand.
fn pairs<'a>(
    results: &'a Results,
    scenario: &'a str,
    (one, other): (&str, &'a str),
) -> impl Iterator<Item = (&'a Run, &'a Run)> {
    of(results, scenario, one)
        .filter_map(move |run| Some((run, at(results, scenario, other, run.asked_rps / 1e3)?)))
}

/// Goodput over another's, at the demand where that is most. Whom nothing is left for is passed over.
fn multiple(results: &Results, scenario: &str, who: &str, other: &str) -> Option<f64> {
    let pairs = pairs(results, scenario, (who, other));
    let alive = pairs.filter(|(_, other)| other.goodput_rps > 0.0);
    most(alive.map(|(run, other)| run.goodput_rps / other.goodput_rps))
}

/// How many times another's p99 is ours, at the demand where that is most.
fn quicker(results: &Results, scenario: &str, who: &str, other: &str) -> Option<f64> {
    let pairs = pairs(results, scenario, (who, other));
    let served = pairs.filter(|(run, _)| run.p99_us > 0.0);
    most(served.map(|(run, other)| other.p99_us / run.p99_us))
}

fn below(run: &Run, other: &Run) -> Option<f64> {
    (other.goodput_rps > 0.0).then(|| (1.0 - run.goodput_rps / other.goodput_rps) * 100.0)
}
