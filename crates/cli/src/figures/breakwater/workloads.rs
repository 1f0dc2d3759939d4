//! Figures 4 to 6: other distributions, service times and numbers of clients (§5.2).

use super::super::figure::{Agree, Claim, Figure, source};
use super::super::quantity::{CLIENTS, DEMAND_RATIO, DROPS, GOODPUT};
use super::{OURS, PAPER, joined};
use crate::figures::figure::{Drawn, Panel};
use tailwater_report::LineStyle;

pub(super) const FIG_4: Figure = Figure {
    paper: PAPER,
    number: 4,
    title: "distributions with a mean of 10 µs",
    scenarios: &[source!("fig4-constant"), source!("fig3"), source!("fig4-bimodal")],
    panels: &[
        joined("constant-goodput", "constant", &["fig4-constant"], &DEMAND_RATIO, &GOODPUT),
        joined("constant-drops", "constant", &["fig4-constant"], &DEMAND_RATIO, &DROPS),
        joined("exponential-goodput", "exponential", &["fig3"], &DEMAND_RATIO, &GOODPUT),
        joined("exponential-drops", "exponential", &["fig3"], &DEMAND_RATIO, &DROPS),
        joined("bimodal-goodput", "bimodal", &["fig4-bimodal"], &DEMAND_RATIO, &GOODPUT),
        joined("bimodal-drops", "bimodal", &["fig4-bimodal"], &DEMAND_RATIO, &DROPS),
    ],
    claims: &[
        Claim {
            what: "goodput over SEDA's, exponential, 2.0 ×",
            place: "§5.2",
            theirs: 5.7,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig3", (who, "seda"), 2.0),
        },
        Claim {
            what: "goodput over DAGOR's, exponential, 2.0 ×",
            place: "§5.2",
            theirs: 6.2,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig3", (who, "dagor"), 2.0),
        },
    ],
};

pub(super) const FIG_5: Figure = Figure {
    paper: PAPER,
    number: 5,
    title: "exponential service of 1, 10 and 100 µs",
    scenarios: &[source!("fig5-1us"), source!("fig3"), source!("fig5-100us")],
    panels: &[
        joined("1us-goodput", "1 µs", &["fig5-1us"], &DEMAND_RATIO, &GOODPUT),
        joined("1us-drops", "1 µs", &["fig5-1us"], &DEMAND_RATIO, &DROPS),
        joined("10us-goodput", "10 µs", &["fig3"], &DEMAND_RATIO, &GOODPUT),
        joined("10us-drops", "10 µs", &["fig3"], &DEMAND_RATIO, &DROPS),
        joined("100us-goodput", "100 µs", &["fig5-100us"], &DEMAND_RATIO, &GOODPUT),
        joined("100us-drops", "100 µs", &["fig5-100us"], &DEMAND_RATIO, &DROPS),
    ],
    claims: &[
        Claim {
            what: "goodput over SEDA's, 100 µs, 2.0 ×",
            place: "§5.2",
            theirs: 17.5,
            unit: "%",
            agree: Agree::Within(5.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig5-100us", (who, "seda"), 2.0),
        },
        Claim {
            what: "goodput over DAGOR's, 100 µs, 2.0 ×",
            place: "§5.2",
            theirs: 10.2,
            unit: "%",
            agree: Agree::Within(5.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig5-100us", (who, "dagor"), 2.0),
        },
        Claim {
            what: "demand of 2.0 × capacity, 100 µs",
            place: "§5.2",
            theirs: 180.0,
            unit: "k/s",
            agree: Agree::Within(20.0),
            subjects: &["breakwater artifact"],
            ours: |results, who| Some(results.at("fig5-100us", who, 2.0)?.asked_rps / 1e3),
        },
    ],
};

/// A panel of goodput by clients at one demand.
const fn by_clients(
    name: &'static str,
    title: &'static str,
    keep: fn(&tailwater_stats::result::Run) -> bool,
) -> Panel {
    Panel {
        name,
        title,
        from: &["fig6-100", "fig3", "fig6-10000"],
        keep,
        drawn: Drawn::Points { x: &CLIENTS, y: &GOODPUT, style: LineStyle::Joined },
        stated: &[],
    }
}

/// The text states no number about it beside the capacity.
pub(super) const FIG_6: Figure = Figure {
    paper: PAPER,
    number: 6,
    title: "goodput by number of clients",
    scenarios: &[source!("fig6-100"), source!("fig3"), source!("fig6-10000")],
    panels: &[
        by_clients("below", "0.9 × capacity", |run| (run.demand_ratio - 0.9).abs() < 0.01),
        by_clients("above", "1.2 × capacity", |run| (run.demand_ratio - 1.2).abs() < 0.01),
        by_clients("double", "2.0 × capacity", |run| (run.demand_ratio - 2.0).abs() < 0.01),
    ],
    claims: &[],
};
