//! Admission by class: the dear method makes room for the cheap one and keeps its share.

use tailwater_sim::run;
use tailwater_stats::result::Run;
use tailwater_workload::Scenario;

/// `scenarios/classes.toml`, at twice the capacity and for these many seconds.
fn runs(seconds: u32) -> Vec<Run> {
    let text = include_str!("../../../scenarios/classes.toml");
    let text = text
        .replace("of_capacity = [0.9, 1.2, 2.0]", "of_capacity = 2.0")
        .replace("duration = \"10s\"", &format!("duration = \"{seconds}s\""))
        .replace("repetitions = 5", "repetitions = 1");
    let scenario = Scenario::parse("classes.toml", &text).unwrap();
    run(&scenario).unwrap().runs
}

/// What admission by class is for: goodput beyond what any blind server can have, and nobody starved for it.
#[test]
fn at_twice_the_capacity_130_per_cent_of_the_blind_bound_and_35_of_the_long_in_every_second() {
    let runs = runs(4);
    let by_class = runs.iter().filter(|run| run.asked.profile.ends_with("by class"));
    let mut seen = 0;
    for run in by_class {
        let what = format!("{} {}", run.asked.controller, run.asked.profile);
        assert!(run.rates.goodput_of_bound >= 1.3, "{what}: {}", run.rates.goodput_of_bound);
        let [short, long] = &run.classes[..] else { panic!("{what}: {:?}", run.classes) };
        assert_eq!((&*short.class, &*long.class), ("short", "long"));
        assert!(long.least_share >= 0.35, "{what}: {}", long.least_share);
        assert!(run.rates.goodput_rps < run.known_bound_rps, "{what}: {}", run.known_bound_rps);
        let sum = short.goodput_rps + long.goodput_rps;
        assert!(
            (sum - run.rates.goodput_rps).abs() < 1e-6,
            "{what}: {sum} of {}",
            run.rates.goodput_rps
        );
        seen += 1;
    }
    assert_eq!(seen, 2, "with and without credits");
    let blind: Vec<_> = runs.iter().filter(|run| run.asked.profile == "default").collect();
    assert_eq!(blind.len(), 2, "with and without credits");
    for run in blind {
        assert!(
            run.rates.goodput_of_bound < 1.0,
            "{}: {}",
            run.asked.controller,
            run.rates.goodput_of_bound
        );
    }
}
