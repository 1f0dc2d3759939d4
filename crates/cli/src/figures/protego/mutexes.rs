//! Figures 3, 5, 9 and 10: the application of two mutexes.

use super::super::figure::{Agree, Claim, Figure, Mark, source};
use super::super::quantity::{CPU, DROPS, GOODPUT, P99, THROUGHPUT};
use super::super::results::Results;
use super::{
    PROTEGOS, SEDA, SEDA_DEFAULT, SEDAS, SERVING, best, drops, most, multiple, of, over_target,
    panel,
};

pub(super) const FIG_3: Figure = Figure {
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
};

pub(super) const FIG_5: Figure = Figure {
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
};

pub(super) const FIG_9: Figure = Figure {
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
        at_most_one("×", "p99 over the target, most of all demands", |results, who| {
            over_target(results, "protego-fig9", who)
        }),
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
};

pub(super) const FIG_10: Figure = Figure {
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
        at_most_one(
            "%",
            "drops with full cores, most of all demands from 1.1 M/s",
            |results, who| full_cores_drops(results, "protego-fig10", who),
        ),
        at_most_one(
            "%",
            "the same, holders of a lock before others in the run queue",
            |results, who| full_cores_drops(results, "protego-fig10-ahead", who),
        ),
        at_most_one("×", "p99 over the target, most of all demands", |results, who| {
            over_target(results, "protego-fig10", who)
        }),
        at_most_one(
            "×",
            "the same, holders of a lock before others in the run queue",
            |results, who| over_target(results, "protego-fig10-ahead", who),
        ),
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
};

/// Of those that serve their clients (§5.4).
const fn at_most_one(
    unit: &'static str,
    what: &'static str,
    ours: fn(&Results, &str) -> Option<f64>,
) -> Claim {
    let agree = Agree::AtMost;
    Claim { what, place: "§5.4", theirs: 1.0, unit, agree, subjects: SERVING, ours }
}

fn full_cores_drops(results: &Results, scenario: &str, who: &str) -> Option<f64> {
    most(of(results, scenario, who).filter(|run| run.asked_rps > 1.09e6).map(drops))
}
