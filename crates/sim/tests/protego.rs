//! Protego's scenarios: what the paper claims of them and simulation shows, and a golden table.

use std::fmt::Write as _;
use std::time::Duration;
use tailwater_sim::run;
use tailwater_stats::result::{Experiment, Run};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Amount, Course};

const GOLDEN: &str = include_str!("golden/two-mutexes.txt");
const FIGURE_3: &str = include_str!("../../../scenarios/paper/protego-fig3.toml");
const FIGURE_5: &str = include_str!("../../../scenarios/paper/protego-fig5.toml");
const FIGURE_8: &str = include_str!("../../../scenarios/paper/protego-fig8.toml");
const FIGURE_9: &str = include_str!("../../../scenarios/paper/protego-fig9.toml");
const FIGURE_10: &str = include_str!("../../../scenarios/paper/protego-fig10.toml");
const BACK: &str = include_str!("../../../scenarios/paper/protego-fig10-back.toml");

/// A scenario, cut down to what a test has time for: some demands, in requests per second.
fn short(text: &str, demands: &[f64], warm_up_ms: u64, duration_ms: u64) -> Scenario {
    let mut scenario = Scenario::parse("scenarios/test.toml", text).unwrap();
    scenario.repetitions = 1;
    scenario.warm_up = Duration::from_millis(warm_up_ms);
    scenario.duration = Duration::from_millis(duration_ms);
    scenario.capacity.fixed = Some(tailwater_core::Rate(200_000.0));
    scenario.demand.courses.retain(|course| match course {
        Course::Steady(Amount::PerSecond(rate)) => demands.contains(&rate.0),
        _ => false,
    });
    assert_eq!(scenario.demand.courses.len(), demands.len(), "the scenario has these demands");
    scenario
}

fn only(mut scenario: Scenario, labels: &[&str]) -> Experiment {
    scenario
        .controllers
        .retain(|c| c.label.as_deref().is_some_and(|label| labels.contains(&label)));
    assert_eq!(scenario.controllers.len(), labels.len(), "the scenario has these labels");
    play(&scenario)
}

fn play(scenario: &Scenario) -> Experiment {
    run(scenario).unwrap_or_else(|failure| panic!("{failure}"))
}

fn by_label<'a>(found: &'a Experiment, label: &str) -> &'a Run {
    found.runs.iter().find(|run| run.asked.profile == label).expect("it was kept above")
}

/// A change of the simulator, of the locks or of Breakwater shows here in review.
#[test]
fn the_golden_table_of_two_mutexes_is_byte_identical() {
    let mut table =
        String::from("scenario | k/s | controller | ok late expired shed lost | p50 p99 µs\n");
    for (name, text, demands, warm_up_ms, duration_ms) in [
        ("protego-fig3", FIGURE_3, [10_000.0, 20_000.0], 300, 500),
        ("protego-fig5", FIGURE_5, [100_000.0, 300_000.0], 30, 50),
        ("protego-fig9", FIGURE_9, [150_000.0, 300_000.0], 30, 50),
    ] {
        for run in play(&short(text, &demands, warm_up_ms, duration_ms)).runs {
            let (demand, fates) = (run.rates.asked_rps / 1e3, run.fates);
            writeln!(
                table,
                "{name} | {demand:.0} | {} | {} {} {} {} {} | {:.1} {:.1}",
                run.asked.profile,
                fates.ok,
                fates.late,
                fates.expired,
                fates.shed,
                fates.lost,
                run.latency.p50_us,
                run.latency.p99_us
            )
            .unwrap();
        }
    }
    assert!(
        table == GOLDEN,
        "the table changed; if that was meant, put this into crates/sim/tests/golden/two-mutexes.txt:\n{table}"
    );
}

/// Beyond what the locks hold (Figures 3, 5 and 9): requests in time, from the most to the fewest, by the rows that
/// are committed.
#[test]
fn the_golden_table_has_the_papers_order() {
    let in_time = |scenario: &str, label: &str| -> u32 {
        let mut rows = GOLDEN.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
        let row = rows.find(|row| format!("{} {}", row[0], row[1]) == scenario && row[2] == label);
        let row = row.unwrap_or_else(|| panic!("no row of {label} in {scenario}"));
        row[3].split(' ').next().and_then(|ok| ok.parse().ok()).expect("a number of requests")
    };
    let orders: [(&str, &[&str]); 3] = [
        ("protego-fig3 20", &["tailwater", "try-lock", "SEDA, default", "Breakwater"]),
        ("protego-fig5 300", &["giving up", "checks on entry"]),
        ("protego-fig9 300", &["tailwater", "try-lock", "Breakwater"]),
    ];
    for (scenario, labels) in orders {
        for pair in labels.windows(2) {
            let [more, fewer] = [pair[0], pair[1]].map(|label| in_time(scenario, label));
            assert!(more > fewer + fewer / 20, "{scenario}: {pair:?}: {more} and {fewer}");
        }
    }
}

/// Figure 9 at 1.5 times what the locks hold: +32 % over SEDA within the target, where Breakwater's
/// signals are silent and latency grows for ever.
#[test]
fn efficiency_and_budgets_serve_more_than_seda_where_breakwater_collapses() {
    let labels = ["Breakwater", "SEDA, default", "try-lock", "tailwater"];
    let found = only(short(FIGURE_9, &[300_000.0], 300, 100), &labels);
    let [breakwater, seda, try_lock, ours] = labels.map(|label| by_label(&found, label));
    let times = ours.rates.goodput_rps / seda.rates.goodput_rps;
    assert!(times >= 1.2, "{times} times SEDA's goodput");
    assert!(ours.latency.p99_us <= 200.0, "{} µs", ours.latency.p99_us);
    assert!(
        breakwater.rates.goodput_rps < 0.1 * ours.rates.goodput_rps,
        "{}",
        breakwater.rates.goodput_rps
    );
    assert!(
        try_lock.rates.goodput_rps < 0.75 * ours.rates.goodput_rps
            && try_lock.latency.p99_us < ours.latency.p99_us
    );
    assert!(
        try_lock.refusals.drop_ratio > 1.5 * ours.refusals.drop_ratio,
        "{}",
        try_lock.refusals.drop_ratio
    );
}

/// Figure 8: where one server refuses, the other answers, within twice the target of each. The check on
/// entry tells of failures too late for that.
#[test]
fn a_retry_at_a_replica_stays_within_twice_the_target() {
    let labels = ["Protego, published code", "tailwater"];
    let found = only(short(FIGURE_8, &[700_000.0], 100, 100), &labels);
    let [code, ours] = labels.map(|label| by_label(&found, label));
    assert!(ours.rates.goodput_rps > 680_000.0, "{} of 700,000", ours.rates.goodput_rps);
    assert!(ours.latency.p99_us <= 220.0 / 1.5, "{} µs", ours.latency.p99_us);
    let (late, soon) = (code.retry.unwrap(), ours.retry.unwrap());
    assert!(soon.failure_p99_us <= 110.0 && late.failure_p99_us > 110.0, "{soon:?} {late:?}");
    assert!(soon.retried > 0.1, "the first server alone cannot serve them all: {soon:?}");
    assert!(code.rates.goodput_rps < 0.95 * ours.rates.goodput_rps, "{}", code.rates.goodput_rps);
}

/// Figure 11: admission control alone keeps no request in time once a lock is full. The check on entry alone lets in
/// more than it can keep in time.
#[test]
fn budgets_keep_what_admission_control_alone_cannot() {
    let text = FIGURE_9.replace(
        "locks = \"asqm:paper\"\nlabel = \"tailwater, checks on entry\"",
        "locks = \"plain\"\nlabel = \"AC alone\"",
    );
    let labels = ["AC alone", "tailwater"];
    let found = only(short(&text, &[300_000.0], 100, 100), &labels);
    let [alone, both] = labels.map(|label| by_label(&found, label));
    assert!(
        alone.latency.p99_us > 3.0 * 200.0
            && alone.rates.goodput_rps < 0.25 * both.rates.goodput_rps
    );
    assert!(
        alone.rates.throughput_rps > 0.9 * both.rates.throughput_rps,
        "it does serve, but late"
    );
}

/// A request that holds a lock and waits for a core keeps the lock from the others: with full cores every taken lock
/// makes more taken locks. Running holders first ends that.
#[test]
fn full_cores_fill_locks_unless_holders_run_first() {
    let label = ["Protego, published code, giving up"];
    let drops = |text: &str| {
        let found = only(short(text, &[1_200_000.0], 40, 40), &label);
        by_label(&found, label[0]).refusals.drop_ratio
    };
    let (behind, first) = (drops(BACK), drops(FIGURE_10));
    assert!(behind > 0.05 && first < 0.01, "{behind} and {first}");
}
