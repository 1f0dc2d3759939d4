//! `accelerate measure` of traces with fibers, without an end and with times that cannot be.

use super::made::{US, fig1, function, told, trace, vague};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tailwater_profile::kernel::{Did, ThreadState};
use tailwater_profile::record::{Clock, Record, Thread, ThreadId};

fn measure(path: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    let command = command.args(["accelerate", "measure", "--function", "*handle*"]).arg(path);
    command.args(flags).output().expect("it starts")
}

/// Its JSON and its text.
fn measured(path: &Path) -> (Value, String) {
    let json = told(&measure(path, &["--json"]));
    let text = told(&measure(path, &[])).split_whitespace().collect::<Vec<_>>().join(" ");
    (serde_json::from_str(&json).expect("JSON"), text)
}

fn thread(id: u32, tid: u32) -> Record {
    Record::Thread(Thread { id: ThreadId(id), tid, name: "t".into() })
}

/// A kernel's file beside the trace of this name: thread 100 has a core for the first 6 ms, beyond the last call.
fn kernel(name: &str, cut: usize) {
    let (start, end) = (0, 6_000 * US);
    let ran = ThreadState { thread: ThreadId(0), start, end, did: Did::Running { cpu: 0 } };
    trace(&format!("{name}.kernel"), &[thread(0, 100), Record::State(ran)], cut);
}

#[test]
fn a_trace_with_fibers_is_measured_in_calls_and_says_so() {
    let name = "measure-fibers.trace";
    kernel(name, 0);
    let path = trace(name, &fig1(), 0);
    let (on_core, text) = measured(&path);
    assert_eq!((&on_core["on_core"], &on_core["total_ns"]), (&true.into(), &5_929_000.into()));
    assert!(text.contains("on a core, by the kernel"), "{text}");
    let path = trace(name, &[vec![thread(7, 0)], fig1()].concat(), 0);
    let (in_calls, text) = measured(&path);
    assert_eq!((&in_calls["on_core"], &in_calls["has_fibers"]), (&false.into(), &true.into()));
    assert_eq!(in_calls["total_ns"], (928 + 1_015) * US);
    assert!(text.contains("in calls, waits included: there are fibers"), "{text}");
}

#[test]
fn what_the_trace_and_the_kernels_file_lack_is_told() {
    let name = "measure-cut.trace";
    kernel(name, 1);
    let (found, text) = measured(&trace(name, &fig1(), 1));
    assert_eq!(found["quality"]["ending"], "cut");
    assert!(text.contains("The file is cut: its last moments are missing."), "{text}");
    assert!(found["lost_kernel"].as_u64() > Some(0), "{found}");
    assert!(text.contains("facts of the kernel are missing"), "{text}");
}

/// What `accelerate model` would refuse: the kernel is all there is, or the recording lasts for eight days.
#[test]
fn a_model_that_could_not_be_read_is_not_written() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measure-refused");
    let _ = std::fs::remove_dir_all(&out);
    let shown = out.display().to_string();
    let clock = Clock { ticks: 10_000_000, raw_ns: 10_000_000, real_ns: 10_000_000 };
    let day = 86_400_000_000;
    let days = [
        Record::Clock(clock),
        function(1, "handle"),
        function(2, "rest"),
        Record::Call(vague(1, (day, 1), (4 * day, 1), 0)),
        Record::Call(vague(2, (4 * day, 1), (8 * day, 1), 0)),
    ];
    for (name, records, function, why) in [
        (
            "measure-all.trace",
            &fig1()[..],
            "*",
            "take 100.0 % of all time, and `tailwater accelerate",
        ),
        ("measure-days.trace", &days[..], "*handle*", "a recording of a millisecond to a week"),
    ] {
        let path = trace(name, records, 0);
        let refused = measure(&path, &["--function", function, "--out", shown.as_str()]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains(why), "{told}");
        let written = std::fs::read_dir(&out).expect("it is made");
        let names: Vec<_> = written.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(names, ["measured.json"], "{name}: what was measured is kept");
    }
    let path = trace("measure-few.trace", &fig1(), 0);
    told(&measure(&path, &["--out", shown.as_str()]));
    let model = out.join("model.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    told(&command.args(["accelerate", "model"]).arg(model).output().expect("it starts"));
    std::fs::remove_dir_all(out).expect("removed");
}

#[test]
fn a_call_that_ends_at_no_time_is_no_reason_to_panic() {
    let name = "measure-hostile.trace";
    kernel(name, 0);
    let mut endless = vague(1, (1, 0), (2, 0), 0);
    endless.end = u64::MAX;
    let clock = Clock { ticks: 10_000_000, raw_ns: 10_000_000, real_ns: 10_000_000 };
    let records =
        [Record::Clock(clock), function(1, "handle"), thread(0, 100), Record::Call(endless)];
    let refused = measure(&trace(name, &records, 0), &[]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("knows no thread") && !why.contains("panicked"), "{why}");
}
