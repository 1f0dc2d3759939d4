//! Two results of the same scenario side by side: does the simulator say what the machine does, or one
//! build what another did.

use crate::pairing::{is_near, pairs};
use crate::result::{Experiment, Summary};
use crate::settings::{Difference, differences};
use crate::summary::without_valid_run;
use serde::Serialize;

/// How two results agree.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Agreement {
    /// Configurations that both have, in the first's order.
    pub points: Vec<PairedPoint>,
    /// Configurations that are not compared: only one of them has them, or a valid run of them, or neither has a valid run.
    pub unmatched: u32,
    /// Demands at which both rank the controllers alike, where goodputs within the tolerance count as
    /// equal; and all demands at which there was something to rank.
    pub ranked_alike: (u32, u32),
    /// Where each controller stops keeping up.
    pub onsets: Vec<Onset>,
    /// Settings that make the two results ones of different scenarios; empty where they are of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub different: Vec<Difference>,
}

/// One configuration in both.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PairedPoint {
    /// As in [`crate::result::Run`].
    pub controller: String,
    /// As in [`crate::result::Run`].
    pub profile: String,
    /// As in [`crate::result::Run`].
    pub clients: u32,
    /// As in [`crate::result::Run`].
    pub slo_us: f64,
    /// As in [`crate::result::Run`]; the first's, where demands are stated in requests per second.
    pub demand_ratio: f64,
    /// Median goodput in the first and in the second ÷ capacity. Where demands are stated in requests per second,
    /// capacity is the first's for both: the second may be asked the same of another one.
    pub goodput_of_capacity: (f64, f64),
    /// Median of the 99th percentile in the first and in the second.
    pub p99_us: (f64, f64),
}

impl PairedPoint {
    /// Second minus first, in points of capacity.
    #[must_use]
    pub fn difference(&self) -> f64 {
        100.0 * (self.goodput_of_capacity.1 - self.goodput_of_capacity.0)
    }
}

/// The lowest demand at which goodput falls below [`KEEPS_UP`] of what could be served.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Onset {
    /// As in [`crate::result::Run`].
    pub controller: String,
    /// As in [`crate::result::Run`].
    pub profile: String,
    /// As in [`crate::result::Run`].
    pub clients: u32,
    /// As in [`crate::result::Run`].
    pub slo_us: f64,
    /// Demand ÷ capacity in the first and in the second, between two measured demands by a straight
    /// line; `None` where it keeps up throughout.
    pub demand_ratio: (Option<f64>, Option<f64>),
}

/// A controller keeps up while its goodput is at least this share of min(demand, capacity).
pub const KEEPS_UP: f64 = 0.8;

/// Holds two results against each other. Goodputs closer than `tolerance` points of capacity rank equal.
#[must_use]
pub fn agreement(first: &Experiment, second: &Experiment, tolerance: f64) -> Agreement {
    let paired = pairs(&first.summary, &second.summary);
    let points: Vec<PairedPoint> = paired.iter().map(|(one, two)| point(one, two)).collect();
    // Each of either is in one pair at most.
    let alone = first.summary.len() + second.summary.len() - 2 * points.len();
    let unmatched = u32::try_from(alone + void(first, second)).unwrap_or(u32::MAX);
    let ranked_alike = ranks(&points, tolerance);
    let onsets = onsets(&points);
    let different = differences(first, second);
    Agreement { points, unmatched, ranked_alike, onsets, different }
}

/// How many configurations ran and have no summary in either, as no run of them is valid. One that is void in both counts once.
fn void(first: &Experiment, second: &Experiment) -> usize {
    let one = without_valid_run(&first.runs);
    let two = without_valid_run(&second.runs);
    // The other's summary was counted.
    let counted = pairs(&one, &second.summary).len() + pairs(&two, &first.summary).len();
    (one.len() + two.len()).saturating_sub(counted + pairs(&one, &two).len())
}

fn point(one: &Summary, two: &Summary) -> PairedPoint {
    let median = |of: &Summary, name: &str| of.of.get(name).map_or(0.0, |spread| spread.median);
    let both = |name| (median(one, name), median(two, name));
    let (first, second) = both("goodput_of_capacity");
    let shares = (one.demand_ratio, two.demand_ratio);
    // Other shares are one rate of two capacities, whose quotient is that of the shares.
    let capacities = if is_near(shares.0, shares.1) { 1.0 } else { shares.0 / shares.1 };
    PairedPoint {
        controller: one.controller.clone(),
        profile: one.profile.clone(),
        clients: one.clients,
        slo_us: one.slo_us,
        demand_ratio: one.demand_ratio,
        goodput_of_capacity: (first, second * capacities),
        p99_us: both("p99_us"),
    }
}

/// No pair of controllers at the same demand stands in opposite order in the two.
fn ranks(points: &[PairedPoint], tolerance: f64) -> (u32, u32) {
    let mut demands: Vec<(u32, f64, f64)> = Vec::new();
    for point in points {
        let demand = (point.clients, point.slo_us, point.demand_ratio);
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    let (mut alike, mut all) = (0, 0);
    for demand in demands {
        let here: Vec<&PairedPoint> = points
            .iter()
            .filter(|point| (point.clients, point.slo_us, point.demand_ratio) == demand)
            .collect();
        if here.len() > 1 {
            all += 1;
            alike +=
                u32::from(!here.iter().any(|a| here.iter().any(|b| is_swapped(a, b, tolerance))));
        }
    }
    (alike, all)
}

/// `a` is clearly ahead of `b` in the first, and clearly behind in the second.
fn is_swapped(a: &PairedPoint, b: &PairedPoint, tolerance: f64) -> bool {
    let margin = tolerance / 100.0;
    let (a, b) = (a.goodput_of_capacity, b.goodput_of_capacity);
    a.0 > b.0 + margin && a.1 < b.1 - margin
}

fn onsets(points: &[PairedPoint]) -> Vec<Onset> {
    let mut groups: Vec<Vec<&PairedPoint>> = Vec::new();
    let key = |point: &PairedPoint| {
        (point.controller.clone(), point.profile.clone(), point.clients, point.slo_us.to_bits())
    };
    for point in points {
        match groups.iter_mut().find(|group| key(group[0]) == key(point)) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    groups.iter().map(|group| onset_of(group)).collect()
}

fn onset_of(group: &[&PairedPoint]) -> Onset {
    let curve = |goodput: fn(&PairedPoint) -> f64| {
        let mut curve: Vec<_> = group.iter().map(|p| (p.demand_ratio, goodput(p))).collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        falls_at(&curve)
    };
    let first = group[0];
    Onset {
        controller: first.controller.clone(),
        profile: first.profile.clone(),
        clients: first.clients,
        slo_us: first.slo_us,
        demand_ratio: (curve(|p| p.goodput_of_capacity.0), curve(|p| p.goodput_of_capacity.1)),
    }
}

/// Where the share of what could be served crosses [`KEEPS_UP`] downwards.
fn falls_at(curve: &[(f64, f64)]) -> Option<f64> {
    let share = |&(demand, goodput): &(f64, f64)| goodput / demand.min(1.0);
    let mut before: Option<(f64, f64)> = None;
    for here in curve {
        let (demand, now) = (here.0, share(here));
        if now < KEEPS_UP {
            let crossing = |(earlier, kept): (f64, f64)| {
                earlier + (demand - earlier) * (kept - KEEPS_UP) / (kept - now)
            };
            return Some(before.map_or(demand, crossing));
        }
        before = Some((demand, now));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spread::Spread;

    fn summary(controller: &str, demand_ratio: f64, goodput: f64) -> Summary {
        let spread = Spread { min: goodput, median: goodput, max: goodput };
        Summary {
            controller: controller.into(),
            demand_ratio,
            of: [("goodput_of_capacity".to_owned(), spread)].into(),
            ..Summary::default()
        }
    }

    fn experiment(summary: Vec<Summary>) -> Experiment {
        Experiment { summary, ..Experiment::default() }
    }

    #[test]
    fn what_only_one_has_is_counted_and_not_compared() {
        let one = experiment(vec![summary("a", 0.5, 0.5), summary("a", 1.0, 0.9)]);
        let two = experiment(vec![summary("a", 1.0, 0.85), summary("b", 1.0, 0.2)]);
        let found = agreement(&one, &two, 5.0);
        assert_eq!((found.points.len(), found.unmatched), (1, 2));
        assert!((found.points[0].difference() + 5.0).abs() < 1e-9);
        assert_eq!(found.ranked_alike, (0, 0), "nothing to rank");
    }

    /// Where no run of it counts in either, it was in no number: all that was left agreed.
    #[test]
    fn what_has_no_valid_run_in_either_is_counted() {
        use crate::result::{AskedRun, Run, RunVerdict};
        let run = |controller: &str, valid| Run {
            asked: AskedRun {
                controller: controller.into(),
                demand_ratio: 1.0,
                ..AskedRun::default()
            },
            verdict: RunVerdict { valid, ..RunVerdict::default() },
            ..Run::default()
        };
        let of = |runs: Vec<Run>| Experiment {
            summary: crate::summarise(&runs),
            runs,
            ..Experiment::default()
        };
        let both = of(vec![run("a", true), run("b", true)]);
        let void = of(vec![run("a", true), run("b", false), run("b", false)]);
        let other = of(vec![run("a", true), run("c", false)]);
        let unmatched = |one, two| {
            let found = agreement(one, two, 5.0);
            assert_eq!(found.points[0].controller, "a");
            found.unmatched
        };
        assert_eq!(unmatched(&both, &both), 0);
        assert_eq!((unmatched(&both, &void), unmatched(&void, &both)), (1, 1));
        assert_eq!((unmatched(&void, &void), unmatched(&void, &other)), (1, 2));
    }

    #[test]
    fn a_result_agrees_with_itself_where_its_demands_are_near_one_another() {
        let all = experiment(vec![summary("a", 1.0, 0.9), summary("a", 1.005, 0.5)]);
        let found = agreement(&all, &all, 5.0);
        assert_eq!((found.points.len(), found.unmatched), (2, 0));
        assert!(found.points.iter().all(|point| point.difference() == 0.0), "{:?}", found.points);
        let one = experiment(vec![summary("a", 1.0, 0.9)]);
        assert_eq!(agreement(&all, &one, 5.0).unmatched, 1);
        assert_eq!(agreement(&one, &all, 5.0).unmatched, 1);
    }

    #[test]
    fn the_same_rate_of_another_capacity_is_compared_as_a_rate() {
        let at = |demand_ratio, goodput| {
            let mut summary = summary("a", demand_ratio, goodput);
            let asked = Spread { min: 1_000.0, median: 1_000.0, max: 1_000.0 };
            summary.of.insert("asked_rps".to_owned(), asked);
            experiment(vec![summary])
        };
        let found = agreement(&at(0.1, 0.1), &at(0.025, 0.025), 5.0);
        assert!(found.points[0].difference().abs() < 1e-9, "{:?}", found.points);
        assert_eq!(found.onsets[0].demand_ratio, (None, None), "both keep up");
    }

    #[test]
    fn only_a_clear_swap_spoils_the_ranking() {
        let one = experiment(vec![summary("a", 2.0, 0.9), summary("b", 2.0, 0.8)]);
        let close = experiment(vec![summary("a", 2.0, 0.8), summary("b", 2.0, 0.82)]);
        let swapped = experiment(vec![summary("a", 2.0, 0.6), summary("b", 2.0, 0.8)]);
        assert_eq!(agreement(&one, &close, 5.0).ranked_alike, (1, 1));
        assert_eq!(agreement(&one, &swapped, 5.0).ranked_alike, (0, 1));
    }

    #[test]
    fn collapse_begins_where_the_line_crosses() {
        let one = experiment(vec![summary("a", 1.0, 1.0), summary("a", 2.0, 0.6)]);
        let two = experiment(vec![summary("a", 1.0, 0.9), summary("a", 2.0, 0.85)]);
        let found = agreement(&one, &two, 5.0);
        let (first, second) = found.onsets[0].demand_ratio;
        assert!((first.unwrap() - 1.5).abs() < 1e-9, "{first:?}");
        assert_eq!(second, None);
    }
}
