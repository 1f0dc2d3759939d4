//! The program from outside: what a short run prints.

#![forbid(unsafe_code)]

use serde_json::Value;
use std::process::Command;

#[test]
fn every_peer_echoes_in_every_case() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tls"));
    let output = command.args(["--short", "--json"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let runs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for case in ["100x1", "16x16", "1x1"] {
        for peer in ["tailwater", "tailwater-tls", "tonic", "tonic-tls"] {
            let run = runs.iter().find(|run| run["case"]["name"] == case && run["peer"] == peer);
            let outcome = &run.unwrap_or_else(|| panic!("{case} {peer} is missing"))["outcome"];
            assert!(outcome["answers"].as_u64().unwrap() > 0, "{case} {peer}: {outcome}");
        }
    }
}
