//! The same scenario in virtual time.

use super::progress::Progress;
use crate::failure::Failure;
use tailwater_sim::Failure as Trouble;
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;

pub(super) fn run(scenario: &Scenario) -> Result<Experiment, Failure> {
    let progress = Progress::new(scenario.runs());
    tailwater_sim::run(scenario, &mut |_, _| progress.step()).map_err(|trouble| match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    })
}
