//! `tailwater compare`: two results of one scenario side by side.

use crate::args::CompareOptions;
use crate::failure::{Failure, say};
use std::path::Path;
use tailwater_report::{grid, percent, time};
use tailwater_stats::agreement::{Agreement, KEEPS_UP, Onset, Point, agreement};
use tailwater_stats::result::Experiment;

/// Differences beyond this many points of capacity are marked, and rankings that hang on less are equal.
const TOLERANCE: f64 = 5.0;

pub(crate) fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let (first, second) = (read(&options.first)?, read(&options.second)?);
    let found = agreement(&first, &second, TOLERANCE);
    if found.points.is_empty() {
        let why = "no controller, demand, number of clients and SLO occur in both with a valid run";
        return Err(Failure::usage(format!("{why}; give two results of the same scenario")));
    }
    if options.json {
        return say(&serde_json::to_string_pretty(&found).map_err(Failure::work)?);
    }
    say(&format!("first: {}, second: {}\n", title(&first), title(&second)))?;
    say(&points(&found))?;
    say("")?;
    say(&onsets(&found))?;
    say(&format!("\n{}", sentence(&found)))
}

fn read(path: &Path) -> Result<Experiment, Failure> {
    let trouble = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| trouble(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        trouble(format!("this is no result of tailwater run --json or --out: {error}"))
    })
}

fn title(of: &Experiment) -> String {
    format!("{} on {} ({})", of.scenario, of.driver, of.manifest.tailwater)
}

fn points(found: &Agreement) -> String {
    let heads =
        ["controller", "clients", "SLO", "demand", "goodput", "second", "points", "p99", "second"];
    let row = |point: &Point| {
        let (one, two) = point.goodput_of_capacity;
        let difference = point.difference();
        let mark = if difference.abs() > TOLERANCE { " !" } else { "" };
        vec![
            format!("{} ({})", point.controller, point.profile),
            point.clients.to_string(),
            time(point.slo_us),
            format!("{:.1}×", point.demand_ratio),
            percent(one),
            percent(two),
            format!("{difference:+.1}{mark}"),
            time(point.p99_us.0),
            time(point.p99_us.1),
        ]
    };
    grid(&heads, 1, &found.points.iter().map(row).collect::<Vec<_>>())
}

fn onsets(found: &Agreement) -> String {
    let at = |demand: Option<f64>| demand.map_or("never".into(), |demand| format!("{demand:.2}×"));
    let row = |onset: &Onset| {
        let (one, two) = onset.demand_ratio;
        vec![
            format!("{} ({})", onset.controller, onset.profile),
            onset.clients.to_string(),
            time(onset.slo_us),
            at(one),
            at(two),
        ]
    };
    let heads = ["falls behind at", "clients", "SLO", "first", "second"];
    grid(&heads, 1, &found.onsets.iter().map(row).collect::<Vec<_>>())
}

fn sentence(found: &Agreement) -> String {
    let near = found.points.iter().filter(|point| point.difference().abs() <= TOLERANCE).count();
    let (alike, all) = found.ranked_alike;
    let same_onset = |onset: &&Onset| match onset.demand_ratio {
        (Some(one), Some(two)) => (one - two).abs() <= 0.1 * one.min(two),
        (None, None) => true,
        _ => false,
    };
    let onsets = found.onsets.iter().filter(same_onset).count();
    format!(
        "Goodput agrees within {TOLERANCE} points of capacity in {near} of {} configurations, the order \
         of the controllers at {alike} of {all} demands, and where they fall below {} % of what could \
         be served within 10 % for {onsets} of {}. {} configurations have no valid run in one of the two.",
        found.points.len(),
        percent(KEEPS_UP),
        found.onsets.len(),
        found.unmatched,
    )
}
