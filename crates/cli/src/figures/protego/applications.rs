//! Figures 6 to 8 and 13: search and memcached, with a retry at a replica too.

use super::super::figure::{Agree, Claim, Figure, Mark, source};
use super::super::quantity::{DROPS, FAILURES, GOODPUT, P99, RETRIES};
use super::{
    BREAKWATER, PROTEGOS, SEDA, SEDA_DEFAULT, SEDA_TARGET, SERVING, at, below, best, most,
    multiple, of, over_target, panel, quicker,
};
use tailwater_stats::result::Run;

pub(super) const FIG_6: Figure = Figure {
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
};

pub(super) const FIG_7: Figure = Figure {
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
};

pub(super) const FIG_8: Figure = Figure {
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
            what: "the same, its change from 600 k/s to 1 M/s: it falls",
            place: "§5.3",
            theirs: 0.0,
            unit: "%",
            agree: Agree::AtMost,
            subjects: SERVING,
            ours: |results, who| {
                let p99 = |demand| failure(at(results, "protego-fig8", who, demand)?);
                Some((p99(1_000.0)? / p99(600.0)? - 1.0) * 100.0)
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
};

pub(super) const FIG_13: Figure = Figure {
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
};

/// How long until a failure at the first replica is known, in µs.
fn failure(run: &Run) -> Option<f64> {
    run.retry.map(|retry| retry.failure_p99_us).filter(|&us| us > 0.0)
}

/// Requests that a second replica was asked for, in per cent.
fn retried(run: &Run) -> Option<f64> {
    run.retry.map(|retry| (retry.retried + retry.moved) * 100.0)
}
