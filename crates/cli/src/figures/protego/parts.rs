//! Figures 11 and 12: each part by itself, and the efficiency threshold.

use super::super::figure::{Agree, Claim, Drawn, Figure, Mark, Panel, source};
use super::super::quantity::{DROPS, GOODPUT, P99, THROUGHPUT};
use super::super::results::Results;
use super::{at, below, over_target, panel};
use tailwater_report::LineStyle;
use tailwater_stats::result::Run;

pub(super) const FIG_11: Figure = Figure {
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
};

pub(super) const FIG_12: Figure = Figure {
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
};

/// The families of Figure 12.
const FAMILIES: &[&str] =
    &["Protego, published code", "credits revoked", "line through", "tailwater"];

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

fn threshold<'a>(results: &'a Results, family: &str, t_e: &str) -> Option<&'a Run> {
    results.of("protego-fig12", &format!("{family}, t_e {t_e}"))
}

fn lost(results: &Results, family: &str, t_e: &str) -> Option<f64> {
    below(threshold(results, family, t_e)?, threshold(results, family, "1 %")?)
}
