//! Figures 1 and 3 to 12 of Breakwater (OSDI '20).

use super::figure::{Agree, Claim, Drawn, Figure, Mark, Panel, source};
use super::quantity::{DEMAND, GOODPUT};
use tailwater_report::LineStyle;

const OURS: &[&str] = &["breakwater paper", "breakwater artifact", "breakwater default"];

pub(super) const FIGURES: &[Figure] = &[Figure {
    paper: "breakwater",
    number: 3,
    title: "exponential service of 10 µs",
    scenarios: &[source!("fig3")],
    panels: &[Panel {
        name: "goodput",
        title: "1,000 clients, SLO 200 µs",
        from: &["fig3"],
        keep: |_| true,
        drawn: Drawn::Points { x: &DEMAND, y: &GOODPUT, style: LineStyle::Joined },
        stated: &[Mark { label: "801 k/s at capacity (§5.2)", x: (800.0, 900.0), y: 801.0 }],
    }],
    claims: &[Claim {
        what: "goodput of capacity at 2.0 ×",
        place: "§5.2",
        theirs: 94.0,
        unit: "%",
        agree: Agree::AtLeast,
        subjects: OURS,
        ours: |results, who| Some(results.at("fig3", who, 2.0)?.goodput_of_capacity * 100.0),
    }],
}];
