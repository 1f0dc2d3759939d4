//! Requests that are slow for a planted cause: `record --kernel` and `requests` name it by themselves, and where none is
//! planted they name none. It needs tracepoints: where the right is missing, each test says that it was passed over.
//!
//! An interrupt storm is not planted. On a machine of a few cores nothing that may be done to it takes more than half
//! of a core by interrupts alone. No cause is named for less; `crates/profile/tests/kernel.rs` has such a storm as
//! records.

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

const SOURCE: &str = "causes.c";

/// Records so many requests of a kind, and tells of the slowest; `None`, said why, where the kernel's events may not be had.
fn slowest(folder: &Path, program: &Path, kind: &str, requests: usize) -> Option<Vec<Value>> {
    if !rustix::process::geteuid().is_root() {
        passed_over("only root may run threads before all others");
        return None;
    }
    let mut record = record_with(folder, &["--kernel"], program);
    let done = succeeds(record.args([kind, &requests.to_string()]));
    let said = text(&done.stderr);
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
    Some(told["slowest"].as_array().expect("rows").clone())
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

#[test]
fn first_touches_of_memory_are_named() {
    let _alone = alone();
    let folder = folder("cause-touch");
    let [program, _] = built(&folder, "-pthread", SOURCE);
    let Some(rows) = slowest(&folder, &program, "touch", 100) else { return };
    blamed(&rows, |row| row["kernel"]["cause"] == "faults");
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
