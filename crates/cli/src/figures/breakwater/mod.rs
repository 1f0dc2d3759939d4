//! Figures 1 and 3 to 12 of Breakwater (OSDI '20). Figure 2 is a drawing.
//!
//! Every number of the claims stands in the paper's text, at the section named; none was read off a
//! picture. What would have to agree how closely was fixed before the first comparison: goodput within
//! three points, ratios and times of recovery within a factor of two, bounds as bounds.

mod motivation;
mod synthetic;
mod workloads;
mod shift;
mod parts;
mod sensitivity;
mod memcached;

use super::figure::{Drawn, Figure, Panel, Quantity};
use tailwater_report::LineStyle;

pub(super) const FIGURES: &[Figure] = &[
    motivation::FIG_1,
    synthetic::FIG_3,
    workloads::FIG_4,
    workloads::FIG_5,
    workloads::FIG_6,
    shift::FIG_7,
    parts::FIG_8,
    parts::FIG_9,
    sensitivity::FIG_10,
    sensitivity::FIG_11,
    memcached::FIG_12,
];

const PAPER: &str = "breakwater";

/// The three profiles of Breakwater, as the scenarios label them.
const OURS: &[&str] = &["breakwater paper", "breakwater artifact", "breakwater default"];

/// A panel of joined points without marks.
const fn joined(
    name: &'static str,
    title: &'static str,
    from: &'static [&'static str],
    x: &'static Quantity,
    y: &'static Quantity,
) -> Panel {
    let drawn = Drawn::Points { x, y, style: LineStyle::Joined };
    Panel { name, title, from, keep: |_| true, drawn, stated: &[] }
}
