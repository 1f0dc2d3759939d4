//! `requests` of several traces: on traces of which all is known.

use super::made::{function, profile, told, trace};
use serde_json::Value;
use std::path::PathBuf;
use tailwater_profile::kernel::{After, Did, ThreadState, WaitedBehind};
use tailwater_profile::record::{
    Call, CallFlags, Clock, Figure, FunctionId, Hop, HopKind, Loss, LossKind, Mark, MarkKind,
    Measured, Record, Thread, ThreadId,
};

const MS: u64 = 1_000_000;

/// What all traces begin with; a tick is a nanosecond.
fn begun() -> Vec<Record> {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let thread = Thread { id: ThreadId(0), tid: 100, name: "server".into() };
    vec![Record::Clock(clock), function(1, "looks_up"), Record::Thread(thread)]
}

fn mark(request: u64, kind: MarkKind, at: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(0), request, kind, at })
}

fn hop(request: u64, kind: HopKind, call: u64, at: u64) -> Record {
    Record::Hop(Hop { thread: ThreadId(0), request, kind, call, at })
}

/// A front whose tenth request waits 50 ms for its leaf, which looks something up; others take 1 ms.
fn records() -> (Vec<Record>, Vec<Record>) {
    let (mut front, mut leaf) = (begun(), begun());
    for n in 1..=20 {
        let work = if n == 10 { 50 * MS } else { MS };
        let sent = n * 100 * MS;
        let answered = sent + work + 200_000;
        front.extend([
            mark(n, MarkKind::Start, sent - 1_000),
            hop(n, HopKind::Sent, n, sent),
            mark(n, MarkKind::Block, sent),
            hop(n, HopKind::Answered, n, answered),
            mark(n, MarkKind::Start, answered),
            mark(n, MarkKind::EndAll, answered + 1_000),
        ]);
        let (from, to) = (sent + 100_000, sent + 100_000 + work);
        leaf.extend([mark(n, MarkKind::Start, from), hop(n, HopKind::Called, n, from)]);
        leaf.push(Record::Call(Call {
            thread: ThreadId(0),
            function: FunctionId(1),
            parent: None,
            depth: 0,
            generation: n,
            start: from,
            start_slack: 0,
            end: to,
            end_slack: 0,
            flags: CallFlags::default(),
            site: 0,
        }));
        leaf.push(mark(n, MarkKind::EndAll, to));
    }
    (front, leaf)
}

fn written(name: &str, front: Vec<Record>, leaf: Vec<Record>) -> [PathBuf; 2] {
    [("front", front), ("leaf", leaf)]
        .map(|(tier, records)| trace(&format!("{name}-{tier}.trace"), &records, 0))
}

fn traces(name: &str) -> [PathBuf; 2] {
    let (front, leaf) = records();
    written(name, front, leaf)
}

#[test]
fn the_slowest_request_names_its_leaf_and_what_that_did() {
    let [front, leaf] = traces("named");
    let leaf = leaf.to_str().expect("a path");
    let text = told(&profile("requests", &front, &[leaf, "--slowest", "1"]));
    for words in [
        "Of 20 calls of requests of named-front the other traces tell of 20.",
        "named-leaf: one counter of one machine with named-front; 20 calls agree with that.",
        "request 10, 50.2 ms, mainly in named-leaf: 50.0 ms:",
        "named-leaf, its request 10 at +101 µs: 50.0 ms of 50.0 ms (running 50.0 ms)",
        "ran in looks_up 50.0 ms",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let said = told(&profile("requests", &front, &[leaf, "--slowest", "1", "--json"]));
    let json: Value = serde_json::from_str(&said).expect("JSON");
    let parts = &json["slowest"][0]["parts"];
    assert_eq!(parts[1]["running_ns"], 50 * MS);
    assert_eq!(parts[1]["between_ns"], 200_000);
    assert_eq!(json["clocks"][1]["basis"], "same_counter");
}

#[test]
fn the_page_has_a_row_for_each_process() {
    let [front, leaf] = traces("page");
    let page = front.with_file_name("tiers.html");
    let flags = [leaf.to_str().expect("a path"), "--slowest", "2", "--page"];
    told(&profile("requests", &front, &[&flags[..], &[page.to_str().expect("a path")]].concat()));
    let page = std::fs::read_to_string(page).expect("it was written");
    assert_eq!(page.matches("<figure").count(), 2);
    for words in
        ["where the time went", "page-front 10", "page-leaf 10", "call to page-leaf: 50.2 ms"]
    {
        assert!(page.contains(words), "{words}");
    }
    let flags = [leaf.to_str().expect("a path"), "--slowest", "2", "--timeline"];
    let text = told(&profile("requests", &front, &flags));
    assert_eq!(text.matches("  where the time went\n").count(), 2, "{text}");
}

/// What was not made whole, and what was not joined, is beside what was: as text, as JSON and on the page.
#[test]
fn what_is_not_followed_is_told() {
    let (mut front, mut leaf) = records();
    // Under way at the end, and a mark of none; and two requests of the leaf that say they are one call.
    front.push(mark(90, MarkKind::Start, 3_000 * MS));
    front.push(mark(91, MarkKind::Start, 3_007 * MS));
    leaf.push(mark(92, MarkKind::EndAll, 3_000 * MS));
    leaf.extend([
        mark(93, MarkKind::Start, 3_000 * MS),
        hop(93, HopKind::Called, 3, 3_000 * MS),
        mark(93, MarkKind::EndAll, 3_001 * MS),
    ]);
    let [front, leaf] = written("told", front, leaf);
    let page = front.with_file_name("told.html");
    let (leaf, page) = (leaf.to_str().expect("a path"), page.to_str().expect("a path"));
    let text = told(&profile("requests", &front, &[leaf, "--page", page]));
    let page = std::fs::read_to_string(page).expect("it was written");
    for words in [
        "2 more were under way when the trace ended, the oldest for 7.00 ms",
        "0 requests were given up, having been open too long; 1 marks belong to none.",
        "Of 20 calls of requests of told-front the other traces tell of 19.",
        "Names of calls that are told of more than once: 1.",
    ] {
        assert!(text.contains(words), "{words} in {text}");
        assert!(page.contains(words), "{words} on the page");
    }
    let said = told(&profile("requests", &front, &[leaf, "--json"]));
    let json: Value = serde_json::from_str(&said).expect("JSON");
    let [front, leaf] = [&json["traces"][0], &json["traces"][1]];
    assert_eq!((&front["unfinished"], &front["orphan_marks"]), (&2.into(), &0.into()));
    assert_eq!(front["unfinished_max_ns"], 7 * MS);
    assert_eq!((&leaf["unfinished"], &leaf["orphan_marks"]), (&0.into(), &1.into()));
    assert_eq!((&leaf["forgotten"], &json["doubled_names"]), (&0.into(), &1.into()));
}

#[test]
fn traces_in_the_wrong_order_are_told_of() {
    let [front, leaf] = traces("wrong");
    let text = told(&profile("requests", &leaf, &[front.to_str().expect("a path")]));
    let words = "No request of wrong-leaf has told of a call to another process";
    assert!(text.contains(words), "{text}");
}

/// Else a tick would count as a nanosecond beside traces where it does not.
#[test]
fn a_trace_whose_ticks_were_not_measured_is_refused() {
    let [front, leaf] = traces("measured");
    let (records, _) = records();
    let is_clock = |record: &Record| matches!(record, Record::Clock(_));
    let records: Vec<_> = records.into_iter().filter(|record| !is_clock(record)).collect();
    let unmeasured = trace("unmeasured.trace", &records, 0);
    for (first, other) in [(&front, &unmeasured), (&unmeasured, &leaf)] {
        let refused = profile("requests", first, &[other.to_str().expect("a path")]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("unmeasured.trace: found no two clock readings"), "{said}");
        assert!(said.contains("or leave this trace out"), "{said}");
    }
}

/// What the kernel tells of a leaf whose thread waits 10 ms for a core while it has the tenth request; an event is lost.
fn kernel() -> Vec<Record> {
    let state = |from: u64, to: u64, did| {
        let (start, end) = (from * MS, to * MS);
        Record::State(ThreadState { thread: ThreadId(0), start, end, did })
    };
    let behind = WaitedBehind::default();
    vec![
        Record::Thread(Thread { id: ThreadId(0), tid: 100, name: "server".into() }),
        state(0, 1_001, Did::Running { cpu: 1 }),
        state(1_001, 1_011, Did::Runnable { cpu: 1, after: After::Preempted, behind }),
        state(1_011, 3_000, Did::Running { cpu: 1 }),
        Record::Loss(Loss { thread: None, kind: LossKind::Events, count: 1 }),
    ]
}

/// It was told of a trace that is read alone.
#[test]
fn each_trace_with_a_file_of_the_kernels_has_its_waits_in_a_run_queue() {
    let [front, leaf] = traces("waits");
    trace("waits-leaf.trace.kernel", &kernel(), 0);
    let leaf = leaf.to_str().expect("a path");
    let said = told(&profile("requests", &front, &[leaf, "--json"]));
    let json: Value = serde_json::from_str(&said).expect("JSON");
    let [front_row, leaf_row] = [&json["traces"][0], &json["traces"][1]];
    assert!(front_row["run_queue"].is_null() && front_row["kernel"].is_null(), "{front_row}");
    assert_eq!(leaf_row["kernel"]["lost_events"], 1);
    let (all, slowest) = (&leaf_row["run_queue"]["all"], &leaf_row["run_queue"]["slowest"]);
    let of = |sums: &Value, key: &str| sums[key].as_u64().expect("a number");
    let keys = ["requests", "took_ns", "waited_ns"];
    assert_eq!(keys.map(|key| of(all, key)), [20, 69 * MS, 10 * MS], "{all}");
    assert_eq!(keys.map(|key| of(slowest, key)), [1, 50 * MS, 10 * MS], "{slowest}");
    let text = told(&profile("requests", &front, &[leaf]));
    let is_row = |line: &&str| line.starts_with("waits-leaf ") && line.contains("slowest 1 %");
    let row = text.lines().find(is_row).unwrap_or_else(|| panic!("no row in {text}"));
    assert!(row.contains("10.0 ms") && row.contains("20 %"), "{row}");
    for words in [
        "waits-front has no file of the kernel's beside it",
        "tailwater profile record --kernel -o TRACE -- bin/fig1 …",
        "1 events of the kernel were lost",
    ] {
        assert_eq!(text.matches(words).count(), 1, "{words} in {text}");
    }
}

#[test]
fn of_traces_without_files_of_the_kernels_and_of_kept_parts_no_wait_is_told() {
    let [front, leaf] = traces("waitless");
    let text = told(&profile("requests", &front, &[leaf.to_str().expect("a path")]));
    assert!(!text.contains("run queue") && !text.contains("--kernel"), "{text}");
    let (mut front, leaf) = records();
    front.push(Record::Figure(Figure { what: Measured::Requests, value: 1_000 }));
    let [front, leaf] = written("part", front, leaf);
    for tier in ["front", "leaf"] {
        trace(&format!("part-{tier}.trace.kernel"), &kernel(), 0);
    }
    let text = told(&profile("requests", &front, &[leaf.to_str().expect("a path")]));
    assert!(text.contains("part-front holds a part of its requests"), "{text}");
    let is_row = |line: &str| line.starts_with("part-leaf ") && line.contains(" all ");
    assert!(text.lines().any(is_row), "{text}");
}
