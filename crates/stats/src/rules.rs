//! The limits that decide which runs may count: fixed before any run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The limits. The defaults are those that published results use; a scenario that departs from them
/// says so.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// Smallest share of the schedule's requests that the generator must have handed to its clients; 0.98.
    /// Lower, and an "overloaded" server was in truth spared. How many requests the schedule drew is chance:
    /// a rule that looked at it would keep the runs with more load.
    pub offered_min: f64,
    /// Largest 99th percentile of the generator's lateness, as a share of the SLO; 0.5. Lateness
    /// counts as latency, so above this the generator and not the server decides what is in time.
    pub lateness_of_slo_max: f64,
    /// Largest share of a core that the hypervisor may have taken; 0.01. Quiet machines show none
    /// at all, and the kernel counts steal in ticks of 10 ms: this is two ticks in a run of 2 s.
    pub steal_max: f64,
    /// Most involuntary context switches of the server per second; 200. Quiet runs were measured at
    /// 10 to 50; four times as many means that something else wanted the core. Infinite where the server is not known.
    pub server_involuntary_max_per_s: f64,
    /// The same for the generator; 200. Its core is no different.
    pub load_involuntary_max_per_s: f64,
    /// Largest [`Yardstick::capacity_drift`](crate::result::Yardstick::capacity_drift); 0.2. A shared machine was seen to change by a tenth from minute to
    /// minute; beyond twice that a share of capacity says little of the controller.
    #[serde(default = "drift_max")]
    pub capacity_drift_max: f64,
    /// Largest [`Noise::server_run_delay_ratio`](crate::result::Noise). Usually no limit: servers that share their core wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_run_delay_max: Option<f64>,
    /// Largest [`Noise::load_run_delay_ratio`](crate::result::Noise). Usually no limit: lateness tells what of it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_run_delay_max: Option<f64>,
    /// Largest [`Noise::foreign_cpu_ratio`](crate::result::Noise). Usually no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu_max: Option<f64>,
    /// Of tiers by their names. Usually none: tiers share cores, and what has a core to itself must be said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<String, TierRules>,
}

/// The limits of one tier; `None` is no limit.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TierRules {
    /// Most involuntary context switches of its threads per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_max_per_s: Option<f64>,
    /// Largest [`TierReading::run_delay_ratio`](crate::result::TierReading::run_delay_ratio).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_max: Option<f64>,
}

const fn drift_max() -> f64 {
    0.2
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            offered_min: 0.98,
            lateness_of_slo_max: 0.5,
            steal_max: 0.01,
            server_involuntary_max_per_s: 200.0,
            load_involuntary_max_per_s: 200.0,
            capacity_drift_max: drift_max(),
            server_run_delay_max: None,
            load_run_delay_max: None,
            foreign_cpu_max: None,
            tiers: BTreeMap::new(),
        }
    }
}

impl Rules {
    /// Where these depart from the usual ones, each as a sentence: the key as a scenario has it, its limit and the
    /// usual one.
    #[must_use]
    pub fn departures(&self) -> Vec<String> {
        let usual = Self::default();
        let of_run = [
            ("offered_min", Some(self.offered_min), Some(usual.offered_min)),
            (
                "lateness_of_slo_max",
                Some(self.lateness_of_slo_max),
                Some(usual.lateness_of_slo_max),
            ),
            ("steal_max", Some(self.steal_max), Some(usual.steal_max)),
            (
                "server_involuntary_max_per_s",
                Some(self.server_involuntary_max_per_s),
                Some(usual.server_involuntary_max_per_s),
            ),
            (
                "load_involuntary_max_per_s",
                Some(self.load_involuntary_max_per_s),
                Some(usual.load_involuntary_max_per_s),
            ),
            ("capacity_drift_max", Some(self.capacity_drift_max), Some(usual.capacity_drift_max)),
            ("server_run_delay_max", self.server_run_delay_max, usual.server_run_delay_max),
            ("load_run_delay_max", self.load_run_delay_max, usual.load_run_delay_max),
            ("foreign_cpu_max", self.foreign_cpu_max, usual.foreign_cpu_max),
        ];
        let of_run = of_run.map(|(key, own, usual)| departure(key, own, usual));
        let of_tiers = self.tiers.iter().flat_map(|(tier, rules)| {
            let limits = [
                ("involuntary_max_per_s", rules.involuntary_max_per_s),
                ("run_delay_max", rules.run_delay_max),
            ];
            limits.map(|(key, limit)| departure(&format!("{key} of tier {tier}"), limit, None))
        });
        of_run.into_iter().chain(of_tiers).flatten().collect()
    }
}

fn departure(key: &str, own: Option<f64>, usual: Option<f64>) -> Option<String> {
    let limit = own.filter(|_| own != usual)?;
    let usual = usual.map_or("there is none".to_owned(), |usual| format!("it is {usual}"));
    Some(format!("{key} is {limit}; usually {usual}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_told_with_what_is_usual() {
        assert_eq!(Rules::default().departures(), Vec::<String>::new());
        let own = TierRules { run_delay_max: Some(0.5), ..TierRules::default() };
        let rules = Rules {
            steal_max: 0.05,
            foreign_cpu_max: Some(0.3),
            tiers: [("leaf".to_owned(), own)].into(),
            ..Rules::default()
        };
        let expected = [
            "steal_max is 0.05; usually it is 0.01",
            "foreign_cpu_max is 0.3; usually there is none",
            "run_delay_max of tier leaf is 0.5; usually there is none",
        ];
        assert_eq!(rules.departures(), expected);
    }
}
