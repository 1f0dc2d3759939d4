//! Requests that are slow for a planted cause: `record --kernel` and `requests` name it by themselves, and where none is
//! planted they name none. It needs tracepoints: where the right is missing, each test says that it was passed over.
//!
//! Interrupts are planted in two ways: the processor's own timer interrupt, which ends thousands of timers at once, and
//! packets that another core sends and the request's core receives. `examples/profiling/causes.sh` plants all of it more
//! often, and prints a table.

mod profiled;

use profiled::neighbours::{Neighbours, built, passed_over};
use profiled::{alone, folder, record_with, succeeds, text, tools};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Slow requests that are looked at.
const SLOWEST: usize = 10;
/// Neighbours on the first core.
const HOGS: usize = 2;
/// How the program ends where it may not have a network of its own.
const NO_NETWORK: i32 = 4;

const SOURCE: &str = "causes.c";

/// Records so many requests of a kind, and tells of the slowest; `None`, said why, where the kernel's events may not be had.
fn slowest(folder: &Path, program: &Path, kind: &str, requests: usize) -> Option<Vec<Value>> {
    if !rustix::process::geteuid().is_root() {
        passed_over("only root may run threads before all others");
        return None;
    }
    let mut record = record_with(folder, &["--kernel"], program);
    let done = record.args([kind, &requests.to_string()]).output().expect("it starts");
    let said = text(&done.stderr);
    if done.status.code() == Some(NO_NETWORK) {
        passed_over("a network of its own cannot be had here");
        return None;
    }
    assert!(done.status.success(), "{said}");
    let trace = folder.join("x.trace");
    if !trace.with_extension("trace.kernel").exists() {
        assert!(said.contains("recording without the kernel's events"), "{said}");
        passed_over(&said);
        return None;
    }
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "requests"]).arg(&trace);
    command.args(["--json", "--slowest", &SLOWEST.to_string()]);
    let told: Value = serde_json::from_slice(&succeeds(&mut command).stdout).expect("JSON");
    let rows = told["slowest"].as_array().expect("rows").clone();
    assert!(!rows.is_empty(), "no request was recorded: {said}");
    Some(rows)
}

/// All but one in ten of the slow requests have the cause: the machine may do something of its own once.
fn blamed(rows: &[Value], is_named: impl Fn(&Value) -> bool) {
    let named = rows.iter().filter(|row| is_named(row)).count();
    assert!(named * 10 >= rows.len() * 9, "{named} of {}: {rows:#?}", rows.len());
}

fn names(account: &Value, cause: &str, name: &str) -> bool {
    account["cause"] == cause
        && account["named"].as_str().is_some_and(|named| named.starts_with(name))
}

#[test]
fn a_neighbour_that_wants_the_core_is_named() {
    let _alone = alone();
    let folder = folder("cause-neighbour");
    let [program, hog] = built(&folder, "-pthread", SOURCE);
    let rows = {
        let _neighbours = Neighbours::of(&hog, HOGS);
        slowest(&folder, &program, "run", SLOWEST)
    };
    let Some(rows) = rows else { return };
    blamed(&rows, |row| names(&row["kernel"], "runnable", "hog ("));
}

#[test]
fn a_neighbour_of_the_locks_holder_is_named() {
    let _alone = alone();
    let folder = folder("cause-holder");
    let [program, hog] = built(&folder, "-pthread", SOURCE);
    let rows = {
        let _neighbours = Neighbours::of(&hog, HOGS);
        slowest(&folder, &program, "locked", SLOWEST)
    };
    let Some(rows) = rows else { return };
    blamed(&rows, |row| {
        let holder = &row["waits"][0]["holder"];
        row["kernel"]["cause"] == "asleep"
            && holder["thread"].as_str().is_some_and(|name| name.starts_with("holder ("))
            && names(&holder["kernel"], "runnable", "hog (")
    });
}

/// No wait is recorded of a lock that is made of a futex, as Rust's are.
#[test]
fn who_let_go_of_a_futex_is_named_with_its_function() {
    let _alone = alone();
    let folder = folder("cause-futex");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "futex", SLOWEST) else { return };
    blamed(&rows, |row| names(&row["kernel"], "asleep", "holder ("));
    // Where the scanner was away, the function is not known.
    let functions = rows.iter().filter_map(|row| row["kernel"]["sleeps"][0]["function"].as_str());
    let functions: Vec<&str> = functions.collect();
    assert!(!functions.is_empty(), "{rows:#?}");
    let is_holders = |name: &&str| ["let_go", "hold_futex", "holder"].contains(name);
    assert!(functions.iter().all(is_holders), "{functions:?}");
}

#[test]
fn first_touches_of_memory_are_named() {
    let _alone = alone();
    let folder = folder("cause-touch");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "touch", 100) else { return };
    blamed(&rows, |row| row["kernel"]["cause"] == "faults");
}

#[test]
fn a_storm_of_timers_is_named() {
    let _alone = alone();
    let folder = folder("cause-storm");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "storm", 100) else { return };
    blamed(&rows, |row| names(&row["kernel"], "interrupts", "timer interrupt"));
}

#[test]
fn a_flood_of_packets_is_named() {
    let _alone = alone();
    let folder = folder("cause-flood");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "flood", 100) else { return };
    blamed(&rows, |row| names(&row["kernel"], "interrupts", "softirq NET_RX"));
}

#[test]
fn where_nothing_is_planted_nothing_is_named() {
    let _alone = alone();
    let folder = folder("cause-none");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "control", 100) else { return };
    let is_blamed = |row: &&Value| {
        let account = &row["kernel"];
        let is_own = ["running", "mixed", "unknown"].iter().any(|own| account["cause"] == *own);
        !is_own || !account["named"].is_null()
    };
    let blamed = rows.iter().filter(is_blamed).count();
    assert!(blamed * 20 <= rows.len(), "{blamed} of {}: {rows:#?}", rows.len());
}
