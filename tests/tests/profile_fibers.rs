//! Fibers, announced and not: what runs on one machine stack is never charged to another.

use crate::profiled::{Recorded, alone, folder, in_time, record_program, succeeds, text, tools};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tailwater_profile::record::{Call, LossKind, Record, ThreadId};

#[test]
fn fibers_have_frames_of_their_own() {
    let _alone = alone();
    let announced = folder("fibers-announced").join("scenes");
    tools().compiled("CC", "", "scenes.c", &announced);
    assert_eq!(lanes(&announced), ["ping_inner", "pong_inner"], "each has one fiber's functions");
    let unannounced = folder("fibers-found").join("scenes");
    built(&["--fibers"], "$CC -O2 -DUNANNOUNCED", "scenes.c", &unannounced);
    assert_eq!(lanes(&unannounced), ["ping_inner", "pong_inner"], "each has one fiber's functions");
}

#[test]
fn fibers_that_are_neither_announced_nor_found_are_told_of() {
    let _alone = alone();
    let built_in = folder("fibers-mixed-built");
    let program = built(&[], "$CC -O2 -DUNANNOUNCED", "scenes.c", &built_in.join("scenes"));
    let folder = folder("fibers-mixed");
    let said = in_time(50, |rounds| {
        succeeds(record_program(&folder, &program).args(["fibers", rounds]));
        let trace = folder.join("x.trace");
        let mixed = Recorded::read(&trace).lost(LossKind::Mixed) > 0;
        let mut report = Command::new(&tools().tailwater);
        mixed.then(|| text(&succeeds(report.args(["profile", "report"]).arg(trace)).stdout))
    });
    assert!(said.contains("tailwater profile build --fibers"), "{said}");
}

/// A source compiled and linked by `tailwater profile build OPTIONS`.
fn built(options: &[&str], compiler: &str, source: &str, to: &Path) -> PathBuf {
    let line = format!("{compiler} -Wall -Werror -pthread -o $0 $1");
    let mut build = tools().build(options, &["sh", "-c", &line]);
    succeeds(build.arg(to).arg(tools().sources().join(source)));
    to.to_owned()
}

/// The inner functions of the scene's fibers, one for each thread of the trace in which they were found.
fn lanes(program: &Path) -> Vec<&'static str> {
    let mut lanes: Vec<_> = in_time(50, |rounds| {
        let folder = folder("fibers");
        succeeds(record_program(&folder, program).args(["fibers", rounds]));
        let lanes = lanes_of_fibers(&Recorded::read(&folder.join("x.trace")));
        (lanes.len() >= 2).then_some(lanes)
    })
    .into_iter()
    .map(|(_, function)| function)
    .collect();
    lanes.sort_unstable();
    lanes
}

fn lanes_of_fibers(recorded: &Recorded) -> HashSet<(ThreadId, &'static str)> {
    assert_eq!(recorded.threads(), 3, "two fibers and the thread that runs them");
    assert_eq!(recorded.lost(LossKind::Mixed), 0);
    let mut lanes = HashSet::new();
    for (inner, outer) in [("ping_inner", "ping_outer"), ("pong_inner", "pong_outer")] {
        let outermost: Vec<&Call> = recorded.calls(outer).collect();
        assert!(outermost.len() <= 1 && outermost.iter().all(|call| call.depth == 0), "{outer}");
        for call in recorded.calls(inner) {
            assert_eq!((parent(recorded, call), call.depth), (Some(outer), 1), "{call:?}");
            lanes.insert((call.thread, inner));
        }
    }
    lanes
}

fn parent<'a>(recorded: &'a Recorded, call: &Call) -> Option<&'a str> {
    call.parent.map(|id| recorded.names[&id.0].as_str())
}

/// The program that looks at its own frames.
fn looks(name: &str, flags: &str) -> PathBuf {
    let compiler = format!("$CXX {flags}");
    built(&["--fibers"], &compiler, "fibers.cpp", &folder(name).join("fibers"))
}

fn run(program: &Path, argument: &str) {
    // Cargo's leads libraries to another build of the runtime.
    let done = succeeds(Command::new(program).arg(argument).env_remove("LD_LIBRARY_PATH"));
    assert_eq!(text(&done.stdout), "all frames where they should be\n");
}

#[test]
fn each_machine_stack_is_found_however_the_program_was_compiled() {
    for (at, flags) in [
        "-O0",
        "-O2",
        "-O3 -static",
        "-Os -static-pie",
        "-O2 -flto=thin -fuse-ld=lld",
        "-O2 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer",
    ]
    .iter()
    .enumerate()
    {
        run(&looks(&format!("fibers-built-{at}"), flags), "3");
    }
}

#[test]
fn what_has_no_place_runs_unrecorded_and_is_counted() {
    let _alone = alone();
    let folder = folder("fibers-crowd");
    let done = succeeds(record_program(&folder, &looks("fibers-many", "-O1")).arg("crowd"));
    assert!(text(&done.stdout).starts_with("all frames where they should be\n"));
    let recorded = Recorded::read(&folder.join("x.trace"));
    assert!(recorded.lost(LossKind::Threads) > 0, "5,000 stacks, and 4,096 places");
}

#[test]
fn callers_of_calls_on_found_stacks_are_who_called() {
    let _alone = alone();
    let program = looks("fibers-called", "-O2");
    let callers = [
        ("inner", "outer"),
        ("outer", "in_turn"),
        ("deeper_in_handler", "handler"),
        ("handler", "raising"),
        ("partly_quiet", ""),
        ("in_context", ""),
        ("down_the_row", ""),
    ];
    in_time(20, |rounds| {
        let folder = folder("fibers-callers");
        succeeds(record_program(&folder, &program).arg(rounds));
        let recorded = Recorded::read(&folder.join("x.trace"));
        let named = |function: &str, name: &str| {
            // As C++'s names are mangled.
            name.contains(&format!("{}{function}", function.len()))
        };
        let mut seen = 0;
        for record in &recorded.records {
            let Record::Call(call) = record else { continue };
            let name = &recorded.names[&call.function.0];
            let Some((_, caller)) = callers.iter().find(|(called, _)| named(called, name)) else {
                continue;
            };
            let found = parent(&recorded, call).unwrap_or_default();
            assert!(found == *caller || named(caller, found), "{name} was called by {found}");
            seen += 1;
        }
        (seen > 20).then_some(())
    });
}
