//! The pictures of an experiment: against demand, the fates, and over time where demand changes.

mod demand;
mod fates;
mod timeline;

use crate::format;
use crate::model::name;
use crate::model::{self, Group};
use crate::svg::chart::Series;
use crate::svg::look::Look;
use tailwater_stats::result::{Experiment, Spread};

/// One picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    /// Name of a file without its ending; unique within the experiment, of `a-z`, `0-9` and `-`.
    pub name: String,
    /// What it shows, and for which clients and SLO.
    pub title: String,
    /// How its values were taken: with the title what a caption says.
    pub how: String,
    /// A complete SVG document without outside references.
    pub svg: String,
}

/// All pictures: for each (clients, SLO) goodput, throughput, latency, drops, fates, rejects,
/// lateness and CPU against demand; for stepped scenarios also the course over time. What was not measured, or is
/// zero throughout, has none, but for goodput.
#[must_use]
pub fn plots(experiment: &Experiment, look: Look) -> Vec<Plot> {
    let groups = model::groups(experiment);
    let of_group = |(at, group)| of_group(experiment, (at, group), look);
    groups.iter().enumerate().flat_map(of_group).collect()
}

/// The pictures of one group, which is the `at`-th of the experiment.
pub(crate) fn of_group(
    experiment: &Experiment,
    (at, group): (usize, &Group<'_>),
    look: Look,
) -> Vec<Plot> {
    let frame = Frame { experiment, group, at, look };
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
    look: Look,
}

impl Frame<'_> {
    fn plot(&self, name: &str, title: &str, how: &str, svg: String) -> Plot {
        let clients = self.group.clients;
        let slo = self.group.slo_us.round().max(0.0) as u64;
        // Two objectives may differ by less than the name shows.
        let clash = if self.at == 0 { String::new() } else { format!("-{}", self.at + 1) };
        Plot {
            name: format!("{name}-{clients}-clients-slo-{slo}us{clash}"),
            title: format!("{title}, {}", self.group.name()),
            how: self.with_missing(how),
            svg,
        }
    }

    /// Where the numbers come from, with the points that are missing.
    fn subtitle(&self, how: &str) -> String {
        let mut text = name(self.experiment).chars().take(60).collect::<String>();
        if !text.is_empty() {
            text.push_str(" · ");
        }
        text.push_str(&format!("{} · {}", self.group.name(), self.with_missing(how)));
        text
    }

    fn with_missing(&self, how: &str) -> String {
        let points = self.group.lines.iter().flat_map(|line| &line.points);
        match points.filter(|point| point.valid == 0).count() {
            0 => how.to_owned(),
            1 => format!("{how} · 1 point without a valid run left out"),
            n => format!("{how} · {n} points without a valid run left out"),
        }
    }
}

/// A median with its range, where there is one.
fn with_range(of: Spread, show: impl Fn(f64) -> String) -> String {
    let (median, min, max) = (show(of.median), show(of.min), show(of.max));
    if min == max { median } else { format!("{median} ({min} – {max})") }
}

/// Whether any mark is above zero.
fn shows_something(series: &[Series]) -> bool {
    series.iter().flat_map(|one| one.points.iter().flatten()).any(|mark| mark.high > 0.0)
}

/// A tick of a linear axis.
fn plain_tick(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// A tick of an axis in microseconds.
fn time_tick(us: f64, _: usize) -> String {
    format::round_time(us)
}
