//! What went wrong or changed because a scenario asked for it: a sentence for each.

use crate::format;
use crate::model::spread_of;
use tailwater_stats::result::{ChangeReading, Experiment, FaultReading};

/// A sentence for each fault, in the order in which they began, and for each change, with medians over the runs.
pub(crate) fn sentences(experiment: &Experiment) -> Vec<String> {
    [faults(experiment), changes(experiment)].concat()
}

/// Of the threading model: every run has them all, unless it was cut short.
fn changes(experiment: &Experiment) -> Vec<String> {
    let longest = experiment.runs.iter().map(|run| &run.changes).max_by_key(|all| all.len());
    let sentence = |(nth, change): (usize, &ChangeReading)| {
        let times = experiment.runs.iter().filter_map(|run| Some(run.changes.get(nth)?.at_ms));
        let at = spread_of(times.collect()).map_or(f64::NAN, |spread| spread.median);
        format!("Asked for: model {}, from {} on.", change.model, format::time(at * 1e3))
    };
    longest.into_iter().flatten().enumerate().map(sentence).collect()
}

fn faults(experiment: &Experiment) -> Vec<String> {
    let mut known: Vec<&FaultReading> = Vec::new();
    for fault in experiment.runs.iter().flat_map(|run| &run.faults) {
        // The same kind may strike the same node several times in a run; the most that any run has are told.
        let count = |of: &[FaultReading]| of.iter().filter(|it| is_like(it, fault)).count();
        let most = experiment.runs.iter().map(|run| count(&run.faults)).max().unwrap_or(0);
        if known.iter().filter(|it| is_like(it, fault)).count() < most {
            known.push(fault);
        }
    }
    let nth = |at: usize| known[..at].iter().filter(|it| is_like(it, known[at])).count();
    (0..known.len()).map(|at| sentence(experiment, known[at], nth(at))).collect()
}

/// The same kind, at the same place.
fn is_like(one: &FaultReading, other: &FaultReading) -> bool {
    (&one.fault, &one.tier, one.node) == (&other.fault, &other.tier, other.node)
}

/// Of the `nth` such fault of each run.
fn sentence(experiment: &Experiment, fault: &FaultReading, nth: usize) -> String {
    let of_run =
        |faults: &[FaultReading]| faults.iter().filter(|it| is_like(it, fault)).nth(nth).cloned();
    let found: Vec<FaultReading> =
        experiment.runs.iter().filter_map(|run| of_run(&run.faults)).collect();
    let time = |ms: Vec<f64>| spread_of(ms).map(|spread| format::time(spread.median * 1e3));
    let at = time(found.iter().map(|it| it.at_ms).collect()).unwrap_or_default();
    let length = match time(found.iter().filter_map(|it| it.for_ms).collect()) {
        Some(length) => format!("for {length}"),
        None => "to the end of the run".into(),
    };
    let runs = if found.len() == 1 { "run" } else { "runs" };
    format!(
        "Asked for: {}{}, {at} into the window, {length} (medians of {} {runs}).",
        fault.fault,
        place(fault),
        found.len()
    )
}

fn place(FaultReading { tier, node, .. }: &FaultReading) -> String {
    match (&**tier, node) {
        ("", None) => String::new(),
        ("", Some(node)) => format!(" of replica {node}"),
        (tier, None) => format!(" of {tier}"),
        (tier, Some(node)) => format!(" of {tier} {node}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::Run;

    fn fault(name: &str, tier: &str, at_ms: f64, for_ms: Option<f64>) -> FaultReading {
        FaultReading { fault: name.into(), tier: tier.into(), node: Some(2), at_ms, for_ms }
    }

    #[test]
    fn each_fault_has_a_sentence_with_medians_of_what_was_played() {
        let run = |at_ms| Run {
            faults: vec![
                fault("server-pause", "leaf", at_ms, Some(20.0)),
                fault("server-pause", "leaf", 2.0 * at_ms, Some(30.0)),
                fault("server-restart", "", 50.0, None),
            ],
            ..Run::default()
        };
        let runs = vec![run(100.0), run(102.0), run(101.0), Run::default()];
        let told = sentences(&Experiment { runs, ..Experiment::default() });
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].starts_with("Asked for: server-pause of leaf 2, 101"), "{}", told[0]);
        assert!(
            told[0].contains("for 20") && told[0].ends_with("(medians of 3 runs)."),
            "{}",
            told[0]
        );
        assert!(told[1].contains(", 202") && told[1].contains("for 30"), "{}", told[1]);
        assert!(told[2].contains("of replica 2, 50"), "{}", told[2]);
        assert!(told[2].contains("to the end of the run"), "{}", told[2]);
        assert_eq!(sentences(&Experiment::default()), Vec::<String>::new());
    }

    #[test]
    fn each_change_has_a_sentence_with_the_median_of_its_times() {
        let run = |at_ms| Run {
            changes: vec![ChangeReading { model: "adb:4".into(), at_ms }],
            ..Run::default()
        };
        let runs = vec![run(500.0), run(502.0), run(501.0), Run::default()];
        let told = sentences(&Experiment { runs, ..Experiment::default() });
        assert_eq!(told, ["Asked for: model adb:4, from 501 ms on."]);
    }
}
