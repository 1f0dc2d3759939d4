//! The pictures of an experiment: against demand, the fates, and over time where demand changes.

mod demand;
mod fates;
mod timeline;

use crate::format;
use crate::html::name;
use crate::model::{self, Group};
use tailwater_stats::result::Experiment;

/// One picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    /// Name of a file without its ending; unique within the experiment, of `a-z`, `0-9` and `-`.
    pub name: String,
    /// What it shows, and for which clients and SLO.
    pub title: String,
    /// A complete SVG document without outside references.
    pub svg: String,
}

/// All pictures: for each (clients, SLO) goodput, throughput, latency, drops, fates, rejects,
/// lateness and CPU against demand; for stepped scenarios also the course over time.
#[must_use]
pub fn plots(experiment: &Experiment) -> Vec<Plot> {
    let groups = model::groups(experiment);
    groups.iter().enumerate().flat_map(|(at, group)| of_group(experiment, at, group)).collect()
}

/// The pictures of one group, which is the `at`-th of the experiment.
pub(crate) fn of_group(experiment: &Experiment, at: usize, group: &Group<'_>) -> Vec<Plot> {
    let frame = Frame { experiment, group, at };
    let mut plots = Vec::new();
    if group.stepped() {
        plots.extend(timeline::plots(&frame));
    }
    // A stepped scenario has one mean demand, and a curve of one point says nothing.
    if !group.stepped() || group.demands().len() > 1 {
        plots.extend(demand::plots(&frame));
    }
    plots.push(fates::plot(&frame));
    plots
}

/// What every picture of a group says about itself.
struct Frame<'a> {
    experiment: &'a Experiment,
    group: &'a Group<'a>,
    at: usize,
}

impl Frame<'_> {
    fn plot(&self, name: &str, title: &str, svg: String) -> Plot {
        let clients = self.group.clients;
        let slo = self.group.slo_us.round().max(0.0) as u64;
        // Two objectives may differ by less than the name shows.
        let clash = if self.at == 0 { String::new() } else { format!("-{}", self.at + 1) };
        Plot {
            name: format!("{name}-{clients}-clients-slo-{slo}us{clash}"),
            title: format!("{title}, {}", self.group.name()),
            svg,
        }
    }

    /// Where the numbers come from, with the points that are missing.
    fn subtitle(&self, how: &str) -> String {
        let points = || self.group.lines.iter().flat_map(|line| &line.points);
        let missing = points().filter(|point| point.valid == 0).count();
        let mut text = name(self.experiment).chars().take(60).collect::<String>();
        if !text.is_empty() {
            text.push_str(" · ");
        }
        text.push_str(&format!("{} · {how}", self.group.name()));
        match missing {
            0 => {}
            1 => text.push_str(" · 1 point without a valid run left out"),
            n => text.push_str(&format!(" · {n} points without a valid run left out")),
        }
        text
    }
}

/// A tick of a linear axis.
fn plain_tick(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// A tick of an axis in microseconds.
fn time_tick(us: f64, _: usize) -> String {
    format::round_time(us)
}
