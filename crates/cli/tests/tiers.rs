//! A scenario with tiers, on real sockets: a process for each tier, and the front's requests call its nodes.

use crate::common::{Folder, TAILWATER, children};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Each request asks two of three leaves, each of which asks the store.
const CHAIN: &str = r#"
seed = 3
slo = "1s"
warm_up = "100ms"
duration = "500ms"
repetitions = 1
[[server.path]]
probability = 1.0
steps = [{ compute = "4us" }, { call = "leaf", fan_out = 2 }, { compute = "2us" }]
[[tier]]
name = "leaf"
nodes = 3
connections = 2
[[tier.path]]
probability = 1.0
steps = [{ call = "store" }, { compute = "5us" }]
[[tier]]
name = "store"
service = "STORE"
pin = 0
[clients]
count = 4
pace = "sleep"
[demand]
requests_per_second = 100
[capacity]
fixed_rps = 1000
[[controller]]
name = "none"
[[controller]]
name = "breakwater"
"#;

fn runs(store: &str, slo: &str) -> Vec<Value> {
    let text = CHAIN.replace("STORE", store).replace("\"1s\"", &format!("\"{slo}\""));
    runs_of(&format!("tiers-{store}"), &text)
}

fn runs_of(name: &str, text: &str) -> Vec<Value> {
    let folder = Folder::new(name);
    let file = folder.write("chain.toml", text);
    let run = Command::new(TAILWATER).arg("run").arg(&file).arg("--json").output();
    let output = run.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let runs = result["runs"].as_array().expect("runs").clone();
    let controllers: Vec<_> = runs.iter().map(|run| run["controller"].as_str()).collect();
    assert_eq!(controllers, [Some("none"), Some("breakwater")], "{said}");
    runs
}

#[test]
fn requests_call_nodes_that_call_others_and_all_are_answered() {
    for run in runs("1us", "1s") {
        let fates = &run["fates"];
        let ok = fates["ok"].as_u64().expect("a count");
        assert!(ok > 20, "{}: {fates}", run["controller"]);
        // A busy generator does not come to send some.
        assert_eq!((&fates["shed"], &fates["lost"]), (&0.into(), &run["unsent"]), "{run}");
    }
}

/// The store takes three times the objective: nothing that waits for it is in time.
#[test]
fn a_slow_node_behind_makes_its_callers_late() {
    for run in runs("90ms", "30ms") {
        let fates = run["fates"].as_object().expect("fates");
        let asked: u64 = fates.values().map(|count| count.as_u64().expect("a count")).sum();
        assert!(asked > 20 && fates["ok"] == 0, "{}: {fates:?}", run["controller"]);
    }
}

/// Each request asks two leaves, each of which asks the store. Some are under way at both ends, and servers tell their counts
/// one by one.
fn fit(tiers: &[Value]) -> bool {
    let rate = |tier: usize| tiers[tier]["received_rps"].as_f64().unwrap_or_default();
    let (front, leaf, store) = (rate(0), rate(1), rate(2));
    front > 40.0 && (leaf / front - 2.0).abs() < 0.5 && (store / leaf - 1.0).abs() < 0.4
}

#[test]
fn front_and_tiers_are_metered_each_by_itself() {
    let longer = CHAIN.replace("STORE", "2us").replace("duration = \"500ms\"", "duration = \"2s\"");
    let mut runs = Vec::new();
    // A busy machine has one of them tell its counts long after another now and then.
    let all_fit = (0..3).any(|_| {
        runs = runs_of("tiers-metered", &longer);
        runs.iter().all(|run| fit(run["tiers"].as_array().expect("readings")))
    });
    assert!(all_fit, "{runs:?}");
    for run in &runs {
        let tiers = run["tiers"].as_array().expect("readings");
        let names: Vec<_> = tiers.iter().map(|tier| (&tier["tier"], &tier["nodes"])).collect();
        assert_eq!(
            names,
            [(&"".into(), &1.into()), (&"leaf".into(), &3.into()), (&"store".into(), &1.into())]
        );
        for tier in tiers {
            assert!(tier["memory_bytes"].as_u64() > Some(100_000), "{tier}");
            assert!(tier["cores_used"].as_f64() > Some(0.0), "{tier}");
            assert!(tier["cpu_ns_per_request"].as_f64() > Some(100.0), "{tier}");
        }
    }
}

/// What runs waits for its core now and then: a limit of nothing is always broken.
#[test]
fn a_tier_that_breaks_its_own_limit_sets_the_run_aside() {
    let limit = "pin = 0\nvalidity = { run_delay_max = 0.0 }";
    let text = CHAIN.replace("STORE", "1us").replace("pin = 0", limit);
    for run in runs_of("tiers-limit", &text) {
        let why = run["invalid_because"].to_string();
        assert!(why.contains("run delay of tier store"), "{why}");
        assert!(!why.contains("tier leaf"), "{why}");
    }
}

#[test]
fn a_core_that_is_not_there_is_refused_before_anything_starts() {
    let folder = Folder::new("tiers-core");
    let file =
        folder.write("chain.toml", &CHAIN.replace("STORE", "1us").replace("pin = 0", "pin = 4095"));
    let output =
        Command::new(TAILWATER).arg("run").arg(&file).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("tier.pin of store names core 4095, and this process may use"), "{said}");
}

/// Its callers turn away what needs it, which would pass for overload.
#[test]
fn a_run_in_which_a_tier_died_does_not_count() {
    let folder = Folder::new("tiers-died");
    let text = CHAIN.replace("STORE", "1us").replace("duration = \"500ms\"", "duration = \"3s\"");
    let file = folder.write("chain.toml", &text);
    let mut run = Command::new(TAILWATER);
    run.arg("run").arg(&file).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().expect("the program starts");
    loop {
        let children = children(run.id());
        let named = |words: &str| children.iter().find(|child| child.1.contains(words));
        if let Some(((store, _), _)) = named("--tier store").zip(named("tailwater job")) {
            let kill = Command::new("sh").args(["-c", &format!("kill -KILL {store}")]).status();
            assert!(kill.expect("a shell").success());
            break;
        }
        assert_eq!(run.try_wait().expect("a child"), None, "it ended before the store was killed");
        std::thread::yield_now();
    }
    let output = run.wait_with_output().expect("its output");
    if output.stdout.is_empty() {
        // It died before the generator was connected: then there is no run, and the failure names it.
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("the server of the tier store ended during the run"), "{told}");
        return;
    }
    let result: Value = serde_json::from_slice(&output.stdout).expect("a result");
    let runs = result["runs"].as_array().expect("runs");
    let died =
        |run: &&Value| run["invalid_because"].to_string().contains("of the tier store ended");
    assert_eq!(runs.iter().filter(died).count(), 1, "{result}");
}
