//! The program from outside: what a short run prints.

#![forbid(unsafe_code)]

use serde_json::Value;
use std::process::Command;

/// Cases and peers without an answer in a short run.
fn silent() -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tls"));
    let output = command.args(["--short", "--json"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let runs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let mut silent = Vec::new();
    for case in ["100x1", "16x16", "1x1"] {
        for peer in ["tailwater", "tailwater-tls", "tonic", "tonic-tls"] {
            let run = runs.iter().find(|run| run["case"]["name"] == case && run["peer"] == peer);
            let outcome = &run.unwrap_or_else(|| panic!("{case} {peer} is missing"))["outcome"];
            if outcome["answers"].as_u64().unwrap() == 0 {
                silent.push(format!("{case} {peer}"));
            }
        }
    }
    silent
}

/// A window is a tenth of a second: on a full machine a server may have had no core in it, but not in five.
#[test]
fn every_peer_echoes_in_every_case() {
    let mut left = silent();
    for _ in 1..5 {
        if !left.is_empty() {
            let again = silent();
            left.retain(|case| again.contains(case));
        }
    }
    assert!(left.is_empty(), "{left:?}");
}
