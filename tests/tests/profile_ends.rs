//! Programs that end otherwise than by a return from main: they end so when they are recorded too, and their last
//! calls are in the trace. The programs lie in `crates/profile-rt/tests/programs`.

use crate::profiled::{
    Recorded, alone, bounded, folder, in_three_tries, in_time, on_one_core, record_program,
    record_with, succeeds, text, tools,
};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tailwater_profile::record::CallFlags;

fn ends() -> &'static Path {
    static ENDS: OnceLock<PathBuf> = OnceLock::new();
    ENDS.get_or_init(|| tools().compiled("CC", "", "ends.c", &folder("ends").join("ends")))
}

/// The same in a static program.
fn ends_static() -> &'static Path {
    static ENDS: OnceLock<PathBuf> = OnceLock::new();
    ENDS.get_or_init(|| {
        tools().compiled("CC", "-static", "ends.c", &folder("ends-static").join("ends"))
    })
}

/// As shells tell it.
fn code(done: &Output) -> i32 {
    done.status.code().unwrap_or_else(|| 128 + done.status.signal().unwrap_or(0))
}

#[test]
fn each_end_is_the_programs_own_and_its_last_calls_are_told() {
    let _alone = alone();
    let ways = [
        "_exit",
        "_Exit",
        "quick_exit",
        "abort",
        "fault",
        "trap",
        "killed",
        "handled",
        "default",
        "restored",
        "return",
    ];
    for program in [ends(), ends_static()] {
        for way in ways {
            let plain = bounded(Command::new(program).env_remove("LD_LIBRARY_PATH").arg(way));
            let attempt = || {
                let folder = folder("end");
                let done = bounded(record_program(&folder, program).arg(way));
                let said = text(&done.stderr);
                assert_eq!(code(&done), code(&plain), "{way}: {said}{}", text(&plain.stderr));
                Recorded::whole(&folder.join("x.trace")).map(|recorded| (said, recorded))
            };
            // It goes through `exit`, which waits for as long as the trace takes.
            let (said, recorded) = match way {
                "return" => attempt().expect("the trace has its end"),
                _ => in_three_tries(attempt),
            };
            let is_open =
                |name| recorded.calls(name).any(|call| call.flags.has(CallFlags::UNFINISHED));
            for name in ["main", "last_words"].into_iter().filter(|_| way != "return") {
                let calls: Vec<_> = recorded.calls(name).collect();
                assert!(is_open(name), "{} {way}: {name} {calls:?}\n{said}", program.display());
            }
        }
    }
}

#[test]
fn a_program_whose_main_thread_leaves_ends_with_its_last_thread() {
    let _alone = alone();
    for program in [ends(), ends_static()] {
        for options in [&[][..], &["--scanners", "3"]] {
            let folder = folder("leaves");
            let done = bounded(record_with(&folder, options, program).arg("pthread_exit"));
            let said = text(&done.stderr);
            assert_eq!((code(&done), text(&done.stdout)), (0, "left\n".into()), "{said}");
            assert!(Recorded::read(&folder.join("x.trace")).is_finished());
        }
    }
}

#[test]
fn a_program_that_closes_all_files_writes_to_its_own_alone() {
    let _alone = alone();
    let folder = folder("closes");
    let own = folder.join("own");
    succeeds(record_program(&folder, ends()).arg("closes").arg(&own));
    assert_eq!(std::fs::metadata(&own).expect("it was made").len(), 0, "the program wrote nothing");
    let recorded = Recorded::read(&folder.join("x.trace"));
    assert!(recorded.is_finished());
    assert!(recorded.calls("main").next().is_some());
}

#[test]
fn a_trace_that_cannot_be_written_is_told_before_the_program_starts() {
    let _alone = alone();
    let folder = folder("nowhere");
    let ran = folder.join("ran");
    for place in ["nowhere/x.trace", "."] {
        let mut record = Command::new(&tools().tailwater);
        record.args(["profile", "record", "-o"]).arg(folder.join(place));
        let done = record.args(["--", "touch"]).arg(&ran).output().expect("it starts");
        assert_eq!(code(&done), 2, "{}", text(&done.stderr));
        assert!(!ran.exists(), "it was started");
    }
    let mut record = record_program(&folder, Path::new("sh"));
    let done = record.args(["-c", "exit 7"]).output().expect("it starts");
    assert_eq!(code(&done), 7, "a program that cannot be recorded keeps its code");
    assert!(text(&done.stderr).contains("profile build"), "{}", text(&done.stderr));
}

#[test]
fn what_record_is_told_by_signals_the_program_is_told() {
    let _alone = alone();
    let folder = folder("told");
    // By itself it would go on for a minute.
    let script = "trap 'exit 9' USR1; trap 'exit 10' TERM; echo begun; \
                  for n in $(seq 600); do sleep 0.1; done";
    for (signal, expected) in [(Signal::USR1, 9), (Signal::TERM, 10)] {
        let mut record = record_program(&folder, Path::new("sh"));
        record.args(["-c", script]).stdin(Stdio::null());
        let piped = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = piped.expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("text");
        assert_eq!(line, "begun\n");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a number");
        kill_process(pid, signal).expect("it is there");
        let done = child.wait_with_output().expect("it ends");
        assert_eq!(code(&done), expected, "{}", text(&done.stderr));
    }
}

#[test]
fn the_scanner_runs_where_it_is_told() {
    let _alone = alone();
    let allowed = sched_getaffinity(None).expect("the cores of this process");
    let cpus: Vec<String> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .map(|cpu| cpu.to_string())
        .collect();
    let last = cpus.last().expect("a core");
    let folder = folder("placed");
    let mut record = record_with(&folder, &["--scanner-cpu", last, "--cpu", "25%"], ends());
    let done = on_one_core(|| bounded(record.args(["place", last])));
    assert_eq!(code(&done), 0, "{}", text(&done.stderr));
    let done =
        record_with(&folder, &["--scanner-cpu", "9999"], ends()).output().expect("it starts");
    assert_eq!(code(&done), 2);
}

#[test]
fn callers_stay_during_their_tail_calls_where_that_is_asked_for() {
    let _alone = alone();
    let built = folder("tails").join("ends");
    let line = "$CC -O2 -o $0 $1";
    let mut build = tools().build(&["--keep-tail-callers"], &["sh", "-c", line]);
    succeeds(build.arg(&built).arg(tools().sources().join("ends.c")));
    in_time(1000, |rounds| {
        let folder = folder("tail");
        succeeds(record_program(&folder, &built).args(["tails", rounds]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        recorded.calls("tail_caller").next().is_some().then_some(())
    });
    // Without it the caller is gone by then.
    in_time(1000, |rounds| {
        let folder = folder("tail-gone");
        succeeds(record_program(&folder, ends()).args(["tails", rounds]));
        let recorded = Recorded::read(&folder.join("x.trace"));
        assert_eq!(recorded.calls("tail_caller").count(), 0);
        recorded.calls("callee").next().is_some().then_some(())
    });
}

#[test]
fn a_thread_with_the_smallest_stack_is_recorded_from_its_first_call_in_a_handler_on() {
    let _alone = alone();
    for program in [ends(), ends_static()] {
        in_time(200, |rounds| {
            let folder = folder("small");
            succeeds(record_program(&folder, program).args(["small", rounds]));
            let recorded = Recorded::read(&folder.join("x.trace"));
            recorded.calls("small_work").next().is_some().then_some(())
        });
    }
}
