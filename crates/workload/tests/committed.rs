//! The scenario files that come with tailwater, and the inputs that the fuzzer found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_workload::scenario::{Course, Model, Transport};
use tailwater_workload::{Distribution, Scenario, Schedule, Work};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root().join(folder)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry is readable").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn load(name: &str) -> Scenario {
    let file = format!("scenarios/{name}.toml");
    let text = fs::read_to_string(root().join(&file)).expect("the file is there");
    let beside = root().join(&file);
    let read = |name: &str| {
        let path = beside.with_file_name(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let scenario = Scenario::parse_with(&file, &text, &read);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// What reproduces a publication must serve as it did.
#[test]
fn no_figure_of_a_paper_enforces_deadlines() {
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    for path in files("scenarios/paper").into_iter().filter(is_scenario) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let scenario = load(&format!("paper/{name}"));
        assert_eq!(scenario.server.enforce_deadlines, Some(false), "{name}");
    }
}

#[test]
fn every_committed_scenario_parses_and_fits_in_memory() {
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    let files: Vec<_> = files("scenarios").into_iter().filter(is_scenario).collect();
    assert!(files.len() >= 11, "{files:?}");
    for path in files {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let scenario = load(name.expect("names are UTF-8"));
        assert_eq!(Some(scenario.name.as_str()), name);
        for configuration in scenario.configurations() {
            // 200,000 requests/s is more than a loop here serves; the testbed has its own capacity.
            let plan = configuration.demand_plan(Rate(200_000.0));
            let expected = plan.requests();
            assert!(expected < Schedule::ENTRIES_MAX as f64, "{name:?}: {expected}");
            assert_eq!(plan.length(), scenario.warm_up + scenario.duration);
        }
    }
}

#[test]
fn overload_says_what_its_file_says() {
    let scenario = load("overload");
    assert_eq!(scenario.slo, [Duration::from_micros(400), Duration::from_micros(200)]);
    assert_eq!(scenario.clients.counts, [100, 1_000]);
    assert_eq!((scenario.seed, scenario.repetitions), (1, 5));
    assert_eq!(scenario.server.cores, [0]);
    assert_eq!(scenario.clients.cores, [1]);
    assert_eq!(scenario.server.model.to_string(), "aip");
    assert_eq!(scenario.server.transport, Transport::Tcp);
    assert_eq!(scenario.server.work, Work::Spin);
    let service = &scenario.server.service;
    assert_eq!(service.distribution, Distribution::Exponential);
    assert_eq!(service.mean, Duration::from_micros(10));
    let names: Vec<&str> = scenario.controllers.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["none", "aqm-only", "breakwater"]);
    assert_eq!(
        scenario.summary(),
        "10 µs exponential service from half to twice the capacity: 2 SLOs × 2 client counts × \
         6 demands × 3 controllers × 5 repetitions = 360 runs of 1.4s, 504s in all"
    );
}

#[test]
fn the_demo_ends_within_a_minute() {
    let scenario = load("demo");
    // Capacity: three measurements, before and after the only block.
    let capacity = scenario.capacity.duration * 6;
    assert!(scenario.length() + capacity <= Duration::from_secs(60));
}

#[test]
fn the_spike_overlays_fifty_of_each_step() {
    let scenario = load("spike");
    let configurations = scenario.configurations();
    let Course::Cycle(cycle) = &configurations[0].course else {
        panic!("steps are needed");
    };
    // The first cycle of each run begins out of the warm-up, not with a step.
    assert!((cycle.repeat - 1) * scenario.repetitions >= 50);
    assert_eq!(cycle.bin, Duration::from_millis(5));
    assert_eq!(scenario.duration, Duration::from_millis(12_500));
}

#[test]
fn cost_has_twenty_pairs() {
    let scenario = load("cost");
    assert!(scenario.repetitions >= 20);
    assert_eq!(scenario.controllers.len(), 2);
    assert_eq!(scenario.server.model, Model::default());
}

#[test]
fn what_the_fuzzer_found_is_a_scenario_or_an_error_with_a_message() {
    for path in files("fuzz/corpus/scenario") {
        let bytes = fs::read(&path).expect("the file is readable");
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let name = path.display().to_string();
        if let Err(error) = Scenario::parse(&name, &text) {
            assert!(error.to_string().starts_with(&name), "{error}");
        }
    }
}
