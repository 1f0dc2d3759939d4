//! The program from outside: what a short run prints, and what it says when it cannot run.

#![forbid(unsafe_code)]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn transport(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_transport"));
    command.args(args).output().unwrap()
}

const PEERS: [&str; 6] = ["--only", "raw", "--only", "tonic", "--only", "tarpc"];

/// Cases and peers without an answer, or whose server computed nothing, in a short run.
fn silent() -> Vec<String> {
    let output = transport(&[&["--short", "--json"], &PEERS[..]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let (mut runs, mut silent) = (Vec::new(), Vec::new());
    for row in rows {
        let run = format!("{} {}", row["case"], row["peer"]).replace('"', "");
        let is_at_work = |name: &str| row[name].as_u64().unwrap() > 0;
        if !is_at_work("answers") || !is_at_work("server_cpu_ns") {
            silent.push(run.clone());
        }
        runs.push(run);
    }
    runs.sort();
    let loaded = ["1000x1", "50x16", "sleep"];
    let mut expected: Vec<String> = loaded
        .iter()
        .flat_map(|case| ["raw", "tarpc", "tonic"].map(|peer| format!("{case} {peer}")))
        .collect();
    expected.extend(["spin raw", "fan-8k raw"].map(str::to_owned));
    expected
        .extend(["fan raw", "fan tonic", "fan-alone raw", "fan-alone tonic"].map(str::to_owned));
    expected.sort();
    assert_eq!(runs, expected);
    silent
}

/// A window is a part of a second: on a full machine a server may have had no core in it, but not in five.
#[test]
fn every_peer_echoes_in_every_case() {
    let mut left = silent();
    for _ in 1..5 {
        if !left.is_empty() {
            let again = silent();
            left.retain(|run| again.contains(run));
        }
    }
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_table_has_a_line_for_each_peer() {
    let output = transport(&["--short", "--only", "sleep", "--only", "tarpc"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let first: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first[2..], ["sleep", "peer", "raw", "tarpc"], "{text}");
}

#[test]
fn a_missing_tailwater_is_said_with_what_to_type() {
    let output = transport(&["--short", "--tailwater", "nowhere/tailwater"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("found no nowhere/tailwater"), "{errors}");
    assert!(errors.contains("cargo build --release"), "{errors}");
}

#[test]
fn a_server_that_says_nonsense_is_refused() {
    let path = std::env::temp_dir().join(format!("transport-{}", std::process::id()));
    // One process: what the shell started would outlive it, and hold the pipe that is read to its end.
    std::fs::write(&path, "#!/bin/sh\necho hello\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let binary = path.to_str().unwrap();
    let output =
        transport(&["--short", "--only", "tailwater", "--only", "spin", "--tailwater", binary]);
    std::fs::remove_file(&path).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("said `hello`, needed"), "{errors}");
}
