//! Figures 10 and 11: gentler settings, and wrong ones (§5.2).

use super::super::figure::{Agree, Claim, Drawn, Figure, Panel, source};
use super::super::quantity::{DROPS, GOODPUT, P99, THROUGHPUT};
use super::super::results::Results;
use super::{OURS, PAPER};
use tailwater_report::LineStyle;
use tailwater_stats::result::Run;

pub(super) const FIG_10: Figure = Figure {
    paper: PAPER,
    number: 10,
    title: "goodput against drops by α and β",
    scenarios: &[source!("fig10")],
    panels: &[Panel {
        name: "trade",
        title: "1 M requests/s; α, β: 0.1, 2 %; 0.1, 4 %; 0.1, 8 %; 0.05, 8 %; 0.05, 10 %",
        from: &["fig10"],
        keep: |_| true,
        drawn: Drawn::Points { x: &DROPS, y: &GOODPUT, style: LineStyle::Joined },
        stated: &[],
    }],
    claims: &[
        Claim {
            what: "drops with α 0.1 %, β 8 %",
            place: "§5.2",
            theirs: 0.7,
            unit: "%",
            agree: Agree::Within(0.5),
            subjects: OURS,
            ours: |results, who| Some(pair(results, who, MILD)?.drop_ratio * 100.0),
        },
        Claim {
            what: "goodput with α 0.1 %, β 8 % below that with 0.1 %, 2 %",
            place: "§5.2",
            theirs: 2.2,
            unit: "%",
            agree: Agree::Within(2.0),
            subjects: OURS,
            ours: |results, who| loss(results, who, MILD),
        },
        Claim {
            what: "drops with α 0.05 %, β 10 %",
            place: "§5.2",
            theirs: 0.4,
            unit: "%",
            agree: Agree::Within(0.5),
            subjects: OURS,
            ours: |results, who| Some(pair(results, who, MILDEST)?.drop_ratio * 100.0),
        },
        Claim {
            what: "goodput with α 0.05 %, β 10 % below that with 0.1 %, 2 %",
            place: "§5.2",
            theirs: 5.1,
            unit: "%",
            agree: Agree::Within(2.0),
            subjects: OURS,
            ours: |results, who| loss(results, who, MILDEST),
        },
    ],
};

const AS_TUNED: &str = "α 0.1 %, β 2 %";
const MILD: &str = "α 0.1 %, β 8 %";
const MILDEST: &str = "α 0.05 %, β 10 %";

fn pair<'a>(results: &'a Results, who: &str, settings: &str) -> Option<&'a Run> {
    results.of("fig10", &format!("{who} · {settings}"))
}

fn loss(results: &Results, who: &str, settings: &str) -> Option<f64> {
    let tuned = pair(results, who, AS_TUNED)?.goodput_rps;
    Some((1.0 - pair(results, who, settings)?.goodput_rps / tuned) * 100.0)
}

pub(super) const FIG_11: Figure = Figure {
    paper: PAPER,
    number: 11,
    title: "27 settings around the best of each",
    scenarios: &[source!("fig11-breakwater"), source!("fig11-dagor"), source!("fig11-seda")],
    panels: &[Panel {
        name: "settings",
        title: "1.4 × capacity, Breakwater's profile artifact",
        from: &["fig11-breakwater", "fig11-dagor", "fig11-seda"],
        keep: |_| true,
        drawn: Drawn::Points { x: &P99, y: &THROUGHPUT, style: LineStyle::Scattered },
        stated: &[],
    }],
    claims: &[Claim {
        what: "worst p99 ÷ SLO",
        place: "§5.2",
        theirs: 4.0,
        unit: "×",
        agree: Agree::Factor(1.5),
        subjects: &["dagor"],
        ours: |results, _| {
            let worst = results.runs("fig11-dagor").iter().map(|run| run.p99_us / run.slo_us);
            worst.reduce(f64::max)
        },
    }],
};
