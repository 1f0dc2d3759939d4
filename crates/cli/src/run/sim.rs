//! The same scenario in virtual time.

use super::interrupt::Interrupt;
use super::progress::Progress;
use crate::failure::Failure;
use std::ops::ControlFlow;
use tailwater_sim::Failure as Trouble;
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;

/// Everything, or what was done when a signal came: the run under way is done first.
pub(super) fn run(scenario: &Scenario, interrupt: &Interrupt) -> Result<Experiment, Failure> {
    let progress = Progress::new(scenario.runs());
    let mut after_each = |_, _| {
        progress.step();
        interrupt.signal().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
    };
    tailwater_sim::run(scenario, &mut after_each).map_err(|trouble| match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    })
}
