//! Finding queues with work: `benches/ready`.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::{count, time};
use tailwater_stats::result::Spread;

const SHAPES: [(&str, &str); 4] = [("fb", "FB"), ("pc", "PC"), ("nc", "NC"), ("sq", "SQ")];
/// Name in the file, in the page, and the thesis' figure of the peaks.
const HANDLERS: [(&str, &str, &str); 4] = [
    ("lsh", "LSH", "5.6"),
    ("spooky", "McRouter", "5.7"),
    ("stem", "Word Stemming", "5.8"),
    ("knn", "Recommend", "5.9"),
];
/// Mechanisms that the thesis compares.
const COMPARED: [&str; 3] = ["scan", "epoll", "ready"];

#[derive(Deserialize)]
struct Report {
    cases: Vec<Case>,
    loads: Vec<Load>,
    goals: Vec<Goal>,
}

#[derive(Deserialize)]
struct Case {
    mechanism: String,
    queues: usize,
    shape: String,
    handler: String,
    pollutes: bool,
    hand_over_ns: Vec<f64>,
    /// Results of before have none.
    #[serde(default)]
    clock_ns: Vec<f64>,
    throughput_rps: Vec<f64>,
    mean_ns: Vec<f64>,
    p50_ns: Vec<f64>,
    p99_ns: Vec<f64>,
}

#[derive(Deserialize)]
struct Load {
    mechanism: String,
    queues: usize,
    handler: String,
    share: f64,
    mean_ns: Vec<f64>,
    p99_ns: Vec<f64>,
    counts: Vec<u64>,
}

#[derive(Deserialize)]
struct Goal {
    goal: String,
    found: f64,
    needed: f64,
    met: bool,
}

impl Report {
    fn read(result: &str) -> Self {
        serde_json::from_str(result).expect("a result of benches/ready")
    }

    fn case(&self, mechanism: &str, queues: usize, shape: &str) -> Option<&Case> {
        self.handled(mechanism, queues, shape, "none", false)
    }

    fn handled(
        &self,
        mechanism: &str,
        queues: usize,
        shape: &str,
        handler: &str,
        pollutes: bool,
    ) -> Option<&Case> {
        self.cases.iter().find(|case| {
            (&*case.mechanism, case.queues, &*case.shape) == (mechanism, queues, shape)
                && (&*case.handler, case.pollutes) == (handler, pollutes)
        })
    }

    /// Numbers of queues that occur with this handler, ascending.
    fn queues(&self, handler: &str) -> Vec<usize> {
        let ours = self.cases.iter().filter(|case| case.handler == handler);
        let mut queues: Vec<usize> = ours.map(|case| case.queues).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    fn load(&self, mechanism: &str, queues: usize, handler: &str, share: f64) -> &Load {
        let found = self.loads.iter().find(|load| {
            (&*load.mechanism, load.queues, &*load.handler) == (mechanism, queues, handler)
                && load.share == share
        });
        found.unwrap_or_else(|| panic!("no load {share} of {mechanism} with {handler}"))
    }

    /// Parts of a peak at which something was measured, ascending.
    fn shares(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.loads.iter().map(|load| load.share).collect();
        shares.sort_unstable_by(f64::total_cmp);
        shares.dedup();
        shares
    }
}

/// Between cores that share a cache and those that do not: a host places virtual cores one way or the other.
const FAR_NS: f64 = 80.0;

impl Case {
    /// The medians of the rounds in which the two cores were near, and far from each other.
    fn near_and_far(&self, values: &[f64], show: fn(f64) -> String) -> String {
        let rounds = |far: bool| {
            let values = values.iter().zip(&self.hand_over_ns);
            let ours = values.filter(|(_, hand_over)| (**hand_over >= FAR_NS) == far);
            let ours: Vec<f64> = ours.map(|(value, _)| *value).collect();
            if ours.is_empty() { "–".to_owned() } else { show(median(&ours)) }
        };
        format!("{}, {}", rounds(false), rounds(true))
    }
}

fn median(values: &[f64]) -> f64 {
    Spread::of(values).median
}

fn ns(values: &[f64]) -> String {
    time(median(values) / 1e3)
}

fn titles(cells: &[&str]) -> String {
    head(&cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>())
}

/// Median latency at light load by number of queues, with the cores near and far. The ready set's hand-overs are without
/// the clock's part where that is known. Empty cells were not measured there.
pub(super) fn finding(result: &str) -> String {
    const SHOWN: [&str; 9] =
        ["told", "scan", "ready", "epoll-spin", "epoll", "uring-spin", "uring", "select", "tokio"];
    let report = Report::read(result);
    let mut text = titles(&[&["queues"], &SHOWN[..], &["ready, hand-overs"]].concat());
    for queues in report.queues("none") {
        let of = |mechanism| report.case(mechanism, queues, "fb");
        let mut cells = vec![count(queues as u64)];
        let us = |ns: f64| time(ns / 1e3);
        cells.extend(SHOWN.map(|mechanism| {
            of(mechanism).map_or("–".to_owned(), |case| case.near_and_far(&case.p50_ns, us))
        }));
        let ready = of("ready").expect("the ready set is measured with all numbers of queues");
        let clock = ready.clock_ns.iter().chain(std::iter::repeat(&0.0));
        let rounds = ready.p50_ns.iter().zip(clock).zip(&ready.hand_over_ns);
        let ratios: Vec<f64> = rounds.map(|((p50, clock), trip)| (p50 - clock) / trip).collect();
        cells.push(ready.near_and_far(&ratios, |ratio| format!("{ratio:.1}")));
        text += &line(&cells);
    }
    text
}

/// Million items per second of a scan, an epoll and the ready set under each traffic shape, near and far.
pub(super) fn shapes(result: &str) -> String {
    let report = Report::read(result);
    let mut titled = vec!["queues".to_owned()];
    for mechanism in COMPARED {
        titled.extend(SHAPES.map(|(_, shown)| format!("{mechanism} {shown}")));
    }
    let mut text = head(&titled);
    for queues in report.queues("none") {
        let mut cells = vec![count(queues as u64)];
        for mechanism in COMPARED {
            cells.extend(SHAPES.map(|(shape, _)| {
                let case = report.case(mechanism, queues, shape);
                let millions = |rps: f64| format!("{:.1}", rps / 1e6);
                case.map_or("–".to_owned(), |it| it.near_and_far(&it.throughput_rps, millions))
            }));
        }
        text += &line(&cells);
    }
    text
}

/// The ready set's peak over that of the others with the thesis' handlers: mean and range over queues and shapes.
pub(super) fn peaks(result: &str) -> String {
    let report = Report::read(result);
    let mut text = titles(&["figure", "handler", "cache", "ready ÷ scan", "ready ÷ epoll"]);
    for (handler, shown, figure) in HANDLERS {
        for pollutes in [false, true] {
            let mut cells: Vec<String> = [figure, shown].map(str::to_owned).to_vec();
            cells.push(if pollutes { "polluted" } else { "clean" }.to_owned());
            for other in ["scan", "epoll"] {
                let ratios = ratios(&report, handler, pollutes, other, |case| &case.throughput_rps);
                cells.push(mean_and_range(&ratios));
            }
            text += &line(&cells);
        }
    }
    text
}

/// For each number of queues and shape: the median of the rounds' ratios of the ready set's value to another's.
fn ratios(
    report: &Report,
    handler: &str,
    pollutes: bool,
    other: &str,
    of: fn(&Case) -> &Vec<f64>,
) -> Vec<f64> {
    let mut found = Vec::new();
    for queues in report.queues(handler) {
        for (shape, _) in SHAPES {
            let case = |mechanism| report.handled(mechanism, queues, shape, handler, pollutes);
            let (ready, other) = (case("ready").map(of), case(other).map(of));
            if let (Some(ready), Some(other)) = (ready, other)
                && !ready.is_empty()
            {
                let rounds = ready.iter().zip(other).map(|(ready, other)| ready / other);
                found.push(median(&rounds.collect::<Vec<_>>()));
            }
        }
    }
    found
}

fn mean_and_range(values: &[f64]) -> String {
    let Spread { min, max, .. } = Spread::of(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    format!("{mean:.2} × [{min:.2}–{max:.2}]")
}

/// Mean and 99th percentile at light load with 1,000 queues, and the ratio of the tails over all numbers of queues.
pub(super) fn light(result: &str) -> String {
    const QUEUES: usize = 1_000;
    let report = Report::read(result);
    let mut titled = vec!["handler".to_owned(), "cache".to_owned()];
    titled.extend(COMPARED.map(|mechanism| format!("{mechanism}, mean and p99")));
    titled.extend(["scan", "epoll"].map(|other| format!("p99 of {other} ÷ ready")));
    let mut text = head(&titled);
    for (handler, shown, _) in HANDLERS {
        for pollutes in [false, true] {
            let cache = if pollutes { "polluted" } else { "clean" };
            let mut cells = vec![shown.to_owned(), cache.to_owned()];
            cells.extend(COMPARED.map(|mechanism| {
                let case = report.handled(mechanism, QUEUES, "fb", handler, pollutes);
                let case = case.expect("it is measured with a thousand queues");
                format!("{}, {}", ns(&case.mean_ns), ns(&case.p99_ns))
            }));
            for other in ["scan", "epoll"] {
                let less = ratios(&report, handler, pollutes, other, |case| &case.p99_ns);
                let more: Vec<f64> = less.iter().map(|ratio| 1.0 / ratio).collect();
                cells.push(mean_and_range(&more));
            }
            text += &line(&cells);
        }
    }
    text
}

/// The 99th percentile with a hundred queues by load, a part of the ready set's peak.
pub(super) fn loads(result: &str) -> String {
    const QUEUES: usize = 100;
    let report = Report::read(result);
    let shares = report.shares();
    let mut titled = vec!["handler".to_owned(), "mechanism".to_owned()];
    titled.extend(shares.iter().map(|share| format!("{:.0} %", share * 100.0)));
    let mut text = head(&titled);
    for (handler, shown, _) in HANDLERS {
        for mechanism in COMPARED {
            let mut cells = vec![shown.to_owned(), mechanism.to_owned()];
            let seen = shares.iter().map(|&share| report.load(mechanism, QUEUES, handler, share));
            cells.extend(seen.map(|load| ns(&load.p99_ns)));
            text += &line(&cells);
        }
    }
    text
}

/// Epoll with one queue by load, a part of its own peak: mean, tail, and how the latencies are spread.
pub(super) fn epoll(result: &str) -> String {
    let report = Report::read(result);
    let spread = ["below 3 µs", "3 to 5", "5 to 10", "10 to 20", "beyond"];
    let mut text = titles(&[&["load", "mean", "p99"], &spread[..]].concat());
    for share in report.shares() {
        let load = report.load("epoll", 1, "none", share);
        let all: u64 = load.counts.iter().sum();
        // The file counts below 1, 3, 5, 10, 20, 50 and 100 µs, and beyond.
        let counts = &load.counts;
        let parts =
            [counts[..2].iter().sum(), counts[2], counts[3], counts[4], counts[5..].iter().sum()];
        let mut cells =
            vec![format!("{:.0} %", share * 100.0), ns(&load.mean_ns), ns(&load.p99_ns)];
        let percent = |part: u64| format!("{:.0} %", part as f64 / all as f64 * 100.0);
        cells.extend(parts.map(percent));
        text += &line(&cells);
    }
    text
}

/// What was promised beforehand.
pub(super) fn goals(result: &str) -> String {
    let mut text = titles(&["", "found", "goal", ""]);
    for Goal { goal, found, needed, met } in Report::read(result).goals {
        let verdict = if met { "met" } else { "**missed**" };
        // The file says whether it is met, from which the direction follows.
        let sign = if (found <= needed) == met { "≤" } else { "≥" };
        let needed = format!("{sign} {needed:.1}");
        text += &line(&[goal, format!("{found:.2}"), needed, verdict.to_owned()]);
    }
    text
}

/// The runtime's bell and a ready set of one queue in its role, with the cores near and far.
pub(super) fn bell(result: &str) -> String {
    const SHOWN: [(&str, &str); 4] = [
        ("bell-spin", "the bell, awake"),
        ("bell-set-spin", "a ready set, awake"),
        ("bell", "the bell, asleep"),
        ("bell-set", "a ready set, asleep"),
    ];
    let report = Report::read(result);
    let mut text = titles(&["", "million items/s", "latency at light load"]);
    for (mechanism, shown) in SHOWN {
        let of = |show: fn(&Case) -> String| {
            report.case(mechanism, 1, "fb").map_or("–".to_owned(), show)
        };
        let millions =
            of(|case| case.near_and_far(&case.throughput_rps, |rps| format!("{:.1}", rps / 1e6)));
        let latency = of(|case| case.near_and_far(&case.p50_ns, |ns| time(ns / 1e3)));
        text += &line(&[shown.to_owned(), millions, latency]);
    }
    text
}
