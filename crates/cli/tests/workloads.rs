//! Workloads through the program: measured service times from a file beside the scenario, and what `load` says of a
//! server that is not there or does not stay.

use crate::common::{Folder, Serving, TAILWATER, eventually};
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const SCENARIO: &str = r#"
slo = "50ms"
warm_up = "100ms"
duration = "300ms"
repetitions = 1
server.service = { distribution = "empirical", file = "times/measured.csv", work = "sleep" }
clients.count = 10
demand.requests_per_second = 2000
capacity.fixed_rps = 20000
controller = { name = "none" }
"#;

/// Nine in ten take 100 µs, the others 900: a core is busy for a third of the time.
const TIMES: &str = "# an example\nlatency_us,count\n100,90\n900,10\n";

fn tailwater(arguments: &[&str]) -> Output {
    Command::new(TAILWATER).args(arguments).output().expect("the program starts")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn measured_times_lie_beside_the_scenario_and_both_drivers_draw_them() {
    let folder = Folder::new("measured");
    let file = folder.write("measured.toml", SCENARIO).display().to_string();
    let missing = tailwater(&["run", &file, "--on", "sim"]);
    let said = text(missing.stderr);
    assert_eq!(missing.status.code(), Some(2), "{said}");
    assert!(said.contains(":6:55: server.service.file is \"times/measured.csv\""), "{said}");
    assert!(said.contains("a name is relative to the file that has it"), "{said}");
    std::fs::create_dir(folder.0.join("times")).expect("a folder");
    folder.write("times/measured.csv", "us\n12\ntwelve\n");
    let said = text(tailwater(&["run", &file, "--on", "sim"]).stderr);
    assert!(said.contains("times/measured.csv:3: \"twelve\""), "{said}");
    folder.write("times/measured.csv", TIMES);
    for driver in ["sim", "loopback"] {
        let output = tailwater(&["run", &file, "--on", driver, "--json"]);
        // On a busy machine a run over sockets may count for nothing, and is told all the same.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{driver}: {}", text(output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let run = &result["runs"][0];
        let read = |key: &str| run[key].as_f64().expect("a number");
        assert!(read("p50_us") >= 100.0 && read("p99_us") >= 900.0, "{driver}: {run}");
        assert!(run["fates"]["ok"].as_u64() > Some(300), "{driver}: {run}");
    }
}

#[test]
fn load_says_where_nothing_listens_and_fails() {
    let mut serving = Serving::start(&["--controller", "none"]);
    let address = serving.address.clone();
    serving.terminate();
    serving.wait();
    let output = tailwater(&["load", "--connect", &address, "--clients", "2", "--rate", "100"]);
    let said = text(output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("0 of 2 clients") && said.contains("refused"), "{said}");
}

/// Load of some seconds on this server, which has begun to answer when this returns.
fn load_under_way(serving: &Serving) -> Child {
    let flags =
        ["--clients", "4", "--rate", "2000", "--mean", "100us", "--duration", "6s", "--json"];
    let load = Command::new(TAILWATER)
        .args(["load", "--connect", &serving.address])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let before = serving.cpu();
    eventually("requests are served", || serving.cpu() > before + Duration::from_millis(50));
    load
}

/// What a load says that fails: its message, and its one run.
fn failed(load: Child) -> (String, Value) {
    let output = load.wait_with_output().expect("it ends");
    let said = text(output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("its result is told");
    assert_eq!(result["runs"][0]["valid"], Value::Bool(false));
    (said, result["runs"][0].clone())
}

#[test]
fn load_fails_with_its_result_when_the_server_is_gone_for_good() {
    for end in [Serving::terminate as fn(&Serving), Serving::kill] {
        let mut serving = Serving::start(&["--controller", "none"]);
        let load = load_under_way(&serving);
        end(&serving);
        serving.wait();
        let (said, run) = failed(load);
        assert!(said.contains("the server is gone: no connection stands at the end"), "{said}");
        let connections = &run["connections"];
        assert_eq!([&connections["all"], &connections["lost"], &connections["up"]], [5, 5, 0]);
        assert!(connections["first_lost_us"].as_f64() > Some(0.0), "{run}");
    }
}

/// It was told as one lost request among thousands, in a valid run.
#[test]
fn load_tells_of_a_server_that_was_killed_at_half_time_and_came_back() {
    let mut serving = Serving::start(&["--controller", "none"]);
    let load = load_under_way(&serving);
    serving.kill();
    serving.wait();
    let _again = Serving::start(&["--controller", "none", "--listen", &serving.address]);
    let (said, run) = failed(load);
    assert!(said.contains("all 5 connections stand again; lost 5 times"), "{said}");
    let read = |key: &str| run["connections"][key].as_f64().expect("a number");
    assert_eq!([read("lost"), read("remade"), read("up")], [5.0; 3], "{run}");
    assert!(read("first_lost_us") < read("last_remade_us"), "{run}");
    assert!(read("requests_lost") + read("requests_given_up") > 0.0, "{run}");
}

/// A generator that was late by many objectives gave a valid run, and a load by hand showed a capacity of 0 k/s.
#[test]
fn load_is_held_to_the_rules_of_run_and_shows_no_capacity_that_it_does_not_know() {
    let serving = Serving::start(&["--controller", "none"]);
    // A thread that sleeps is always later than a microsecond.
    let flags = ["--slo", "2us", "--pace", "sleep", "--clients", "2", "--rate", "500"];
    let output = Command::new(TAILWATER)
        .args(["load", "--connect", &serving.address, "--duration", "300ms"])
        .args(flags)
        .env_remove("COLUMNS")
        .output()
        .expect("the program starts");
    let table = text(output.stdout);
    assert!(table.contains("invalid: ") && table.contains("generator lateness p99"), "{table}");
    assert!(!table.contains("capacity") && !table.contains("0.0×"), "{table}");
}
