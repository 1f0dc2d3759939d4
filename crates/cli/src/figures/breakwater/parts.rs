//! Figures 8 and 9: what demand speculation and the other parts are worth (§5.2).

use super::super::figure::{Agree, Claim, Figure, source};
use super::super::quantity::{DEMAND, DROPS, GOODPUT, P99, RX, THROUGHPUT, TX};
use super::super::results::Results;
use super::{PAPER, joined};
use tailwater_stats::result::Run;

const SETTING: &str = "1,000 clients, SLO 200 µs";
const SYNCHRONISED: &[&str] = &["paper, synchronised", "artifact, synchronised"];

pub(super) const FIG_8: Figure = Figure {
    paper: PAPER,
    number: 8,
    title: "demand synchronised or speculated",
    scenarios: &[source!("fig8")],
    panels: &[
        joined("goodput", SETTING, &["fig8"], &DEMAND, &GOODPUT),
        joined("rx", SETTING, &["fig8"], &DEMAND, &RX),
        joined("tx", SETTING, &["fig8"], &DEMAND, &TX),
        joined("drops", SETTING, &["fig8"], &DEMAND, &DROPS),
    ],
    claims: &[
        Claim {
            what: "messages received per request at 0.5 ×, ÷ speculated",
            place: "§5.2",
            theirs: 2.0,
            unit: "×",
            agree: Agree::Within(0.3),
            subjects: SYNCHRONISED,
            ours: |results, who| overhead(results, who, 0.5, |run| run.rx_per_request),
        },
        Claim {
            what: "messages sent per request at 0.5 ×, ÷ speculated",
            place: "§5.2",
            theirs: 2.0,
            unit: "×",
            agree: Agree::Within(0.3),
            subjects: SYNCHRONISED,
            ours: |results, who| overhead(results, who, 0.5, |run| run.tx_per_request),
        },
        Claim {
            what: "messages received per request when demand is the capacity, ÷ speculated",
            place: "§5.2",
            theirs: 2.0,
            unit: "×",
            agree: Agree::Within(0.3),
            subjects: SYNCHRONISED,
            ours: |results, who| overhead(results, who, 1.0, |run| run.rx_per_request),
        },
    ],
};

/// The text states no number about it.
pub(super) const FIG_9: Figure = Figure {
    paper: PAPER,
    number: 9,
    title: "what each part is worth",
    scenarios: &[source!("fig9")],
    panels: &[
        joined("throughput", FIG_9_SETTING, &["fig9"], &DEMAND, &THROUGHPUT),
        joined("p99", FIG_9_SETTING, &["fig9"], &DEMAND, &P99),
    ],
    claims: &[],
};

const FIG_9_SETTING: &str = "1,000 clients, SLO 200 µs, profile paper";

fn overhead(results: &Results, who: &str, demand: f64, of: fn(&Run) -> f64) -> Option<f64> {
    let (profile, _) = who.split_once(", ")?;
    let speculated = of(results.at("fig8", &format!("{profile}, speculated"), demand)?);
    Some(of(results.at("fig8", who, demand)?) / speculated)
}
