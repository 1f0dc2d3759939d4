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
    "Limits beyond which a run does not count; the defaults are the usual rules. A limit whose reading is missing voids the \
     run. What a fault kills, and what comes in its place, is metered as the run's own.",
    &[
        key(
            "offered_min",
            Number(0.0..=1.0, "share of the schedule's requests"),
            Means("0.98"),
            "0.95",
            "The share of the schedule's requests that must have been sent. Less means that the generator could not.",
        ),
        key(
            "lateness_of_slo_max",
            Number(0.0..=LATENESS_MAX, "share of the objective"),
            Means("0.5"),
            "0.5",
            "How late the generator may be: the 99th percentile of its lateness, as a share of the objective. Lower it \
             to 0.1 where microseconds matter.",
        ),
        key(
            "steal_max",
            Number(0.0..=STEAL_MAX, "share of a core"),
            Means("0.01"),
            "0.05",
            "How much of a core the hypervisor may have taken from the machine. Raise it on a busy host, and read tails \
             with care.",
        ),
        key(
            "server_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            Means("200"),
            "200",
            "How often in a second the kernel may take a core from the server's threads for another (involuntary \
             context switches). Raise it where processes share a core.",
        ),
        key(
            "load_involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            Means("200"),
            "200",
            "How often in a second the kernel may take a core from the generator's threads for another. Raise it where \
             processes share a core.",
        ),
        key(
            "server_run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "How long the server's threads may have waited for a core, added up, as a share of the time (run-queue \
             wait).",
        ),
        key(
            "load_run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "How long the generator's threads may have waited for a core, added up, as a share of the time.",
        ),
        key(
            "foreign_cpu_max",
            Number(0.0..=STEAL_MAX, "share of a core"),
            NO_LIMIT,
            "0.1",
            "How much of a core other processes may have used, those of the run left out. Set it where the machine is \
             shared.",
        ),
        key(
            "capacity_drift_max",
            Number(0.0..=2.0, "share of their mean"),
            Means("0.2"),
            "0.1",
            "How far the capacities measured before and after a run may lie apart, as a share of their mean.",
        ),
    ],
);

/// Of one tier.
pub(super) static OF_TIER: Table = table(
    "tier.validity",
    "Limits for the processes of a tier beyond which a run does not count. By default there are none, as tiers share cores. \
     Sockets only.",
    &[
        key(
            "involuntary_max_per_s",
            Number(0.0..=SWITCHES_MAX, "switches per second"),
            NO_LIMIT,
            "500",
            "How often in a second the kernel may take a core from its threads for another (involuntary context \
             switches).",
        ),
        key(
            "run_delay_max",
            Number(0.0..=RUN_DELAY_MAX, "share of the time"),
            NO_LIMIT,
            "0.2",
            "How long its threads may have waited for a core, added up, as a share of the time.",
        ),
    ],
);
