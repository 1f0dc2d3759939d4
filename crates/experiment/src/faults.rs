//! What goes wrong or changes in runs, as results tell it.

use tailwater_core::Nanos as _;
use tailwater_stats::result::{ChangeReading, FaultReading};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Fault, ModelChange};

/// The faults of a scenario, in its order, as they were asked for. A driver that cannot keep to the instant says when they
/// really were.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times of an hour at most")]
pub fn faults(scenario: &Scenario) -> Vec<FaultReading> {
    let reading = |fault: &Fault| FaultReading {
        fault: fault.kind.name().into(),
        tier: fault.nodes.tier.map(|tier| scenario.tiers[tier].name.clone()).unwrap_or_default(),
        node: fault.nodes.node.map(|node| node + 1),
        at_ms: fault.at.nanos() as f64 / 1e6,
        for_ms: Some(fault.length.nanos() as f64 / 1e6),
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
