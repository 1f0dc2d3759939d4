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
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use tailwater_kernel::{Probe, Source};

/// Slow requests that are looked at.
const SLOWEST: usize = 10;
/// Neighbours on the first core.
const HOGS: usize = 2;
/// How the program ends where it may not have a network of its own.
const NO_NETWORK: i32 = 4;

const SOURCE: &str = "causes.c";

/// Whether events of these sources would be told of; said where not. To be asked before anything is begun: what is planted
/// comes before all other threads of the machine, and must not take their cores for nothing.
fn are_told(sources: &[Source]) -> bool {
    if !rustix::process::geteuid().is_root() {
        passed_over("only root may run threads before all others");
        return false;
    }
    let probe = Probe::look();
    let mut needed = probe.sources().filter(|(source, _)| sources.contains(source));
    let missing = needed.find_map(|(_, found)| found.err());
    missing.inspect(|why| passed_over(&why.to_string())).is_none()
}

/// Both programs, built in a folder of the test's own, while no other test records.
struct Planted {
    folder: PathBuf,
    program: PathBuf,
    hog: PathBuf,
    _alone: File,
}

impl Planted {
    /// `None`, said why, where the kernel does not tell of these.
    fn new(name: &str, sources: &[Source]) -> Option<Self> {
        if !are_told(sources) {
            return None;
        }
        let (alone, folder) = (alone(), folder(name));
        let [program, hog] = built(&folder, "-pthread", SOURCE);
        Some(Self { folder, program, hog, _alone: alone })
    }

    /// Records so many requests of a kind, and tells of the slowest; `None`, said why, where the kernel's events may not be had.
    fn slowest(&self, kind: &str, requests: usize) -> Option<Vec<Value>> {
        let mut record = record_with(&self.folder, &["--kernel"], &self.program);
        let done = record.args([kind, &requests.to_string()]).output().expect("it starts");
        let said = text(&done.stderr);
        if done.status.code() == Some(NO_NETWORK) {
            passed_over("a network of its own cannot be had here");
            return None;
        }
        assert!(done.status.success(), "{said}");
        let trace = self.folder.join("x.trace");
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

    /// The same, while neighbours want the first core.
    fn slowest_beside_neighbours(&self, kind: &str) -> Option<Vec<Value>> {
        let _neighbours = Neighbours::of(&self.hog, HOGS);
        self.slowest(kind, SLOWEST)
    }
}

/// One of three recordings must show it: in each the machine may do something of its own, or come too late for events. What
/// cannot be recorded here has been said.
fn shown(record: impl Fn() -> Option<Vec<Value>>, judge: impl Fn(&[Value]) -> Result<(), String>) {
    let mut why_not = Vec::new();
    for _ in 0..3 {
        let Some(rows) = record() else { return };
        match judge(&rows) {
            Ok(()) => return,
            Err(why) => why_not.push(format!("{why}: {rows:#?}")),
        }
    }
    panic!("in none of three recordings: {}", why_not.join("\n"));
}

/// All but one in ten of the slow requests whose cause is known have this one, and half of them are such.
fn blamed(rows: &[Value], is_named: impl Fn(&Value) -> bool) -> Result<(), String> {
    // Where events were lost, the greatest part may be unknown, and that is said.
    let is_known = |row: &&Value| row["kernel"]["cause"] != "unknown";
    let known: Vec<&Value> = rows.iter().filter(is_known).collect();
    if known.len() * 2 < rows.len() {
        return Err(format!("the causes of {} of {} are known", known.len(), rows.len()));
    }
    let named = known.iter().filter(|row| is_named(row)).count();
    if named * 10 < known.len() * 9 {
        return Err(format!("{named} of {}", known.len()));
    }
    Ok(())
}

fn names(account: &Value, cause: &str, name: &str) -> bool {
    account["cause"] == cause
        && account["named"].as_str().is_some_and(|named| named.starts_with(name))
}

#[test]
fn a_neighbour_that_wants_the_core_is_named() {
    let Some(planted) = Planted::new("cause-neighbour", &[Source::Scheduling]) else { return };
    shown(
        || planted.slowest_beside_neighbours("run"),
        |rows| blamed(rows, |row| names(&row["kernel"], "runnable", "hog (")),
    );
}

#[test]
fn a_neighbour_of_the_locks_holder_is_named() {
    let Some(planted) = Planted::new("cause-holder", &[Source::Scheduling]) else { return };
    let is_named = |row: &Value| {
        let holder = &row["waits"][0]["holder"];
        row["kernel"]["cause"] == "asleep"
            && holder["thread"].as_str().is_some_and(|name| name.starts_with("holder ("))
            && names(&holder["kernel"], "runnable", "hog (")
    };
    shown(|| planted.slowest_beside_neighbours("locked"), |rows| blamed(rows, is_named));
}

/// No wait is recorded of a lock that is made of a futex, as Rust's are.
#[test]
fn who_let_go_of_a_futex_is_named_with_its_function() {
    let Some(planted) = Planted::new("cause-futex", &[Source::Scheduling]) else { return };
    let judge = |rows: &[Value]| {
        blamed(rows, |row| names(&row["kernel"], "asleep", "holder ("))?;
        // Where the scanner was away, the function is not known, or it is the one before.
        let functions =
            rows.iter().filter_map(|row| row["kernel"]["sleeps"][0]["function"].as_str());
        let functions: Vec<&str> = functions.collect();
        let is_holders = |name: &&str| ["let_go", "hold_futex", "holder", "work"].contains(name);
        assert!(functions.iter().all(is_holders), "{functions:?}");
        let before = functions.iter().filter(|name| **name == "work").count();
        if before * 2 >= functions.len() { Err(format!("{functions:?}")) } else { Ok(()) }
    };
    shown(|| planted.slowest("futex", SLOWEST), judge);
}

#[test]
fn first_touches_of_memory_are_named() {
    let sources = [Source::Scheduling, Source::PageFaults];
    let Some(planted) = Planted::new("cause-touch", &sources) else { return };
    shown(
        || planted.slowest("touch", 100),
        |rows| blamed(rows, |row| row["kernel"]["cause"] == "faults"),
    );
}

#[test]
fn a_storm_of_timers_is_named() {
    let sources = [Source::Scheduling, Source::LocalInterrupts];
    let Some(planted) = Planted::new("cause-storm", &sources) else { return };
    shown(
        || planted.slowest("storm", 100),
        |rows| blamed(rows, |row| names(&row["kernel"], "interrupts", "timer interrupt")),
    );
}

#[test]
fn a_flood_of_packets_is_named() {
    let sources = [Source::Scheduling, Source::Softirqs];
    let Some(planted) = Planted::new("cause-flood", &sources) else { return };
    shown(
        || planted.slowest("flood", 100),
        |rows| blamed(rows, |row| names(&row["kernel"], "interrupts", "softirq NET_RX")),
    );
}

#[test]
fn where_nothing_is_planted_nothing_is_named() {
    let Some(planted) = Planted::new("cause-none", &[Source::Scheduling]) else { return };
    let is_blamed = |row: &&Value| {
        let account = &row["kernel"];
        let is_own = ["running", "mixed", "unknown"].iter().any(|own| account["cause"] == *own);
        !is_own || !account["named"].is_null()
    };
    let judge = |rows: &[Value]| {
        // Of requests of which nothing is known none is blamed, whatever the rule.
        let unknown = rows.iter().filter(|row| row["kernel"]["cause"] == "unknown").count();
        if rows.is_empty() || unknown * 2 > rows.len() {
            return Err(format!("nothing is known of {unknown}"));
        }
        let blamed = rows.iter().filter(is_blamed).count();
        if blamed * 20 > rows.len() { Err(format!("{blamed} are named")) } else { Ok(()) }
    };
    shown(|| planted.slowest("control", 100), judge);
}
