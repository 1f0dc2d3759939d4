//! Every controller of `scenarios/controllers.toml` beside the others.

use super::{head, line, of_repetitions, ranged};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Spread, Summary};

/// In the order of the pages.
const CONTROLLERS: [&str; 9] = [
    "breakwater",
    "efficiency",
    "dagor",
    "seda",
    "aqm-only",
    "codel",
    "gradient",
    "window",
    "none",
];
const DEMANDS: [f64; 4] = [0.5, 1.0, 1.5, 2.0];
const CLIENTS: [u32; 2] = [100, 1_000];
/// Where no repetition is valid: a number of invalid runs is no result.
const NONE_VALID: &str = "–";

/// A line for each controller, clients side by side.
pub(super) fn by_controller(result: &str) -> String {
    let result = parse(result);
    let mut heads = vec![String::new()];
    for clients in CLIENTS {
        let clients = if clients == 100 { "100 clients: " } else { "1,000 clients: " };
        heads.extend(DEMANDS.iter().map(|demand| format!("{demand:.1} ×")));
        let first = heads.len() - DEMANDS.len();
        heads[first].insert_str(0, clients);
        heads.push("p99 at 2 ×".into());
    }
    let mut text = head(&heads);
    for controller in CONTROLLERS {
        let name = if controller == CONTROLLERS[0] { "**breakwater**" } else { controller };
        let mut cells = vec![name.to_owned()];
        for clients in CLIENTS {
            let cell = |demand| goodput(find(&result, controller, clients, demand), ranged);
            cells.extend(DEMANDS.map(cell));
            cells.push(p99(find(&result, controller, clients, 2.0)));
        }
        text += &line(&cells);
    }
    text
}

/// Of README's first table: at its capacity, and beyond.
const FIRST: [f64; 2] = [1.0, 2.0];

/// The first table of README: what an outsider compares, at 100 clients.
pub(super) fn first(result: &str) -> String {
    let result = parse(result);
    let heads = [
        "load",
        "controller",
        "in time, % of capacity",
        "p99 of answers",
        "refused by the server, %",
    ];
    let mut text = head(&heads.map(Into::into));
    for demand in FIRST {
        for controller in ["none", "aqm-only", "breakwater"] {
            let found = find(&result, controller, 100, demand);
            let refused = found.map(|summary| percent(summary.of["drop_ratio"].median));
            text += &line(&[
                format!("{demand:.1} ×"),
                controller.to_owned(),
                goodput(found, |spread| percent(spread.median)),
                p99(found),
                refused.unwrap_or(NONE_VALID.into()),
            ]);
        }
    }
    text
}

fn parse(result: &str) -> Experiment {
    serde_json::from_str(result).expect("a result of tailwater run")
}

fn find<'a>(
    result: &'a Experiment,
    controller: &str,
    clients: u32,
    demand: f64,
) -> Option<&'a Summary> {
    result.summary.iter().find(|summary| {
        summary.controller == controller
            && summary.clients == clients
            && (summary.demand_ratio - demand).abs() < 1e-3
    })
}

/// In per cent of capacity.
fn goodput(summary: Option<&Summary>, shown: impl Fn(Spread) -> String) -> String {
    let Some(summary) = summary else {
        return NONE_VALID.into();
    };
    of_repetitions(shown(summary.of["goodput_of_capacity"]), summary.repetitions as usize)
}

/// Median of the valid repetitions.
fn p99(summary: Option<&Summary>) -> String {
    summary.map_or(NONE_VALID.into(), |summary| time(summary.of["p99_us"].median))
}
