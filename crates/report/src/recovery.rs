//! How long each controller needed after each step of demand, for stepped runs.

use crate::format;
use crate::model::{Group, label, same};
use tailwater_stats::result::{Experiment, StepRecovery};

pub(crate) const HEADS: [&str; 5] = ["step", "controller", "steps", "steady\nk/s", "back after"];

/// Said above the rows.
pub(crate) const MEANING: &str = "After each step of demand, all steps of a kind laid over one another: when \
    goodput is back at 95 % of what the last third of the step keeps, with p99 within the SLO.";

/// One for each step and controller of a group; `None` where demand does not change.
pub(crate) fn rows(experiment: &Experiment, group: &Group<'_>) -> Option<Vec<Vec<String>>> {
    let of_group =
        |step: &&StepRecovery| step.clients == group.clients && same(step.slo_us, group.slo_us);
    let rows: Vec<_> = experiment.recoveries.iter().filter(of_group).map(row).collect();
    (!rows.is_empty()).then_some(rows)
}

fn row(step: &StepRecovery) -> Vec<String> {
    vec![
        format!("{}→{}", format::demand(step.from_ratio), format::demand(step.to_ratio)),
        label(&step.controller, &step.profile),
        step.recovery.steps.to_string(),
        format::thousands(step.recovery.steady_rps),
        back(step),
    ]
}

fn back(step: &StepRecovery) -> String {
    match step.recovery.recovered_us {
        Some(us) if us <= 0.0 => "at once".to_owned(),
        Some(us) => format::round_time(us),
        // Above the objective in the steady state there is no recovery to find.
        None if step.recovery.steady_p99_us > step.slo_us => "never: p99 > SLO".to_owned(),
        None => "not in the step".to_owned(),
    }
}
