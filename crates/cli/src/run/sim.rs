//! The same scenario in virtual time.

use crate::failure::Failure;
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;

pub(super) fn run(_scenario: &Scenario) -> Result<Experiment, Failure> {
    Err(Failure::usage("the simulator is not wired up"))
}
