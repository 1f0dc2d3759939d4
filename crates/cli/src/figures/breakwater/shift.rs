//! Figure 7: how fast each is back after a sudden shift of demand (§5.2).

use super::super::figure::{Agree, Claim, Course, Drawn, Figure, Mark, Panel, source};
use super::super::quantity::{GOODPUT_COURSE, P99_COURSE, REJECT_COURSE};
use super::super::results::{Results, stretch};
use super::{OURS, PAPER};

const ALWAYS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

const fn course(name: &'static str, drawn: &'static Course, stated: &'static [Mark]) -> Panel {
    let title = "1,000 clients, bins of 20 ms";
    Panel { name, title, from: &["fig7"], keep: |_| true, drawn: Drawn::Course(drawn), stated }
}

pub(super) const FIG_7: Figure = Figure {
    paper: PAPER,
    number: 7,
    title: "demand of 0.4, 0.8, 1.2, 0.8 and 0.4 million requests/s",
    scenarios: &[source!("fig7")],
    panels: &[
        course("goodput", &GOODPUT_COURSE, &[]),
        course(
            "p99",
            &P99_COURSE,
            &[
                Mark { label: "SLO 200 µs (§5.1)", x: ALWAYS, y: 200.0 },
                Mark { label: "Breakwater's peak, 1.4 × SLO (§5.2)", x: (4.0, 4.5), y: 280.0 },
                Mark { label: "DAGOR's peak, 300 ms (§5.2)", x: (4.0, 4.5), y: 300e3 },
            ],
        ),
        course(
            "reject",
            &REJECT_COURSE,
            &[Mark { label: "DAGOR's peak of the mean, 220 ms (§5.2)", x: (4.0, 4.5), y: 220e3 }],
        ),
    ],
    claims: &[
        Claim {
            what: "recovery from the spike to 1.4 ×, less than",
            place: "abstract, §1",
            theirs: 20.0,
            unit: "ms",
            agree: Agree::AtMost,
            subjects: OURS,
            ours: recovery,
        },
        Claim {
            what: "recovery from the spike to 1.4 ×",
            place: "abstract, §5.2",
            theirs: 500.0,
            unit: "ms",
            agree: Agree::Factor(2.0),
            subjects: &["dagor"],
            ours: recovery,
        },
        Claim {
            what: "recovery from the spike to 1.4 ×",
            place: "abstract, §5.2",
            theirs: 1_580.0,
            unit: "ms",
            agree: Agree::Factor(2.0),
            subjects: &["seda"],
            ours: recovery,
        },
        Claim {
            what: "converged goodput over DAGOR's at 1.4 ×",
            place: "§8",
            theirs: 6.0,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| {
                Some((converged(results, who)? / converged(results, "dagor")? - 1.0) * 100.0)
            },
        },
        Claim {
            what: "converged goodput over SEDA's at 1.4 ×",
            place: "§8",
            theirs: 3.0,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| {
                Some((converged(results, who)? / converged(results, "seda")? - 1.0) * 100.0)
            },
        },
        Claim {
            what: "largest p99 in the spike ÷ SLO",
            place: "§5.2",
            theirs: 1.4,
            unit: "×",
            agree: Agree::AtMost,
            subjects: OURS,
            ours: |results, who| Some(largest_p99_us(results, who)? / 200.0),
        },
        Claim {
            what: "largest p99 in the spike",
            place: "§5.2",
            theirs: 300.0,
            unit: "ms",
            agree: Agree::Factor(2.0),
            subjects: &["dagor"],
            ours: |results, who| Some(largest_p99_us(results, who)? / 1e3),
        },
        Claim {
            what: "largest reject delay in the spike (theirs the mean of a bin, ours the median)",
            place: "§5.2",
            theirs: 220.0,
            unit: "ms",
            agree: Agree::Factor(2.0),
            subjects: &["dagor"],
            ours: |results, who| {
                let series = results.of("fig7", who)?.series.as_ref()?;
                largest(&stretch(&series.reject_p50_us, series, SPIKE.0, SPIKE.1))
                    .map(|us| us / 1e3)
            },
        },
        Claim {
            what: "dip when demand falls to 0.9 ×, of the converged goodput",
            place: "§5.2",
            theirs: 77.5,
            unit: "%",
            agree: Agree::Within(10.0),
            subjects: &["dagor"],
            ours: dip,
        },
        Claim {
            what: "dip when demand falls to 0.9 ×, of the converged goodput",
            place: "§5.2",
            theirs: 82.6,
            unit: "%",
            agree: Agree::Within(10.0),
            subjects: &["seda"],
            ours: dip,
        },
    ],
};

/// When demand is 1.2 M/s, in seconds after the measured window's beginning.
const SPIKE: (f64, f64) = (4.0, 6.0);
/// When it is 0.8 M/s again.
const FALL: (f64, f64) = (6.0, 8.0);
/// Goodput that counts as recovered, of the converged.
const RECOVERED: f64 = 0.95;
/// So many bins in a row must hold, or a lucky one would count.
const LASTING: usize = 5;

/// Milliseconds until goodput is within 5 % of what it converges to, in bins of 20 ms.
fn recovery(results: &Results, who: &str) -> Option<f64> {
    let series = results.of("fig7", who)?.series.as_ref()?;
    let goodput = stretch(&series.goodput_rps, series, SPIKE.0, SPIKE.1);
    let needed = RECOVERED * converged_of(&goodput)?;
    let mut stretches = goodput.windows(LASTING);
    let bins = stretches.position(|bins| bins.iter().all(|&goodput| goodput >= needed))?;
    Some(bins as f64 * series.bin_us / 1e3)
}

/// Mean goodput of the last quarter of the spike.
fn converged(results: &Results, who: &str) -> Option<f64> {
    let series = results.of("fig7", who)?.series.as_ref()?;
    converged_of(&stretch(&series.goodput_rps, series, SPIKE.0, SPIKE.1))
}

fn converged_of(goodput: &[f64]) -> Option<f64> {
    let last = &goodput[goodput.len() - goodput.len() / 4..];
    (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
}

fn largest_p99_us(results: &Results, who: &str) -> Option<f64> {
    let series = results.of("fig7", who)?.series.as_ref()?;
    largest(&stretch(&series.p99_us, series, SPIKE.0, SPIKE.1))
}

/// Smallest goodput after the fall, of what it converges to then.
fn dip(results: &Results, who: &str) -> Option<f64> {
    let series = results.of("fig7", who)?.series.as_ref()?;
    let goodput = stretch(&series.goodput_rps, series, FALL.0, FALL.1);
    let smallest = goodput.iter().copied().fold(f64::INFINITY, f64::min);
    Some(smallest / converged_of(&goodput)? * 100.0)
}

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max).filter(|value| *value > 0.0)
}
