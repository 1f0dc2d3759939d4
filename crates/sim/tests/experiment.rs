//! Scenario files in simulation: complete, repeatable, and clear when they cannot be run.

use tailwater_sim::{Failure, run};
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;

const STEADY: &str = r#"
slo = "400us"
warm_up = "20ms"
duration = "50ms"
repetitions = 2
[server]
service = { distribution = "exponential", mean = "10us" }
[clients]
count = [50, 100]
[demand]
of_capacity = [0.5, 2.0]
[capacity]
duration = "50ms"
[[controller]]
name = "none"
[[controller]]
name = "breakwater"
override = { beta = 0.1 }
[sim]
jitter = "5us"
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse("scenarios/test.toml", text).unwrap()
}

fn experiment(text: &str) -> Experiment {
    run(&scenario(text)).unwrap()
}

fn json(text: &str) -> String {
    serde_json::to_string(&experiment(text)).unwrap()
}

#[test]
fn a_seed_decides_every_byte_and_another_seed_another_run() {
    let once = json(STEADY);
    assert_eq!(once, json(STEADY));
    let other = format!("seed = 2\n{STEADY}");
    assert_ne!(once, json(&other));
}

#[test]
fn every_combination_is_run_and_all_fates_add_up() {
    let found = experiment(STEADY);
    assert_eq!(found.driver, "sim");
    assert_eq!(found.runs.len(), 2 * 2 * 2 * 2);
    for run in &found.runs {
        assert!(run.verdict.valid, "{:?}", run.verdict.invalid_because);
        let offered = run.rates.offered_rps * 0.05;
        assert!((run.fates.total() as f64 - offered).abs() < 0.5);
        assert!((run.rates.offered_rps / run.rates.asked_rps - 1.0).abs() < 0.05);
        assert_eq!(
            run.fates.shed,
            run.shed_by_reason.values().sum::<u64>(),
            "each shed has a reason"
        );
    }
    let profiles: Vec<&str> =
        [0, 2].iter().map(|&at| found.runs[at].asked.profile.as_str()).collect();
    assert_eq!(profiles, ["default", "default [beta=0.1]"]);
    assert_eq!(found.summary.len(), 8);
}

#[test]
fn capacity_is_the_plateau_of_the_closed_loop_and_the_bound_lies_below_it() {
    let found = experiment(STEADY);
    // 10 µs of service and 4.4 µs for messages on one core.
    let share = found.capacity_rps / (1e6 / 14.4);
    assert!((0.96..1.04).contains(&share), "{} requests/s", found.capacity_rps);
    for run in &found.runs {
        let bound = run.yardstick.bound_rps / run.yardstick.capacity_rps;
        let most = run.asked.demand_ratio.min(1.0);
        assert!((0.9 * most..1.04 * most).contains(&bound), "{bound}");
        // The bound is of other draws of the same distribution; these runs are short.
        assert!(run.rates.goodput_of_bound < 1.01, "{} of the bound", run.rates.goodput_of_bound);
        assert!(
            run.rates.goodput_rps <= run.rates.offered_rps,
            "{} requests/s in time",
            run.rates.goodput_rps
        );
    }
}

#[test]
fn steps_come_with_a_series_that_says_what_was_asked() {
    let steps = STEADY
        .replace("duration = \"50ms\"\nrepetitions", "repetitions")
        .replace("count = [50, 100]", "count = 50")
        .replace(
            "of_capacity = [0.5, 2.0]",
            "steps = [{ of_capacity = 0.5, for = \"10ms\" }, { of_capacity = 1.5, for = \"20ms\" }]",
        )
        .replace("[capacity]\nduration = \"50ms\"", "[capacity]\nfixed_rps = 69000");
    let found = experiment(&steps);
    assert_eq!(found.capacity_rps, 69_000.0);
    let series = found.runs[0].series.as_ref().unwrap();
    assert_eq!(series.demand_ratio, [0.5, 0.5, 1.5, 1.5, 1.5, 1.5]);
    let mean = (0.5 + 2.0 * 1.5) / 3.0;
    assert!((found.runs[0].asked.demand_ratio - mean).abs() < 1e-6);
}

#[test]
fn a_setting_that_does_not_exist_is_found_before_anything_runs() {
    let wrong = STEADY.replace("beta = 0.1", "betta = 0.1");
    let failure = run(&scenario(&wrong)).unwrap_err();
    assert!(matches!(failure, Failure::Scenario(_)));
    let message = failure.to_string();
    let line = wrong.lines().position(|line| line.contains("betta")).unwrap() + 1;
    assert!(message.contains("betta") && message.contains(&line.to_string()), "{message}");
}

/// What goes wrong is played as the file says it, and the file runs to its end for every controller.
#[test]
fn the_committed_faults_are_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/faults/");
    for name in ["restart", "network", "clients", "tiers"] {
        let text = std::fs::read_to_string(format!("{folder}{name}.toml")).unwrap();
        let short = scenario(&text).shorten();
        let found = run(&short).unwrap_or_else(|failure| panic!("{failure}"));
        let mut calm = short;
        calm.faults.clear();
        let calm = run(&calm).unwrap();
        for (run, calm) in found.runs.iter().zip(&calm.runs) {
            let (struck, spared) = (run.fates.ok, calm.fates.ok);
            // Without control nothing is in time after the restart, whose backlog stays.
            assert!(
                struck < spared || run.asked.controller == "none",
                "{name}: {struck} of {spared}"
            );
        }
    }
}

/// Found by an adversary: of 30 calls of 20 ms with 30 ms each, 26 to 28 were begun after their deadline
/// under every controller but Breakwater.
#[test]
fn nothing_past_its_deadline_begins_unless_the_file_says_so() {
    let outcome = |line: &str| {
        let text = STEADY
            .replace("[server]", &format!("[server]\n{line}"))
            .replace("override = { beta = 0.1 }", "profile = \"paper\"");
        let runs = experiment(&text).runs;
        let none =
            runs.iter().find(|run| run.asked.controller == "none" && run.asked.demand_ratio > 1.0);
        let paper = runs.iter().find(|run| run.asked.controller == "breakwater");
        let (none, paper) = (none.expect("it was run"), paper.expect("it was run"));
        let flags = (none.asked.deadlines_enforced, paper.asked.deadlines_enforced);
        let share = |count: u64| count as f64 / none.fates.total() as f64;
        (
            none.latency.p99_us,
            share(none.fates.shed),
            none.shed_by_reason.contains_key("deadline"),
            flags,
        )
    };
    let (p99_us, shed, by_deadline, flags) = outcome("");
    assert_eq!(flags, (true, false), "on by default, off for a publication's profile");
    // The longest service of those that began in the last moment is behind it.
    assert!(p99_us < 600.0 && shed > 0.1 && by_deadline, "{p99_us} µs, {shed:.3} shed");
    let (p99_us, shed, by_deadline, flags) = outcome("enforce_deadlines = false");
    assert_eq!(flags, (false, false));
    assert!(p99_us > 4_000.0 && shed < 0.001 && !by_deadline, "{p99_us} µs, {shed:.3} shed");
}

/// Only sockets had recoveries.
#[test]
fn the_repetitions_of_a_step_are_laid_over_one_another() {
    let steps = STEADY
        .replace("duration = \"50ms\"\nrepetitions", "repetitions")
        .replace("count = [50, 100]", "count = 50")
        .replace(
            "of_capacity = [0.5, 2.0]",
            "repeat = 3\nsteps = [{ of_capacity = 0.5, for = \"20ms\" }, \
             { of_capacity = 1.5, for = \"20ms\" }]",
        );
    let found = experiment(&steps);
    let named: Vec<_> = found
        .recoveries
        .iter()
        .map(|step| (&*step.controller, step.from_ratio, step.to_ratio, step.recovery.steps))
        .collect();
    // The first step of a run follows the warm-up at its own demand.
    assert_eq!(
        named,
        [
            ("breakwater", 1.5, 0.5, 4),
            ("none", 1.5, 0.5, 4),
            ("breakwater", 0.5, 1.5, 6),
            ("none", 0.5, 1.5, 6)
        ]
    );
    assert!(found.recoveries.iter().all(|step| step.recovery.steady_rps > 0.0));
}

/// An answer counted only if its request was made within the window too, so that a thousand under way took 15 ms off
/// each measurement: 5 % of one of 300 ms.
#[test]
fn capacity_counts_all_answers_however_many_requests_are_under_way() {
    let constant = STEADY.replace("exponential", "constant");
    for in_flight in [16, 1_000] {
        let text =
            constant.replace("[capacity]", &format!("[capacity]\nin_flight = [{in_flight}]"));
        let found = tailwater_sim::capacity(&scenario(&text), 100).unwrap().0;
        // 10 µs of service, 1.7 µs to receive and 2.7 µs to send.
        let possible = 1e9 / 14_400.0;
        assert!((found / possible - 1.0).abs() < 0.002, "{in_flight} under way: {found:.0}/s");
    }
}

/// By default gradient allows 100 requests in the server for each core, and 200 at least. With a start of 500, no controller is
/// built for fewer cores than five.
#[test]
fn controllers_of_server_and_tiers_are_told_how_many_cores_serve() {
    let found = experiment(
        r#"
slo = "1ms"
warm_up = "1ms"
duration = "10ms"
repetitions = 1
clients.count = 10
demand.requests_per_second = 10_000
capacity.fixed_rps = 100_000
controller = { name = "gradient", override = { limit_initial = 500 } }
sim.cores = 10
[server]
loops = 2
[[server.path]]
probability = 1.0
steps = [{ compute = "3us" }, { call = "leaf" }]
[[tier]]
name = "leaf"
nodes = 2
cores = 5
service = "20us"
"#,
    );
    assert_eq!(found.runs.len(), 1);
    assert!(found.runs[0].fates.ok > 50, "{:?}", found.runs[0].fates);
}
