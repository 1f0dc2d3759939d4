//! What a person wants to hear first.

use crate::format;
use crate::model::{self, Group, Line, Point};
use crate::notes;
use crate::quantity::Quantity;
use std::collections::BTreeMap;
use tailwater_stats::result::{Experiment, ShardMark};

/// Controllers named in the first sentence.
const NAMED_MAX: usize = 4;

/// Said of runs that only show that a scenario works.
const SHORT: &str =
    "The runs are of the scenario's short version, which shows that it works: they are no result.";

/// Two to four sentences: which controller keeps how much in time at the highest demand; how close the best comes to
/// the bound elsewhere; how far the runs can be trusted. Names from files cannot drive a terminal.
#[must_use]
pub fn line_summary(experiment: &Experiment) -> String {
    format::printable(&said(experiment))
}

fn said(experiment: &Experiment) -> String {
    let groups = model::groups(experiment);
    let Some(group) = groups.first() else {
        return format!("No run of {} took place.", experiment.scenario);
    };
    let mut sentences = vec![verdict(group).unwrap_or_else(|| no_result(experiment))];
    sentences.extend(across_demands(group));
    sentences.push(trust(experiment));
    sentences.extend(experiment.short.then(|| SHORT.to_owned()));
    sentences.extend(stalls(experiment));
    sentences.extend(experiment.cut_short.iter().map(|why| format!("It was cut short: {why}.")));
    sentences.extend(experiment.shard.as_ref().map(|shard| {
        let ShardMark { index, of, .. } = shard;
        format!("This is shard {index}/{of} alone: tailwater merge puts all of them together.")
    }));
    if groups.len() > 1 {
        let more = groups.len() - 1;
        let noun = if more == 1 { "configuration follows" } else { "configurations follow" };
        sentences.push(format!("This speaks of {}; {more} more {noun}.", group.name()));
    }
    sentences.join(" ")
}

/// Valid points at one demand, the best first.
fn ranked<'a>(group: &'a Group<'_>, demand: f64) -> Vec<(&'a Line<'a>, &'a Point<'a>, f64)> {
    let mut ranked: Vec<_> = group
        .at(demand)
        .filter(|(_, point)| point.valid > 0)
        .filter_map(|(line, point)| Some((line, point, point.median(Quantity::Goodput)?)))
        .collect();
    ranked.sort_by(|a, b| b.2.total_cmp(&a.2));
    ranked
}

fn verdict(group: &Group<'_>) -> Option<String> {
    let demand = group.demands().into_iter().rev().find(|d| !ranked(group, *d).is_empty())?;
    let ranked = ranked(group, demand);
    let (best, point, goodput) = ranked.first()?;
    let mean = if group.stepped() { "a mean of " } else { "" };
    let at = if knows_capacity(group) {
        let capacity = format::thousands(group.capacity_rps);
        format!("At {mean}{} of {capacity} k requests/s", format::demand(demand))
    } else {
        let offered = point.median(Quantity::Offered).unwrap_or(0.0);
        format!("Of {mean}{} k requests/s asked for", format::thousands(offered))
    };
    let mut text = format!(
        "{at}, {} keeps {} k/s in time ({})",
        best.label,
        format::thousands(*goodput),
        standing(group, point)
    );
    for (line, point, goodput) in ranked.iter().skip(1).take(NAMED_MAX - 1) {
        text.push_str(&format!("; {} keeps {} k/s", line.label, format::thousands(*goodput)));
        if let Some(p99) = point.median(Quantity::P99) {
            text.push_str(&format!(" (p99 {})", format::time(p99)));
        }
    }
    if ranked.len() > NAMED_MAX {
        text.push_str(&format!("; {} more keep less", ranked.len() - NAMED_MAX));
    }
    text.push('.');
    Some(text)
}

/// A load by hand knows none that anything could be a share of.
fn knows_capacity(group: &Group<'_>) -> bool {
    group.capacity_rps > 0.0
}

fn standing(group: &Group<'_>, point: &Point<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(share) = point.median(Quantity::OfCapacity).filter(|_| knows_capacity(group)) {
        parts.push(format!("{} % of capacity", format::percent(share)));
    }
    if let Some(share) = point.median(Quantity::OfBound).filter(|share| *share > 0.0) {
        let mark = if point.doubt().is_some() { " (doubtful)" } else { "" };
        parts.push(format!("{} % of the bound{mark}", format::percent(share)));
    }
    if let Some(p99) = point.median(Quantity::P99) {
        parts.push(format!("p99 {}", format::time(p99)));
    }
    if parts.is_empty() { "no latency was measured".to_owned() } else { parts.join(", ") }
}

/// The worst share of the bound that the winner at the highest demand shows anywhere.
fn across_demands(group: &Group<'_>) -> Option<String> {
    let demands = group.demands();
    let last = demands.iter().rev().find(|d| !ranked(group, **d).is_empty())?;
    let winner = ranked(group, *last).first()?.0.index;
    let line = group.lines.iter().find(|line| line.index == winner)?;
    let shares: Vec<(f64, f64)> = line
        .points
        .iter()
        .filter(|point| point.valid > 0)
        .filter_map(|point| Some((point.demand, point.median(Quantity::OfBound)?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    let worst = shares.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (first, last) = (shares.first()?.0, shares.last()?.0);
    // Where methods tell costs apart the bound is one of those that do not look.
    let by_class = line.points.iter().flat_map(|it| &it.runs).any(|it| it.known_bound_rps > 0.0);
    let of = if by_class { "the bound for costs unknown" } else { "what no controller can beat" };
    (shares.len() > 1).then(|| {
        format!(
            "From {} to {} {} stays at or above {} % of {of} (lowest at {}).",
            format::demand(first),
            format::demand(last),
            line.label,
            format::percent(worst.1),
            format::demand(worst.0)
        )
    })
}

fn trust(experiment: &Experiment) -> String {
    let all = experiment.runs.len();
    let valid = experiment.runs.iter().filter(|run| run.verdict.valid).count();
    let verb = if valid == 1 { "is" } else { "are" };
    let mut text = format!("{valid} of {all} runs {verb} valid");
    match experiment.discarded.len() {
        0 => {}
        1 => text.push_str(", 1 was discarded for noise"),
        n => text.push_str(&format!(", {n} were discarded for noise")),
    }
    if experiment.capacity_drift.is_finite() && experiment.capacity_drift > 0.0 {
        let drift = format::percent(experiment.capacity_drift);
        text.push_str(&format!("; capacity drifted by {drift} %"));
    }
    text.push('.');
    text
}

/// Which machine was simulated, where it was not one without stalls.
fn stalls(experiment: &Experiment) -> Option<String> {
    let kinds = &experiment.manifest.stalls;
    let per_second: f64 = kinds.iter().map(|kind| kind.per_second).sum();
    (per_second > 0.0).then(|| {
        let share = format::percent(experiment.manifest.stalled_share());
        format!(
            "Simulated with {per_second:.1} stalls per second of each core, {share} % of its time."
        )
    })
}

fn no_result(experiment: &Experiment) -> String {
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for run in experiment.runs.iter().filter(|run| !run.verdict.valid) {
        *causes.entry(notes::reasons(&run.verdict)).or_default() += 1;
    }
    let commonest = causes.into_iter().max_by_key(|(_, times)| *times);
    let cause = commonest.map_or_else(String::new, |(why, _)| format!(" (mostly: {why})"));
    format!("{} has no result: no run in it is valid{cause}.", experiment.scenario)
}
