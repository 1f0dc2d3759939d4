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
    /// Largest share of the time that the server's threads could run and did not.
    pub server_run_delay_max: Option<f64>,
    /// The same for the generator.
    pub load_run_delay_max: Option<f64>,
    /// Largest share of a core that went to processes outside of the run.
    pub foreign_cpu_max: Option<f64>,
    /// Largest difference of the measurements of capacity before and after, as a share of their mean.
    pub capacity_drift_max: Option<f64>,
}

impl Validity {
    pub(super) fn read(section: &Section<'_>) -> Self {
        Self {
            offered_min: section.number("offered_min"),
            lateness_of_slo_max: section.number("lateness_of_slo_max"),
            steal_max: section.number("steal_max"),
            server_involuntary_max_per_s: section.number("server_involuntary_max_per_s"),
            load_involuntary_max_per_s: section.number("load_involuntary_max_per_s"),
            server_run_delay_max: section.number("server_run_delay_max"),
            load_run_delay_max: section.number("load_run_delay_max"),
            foreign_cpu_max: section.number("foreign_cpu_max"),
            capacity_drift_max: section.number("capacity_drift_max"),
        }
    }
}

/// Limits of one tier, whose fields have the names, meanings and units of `tailwater_stats::TierRules`. Usually there
/// are none, as tiers share cores.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TierValidity {
    /// Most involuntary context switches of its threads per second.
    pub involuntary_max_per_s: Option<f64>,
    /// Largest share of the time that its threads could run and did not, added up.
    pub run_delay_max: Option<f64>,
}

impl TierValidity {
    pub(super) fn read(section: &Section<'_>) -> Self {
        Self {
            involuntary_max_per_s: section.number("involuntary_max_per_s"),
            run_delay_max: section.number("run_delay_max"),
        }
    }
}
