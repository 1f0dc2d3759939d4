//! What a request cost the server in its run, beside what capacity says. Goodput on sockets beside simulation, also at
//! the speed that these two tell.

use super::core_time::CoreTime;
use super::{head, line};
use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Summary};

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
        let core = CoreTime::of(on_sockets);
        let goodput = on_sockets.of["goodput_of_capacity"];
        let share = |of: Option<&Summary>| {
            of.map_or("–".into(), |of| {
                format!("{} %", percent(of.of["goodput_of_capacity"].median))
            })
        };
        text += &line(&[
            format!("{}, {:.1} ×", row.0, row.2),
            format!("{:.1} µs", core.said_us),
            format!("{:.1} µs, {:+.1} %", core.spent_us, core.excess() * 100.0),
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
