//! A scenario with tiers, on real sockets: a process for each tier, and the front's requests call its nodes.

mod common;

use common::{Folder, TAILWATER};
use serde_json::Value;
use std::process::Command;

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
[clients]
count = 4
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
    let folder = Folder::new(&format!("tiers-{store}"));
    let text = CHAIN.replace("STORE", store).replace("\"1s\"", &format!("\"{slo}\""));
    let file = folder.write("chain.toml", &text);
    let run = Command::new(TAILWATER).arg("run").arg(&file).arg("--json").output();
    let output = run.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result: Value = serde_json::from_slice(&output.stdout).expect(&said);
    result["runs"].as_array().expect("runs").clone()
}

#[test]
fn requests_call_nodes_that_call_others_and_all_are_answered() {
    for run in runs("1us", "1s") {
        let fates = &run["fates"];
        let ok = fates["ok"].as_u64().expect("a count");
        assert!(ok > 20, "{}: {fates}", run["controller"]);
        assert_eq!((&fates["shed"], &fates["lost"]), (&0.into(), &0.into()), "{run}");
    }
}

/// The store takes three times the objective: nothing that waits for it is in time.
#[test]
fn a_slow_node_behind_makes_its_callers_late() {
    for run in runs("90ms", "30ms") {
        assert_eq!(run["fates"]["ok"], 0, "{}: {}", run["controller"], run["fates"]);
    }
}
