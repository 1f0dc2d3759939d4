//! How long controllers need after each step of demand.

use super::{Variant, called, head, line};
use tailwater_report::time;
use tailwater_stats::result::{Experiment, StepRecovery};

/// A line for each number of clients and step; a column for each controller.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let mut variants: Vec<Variant<'_>> = Vec::new();
    let mut steps: Vec<(u32, usize)> = Vec::new();
    for found in &result.recoveries {
        if !variants.contains(&variant(found)) {
            variants.push(variant(found));
        }
        if !steps.contains(&(found.clients, found.step)) {
            steps.push((found.clients, found.step));
        }
    }
    let mut heads = vec!["clients".to_owned(), "step".to_owned()];
    heads.extend(variants.iter().map(|&it| called(it, &variants)));
    let mut text = head(&heads);
    for (clients, step) in steps {
        let of_step: Vec<&StepRecovery> = result
            .recoveries
            .iter()
            .filter(|found| (found.clients, found.step) == (clients, step))
            .collect();
        let (from, to) = (of_step[0].from_ratio, of_step[0].to_ratio);
        let mut cells = vec![clients.to_string(), format!("{from:.1} × to {to:.1} ×")];
        cells.extend(variants.iter().map(|&it| {
            let found = of_step.iter().find(|found| variant(found) == it);
            found.map_or("–".into(), |found| after(found))
        }));
        text += &line(&cells);
    }
    text
}

/// A line for each variant of one step: the first bin whose goodput is within a tenth of the steady one, and the worst p99.
pub(super) fn first(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let heads = ["", "first within a tenth of the steady goodput", "worst p99"];
    let mut text = head(&heads.map(Into::into));
    for found in &result.recoveries {
        let recovery = &found.recovery;
        let is_back = |goodput: &f64| *goodput >= 0.9 * recovery.steady_rps;
        let bin = recovery.goodput_rps.iter().position(is_back);
        let after = bin.map(|bin| format!("after {}", time(bin as f64 * recovery.bin_us)));
        let worst_us = recovery.p99_us.iter().copied().fold(0.0, f64::max);
        let cells = [found.profile.clone(), after.unwrap_or("never".into()), time(worst_us)];
        text += &line(&cells);
    }
    text
}

fn variant(found: &StepRecovery) -> Variant<'_> {
    (&found.controller, &found.profile)
}

fn after(found: &StepRecovery) -> String {
    match found.recovery.recovered_us {
        Some(0.0) => "at once".into(),
        Some(us) => format!("after {}", time(us)),
        None => "not in the step".into(),
    }
}
