//! What the server's core did under Breakwater from its capacity on: where the goodput is that is missing.

use super::{head, line, of_repetitions};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// The rows are of this controller, at this demand and above.
const CONTROLLER: &str = "breakwater";
const FROM: f64 = 1.0;

/// What a refusal and a credit message cost, in µs: the simulator's `receive`, `shed` and `send`.
const REFUSAL_US: f64 = 1.7 + 1.0 + 2.7;
const CREDIT_US: f64 = 2.7;

/// Of the medians of some runs of one core.
pub(super) struct CoreTime {
    /// Of its time.
    idle: f64,
    refusals: f64,
    credits: f64,
    /// What a served request costs it: by the capacity around the runs, and by the server's own CPU time in them, less
    /// what refusals and credits cost.
    pub(super) said_us: f64,
    pub(super) spent_us: f64,
}

impl CoreTime {
    pub(super) fn of(summary: &Summary) -> Self {
        let median = |name: &str| summary.of[name].median;
        let offered_rps = median("offered_rps");
        let received_rps = offered_rps * (1.0 - median("fates.expired") - median("fates.lost"));
        let busy_us = received_rps * median("server_cpu_ns_per_request") / 1e3;
        let refusals_us = offered_rps * median("fates.shed") * REFUSAL_US;
        let credits_us = median("explicit_credits_rps") * CREDIT_US;
        Self {
            idle: 1.0 - busy_us / 1e6,
            refusals: refusals_us / 1e6,
            credits: credits_us / 1e6,
            said_us: 1e6 / median("capacity_rps"),
            spent_us: (busy_us - refusals_us - credits_us) / median("throughput_rps"),
        }
    }

    /// How much more a request costs in the runs than by their capacity.
    pub(super) fn excess(&self) -> f64 {
        self.spent_us / self.said_us - 1.0
    }
}

/// A line for each objective, number of clients and demand, the looser objective first.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let is_meant = |it: &&Summary| it.controller == CONTROLLER && it.demand_ratio >= FROM;
    let mut rows: Vec<&Summary> = result.summary.iter().filter(is_meant).collect();
    rows.sort_by(|a, b| {
        let by_load = a.clients.cmp(&b.clients).then(a.demand_ratio.total_cmp(&b.demand_ratio));
        b.slo_us.total_cmp(&a.slo_us).then(by_load)
    });
    let mut text = head(
        &[
            "clients, SLO",
            "demand",
            "in time",
            "idle",
            "refusals",
            "explicit credits",
            "a request beside its capacity",
            "answers late",
        ]
        .map(Into::into),
    );
    for row in rows {
        let core = CoreTime::of(row);
        let median = |name: &str| row.of[name].median;
        let in_time = percent(median("goodput_of_capacity"));
        text += &line(&[
            format!("{}, {}", row.clients, time(row.slo_us)),
            format!("{:.1} ×", row.demand_ratio),
            of_repetitions(in_time, row.repetitions as usize),
            percent(core.idle),
            percent(core.refusals),
            percent(core.credits),
            format!("{:+.1}", 100.0 * core.excess()),
            percent(1.0 - median("goodput_rps") / median("throughput_rps")),
        ]);
    }
    text
}

/// Half of a thousand requests a second expire at their clients. The other half take 0.9 s of a core that does a thousand by
/// its capacity, 50 of them refused.
#[test]
fn what_a_core_did_adds_up() {
    use tailwater_stats::result::Spread;
    let of = [
        ("offered_rps", 1_000.0),
        ("fates.expired", 0.5),
        ("fates.lost", 0.0),
        ("fates.shed", 0.05),
        ("explicit_credits_rps", 10_000.0),
        ("server_cpu_ns_per_request", 1.8e6),
        ("capacity_rps", 1_000.0),
        ("throughput_rps", 450.0),
        ("goodput_rps", 441.0),
        ("goodput_of_capacity", 0.441),
    ];
    let alike = |value| Spread { min: value, median: value, max: value };
    let summary = Summary {
        controller: CONTROLLER.into(),
        clients: 100,
        slo_us: 400.0,
        demand_ratio: 1.0,
        repetitions: 5,
        of: of.map(|(name, value)| (name.to_owned(), alike(value))).into(),
        ..Summary::default()
    };
    let below = Summary { demand_ratio: 0.8, ..summary.clone() };
    let other = Summary { controller: "none".into(), ..summary.clone() };
    let found = Experiment { summary: vec![below, other, summary], ..Experiment::default() };
    let table = table(&serde_json::to_string(&found).expect("JSON"));
    // 0.9 s less 0.27 ms of refusals and 27 ms of credits, by 450 requests of which a core does a thousand.
    let row = "| 100, 400 µs | 1.0 × | 44 | 10 | <0.1 | 2.7 | +93.9 | 2.0 |\n";
    assert!(table.ends_with(row), "{row} is not the end of\n{table}");
    assert_eq!(table.lines().count(), 3, "{table}");
}
