//! What the spacing of requests does to the tail at one and the same demand.

use tailwater_workload::Scenario;

/// The 99th percentile in µs at 0.8 of a core's capacity, without control.
fn p99_us(arrivals: &str) -> f64 {
    let text = format!(
        r#"
slo = "10ms"
warm_up = "500ms"
duration = "8s"
repetitions = 1
server.service = {{ distribution = "exponential", mean = "10us" }}
clients.count = 20
demand = {{ of_capacity = 0.8, arrivals = "{arrivals}" }}
controller = {{ name = "none" }}
sim = {{ cores = 1 }}
"#
    );
    let scenario =
        Scenario::parse("arrivals.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = tailwater_sim::run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.arrivals, arrivals);
    let run = &experiment.runs[0];
    assert_eq!(run.slipped_us, 0.0, "virtual time has no late generator");
    // All of the demand: within a hundredth of the mean, three hundredths where it comes in bursts.
    assert!((run.offered_rps / run.asked_rps - 1.0).abs() < 0.03, "{arrivals}: {run:?}");
    run.p99_us
}

#[test]
fn near_equal_gaps_hide_the_tail_and_bursts_show_more_of_it() {
    let poisson = p99_us("poisson");
    let [metronome, periodic] = ["metronome", "periodic"].map(p99_us);
    assert!(metronome < 0.75 * poisson, "{metronome} of the published generator, {poisson}");
    assert!(periodic <= 1.02 * metronome, "{periodic} of equal gaps, {metronome}");
    let [clusters, bursts] = ["gamma:0.25", "bursts:1.5:20ms:80ms"].map(p99_us);
    assert!(clusters > 1.5 * poisson && bursts > 1.5 * poisson, "{clusters} {bursts} {poisson}");
}
