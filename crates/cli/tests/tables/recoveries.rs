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
