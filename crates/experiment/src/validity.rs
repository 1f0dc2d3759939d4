//! The rules that decide which runs of a scenario count.

use tailwater_stats::{Rules, TierRules};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{TierValidity, Validity};

/// The usual rules with the scenario's departures.
pub(crate) fn rules(scenario: &Scenario) -> Rules {
    let (said, usual) = (&scenario.validity, Rules::default());
    let Validity { server_run_delay_max, load_run_delay_max, foreign_cpu_max, .. } = *said;
    let of_tiers = scenario.tiers.iter().map(|tier| (tier.name.clone(), of_tier(&tier.validity)));
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
        server_run_delay_max,
        load_run_delay_max,
        foreign_cpu_max,
        tiers: of_tiers.filter(|(_, rules)| *rules != TierRules::default()).collect(),
    }
}

fn of_tier(said: &TierValidity) -> TierRules {
    let TierValidity { involuntary_max_per_s, run_delay_max } = *said;
    TierRules { involuntary_max_per_s, run_delay_max }
}
