//! What a request cost the server in its run, beside what capacity says. Goodput on sockets beside simulation, also at
//! the speed that these two tell.

use super::{head, line};
use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Summary};

/// What a refusal and a credit message cost, in µs: the simulator's `receive`, `shed` and `send`.
const REFUSAL_US: f64 = 1.7 + 1.0 + 2.7;
const CREDIT_US: f64 = 2.7;
/// Where the controllers' results differ, and the same law where they do not.
const ROWS: [(&str, u32, f64); 6] = [
    ("breakwater", 1_000, 1.0),
    ("breakwater", 1_000, 1.5),
    ("breakwater", 1_000, 2.0),
    ("efficiency", 1_000, 1.0),
    ("efficiency", 1_000, 1.5),
    ("efficiency", 1_000, 2.0),
];

/// Of the runs on sockets, in simulation, and in simulation at the lower speed.
pub(super) fn table(sockets: &str, simulated: &str, slow: &str) -> String {
    let [sockets, simulated, slow] = [sockets, simulated, slow].map(parse);
    let mut text = head(
        &[
            "1,000 clients",
            "a request, by capacity",
            "in the run",
            "goodput of capacity on sockets",
            "simulated",
            "at 0.92 of the speed",
        ]
        .map(Into::into),
    );
    for row in ROWS {
        let on_sockets = of(&sockets, row).expect("it was measured");
        let (said, spent) = costs_us(on_sockets);
        let goodput = on_sockets.of["goodput_of_capacity"];
        let share = |of: Option<&Summary>| {
            of.map_or("–".into(), |of| {
                format!("{} %", percent(of.of["goodput_of_capacity"].median))
            })
        };
        text += &line(&[
            format!("{}, {:.1} ×", row.0, row.2),
            format!("{said:.1} µs"),
            format!("{spent:.1} µs, {:+.1} %", (spent / said - 1.0) * 100.0),
            format!(
                "{} [{}–{}] %",
                percent(goodput.median),
                percent(goodput.min),
                percent(goodput.max)
            ),
            share(of(&simulated, row)),
            share(of(&slow, row)),
        ]);
    }
    text
}

/// What a served request costs a core: by the capacity around the runs, and by the server's own CPU time in them, less
/// what refusals and credits cost. Of medians.
fn costs_us(summary: &Summary) -> (f64, f64) {
    let median = |name: &str| summary.of[name].median;
    let offered_rps = median("offered_rps");
    let received_rps = offered_rps * (1.0 - median("fates.expired") - median("fates.lost"));
    let busy_us = received_rps * median("server_cpu_ns_per_request") / 1e3;
    let refusals_us = offered_rps * median("fates.shed") * REFUSAL_US;
    let credits_us = median("explicit_credits_rps") * CREDIT_US;
    let spent = (busy_us - refusals_us - credits_us) / median("throughput_rps");
    (1e6 / median("capacity_rps"), spent)
}

fn of<'a>(
    result: &'a Experiment,
    (controller, clients, demand): (&str, u32, f64),
) -> Option<&'a Summary> {
    result.summary.iter().find(|summary| {
        let near = (summary.demand_ratio - demand).abs() < 0.01;
        summary.controller == controller && summary.clients == clients && near
    })
}

fn parse(result: &str) -> Experiment {
    serde_json::from_str(result).expect("a result of tailwater run")
}
