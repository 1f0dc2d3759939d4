//! `import`: what perf recorded of the scheduler, beside a trace.

use super::made::{fig1, profile, told, trace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

const HEADER: &str = "# captured on    : Thu Nov 26 11:00:00 2026
# event : name = sched:sched_switch, , type = 2, use_clockid = 1, clockid = 4
# clockid: monotonic_raw (4)
";

/// The requests' thread loses its core to a neighbour for 890 of its 928 µs.
const SWITCHES: &str = "\
  101 [000] 0.004000000: sched:sched_switch: prev_comm=snapshot prev_pid=101 prev_prio=120 prev_state=S ==> next_comm=requests next_pid=100 next_prio=120
  100 [000] 0.005010000: sched:sched_switch: prev_comm=requests prev_pid=100 prev_prio=120 prev_state=R+ ==> next_comm=hog next_pid=55 next_prio=120
   55 [000] 0.005900000: sched:sched_switch: hog:55 [120] R ==> requests:100 [120]
  100 [000] 0.009000000: sched:sched_switch: requests:100 [120] S ==> swapper/0:0 [120]
";

fn text(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the target folder can be written to");
    path
}

fn import(text: &Path, trace: &Path) -> Output {
    profile("import", text, &["--trace", trace.to_str().expect("a path")])
}

/// A trace without what was once imported for it.
fn fresh(name: &str) -> (PathBuf, PathBuf) {
    let trace = trace(name, &fig1(), 0);
    let kernel = PathBuf::from(format!("{}.kernel", trace.display()));
    let _ = std::fs::remove_file(&kernel);
    (trace, kernel)
}

#[test]
fn what_perf_recorded_names_the_neighbour() {
    let (trace, kernel) = fresh("import.trace");
    let perf = text("import.perf", &format!("{HEADER}{SWITCHES}"));
    // What was imported may be imported anew.
    for _ in 0..2 {
        let said = told(&import(&perf, &trace));
        assert!(
            said.contains("import.trace.kernel: ") && said.contains("5.00 ms in common"),
            "{said}"
        );
        assert!(said.contains("What woke threads is not told"), "{said}");
    }
    assert!(kernel.exists() && !kernel.with_extension("kernel.begun").exists());
    let flags = ["--slowest", "1", "-f", "handle*", "--json"];
    let json: Value =
        serde_json::from_str(&told(&profile("report", &trace, &flags))).expect("JSON");
    let account = &json["slowest"][0]["kernel"];
    assert_eq!(account["runnable_ns"], 890_000, "{account}");
    assert_eq!((&account["cause"], &account["named"]), (&"runnable".into(), &"hog (55)".into()));
}

#[test]
fn what_is_not_of_the_trace_is_refused_and_leaves_nothing() {
    let (trace, kernel) = fresh("import-refused.trace");
    let later = format!("{HEADER}{}", SWITCHES.replace(" 0.00", " 7.00"));
    let other = format!("{}{SWITCHES}", HEADER.replace("monotonic_raw (4)", "monotonic (1)"));
    let cases = [
        ("later", later.as_str(), "after the trace ends; record both at once"),
        ("clock", &other, "type: perf sched record -k CLOCK_MONOTONIC_RAW"),
        ("bare", SWITCHES, "type: perf script --header --ns"),
    ];
    for (name, perf, why) in cases {
        let done = import(&text(&format!("import-{name}.perf"), perf), &trace);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && said.contains(why), "{name}: {said}");
    }
    assert!(!kernel.exists());
}

#[test]
fn what_record_wrote_is_not_replaced() {
    let (trace, kernel) = fresh("import-kept.trace");
    // As of any other program.
    std::fs::copy(&trace, &kernel).expect("the target folder can be written to");
    let perf = text("import-kept.perf", &format!("{HEADER}{SWITCHES}"));
    let done = import(&perf, &trace);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && said.contains("did not come from perf"), "{said}");
}
