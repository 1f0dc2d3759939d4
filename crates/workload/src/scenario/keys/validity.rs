//! `[validity]`.

use super::Absent::Means;
use super::Kind::Number;
use super::{Absent, Table, key, table};

const USUAL: Absent = Means("the usual rule");

/// Some 1,024 cores; no machine has more taken.
const STEAL_MAX: f64 = 1_024.0;
/// A switch each microsecond, which no kernel does.
const SWITCHES_MAX: f64 = 1e6;
/// Lateness of ten objectives: whatever is measured then is the generator.
const LATENESS_MAX: f64 = 10.0;

pub(super) static VALIDITY: Table = table(
    "[validity]",
    "Which runs count, where that departs from the usual rules, which each page lists.",
    &[
        key(
            "offered_min",
            Number(0.0..=1.0, "share of the schedule's requests"),
            USUAL,
            "0.95",
            "Least that must have been sent.",
        ),
        key(
            "lateness_of_slo_max",
            Number(0.0..=LATENESS_MAX, "share of the objective"),
            USUAL,
            "0.5",
            "Most that the generator's lateness may be, 99th percentile.",
        ),
        key(
            "steal_max",
            Number(0.0..=STEAL_MAX, "share of a core"),
            USUAL,
            "0.05",
            "Most that the hypervisor may have taken.",
        ),
        key(
            "server_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            USUAL,
            "200",
            "Most involuntary context switches of the server.",
        ),
        key(
            "load_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            USUAL,
            "200",
            "Most involuntary context switches of the generator.",
        ),
        key(
            "capacity_drift_max",
            Number(0.0..=2.0, "share of their mean"),
            USUAL,
            "0.1",
            "Most that the measurements of capacity before and after may differ.",
        ),
    ],
);
