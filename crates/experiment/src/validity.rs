//! The rules that decide which runs of a scenario count.

use tailwater_stats::Rules;
use tailwater_workload::scenario::Validity;

/// The usual rules with the scenario's departures.
pub(crate) fn rules(said: &Validity) -> Rules {
    let usual = Rules::default();
    Rules {
        offered_min: said.offered_min.unwrap_or(usual.offered_min),
        lateness_of_slo_max: said.lateness_of_slo_max.unwrap_or(usual.lateness_of_slo_max),
        steal_max: said.steal_max.unwrap_or(usual.steal_max),
        server_involuntary_max_per_s: said
            .server_involuntary_max_per_s
            .unwrap_or(usual.server_involuntary_max_per_s),
        load_involuntary_max_per_s: said
            .load_involuntary_max_per_s
            .unwrap_or(usual.load_involuntary_max_per_s),
        capacity_drift_max: said.capacity_drift_max.unwrap_or(usual.capacity_drift_max),
    }
}
