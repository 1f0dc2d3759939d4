//! What goes wrong or changes in runs, as results tell it.

use tailwater_core::Nanos as _;
use tailwater_stats::result::{ChangeReading, FaultReading};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Fault, FaultKind, ModelChange};

/// The faults of a scenario, in its order, as they were asked for. A driver that cannot keep to the instant says when they
/// really were.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times of an hour at most")]
pub fn faults(scenario: &Scenario) -> Vec<FaultReading> {
    // What has no time of its own is there throughout, and so outlasts the run too.
    let is_over = |fault: &Fault| fault.at + fault.length <= scenario.duration;
    let length = |fault: &Fault| {
        let timed = !matches!(fault.kind, FaultKind::Clock { .. });
        (timed && is_over(fault)).then_some(fault.length)
    };
    let reading = |fault: &Fault| FaultReading {
        fault: fault.kind.name().into(),
        tier: fault.nodes.tier.map(|tier| scenario.tiers[tier].name.clone()).unwrap_or_default(),
        node: fault.nodes.node.map(|node| node + 1),
        at_ms: fault.at.nanos() as f64 / 1e6,
        for_ms: length(fault).map(|length| length.nanos() as f64 / 1e6),
    };
    scenario.faults.iter().map(reading).collect()
}

/// The changes of the server's threading model, likewise.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times of an hour at most")]
pub fn changes(scenario: &Scenario) -> Vec<ChangeReading> {
    let reading = |change: &ModelChange| ChangeReading {
        model: change.model.to_string(),
        at_ms: change.at.nanos() as f64 / 1e6,
    };
    scenario.server.changes.iter().map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_over_in_the_run_has_no_length() {
        let text = r#"
slo = "400us"
duration = "200ms"
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.service = { distribution = "constant", mean = "10us" }
[[fault]]
kind = "server-pause"
at = "100ms"
for = "100ms"
[[fault]]
kind = "server-pause"
at = "100ms"
for = "101ms"
[[fault]]
kind = "clock"
offset = "1ms"
"#;
        let scenario = Scenario::parse("x.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<_> = faults(&scenario).iter().map(|it| it.for_ms).collect();
        assert_eq!(found, [Some(100.0), None, None]);
    }
}
