//! Names are short while no two look alike.

use super::made::{US, function, profile, told, trace, vague};
use std::path::PathBuf;
use tailwater_profile::kernel::{Did, ThreadState, Waker};
use tailwater_profile::record::{
    Call, Clock, Figure, FunctionId, Hold, Mark, MarkKind, Measured, Record, Thread, ThreadId,
    Wait, WaitKind,
};

/// What two functions of one name are of. Shortened alone, either is `<…>::poll`.
const TWINS: [&str; 2] = ["hyper::server::conn::Connection", "axum::serve::WithGracefulShutdown"];
const OUTER: u32 = 1;
const FIRST: u32 = 2;
const SECOND: u32 = 3;
const LEAF: u32 = 4;

fn thread(id: u32, name: &str) -> Record {
    Record::Thread(Thread { id: ThreadId(id), tid: 100 + id, name: name.into() })
}

/// A call, by its thread, its path, when it began among the others, and its ends in µs.
fn call(thread: u32, path: &[u32], generation: u64, start: u64, end: u64) -> Record {
    let (function, around) = path.split_last().expect("a function");
    Record::Call(Call {
        thread: ThreadId(thread),
        parent: around.last().map(|id| FunctionId(*id)),
        depth: around.len() as u32,
        generation,
        ..vague(*function, (start, 0), (end, 0), 0)
    })
}

/// Each twin, in a request, waits for a lock that the other holds in another thread. Both call the same function.
fn twins() -> Vec<Record> {
    let poll = |of: &str| {
        format!("<tokio::runtime::task::core::Core<{of}, S> as core::future::future::Future>::poll")
    };
    let mark =
        |kind, at: u64| Record::Mark(Mark { thread: ThreadId(0), request: 42, kind, at: at * US });
    let wait = |object, (start, end): (u64, u64), by, held_by| {
        Record::Wait(Wait {
            thread: ThreadId(0),
            kind: WaitKind::Mutex,
            object,
            start: start * US,
            end: end * US,
            released: end * US,
            holder: Some(ThreadId(1)),
            function: Some(FunctionId(by)),
            holder_function: Some(FunctionId(held_by)),
            holder_site: 0,
            site: 0,
        })
    };
    let clock = 20_000 * US;
    vec![
        Record::Clock(Clock { ticks: clock, raw_ns: clock, real_ns: clock }),
        function(OUTER, "outer"),
        function(FIRST, &poll(TWINS[0])),
        function(SECOND, &poll(TWINS[1])),
        function(LEAF, "leaf"),
        thread(0, "worker"),
        thread(1, "holder"),
        mark(MarkKind::Start, 1_500),
        call(1, &[SECOND], 1, 1_900, 4_000),
        wait(0x5000, (2_100, 3_900), FIRST, SECOND),
        call(0, &[OUTER, FIRST, LEAF], 3, 3_910, 4_400),
        call(0, &[OUTER, FIRST], 2, 2_000, 4_500),
        call(1, &[FIRST], 2, 4_900, 8_000),
        wait(0x6000, (5_100, 7_900), SECOND, FIRST),
        call(0, &[OUTER, SECOND, LEAF], 5, 7_910, 8_400),
        call(0, &[OUTER, SECOND], 4, 5_000, 8_450),
        mark(MarkKind::End, 8_500),
        call(0, &[OUTER], 1, 1_000, 9_000),
    ]
}

/// Both are named, and neither so that it could be the other.
fn are_apart(text: &str) {
    for twin in TWINS {
        assert!(text.contains(twin), "{twin} in:\n{text}");
    }
    assert!(!text.contains("<…>::poll"), "{text}");
}

fn of(name: &str, verb: &str, flags: &[&str]) -> String {
    told(&profile(verb, &trace(name, &twins(), 0), flags))
}

#[test]
fn callers_and_callees_are_told_apart() {
    are_apart(&of("callees-apart.trace", "report", &["--callees", "-f", "outer"]));
    are_apart(&of("callers-apart.trace", "report", &["--callers", "-f", "leaf"]));
}

#[test]
fn waiters_and_holders_of_locks_are_told_apart() {
    are_apart(&of("locks-apart.trace", "report", &["--locks", "-f", "outer"]));
    // Of locks that nothing waits for, too.
    let hold = |object, function| {
        Record::Hold(Hold {
            thread: ThreadId(1),
            kind: WaitKind::Mutex,
            object,
            start: 2_000 * US,
            end: 3_000 * US,
            function: Some(FunctionId(function)),
            site: 0,
        })
    };
    let mut records: Vec<Record> =
        twins().into_iter().filter(|one| !matches!(one, Record::Wait(_))).collect();
    let asked = Record::Figure(Figure { what: Measured::HoldTicks, value: 1 });
    records.extend([asked, hold(0x5000, FIRST), hold(0x6000, SECOND)]);
    let path = trace("holds-apart.trace", &records, 0);
    are_apart(&told(&profile("report", &path, &["--locks", "-f", "outer"])));
}

#[test]
fn slow_calls_their_callees_and_their_waits_are_told_apart() {
    are_apart(&of("tree-apart.trace", "report", &["--slowest", "1", "-f", "outer"]));
    are_apart(&of("calls-apart.trace", "report", &["--slowest", "2", "-f", "*poll"]));
    let flags = ["--slowest", "2", "-f", "*poll", "--json"];
    are_apart(&of("json-apart.trace", "report", &flags));
}

#[test]
fn functions_of_requests_are_told_apart() {
    are_apart(&of("requests-apart.trace", "requests", &[]));
}

/// The same, of which the kernel has told who ended the sleeps.
fn with_kernel(name: &str) -> PathBuf {
    let state = |from: u64, to: u64, did| {
        let (start, end) = (from * US, to * US);
        Record::State(ThreadState { thread: ThreadId(0), start, end, did })
    };
    let asleep = || Did::Asleep { is_uninterruptible: false, woken: Waker::Thread(ThreadId(1)) };
    let kernel = [
        thread(0, "worker"),
        thread(1, "holder"),
        state(1_000, 2_100, Did::Running { cpu: 1 }),
        state(2_100, 3_900, asleep()),
        state(3_900, 5_100, Did::Running { cpu: 1 }),
        state(5_100, 7_900, asleep()),
        state(7_900, 9_000, Did::Running { cpu: 1 }),
    ];
    trace(&format!("{name}.kernel"), &kernel, 0);
    // It has no waits, as of locks that are not known.
    let is_told = |one: &Record| !matches!(one, Record::Wait(_) | Record::Mark(_));
    let records: Vec<Record> = twins().into_iter().filter(is_told).collect();
    trace(name, &records, 0)
}

#[test]
fn functions_that_ended_sleeps_are_told_apart() {
    let path = with_kernel("wakers-apart.trace");
    let text = told(&profile("report", &path, &["--slowest", "1", "-f", "outer"]));
    assert!(text.contains("slept until woken by holder (101) in <tokio"), "{text}");
    are_apart(&text);
}
