//! Figure 1: why neither shedding alone nor windows at the clients will do (§2.2).

use super::super::figure::{Figure, source};
use super::super::quantity::{CLIENTS, DEMAND, GOODPUT};
use super::{PAPER, joined};

/// The text states no number about it.
pub(super) const FIG_1: Figure = Figure {
    paper: PAPER,
    number: 1,
    title: "CoDel and windows at the clients",
    scenarios: &[source!("fig1-demand"), source!("fig1-clients")],
    panels: &[
        joined("demand", "1,000 clients, SLO 200 µs", &["fig1-demand"], &DEMAND, &GOODPUT),
        joined(
            "clients",
            "2 million requests/s, SLO 200 µs",
            &["fig1-clients"],
            &CLIENTS,
            &GOODPUT,
        ),
    ],
    claims: &[],
};
