//! `[validity]`.

use super::Absent::Means;
use super::ValueKind::Number;
use super::{Absent, Table, key, table};

const NO_LIMIT: Absent = Means("no limit");

/// Some 1,024 cores; no machine has more taken.
const STEAL_MAX: f64 = 1_024.0;
/// A switch each microsecond, which no kernel does.
const SWITCHES_MAX: f64 = 1e6;
/// Run delay of some thousand threads that never run.
const RUN_DELAY_MAX: f64 = 1_024.0;
/// Lateness of ten objectives: whatever is measured then is the generator.
const LATENESS_MAX: f64 = 10.0;

pub(super) static VALIDITY: Table = table(
    "[validity]",
    "Which runs count, where that departs from the usual rules, which are these defaults. A limit whose reading is \
     missing voids the run. What a fault kills, and what comes in its place, is metered as the run's own.",
    &[
        key(
            "offered_min",
            Number(0.0..=1.0, "share of the schedule's requests"),
            Means("0.98"),
            "0.95",
            "Least that must have been sent.",
        ),
        key(
            "lateness_of_slo_max",
            Number(0.0..=LATENESS_MAX, "share of the objective"),
            Means("0.5"),
            "0.5",
            "Most that the generator's lateness may be, 99th percentile.",
        ),
        key(
            "steal_max",
            Number(0.0..=STEAL_MAX, "share of a core"),
            Means("0.01"),
            "0.05",
            "Most that the hypervisor may have taken.",
        ),
        key(
            "server_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            Means("200"),
            "200",
            "Most involuntary context switches of the server.",
        ),
        key(
            "load_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            Means("200"),
            "200",
            "Most involuntary context switches of the generator.",
        ),
        key(
            "server_run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "Most that the server's threads could run and did not, added up.",
        ),
        key(
            "load_run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "The same for the generator's threads.",
        ),
        key(
            "foreign_cpu_max",
            Number(0.0..=STEAL_MAX, "share of a core"),
            NO_LIMIT,
            "0.1",
            "Most that went to processes outside of the run.",
        ),
        key(
            "capacity_drift_max",
            Number(0.0..=2.0, "share of their mean"),
            Means("0.2"),
            "0.1",
            "Most that the measurements of capacity before and after may differ.",
        ),
    ],
);

/// Of one tier.
pub(super) static OF_TIER: Table = table(
    "tier.validity",
    "Which runs count as far as a tier is concerned. Usually there is no limit, as tiers share cores. Sockets only.",
    &[
        key(
            "involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            NO_LIMIT,
            "500",
            "Most involuntary context switches of its threads.",
        ),
        key(
            "run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "Most that its threads could run and did not, added up.",
        ),
    ],
);
