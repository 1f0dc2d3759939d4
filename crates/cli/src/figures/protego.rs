//! Figures 3 and 5 to 13 of Protego (NSDI '23).
//!
//! What counts as the same was written down here after first runs had been seen:
//! `docs/figures-protego.md` says what that means for the count of numbers that agree.

use super::figure::{Agree, Claim, Drawn, Figure, Mark, Panel, Quantity, source};
use super::quantity::{CPU, DEMAND, DROPS, FAILURES, GOODPUT, P99, RETRIES, THROUGHPUT};
use super::results::Results;
use tailwater_report::LineStyle;
use tailwater_stats::result::Run;

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

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        paper: "protego",
        number: 3,
        title: "two mutexes at 20 %, 100 µs",
        scenarios: &[source!("protego-fig3")],
        panels: &[
            panel("goodput", &["protego-fig3"], &GOODPUT, &[]),
            panel("p99", &["protego-fig3"], &P99, &[]),
            panel("drops", &["protego-fig3"], &DROPS, &[]),
        ],
        claims: &[],
    },
    Figure {
        paper: "protego",
        number: 5,
        title: "budgets at the locks, no admission control",
        scenarios: &[source!("protego-fig5")],
        panels: &[
            panel("throughput", &["protego-fig5"], &THROUGHPUT, &[]),
            panel("p99", &["protego-fig5"], &P99, &[]),
            panel("drops", &["protego-fig5"], &DROPS, &[]),
            panel("cpu", &["protego-fig5"], &CPU, &[]),
        ],
        claims: &[],
    },
    Figure {
        paper: "protego",
        number: 6,
        title: "search",
        scenarios: &[source!("protego-fig6")],
        panels: &[
            panel(
                "goodput",
                &["protego-fig6"],
                &GOODPUT,
                &[Mark { label: "SEDA 500/s (§5.2)", x: (0.6, 2.0), y: 0.5 }],
            ),
            panel(
                "p99",
                &["protego-fig6"],
                &P99,
                &[Mark { label: "target 40 ms (§5.2)", x: (0.3, 2.0), y: 40_000.0 }],
            ),
            panel("drops", &["protego-fig6"], &DROPS, &[]),
        ],
        claims: &[
            Claim {
                what: "goodput over SEDA's, most of all demands",
                place: "§5.2",
                theirs: 3.3,
                unit: "×",
                agree: Agree::Factor(1.25),
                subjects: PROTEGOS,
                ours: |results, who| multiple(results, "protego-fig6", who, SEDA),
            },
            Claim {
                what: "SEDA's goodput, most of all demands",
                place: "§5.2",
                theirs: 0.5,
                unit: "k/s",
                agree: Agree::Factor(1.25),
                subjects: &[SEDA, SEDA_DEFAULT],
                ours: |results, who| best(results, "protego-fig6", who),
            },
            Claim {
                what: "p99 below SEDA's, most of all demands",
                place: "§5.2",
                theirs: 17.0,
                unit: "×",
                agree: Agree::Factor(1.5),
                subjects: SERVING,
                ours: |results, who| quicker(results, "protego-fig6", who, SEDA),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 7,
        title: "memcached, VAR",
        scenarios: &[source!("protego-fig7")],
        panels: &[
            panel("goodput", &["protego-fig7"], &GOODPUT, &[]),
            panel(
                "p99",
                &["protego-fig7"],
                &P99,
                &[Mark { label: "target 110 µs (§5.3)", x: (400.0, 1_000.0), y: 110.0 }],
            ),
            panel("drops", &["protego-fig7"], &DROPS, &[]),
        ],
        claims: &[
            Claim {
                what: "goodput over SEDA's, most of all demands",
                place: "§5.3",
                theirs: 1.6,
                unit: "×",
                agree: Agree::Factor(1.25),
                subjects: PROTEGOS,
                ours: |results, who| multiple(results, "protego-fig7", who, SEDA),
            },
            Claim {
                what: "the same over SEDA steered to the target delay",
                place: "§5.3",
                theirs: 1.6,
                unit: "×",
                agree: Agree::Factor(1.25),
                subjects: PROTEGOS,
                ours: |results, who| multiple(results, "protego-fig7", who, SEDA_TARGET),
            },
            Claim {
                what: "goodput over Breakwater's, most of all demands",
                place: "§5.3",
                theirs: 7.0,
                unit: "×",
                agree: Agree::Factor(1.25),
                subjects: PROTEGOS,
                ours: |results, who| multiple(results, "protego-fig7", who, BREAKWATER),
            },
            Claim {
                what: "p99 below SEDA's steered to the target, most of all demands",
                place: "§1",
                theirs: 5.7,
                unit: "×",
                agree: Agree::Factor(1.5),
                subjects: SERVING,
                ours: |results, who| quicker(results, "protego-fig7", who, SEDA_TARGET),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 8,
        title: "memcached, VAR, one retry at a replica",
        scenarios: &[source!("protego-fig8"), source!("protego-fig8-budget")],
        panels: &[
            panel("goodput", &["protego-fig8"], &GOODPUT, &[]),
            panel(
                "p99",
                &["protego-fig8"],
                &P99,
                &[
                    Mark { label: "SLO 220 µs (§5.3)", x: (300.0, 1_000.0), y: 220.0 },
                    Mark { label: "1.7 × below it (§5.3)", x: (300.0, 1_000.0), y: 129.0 },
                ],
            ),
            panel("retries", &["protego-fig8"], &RETRIES, &[]),
            panel(
                "failures",
                &["protego-fig8"],
                &FAILURES,
                &[Mark { label: "target 110 µs (§5.3)", x: (300.0, 1_000.0), y: 110.0 }],
            ),
            panel("goodput-budget", &["protego-fig8-budget"], &GOODPUT, &[]),
        ],
        claims: &[
            Claim {
                what: "p99 with a retry over twice the target delay, most of all demands",
                place: "§5.3",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| over_target(results, "protego-fig8", who),
            },
            Claim {
                what: "SLO over p99 with a retry, least of all demands",
                place: "§5.3",
                theirs: 1.7,
                unit: "×",
                agree: Agree::Factor(1.25),
                subjects: SERVING,
                ours: |results, who| over_target(results, "protego-fig8", who).map(f64::recip),
            },
            Claim {
                what: "p99 of failure messages from the first server, most of all demands",
                place: "§5.3",
                theirs: 110.0,
                unit: "µs",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| most(of(results, "protego-fig8", who).filter_map(failure)),
            },
            Claim {
                what: "the same at 1 M/s over that at its highest: it falls with demand",
                place: "§5.3",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| {
                    let last = failure(at(results, "protego-fig8", who, 1_000.0)?)?;
                    Some(last / most(of(results, "protego-fig8", who).filter_map(failure))?)
                },
            },
            Claim {
                what: "refused or tried again at 400 k/s, from where server 1 drops",
                place: "§5.3",
                theirs: 0.0,
                unit: "%",
                agree: Agree::Within(1.0),
                subjects: SERVING,
                ours: |results, who| retried(at(results, "protego-fig8", who, 400.0)?),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 9,
        title: "two mutexes at 50 %, 10 µs",
        scenarios: &[source!("protego-fig9")],
        panels: &[
            panel(
                "goodput",
                &["protego-fig9"],
                &GOODPUT,
                &[Mark { label: "SEDA 168 k/s (§5.4)", x: (200.0, 350.0), y: 168.0 }],
            ),
            panel(
                "p99",
                &["protego-fig9"],
                &P99,
                &[
                    Mark { label: "target 200 µs (§5.4)", x: (100.0, 350.0), y: 200.0 },
                    Mark { label: "SEDA to 3 × (§5.4)", x: (200.0, 350.0), y: 600.0 },
                ],
            ),
            panel(
                "drops",
                &["protego-fig9"],
                &DROPS,
                &[Mark { label: "up to 40 % (§5.4)", x: (300.0, 350.0), y: 40.0 }],
            ),
            panel("cpu", &["protego-fig9"], &CPU, &[]),
        ],
        claims: &[
            Claim {
                what: "goodput above SEDA's, most of all demands",
                place: "§5.4",
                theirs: 32.0,
                unit: "%",
                agree: Agree::Within(8.0),
                subjects: PROTEGOS,
                ours: |results, who| {
                    multiple(results, "protego-fig9", who, SEDA).map(|times| (times - 1.0) * 100.0)
                },
            },
            Claim {
                what: "SEDA's goodput, most of all demands",
                place: "§5.4",
                theirs: 168.0,
                unit: "k/s",
                agree: Agree::Within(10.0),
                subjects: SEDAS,
                ours: |results, who| best(results, "protego-fig9", who),
            },
            Claim {
                what: "SEDA's p99 over the target, most of all demands",
                place: "§5.4",
                theirs: 3.0,
                unit: "×",
                agree: Agree::Factor(1.35),
                subjects: SEDAS,
                ours: |results, who| over_target(results, "protego-fig9", who),
            },
            Claim {
                what: "p99 over the target, most of all demands",
                place: "§5.4",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| over_target(results, "protego-fig9", who),
            },
            Claim {
                what: "drops, most of all demands",
                place: "§5.4",
                theirs: 40.0,
                unit: "%",
                agree: Agree::Within(5.0),
                subjects: SERVING,
                ours: |results, who| {
                    let runs = of(results, "protego-fig9", who);
                    most(runs.map(drops))
                },
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 10,
        title: "two mutexes at 50 %, 1 µs",
        scenarios: &[source!("protego-fig10"), source!("protego-fig10-ahead")],
        panels: &[
            panel("goodput", &["protego-fig10"], &GOODPUT, &[]),
            panel(
                "p99",
                &["protego-fig10"],
                &P99,
                &[Mark { label: "target 110 µs (§5.4)", x: (600.0, 1_600.0), y: 110.0 }],
            ),
            panel(
                "drops",
                &["protego-fig10"],
                &DROPS,
                &[Mark { label: "below 1 % (§5.4)", x: (1_100.0, 1_600.0), y: 1.0 }],
            ),
            panel("cpu", &["protego-fig10"], &CPU, &[]),
            panel("goodput-ahead", &["protego-fig10-ahead"], &GOODPUT, &[]),
            panel("drops-ahead", &["protego-fig10-ahead"], &DROPS, &[]),
        ],
        claims: &[
            Claim {
                what: "drops with full cores, most of all demands from 1.1 M/s",
                place: "§5.4",
                theirs: 1.0,
                unit: "%",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| full_cores_drops(results, "protego-fig10", who),
            },
            Claim {
                what: "the same, holders of a lock before others in the run queue",
                place: "§5.4",
                theirs: 1.0,
                unit: "%",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| full_cores_drops(results, "protego-fig10-ahead", who),
            },
            Claim {
                what: "p99 over the target, most of all demands",
                place: "§5.4",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| over_target(results, "protego-fig10", who),
            },
            Claim {
                what: "the same, holders of a lock before others in the run queue",
                place: "§5.4",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: SERVING,
                ours: |results, who| over_target(results, "protego-fig10-ahead", who),
            },
            Claim {
                what: "SEDA's p99 over the target, most of all demands",
                place: "§5.4",
                theirs: 3.0,
                unit: "×",
                agree: Agree::Factor(1.35),
                subjects: &[SEDA, SEDA_DEFAULT],
                ours: |results, who| over_target(results, "protego-fig10", who),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 11,
        title: "part by part",
        scenarios: &[source!("protego-fig11")],
        panels: &[
            panel("throughput", &["protego-fig11"], &THROUGHPUT, &[]),
            panel("goodput", &["protego-fig11"], &GOODPUT, &[]),
            panel(
                "p99",
                &["protego-fig11"],
                &P99,
                &[
                    Mark { label: "target 200 µs (§5.4)", x: (100.0, 350.0), y: 200.0 },
                    Mark { label: "AC alone: to 3 × (§5.4)", x: (200.0, 350.0), y: 600.0 },
                ],
            ),
            panel("drops", &["protego-fig11"], &DROPS, &[]),
        ],
        claims: &[
            Claim {
                what: "p99 over the target by admission control alone, at 300 k/s",
                place: "§5.4",
                theirs: 3.0,
                unit: "×",
                agree: Agree::Factor(1.35),
                subjects: &[
                    "Protego, published code, AC alone",
                    "credits revoked, AC alone",
                    "line through, AC alone",
                    "tailwater, AC alone",
                ],
                ours: |results, who| {
                    let run = at(results, "protego-fig11", who, 300.0)?;
                    (run.p99_us > 0.0).then_some(run.p99_us / run.slo_us)
                },
            },
            Claim {
                what: "p99 over the target with both, most of all demands",
                place: "§5.4",
                theirs: 1.0,
                unit: "×",
                agree: Agree::AtMost,
                subjects: &[
                    "Protego, published code, AC + ASQM",
                    "credits revoked, AC + ASQM",
                    "tailwater, AC + ASQM",
                ],
                ours: |results, who| over_target(results, "protego-fig11", who),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 12,
        title: "the efficiency threshold t_e at 300,000 requests/s",
        scenarios: &[source!("protego-fig12")],
        panels: &[
            thresholds("tailwater", |run| run.profile.starts_with("tailwater")),
            thresholds("revoked", |run| run.profile.starts_with("credits revoked")),
            thresholds("line", |run| run.profile.starts_with("line through")),
            thresholds("code", |run| run.profile.starts_with("Protego")),
        ],
        claims: &[
            Claim {
                what: "goodput lost from t_e 1 % to 50 %",
                place: "§5.4",
                theirs: 23.0,
                unit: "%",
                agree: Agree::Within(5.0),
                subjects: FAMILIES,
                ours: |results, family| lost(results, family, "50 %"),
            },
            Claim {
                what: "fewer drops at t_e 50 % than at 1 %",
                place: "§5.4",
                theirs: 4.0,
                unit: "×",
                agree: Agree::Factor(1.5),
                subjects: FAMILIES,
                ours: |results, family| {
                    let [low, high] = ["1 %", "50 %"].map(|t_e| threshold(results, family, t_e));
                    Some(low?.drop_ratio / high?.drop_ratio)
                },
            },
            Claim {
                what: "goodput lost from t_e 1 % to 10 %",
                place: "§5.4",
                theirs: 0.0,
                unit: "%",
                agree: Agree::Within(2.0),
                subjects: FAMILIES,
                ours: |results, family| lost(results, family, "10 %"),
            },
        ],
    },
    Figure {
        paper: "protego",
        number: 13,
        title: "memcached, USR",
        scenarios: &[source!("protego-fig13")],
        panels: &[
            panel("goodput", &["protego-fig13"], &GOODPUT, &[]),
            panel("drops", &["protego-fig13"], &DROPS, &[]),
        ],
        claims: &[
            Claim {
                what: "goodput below Breakwater's at 3.6 M/s",
                place: "§5.5",
                theirs: 23.0,
                unit: "%",
                agree: Agree::Within(8.0),
                subjects: PROTEGOS,
                ours: |results, who| {
                    let other = at(results, "protego-fig13", BREAKWATER, 3_600.0)?;
                    below(at(results, "protego-fig13", who, 3_600.0)?, other)
                },
            },
            Claim {
                what: "goodput below SEDA's at 3.6 M/s",
                place: "§5.5",
                theirs: 37.0,
                unit: "%",
                agree: Agree::Within(8.0),
                subjects: PROTEGOS,
                ours: |results, who| {
                    let other = at(results, "protego-fig13", SEDA, 3_600.0)?;
                    below(at(results, "protego-fig13", who, 3_600.0)?, other)
                },
            },
        ],
    },
];

/// The families of Figure 12.
const FAMILIES: &[&str] =
    &["Protego, published code", "credits revoked", "line through", "tailwater"];

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

/// What each threshold of a family serves for its drops.
const fn thresholds(name: &'static str, keep: fn(&Run) -> bool) -> Panel {
    Panel {
        name,
        title: "goodput against drops",
        from: &["protego-fig12"],
        keep,
        drawn: Drawn::Points { x: &DROPS, y: &GOODPUT, style: LineStyle::Scattered },
        stated: &[],
    }
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

/// How long until a failure at the first replica is known, in µs.
fn failure(run: &Run) -> Option<f64> {
    run.retry.map(|retry| retry.failure_p99_us).filter(|&us| us > 0.0)
}

/// Requests that a second replica was asked for, in per cent.
fn retried(run: &Run) -> Option<f64> {
    run.retry.map(|retry| (retry.retried + retry.moved) * 100.0)
}

/// The highest goodput, in thousands per second.
fn best(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).map(|run| run.goodput_rps / 1e3))
}

/// p99 over the objective, at the demand where it is highest.
fn over_target(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).map(|run| run.p99_us / run.slo_us))
}

fn full_cores_drops(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).filter(|run| run.asked_rps > 1.09e6).map(drops))
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

fn threshold<'a>(results: &'a Results, family: &str, t_e: &str) -> Option<&'a Run> {
    results.of("protego-fig12", &format!("{family}, t_e {t_e}"))
}

fn lost(results: &Results, family: &str, t_e: &str) -> Option<f64> {
    below(threshold(results, family, t_e)?, threshold(results, family, "1 %")?)
}
