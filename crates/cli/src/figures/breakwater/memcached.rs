//! Figure 12: memcached (§5.3).

use super::super::figure::{Agree, Claim, Figure, source};
use super::super::quantity::{DEMAND_RATIO, DROPS, GOODPUT, P50, P99};
use super::super::results::Results;
use super::{OURS, PAPER, joined};

const FROM: &[&str] = &["fig12"];
const SETTING: &str = "10,000 clients, SLO 50 µs";

pub(super) const FIG_12: Figure = Figure {
    paper: PAPER,
    number: 12,
    title: "memcached under the workload USR",
    scenarios: &[source!("fig12")],
    panels: &[
        joined("goodput", SETTING, FROM, &DEMAND_RATIO, &GOODPUT),
        joined("p50", SETTING, FROM, &DEMAND_RATIO, &P50),
        joined("p99", SETTING, FROM, &DEMAND_RATIO, &P99),
        joined("drops", SETTING, FROM, &DEMAND_RATIO, &DROPS),
    ],
    claims: &[
        Claim {
            what: "goodput over SEDA's at 2.0 ×",
            place: "§5.3",
            theirs: 5.0,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig12", (who, "seda"), 2.0),
        },
        Claim {
            what: "goodput over DAGOR's at 2.0 ×",
            place: "§5.3",
            theirs: 14.3,
            unit: "%",
            agree: Agree::Within(5.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig12", (who, "dagor"), 2.0),
        },
        Claim {
            what: "p99 of SEDA ÷ this one's at 2.0 ×",
            place: "§5.3",
            theirs: 1.8,
            unit: "×",
            agree: Agree::Factor(1.5),
            subjects: OURS,
            ours: |results, who| Some(p99_us(results, "seda")? / p99_us(results, who)?),
        },
        Claim {
            what: "p99 of DAGOR ÷ this one's at 2.0 ×",
            place: "§5.3",
            theirs: 2.9,
            unit: "×",
            agree: Agree::Factor(1.5),
            subjects: OURS,
            ours: |results, who| Some(p99_us(results, "dagor")? / p99_us(results, who)?),
        },
        Claim {
            what: "p99 above the SLO at 2.0 ×",
            place: "§5.3",
            theirs: 25.0,
            unit: "µs",
            agree: Agree::Within(15.0),
            subjects: OURS,
            ours: |results, who| Some(p99_us(results, who)? - 50.0),
        },
        Claim {
            what: "drops above DAGOR's at 2.0 ×",
            place: "§5.3",
            theirs: 1.5,
            unit: "points",
            agree: Agree::Within(1.5),
            subjects: OURS,
            ours: |results, who| Some(drops(results, who)? - drops(results, "dagor")?),
        },
    ],
};

fn p99_us(results: &Results, who: &str) -> Option<f64> {
    Some(results.at("fig12", who, 2.0)?.p99_us)
}

fn drops(results: &Results, who: &str) -> Option<f64> {
    Some(results.at("fig12", who, 2.0)?.drop_ratio * 100.0)
}
