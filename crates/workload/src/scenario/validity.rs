//! `[validity]`: which runs may count, where that departs from the usual rules.

use super::section::Section;

/// Departures from the rules of `tailwater_stats::Rules`, whose fields have the same names, meanings and
/// units; `None` keeps the usual limit.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Validity {
    /// Smallest share of the asked load that must have been sent.
    pub offered_min: Option<f64>,
    /// Largest 99th percentile of the generator's lateness, as a share of the objective.
    pub lateness_of_slo_max: Option<f64>,
    /// Largest share of a core that the hypervisor may have taken.
    pub steal_max: Option<f64>,
    /// Most involuntary context switches of the server per second. Tiers that share cores switch more.
    pub server_involuntary_max_per_s: Option<f64>,
    /// The same for the generator.
    pub load_involuntary_max_per_s: Option<f64>,
    /// Largest difference of the measurements of capacity before and after, as a share of their mean.
    pub capacity_drift_max: Option<f64>,
}

pub(super) const KEYS: &[&str] = &[
    "offered_min",
    "lateness_of_slo_max",
    "steal_max",
    "server_involuntary_max_per_s",
    "load_involuntary_max_per_s",
    "capacity_drift_max",
];

/// Some 1,024 cores; nobody has more taken.
const STEAL_MAX: f64 = 1_024.0;
/// A switch each microsecond, which no kernel does.
const SWITCHES_MAX: f64 = 1e6;
/// Lateness of ten objectives: whatever is measured then is the generator.
const LATENESS_MAX: f64 = 10.0;

impl Validity {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let number = |key, max| section.item(key)?.number(0.0..=max);
        Self {
            offered_min: number("offered_min", 1.0),
            lateness_of_slo_max: number("lateness_of_slo_max", LATENESS_MAX),
            steal_max: number("steal_max", STEAL_MAX),
            server_involuntary_max_per_s: number("server_involuntary_max_per_s", SWITCHES_MAX),
            load_involuntary_max_per_s: number("load_involuntary_max_per_s", SWITCHES_MAX),
            capacity_drift_max: number("capacity_drift_max", 2.0),
        }
    }
}
