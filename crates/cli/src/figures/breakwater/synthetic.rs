//! Figure 3: the overall picture (§5.2).

use super::super::figure::{Agree, Claim, Drawn, Figure, Mark, Panel, source};
use super::super::quantity::{DEMAND, DROPS, GOODPUT, P99};
use super::super::results::Results;
use super::{OURS, PAPER, joined};
use tailwater_report::LineStyle;

const FROM: &[&str] = &["fig3"];
const SETTING: &str = "1,000 clients, SLO 200 µs";

pub(super) const FIG_3: Figure = Figure {
    paper: PAPER,
    number: 3,
    title: "exponential service of 10 µs",
    scenarios: &[source!("fig3")],
    panels: &[
        Panel {
            name: "goodput",
            title: SETTING,
            from: FROM,
            keep: |_| true,
            drawn: Drawn::Points { x: &DEMAND, y: &GOODPUT, style: LineStyle::Joined },
            stated: &[
                Mark {
                    label: "capacity about 850 k/s (§5.2)",
                    x: (f64::NEG_INFINITY, f64::INFINITY),
                    y: 850.0,
                },
                Mark {
                    label: "Breakwater 801 k/s at capacity (§5.2)",
                    x: (780.0, 920.0),
                    y: 801.0,
                },
            ],
        },
        Panel {
            name: "p99",
            title: SETTING,
            from: FROM,
            keep: |_| true,
            drawn: Drawn::Points { x: &DEMAND, y: &P99, style: LineStyle::Joined },
            stated: &[Mark {
                label: "SLO 200 µs (§5.1)",
                x: (f64::NEG_INFINITY, f64::INFINITY),
                y: 200.0,
            }],
        },
        joined("drops", SETTING, FROM, &DEMAND, &DROPS),
    ],
    claims: &[
        Claim {
            what: "goodput when demand is the capacity",
            place: "§5.2",
            theirs: 801.0,
            unit: "k/s",
            agree: Agree::Within(25.0),
            subjects: OURS,
            ours: |results, who| Some(results.at("fig3", who, 1.0)?.goodput_rps / 1e3),
        },
        Claim {
            what: "throughput when demand is the capacity",
            place: "§5.2",
            theirs: 808.0,
            unit: "k/s",
            agree: Agree::Within(25.0),
            subjects: OURS,
            ours: |results, who| Some(results.at("fig3", who, 1.0)?.throughput_rps / 1e3),
        },
        Claim {
            what: "p99 of SEDA above this one's at 700 k/s",
            place: "§5.2",
            theirs: 15.0,
            unit: "%",
            agree: Agree::Within(10.0),
            subjects: OURS,
            ours: |results, who| Some((p99_ratio(results, "seda", who, 0.824)? - 1.0) * 100.0),
        },
        Claim {
            what: "goodput of capacity at 2.0 ×, as at capacity: 801 of 850 k/s",
            place: "§5.2",
            theirs: 94.0,
            unit: "%",
            agree: Agree::AtLeast,
            subjects: OURS,
            ours: |results, who| Some(results.at("fig3", who, 2.0)?.goodput_of_capacity * 100.0),
        },
        Claim {
            what: "p99 bounded at 2.0 ×, by the SLO",
            place: "§5.2",
            theirs: 200.0,
            unit: "µs",
            agree: Agree::AtMost,
            subjects: OURS,
            ours: |results, who| Some(results.at("fig3", who, 2.0)?.p99_us),
        },
        Claim {
            what: "goodput over DAGOR's at 2.0 ×",
            place: "abstract, §1",
            theirs: 6.6,
            unit: "%",
            agree: Agree::Within(3.0),
            subjects: OURS,
            ours: |results, who| results.gain("fig3", (who, "dagor"), 2.0),
        },
        Claim {
            what: "p99 of DAGOR ÷ this one's at 2.0 ×",
            place: "abstract, §1",
            theirs: 1.9,
            unit: "×",
            agree: Agree::Factor(1.5),
            subjects: OURS,
            ours: |results, who| p99_ratio(results, "dagor", who, 2.0),
        },
    ],
};

fn p99_ratio(results: &Results, one: &str, other: &str, demand: f64) -> Option<f64> {
    let (one, other) = (results.at("fig3", one, demand)?, results.at("fig3", other, demand)?);
    Some(one.p99_us / other.p99_us)
}
