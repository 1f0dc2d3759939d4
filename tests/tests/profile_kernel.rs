//! Slow calls whose cause lies outside of the program: `record --kernel` and what the reports then say. Where the kernel's
//! events may not be had, the tests hold the program's other half to account: it says what is missing, and records on.

use crate::profiled::neighbours::{Neighbours, built, passed_over};
use crate::profiled::{alone, folder, on_one_core, record_with, succeeds, text, tools};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Neighbours on the program's core: three of four parts of it are theirs.
const HOGS: usize = 3;

const SOURCE: &str = "neighbours.c";

fn report(trace: &Path, options: &[&str]) -> String {
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "report"]).arg(trace).args(options);
    text(&succeeds(&mut command).stdout)
}

/// What is said of the slowest call of a function.
fn account(trace: &Path, function: &str) -> Value {
    let told = report(trace, &["--slowest", "1", "--function", function, "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    told["slowest"][0]["kernel"].clone()
}

/// Whether so much of a call is unknown that another part may be the greatest, or what ended its sleep.
fn lacks_events(account: &Value) -> bool {
    let ended_by = &account["sleeps"][0]["woken_by"];
    ns(account, "unknown_ns") * 4 > ns(account, "total_ns")
        || account["cause"] == "asleep" && ended_by.is_null()
}

fn ns(account: &Value, part: &str) -> u64 {
    account[part].as_u64().unwrap_or_else(|| panic!("no {part} in {account}"))
}

#[test]
fn a_neighbour_is_named_as_the_cause_and_a_sleep_is_not_blamed_on_it() {
    let _alone = alone();
    let folder = folder("kernel");
    let [program, hog] = built(&folder, "", SOURCE);
    let trace = folder.join("x.trace");
    // Of a call that the scanner never saw nothing is told, so it must last: longer each time.
    for ms in [30, 100, 400, 400, 400] {
        let done = on_one_core(|| {
            let _neighbours = Neighbours::of(&hog, HOGS);
            succeeds(record_with(&folder, &["--kernel"], &program).arg(ms.to_string()))
        });
        let said = text(&done.stderr);
        if !trace.with_extension("trace.kernel").exists() {
            assert!(said.contains("recording without the kernel's events"), "{said}");
            assert!(said.contains("type, as root") || said.contains("run it"), "{said}");
            assert_eq!(account(&trace, "planted_run"), Value::Null);
            return passed_over(&said);
        }
        let (run, sleep) = (account(&trace, "planted_run"), account(&trace, "planted_sleep"));
        if run.is_null() || sleep.is_null() {
            continue;
        }
        // What reads the events is on that core too, and may come too late for some. That must be said.
        let unknown = [("planted_run", &run), ("planted_sleep", &sleep)];
        if let Some((function, _)) = unknown.iter().find(|(_, account)| lacks_events(account)) {
            let told = report(&trace, &["--slowest", "1", "--function", function]);
            assert!(told.contains("events of the kernel were lost"), "{told}");
            continue;
        }
        assert_eq!(run["cause"], "runnable", "{run}");
        // Other work of this machine may be on the core too, and have more of it than each of the neighbours.
        let behind = run["behind"].as_array().expect("rows");
        let behind: Vec<&str> = behind.iter().filter_map(|row| row["thread"].as_str()).collect();
        assert!(behind.iter().any(|name| name.starts_with("hog (")), "{run}");
        assert!(ns(&run, "running_ns") < ns(&run, "runnable_ns"), "{run}");
        assert_eq!(sleep["cause"], "asleep", "{sleep}");
        assert_eq!(sleep["sleeps"][0]["woken_by"], "timer", "{sleep}");
        let told = report(&trace, &["--slowest", "1", "--function", "planted_run"]);
        assert!(told.contains("Mainly it waited for a core"), "{told}");
        // One neighbour is named alone if it had more than half of the wait.
        let had = run["named"].as_str().map(|name| format!("in which {name} had it"));
        let had = had.unwrap_or_else(|| "none had it for more than half of that".into());
        assert!(told.contains(&had), "{told}");
        let told = report(&trace, &["--slowest", "1", "--function", "planted_sleep"]);
        assert!(told.contains("until a time that it had set was over"), "{told}");
        exported(&trace);
        return;
    }
    panic!("no recording has both calls and their causes");
}

/// What perf records of the same neighbours, without any right of the recorder's.
#[test]
fn what_perf_recorded_is_told_as_the_recorders_own() {
    let _alone = alone();
    let folder = folder("kernel-perf");
    let [program, hog] = built(&folder, "", SOURCE);
    let (trace, data) = (folder.join("x.trace"), folder.join("perf.data"));
    for ms in [30, 100, 400, 400, 400] {
        let mut perf = Command::new("perf");
        perf.args(["sched", "record", "-k", "CLOCK_MONOTONIC_RAW", "-o"]).arg(&data);
        perf.args(["-e", "irq:*", "-e", "irq_vectors:local_timer_*", "--"]);
        let record = record_with(&folder, &[], &program);
        perf.arg(record.get_program()).args(record.get_args()).arg(ms.to_string());
        perf.env_remove("LD_LIBRARY_PATH");
        let done = on_one_core(|| {
            let _neighbours = Neighbours::of(&hog, HOGS);
            perf.output()
        });
        let done = done.expect("found no perf; type: apt-get install linux-perf");
        // It has started the recorder, whose failure it ends with.
        if !trace.exists() {
            return passed_over(&text(&done.stderr));
        }
        assert!(done.status.success(), "{}", text(&done.stderr));
        let _ = std::fs::remove_file(trace.with_extension("trace.kernel"));
        let mut import = Command::new(&tools().tailwater);
        import.args(["profile", "import"]).arg(&data).arg("--trace").arg(&trace);
        let imported = import.output().expect("it is there");
        if !imported.status.success() {
            let why = text(&imported.stderr);
            assert!(why.contains("--pid=host"), "{why}");
            return passed_over(&why);
        }
        let said = text(&imported.stdout);
        assert!(!said.contains("What woke threads is not told"), "{said}");
        let (run, sleep) = (account(&trace, "planted_run"), account(&trace, "planted_sleep"));
        // Of a call that the scanner never saw nothing is told, and perf may lose events.
        if [&run, &sleep].iter().any(|account| account.is_null() || lacks_events(account)) {
            continue;
        }
        assert_eq!(run["cause"], "runnable", "{run} {said} {}", text(&done.stderr));
        let behind = run["behind"].as_array().expect("rows");
        let mut behind = behind.iter().filter_map(|row| row["thread"].as_str());
        assert!(behind.any(|name| name.starts_with("hog (")), "{run}");
        assert_eq!(sleep["cause"], "asleep", "{sleep}");
        assert_eq!(sleep["sleeps"][0]["woken_by"], "timer", "{sleep}");
        return;
    }
    panic!("no recording has both calls and their causes");
}

/// The time line has the states of the program's thread.
fn exported(trace: &Path) {
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "export", "--to", "perfetto"]).arg(trace);
    let told: Value = serde_json::from_slice(&succeeds(&mut command).stdout).expect("JSON");
    let events = told["traceEvents"].as_array().expect("events");
    let of_kernel = events.iter().filter(|event| event["cat"] == "kernel");
    let names: Vec<&str> = of_kernel.filter_map(|event| event["name"].as_str()).collect();
    for wanted in ["running", "waiting for a core", "asleep"] {
        assert!(names.contains(&wanted), "no {wanted} in {names:?}");
    }
}

#[test]
fn what_a_recording_of_before_had_of_the_kernel_goes_with_it() {
    let _alone = alone();
    let folder = folder("kernel-again");
    let [program, _] = built(&folder, "", SOURCE);
    let stale = folder.join("x.trace.kernel");
    std::fs::write(&stale, "of before").expect("a file");
    succeeds(record_with(&folder, &[], &program).arg("20"));
    assert!(!stale.exists());
}
