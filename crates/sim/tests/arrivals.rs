//! What the spacing of requests does to the tail at one and the same demand.

use tailwater_workload::Scenario;

const SPACINGS: [&str; 5] =
    ["poisson", "metronome", "periodic", "gamma:0.25", "bursts:1.5:20ms:80ms"];

/// Each spacing at 0.8 of a core's capacity, without control.
const TEXT: &str = r#"
slo = "10ms"
warm_up = "500ms"
duration = "8s"
repetitions = 1
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 20
demand = { of_capacity = 0.8, arrivals = SPACINGS }
controller = { name = "none" }
sim = { cores = 1 }
"#;

#[test]
fn near_equal_gaps_hide_the_tail_and_bursts_show_more_of_it() {
    let text = TEXT.replace("SPACINGS", &format!("{SPACINGS:?}"));
    let scenario =
        Scenario::parse("arrivals.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = tailwater_sim::run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.arrivals, SPACINGS.join(", "));
    assert_eq!(experiment.summary.len(), SPACINGS.len(), "each has a line of its own");
    let p99_us = SPACINGS.map(|spacing| {
        let run = experiment.runs.iter().find(|run| run.asked.arrivals == spacing).expect("a run");
        assert_eq!(run.asked.profile, format!("default, {spacing}"));
        assert_eq!(run.generator.slipped_us, 0.0, "virtual time has no late generator");
        // Within a hundredth of the demand, three hundredths where it comes in bursts.
        assert!(
            (run.rates.offered_rps / run.rates.asked_rps - 1.0).abs() < 0.03,
            "{spacing}: {run:?}"
        );
        run.latency.p99_us
    });
    let [poisson, metronome, periodic, clusters, bursts] = p99_us;
    assert!(metronome < 0.75 * poisson, "{metronome} of the published generator, {poisson}");
    assert!(periodic <= 1.02 * metronome, "{periodic} of equal gaps, {metronome}");
    assert!(clusters > 1.5 * poisson && bursts > 1.5 * poisson, "{clusters} {bursts} {poisson}");
}
