//! How long each controller needed after each step of demand, for stepped runs.

use crate::format::{self, ColumnUnit};
use crate::model::{Group, label, same};
use tailwater_stats::result::{Experiment, StepRecovery};

/// Said above the rows.
pub(crate) const MEANING: &str = "After each step of demand, all steps of a kind laid over one another: when \
    goodput is back at 95 % of what the last third of the step keeps, with p99 within the SLO.";

/// Headings, and a row for each step and controller of a group.
pub(crate) struct Recoveries {
    pub(crate) heads: [String; 5],
    pub(crate) rows: Vec<Vec<String>>,
}

/// `None` where demand does not change.
pub(crate) fn of_group(experiment: &Experiment, group: &Group<'_>) -> Option<Recoveries> {
    let of_group =
        |step: &&StepRecovery| step.clients == group.clients && same(step.slo_us, group.slo_us);
    let steps = || experiment.recoveries.iter().filter(of_group);
    // Steps last a thousand times as long as answers take: the objective's unit would not suit them.
    let unit = ColumnUnit::of_largest(steps().filter_map(|step| step.recovery.recovered_us));
    let rows: Vec<_> = steps().map(|step| row(step, unit)).collect();
    let heads = ["step", "controller", "steps", "steady\nk/s", "back after\n"];
    let mut heads = heads.map(str::to_owned);
    heads[4].push_str(unit.name());
    (!rows.is_empty()).then_some(Recoveries { heads, rows })
}

fn row(step: &StepRecovery, unit: ColumnUnit) -> Vec<String> {
    vec![
        format!("{}→{}", format::demand(step.from_ratio), format::demand(step.to_ratio)),
        label(&step.controller, &step.profile),
        step.recovery.steps.to_string(),
        format::thousands(step.recovery.steady_rps),
        back(step, unit),
    ]
}

fn back(step: &StepRecovery, unit: ColumnUnit) -> String {
    match step.recovery.recovered_us {
        Some(us) if us <= 0.0 => "at once".to_owned(),
        Some(us) => unit.show(us),
        // Above the objective in the steady state there is no recovery to find.
        None if step.recovery.steady_p99_us > step.slo_us => "never: p99 > SLO".to_owned(),
        None => "not in the step".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::groups;
    use tailwater_stats::recovery::Recovery;
    use tailwater_stats::result::{AskedRun, Run};

    /// Each had the unit that suited it, so that 950 ms stood above 1.05 s.
    #[test]
    fn recoveries_are_in_one_unit() {
        let step = |recovered_us| StepRecovery {
            slo_us: 400.0,
            recovery: Recovery { recovered_us, ..Recovery::default() },
            ..StepRecovery::default()
        };
        let found = [Some(950_000.0), Some(1_050_000.0), Some(0.0), None];
        let experiment = Experiment {
            runs: vec![Run {
                asked: AskedRun { slo_us: 400.0, ..AskedRun::default() },
                ..Run::default()
            }],
            recoveries: found.map(step).into(),
            ..Experiment::default()
        };
        let found = of_group(&experiment, &groups(&experiment)[0]).expect("there are steps");
        let back: Vec<&str> = found.rows.iter().map(|row| &*row[4]).collect();
        assert_eq!(back, ["950", "1050", "at once", "not in the step"]);
        assert_eq!(found.heads[4], "back after\nms");
    }
}
