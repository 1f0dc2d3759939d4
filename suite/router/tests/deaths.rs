//! The program that measures deaths, with memcached, which `make test` installs; no time is judged.

use crate::common::eventually;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn failover(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-router-failover"));
    // It lies beside this program.
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_tailwater-router")).exists());
    let few = ["--rate", "500", "--keys", "100", "--before", "100", "--after", "200"];
    command.args(["--deaths", "3"]).args(few).args(arguments).output().expect("it starts")
}

fn json(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

#[test]
fn nodes_that_die_make_no_answer_wrong_and_the_curve_is_told() {
    let output = failover(&["--json"]);
    let found = json(&output);
    assert!(output.status.success(), "{found}");
    assert_eq!(found["wrong"], serde_json::json!([]));
    assert_eq!(found["deaths"], 3);
    let bins = found["curve"]["bins"].as_array().expect("bins");
    assert_eq!(
        (bins.len(), &bins[0]["from_ms"], &bins[29]["from_ms"]),
        (30, &(-100).into(), &190.into())
    );
    assert_eq!(found["control"]["bins"].as_array().map(Vec::len), Some(30));
    let windows = [(0, 50), (50, 200)];
    for (recovery, (from, to)) in found["recoveries"].as_array().expect("two").iter().zip(windows) {
        assert_eq!((&recovery["from_ms"], &recovery["to_ms"]), (&from.into(), &to.into()));
        assert!(recovery["control_p99_us"].as_f64().is_some_and(|us| us > 0.0), "{recovery}");
    }
    let of = |bin: &serde_json::Value| bin["requests"].as_u64().expect("a number");
    let looked_at: u64 = bins.iter().map(of).sum();
    assert!(looked_at > 0 && looked_at <= found["requests"].as_u64().expect("a number"));
}

#[test]
fn a_router_that_is_told_something_wrong_is_named() {
    let output = failover(&["--replicas", "5"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the router did not say where it listens"), "{said}");
}

#[test]
fn without_memcached_it_says_what_to_type() {
    let output = failover(&["--memcached", "/no/such/program"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("apt-get install memcached, or say --memcached PROGRAM"), "{said}");
}

/// Processes that this one has started and that it has not waited for.
fn children(of: u32) -> BTreeSet<PathBuf> {
    let parent = format!("PPid:\t{of}");
    let is_child = |process: &PathBuf| {
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        status.lines().any(|line| line == parent)
    };
    let entries = std::fs::read_dir("/proc").expect("this is Linux").flatten();
    entries.map(|entry| entry.path()).filter(is_child).collect()
}

/// Memcacheds and router would go on for ever, and what was measured would be lost.
#[test]
fn a_signal_ends_all_that_was_started_and_what_was_found_by_then_is_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-router-failover"));
    command.args(["--deaths", "1000", "--rate", "500", "--keys", "100", "--before", "50"]);
    command.args(["--after", "100", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let mut started = BTreeSet::new();
    // Three nodes, a router, and two that were started again: the first of these after a whole round.
    eventually("two nodes have died", || {
        started.extend(children(child.id()));
        started.len() > 5
    });
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).expect("it is our child");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a signal ended it after "), "{said}");
    let found = json(&output);
    assert!(found["deaths"].as_u64().is_some_and(|deaths| (1..1_000).contains(&deaths)), "{found}");
    let is_node = |process: &&PathBuf| {
        let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        // The kernel keeps 15 letters.
        ["memcached\n", "tailwater-route\n"].contains(&&*name)
    };
    let left: Vec<_> = started.iter().filter(is_node).collect();
    assert!(left.is_empty(), "{left:?}");
}
