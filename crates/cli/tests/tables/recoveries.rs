//! How long controllers need after each step of demand.

use super::{head, line};
use tailwater_report::time;
use tailwater_stats::result::{Experiment, StepRecovery};

/// A line for each number of clients and step; a column for each controller.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let mut controllers: Vec<&str> = Vec::new();
    let mut steps: Vec<(u32, usize)> = Vec::new();
    for found in &result.recoveries {
        if !controllers.contains(&&*found.controller) {
            controllers.push(&found.controller);
        }
        if !steps.contains(&(found.clients, found.step)) {
            steps.push((found.clients, found.step));
        }
    }
    let mut heads = vec!["clients".to_owned(), "step".to_owned()];
    heads.extend(controllers.iter().map(|&name| name.to_owned()));
    let mut text = head(&heads);
    for (clients, step) in steps {
        let of_step: Vec<&StepRecovery> = result
            .recoveries
            .iter()
            .filter(|found| (found.clients, found.step) == (clients, step))
            .collect();
        let (from, to) = (of_step[0].from_ratio, of_step[0].to_ratio);
        let mut cells = vec![clients.to_string(), format!("{from:.1} × to {to:.1} ×")];
        cells.extend(controllers.iter().map(|name| {
            let found = of_step.iter().find(|found| found.controller == *name);
            found.map_or("–".into(), |found| after(found))
        }));
        text += &line(&cells);
    }
    text
}

fn after(found: &StepRecovery) -> String {
    match found.recovery.recovered_us {
        Some(0.0) => "at once".into(),
        Some(us) => format!("after {}", time(us)),
        None => "not in the step".into(),
    }
}
