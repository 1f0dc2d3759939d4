//! `report --slowest`.

use super::made::{US, fig1, function, profile, told, trace, vague};
use tailwater_profile::kernel::{After, Did, Occupant, ThreadState, WaitedBehind, Waker};
use tailwater_profile::record::{
    Call, Figure, FunctionId, Loss, LossKind, Mark, MarkKind, Measured, Record, Thread, ThreadId,
};

/// Fig. 1 with a parser within the request.
fn nested() -> Vec<Record> {
    let mut records = fig1();
    let place = records.iter().position(|one| matches!(one, Record::Wait(_))).expect("a wait");
    let parser = Call {
        parent: Some(FunctionId(1)),
        depth: 1,
        generation: 2,
        ..vague(3, (5_912, 0), (5_928, 0), 0)
    };
    records.insert(place + 1, Record::Call(parser));
    records.insert(1, function(3, "parse"));
    records
}

#[test]
fn the_slowest_calls_of_a_function_are_told_without_a_mark() {
    let path = trace("slowest.trace", &nested(), 0);
    let text = told(&profile("report", &path, &["--slowest", "20", "-f", "handle*"]));
    for line in [
        "bin/fig1: the 1 slowest of 1 calls of handle*",
        "call 1, 928 µs in thread requests (100):",
        "  waited 900 µs for mutex 0x5000 in handle_request()",
        "    held by thread snapshot (101) in fig1::snapshot",
        "    which was in fig1::snapshot 895 µs",
        "  handle_request(): ",
        "    → parse: 16.0 µs",
        "12 records. Lost: 0 calls",
    ] {
        assert!(text.contains(line), "{line} in:\n{text}");
    }
    let flags = ["--slowest", "1", "-f", "handle*", "--json"];
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("report", &path, &flags))).expect("JSON");
    let call = &json["slowest"][0];
    assert_eq!((&json["count"], &call["parts"]["waiting_ns"]), (&1.into(), &900_000.into()));
    assert_eq!(call["tree"]["callees"][0]["function"], "parse");
    assert_eq!(call["tree"]["callees"][0]["total"]["low_ns"], 16_000);
}

#[test]
fn what_is_small_or_deep_is_summed_up() {
    let mut records = vec![function(1, "outer")];
    // Nine callees of a millisecond and one of a microsecond, then a chain of twenty.
    for n in 0..10 {
        records.push(function(10 + n, &format!("callee{n}")));
        let took = if n == 0 { 1 } else { 1_000 };
        let start = u64::from(n) * 2_000;
        let call = vague(10 + n, (start + 10, 0), (start + 10 + took, 0), 0);
        let generation = 2 + u64::from(n);
        records.push(Record::Call(Call {
            parent: Some(FunctionId(1)),
            depth: 1,
            generation,
            ..call
        }));
    }
    records.extend((0..20).map(|n| function(30 + n, &format!("deep{n}"))));
    let deep = |n: u32| {
        let call = vague(30 + n, (30_000, 0), (50_000, 0), 0);
        Record::Call(Call { depth: n + 1, generation: 100 + u64::from(n), ..call })
    };
    records.extend((0..20).rev().map(deep));
    let outer = Call { generation: 1, start: 0, end: 60_000 * US, ..vague(1, (0, 0), (0, 0), 0) };
    records.push(Record::Call(outer));
    let path = trace("small.trace", &records, 0);
    let text = told(&profile("report", &path, &["--slowest", "1", "-f", "outer"]));
    let told_of = |name: &str| text.contains(&format!("→ {name}:"));
    assert!(told_of("deep0") && told_of("deep10") && !told_of("deep15"), "{text}");
    assert!(told_of("callee1") && !told_of("callee0") && !told_of("callee9"), "{text}");
    assert!(text.contains("    and 6 more; --json lists them"), "{text}");
}

#[test]
fn a_function_that_is_not_there_is_told_with_how_to_find_those_that_are() {
    let path = trace("nowhere.trace", &fig1(), 0);
    let text = told(&profile("report", &path, &["--slowest", "3", "-f", "nowhere"]));
    assert!(text.contains("called nowhere. `tailwater profile report --limit 0`"), "{text}");
    let refused = profile("report", &path, &["--slowest", "3"]);
    assert_eq!(refused.status.code(), Some(2), "which function?");
    let refused = profile("report", &path, &["--slowest", "3", "-f", "x", "--sort", "mean"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// What the kernel told of Fig. 1: the holder of the lock waited for its core, and some events are lost.
pub(crate) fn kernel() -> Vec<Record> {
    let state = |thread, from: u64, to: u64, did| {
        let (start, end) = (from * US, to * US);
        Record::State(ThreadState { thread: ThreadId(thread), start, end, did })
    };
    let thread = |id, name: &str| {
        Record::Thread(Thread { id: ThreadId(id), tid: 100 + id, name: name.to_owned() })
    };
    let woken = Waker::Thread(ThreadId(1));
    let hog = Occupant { thread: ThreadId(2), time: 800 * US };
    let behind = WaitedBehind { occupants: vec![hog], others: 0, idle: 0 };
    let off = Did::Runnable { cpu: 0, after: After::Preempted, behind };
    vec![
        thread(0, "requests"),
        thread(1, "snapshot"),
        thread(2, "hog"),
        state(0, 5_000, 5_010, Did::Running { cpu: 1 }),
        state(0, 5_010, 5_910, Did::Asleep { is_uninterruptible: false, woken }),
        state(0, 5_910, 6_000, Did::Running { cpu: 1 }),
        state(1, 5_000, 5_100, Did::Running { cpu: 0 }),
        state(1, 5_100, 5_900, off),
        state(1, 5_900, 6_000, Did::Running { cpu: 0 }),
        Record::Loss(Loss { thread: None, kind: LossKind::Events, count: 7 }),
        Record::Figure(Figure { what: Measured::Throttlings, value: 0 }),
    ]
}

#[test]
fn what_kept_a_locks_holder_is_told_and_json_hides_no_loss() {
    trace("held.trace.kernel", &kernel(), 0);
    let path = trace("held.trace", &fig1(), 0);
    let slowest = ["--slowest", "1", "-f", "handle*"];
    for (verb, flags) in [("report", &slowest[..]), ("requests", &[])] {
        let text = told(&profile(verb, &path, flags));
        let holder = "Of its holder snapshot (101): mainly it waited for a core: 800 µs of 900 µs, in which hog (102)";
        assert!(text.contains(holder), "{verb}: {text}");
        assert!(text.contains("7 events of the kernel were lost"), "{verb}: {text}");
        let flags = [flags, &["--json"]].concat();
        let json: serde_json::Value =
            serde_json::from_str(&told(&profile(verb, &path, &flags))).expect("JSON");
        assert_eq!(json["kernel"]["lost_events"], 7, "{verb}: {json}");
        assert_eq!(json["kernel"]["throttled"], 0, "{verb}: {json}");
        let row = &json["slowest"][0];
        assert_eq!(row["kernel"]["cause"], "asleep", "{verb}: {row}");
        let holder = &row["waits"][0]["holder"]["kernel"];
        assert_eq!((&holder["cause"], &holder["named"]), (&"runnable".into(), &"hog (102)".into()));
    }
}

#[test]
fn without_the_kernels_file_nothing_is_said_of_it() {
    let path = trace("alone.trace", &fig1(), 0);
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("requests", &path, &["--json"]))).expect("JSON");
    assert!(json["kernel"].is_null() && json["slowest"][0]["kernel"].is_null(), "{json}");
    assert!(json["run_queue"].is_null(), "{json}");
}

/// How long requests waited for a core was told of the slowest alone.
#[test]
fn how_long_all_requests_waited_in_a_run_queue_is_told() {
    let state = |from: u64, to: u64, did| {
        let (start, end) = (from * US, to * US);
        Record::State(ThreadState { thread: ThreadId(0), start, end, did })
    };
    let behind = WaitedBehind::default();
    let kernel = [
        Record::Thread(Thread { id: ThreadId(0), tid: 100, name: "requests".into() }),
        state(4_000, 5_910, Did::Running { cpu: 1 }),
        state(5_910, 5_920, Did::Runnable { cpu: 1, after: After::Preempted, behind }),
        state(5_920, 6_000, Did::Running { cpu: 1 }),
    ];
    trace("queued.trace.kernel", &kernel, 0);
    let path = trace("queued.trace", &fig1(), 0);
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("requests", &path, &["--json"]))).expect("JSON");
    let (all, slowest) = (&json["run_queue"]["all"], &json["run_queue"]["slowest"]);
    let of = |key: &str| all[key].as_u64().expect("a number");
    assert_eq!(["requests", "took_ns", "waited_ns"].map(of), [1, 930_000, 10_000], "{json}");
    assert_eq!(all, slowest, "it is the only one");
    let text = told(&profile("requests", &path, &[]));
    let row = text.lines().find(|line| line.starts_with("slowest 1 %")).expect("a row");
    assert!(row.contains("10.0 µs") && row.contains("1.1 %"), "{text}");
}

/// An attribute of an element.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) =
        element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{element}"));
    rest.split_once('"').expect("it ends").0
}

/// The bars of a page, or its arrows: their elements, by what each says on hover.
fn drawn<'a>(page: &'a str, class: &str) -> Vec<(&'a str, &'a str)> {
    let begin = format!("class=\"{class}");
    let elements = page.split(&begin).skip(1);
    let with_tip = |element: &'a str| {
        let (element, rest) = element.split_once("<title>").expect("a tip");
        (rest.split_once("</title>").expect("it ends").0, element)
    };
    elements.map(with_tip).collect()
}

fn found<'a>(all: &[(&'a str, &'a str)], tip: &str) -> &'a str {
    let is_it = |(told, _): &&(&str, &str)| *told == tip;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no {tip} in {all:#?}")).1
}

/// The call begins 5.001 ms after the recording, and the axis counts from there.
#[test]
fn a_page_has_the_call_its_holder_and_what_the_kernel_did_with_both() {
    trace("drawn.trace.kernel", &kernel(), 0);
    let path = trace("drawn.trace", &fig1(), 0);
    let page = path.with_extension("html");
    let flags = ["--slowest", "1", "-f", "handle*", "--page", page.to_str().expect("a path")];
    let text = told(&profile("report", &path, &flags));
    let page = std::fs::read_to_string(page).expect("a page");
    let bars = drawn(&page, "tw-bar");
    let held = "mutex 0x5000, held by snapshot (101) in fig1::snapshot";
    for (tip, from, to) in [
        ("the call, waiting for a lock in thread requests (100): 900 µs", 9_000, 909_000),
        (&format!("requests (100), waited 900 µs for {held}"), 9_000, 909_000),
        ("requests (100), asleep 900 µs, woken by snapshot (101)", 9_000, 909_000),
        ("requests (100), handle_request(): 928 µs", 0, 928_000),
        // Both are cut where the call may have begun.
        ("snapshot (101), running 100 µs, CPU 0", -512, 99_000),
        ("snapshot (101), fig1::snapshot: 1.01 ms", -512, 904_000),
        (
            "snapshot (101), waiting for a core 800 µs, CPU 0, the core had hog (102)",
            99_000,
            899_000,
        ),
    ] {
        let bar = found(&bars, tip);
        let ends = [attribute(bar, "data-from"), attribute(bar, "data-to")];
        assert_eq!(ends, [from.to_string(), to.to_string()], "{tip}");
    }
    let call = found(&bars, "requests (100), handle_request(): 928 µs");
    assert_eq!(attribute(call, "data-unsure"), "512 512");
    // An end that lies outside of the page has no error bar there.
    let holder = found(&bars, "snapshot (101), fig1::snapshot: 1.01 ms");
    assert_eq!(attribute(holder, "data-unsure"), "0 512");
    let arrow = found(&drawn(&page, "tw-arrow"), held);
    assert_eq!(attribute(arrow, "data-at"), "9000");
    let (y, waiter) = (
        attribute(holder, "y"),
        found(&bars, &format!("requests (100), waited 900 µs for {held}")),
    );
    let from: f64 = attribute(waiter, "y").parse().expect("a number");
    assert!(arrow.contains(&format!("M0 {}V{y}m", from + 12.0)), "{arrow}");
    assert!(page.contains("7 events of the kernel were lost") && text.contains("held by thread"));
    assert!(!page.contains("http-equiv=\"refresh") && !page.contains("src=\"http"), "no network");
}

#[test]
fn the_terminal_has_the_time_line_too() {
    let path = trace("line.trace", &fig1(), 0);
    let text = told(&profile("report", &path, &["--slowest", "1", "-f", "handle*", "--timeline"]));
    for part in ["  the call\n", "[waits for mutex, held by snapshot (101)──", "[fig1::snapshot──"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let of_request = told(&profile("requests", &path, &["--timeline"]));
    assert!(of_request.contains("  the request\n"), "{of_request}");
    assert!(!told(&profile("requests", &path, &[])).contains("the request\n"));
    for flags in [
        &["--page", "x.html"][..],
        &["--timeline"],
        &["--slowest", "1", "-f", "handle*", "--timeline", "--json"],
    ] {
        assert_eq!(profile("report", &path, flags).status.code(), Some(2), "{flags:?}");
    }
}

/// A thread that did nothing for the request has no row.
#[test]
fn a_size_of_as_many_bytes_as_a_requests_number_is_no_mark_of_it() {
    let mut records = fig1();
    let (id, name) = (ThreadId(2), "sender".to_owned());
    let size = Mark { thread: id, request: 42, kind: MarkKind::Size, at: 5_100 * US };
    records.insert(1, Record::Thread(Thread { id, tid: 102, name }));
    records.insert(2, Record::Mark(size));
    let text = told(&profile("requests", &trace("size.trace", &records, 0), &["--timeline"]));
    assert!(text.contains("  snapshot (101)\n") && !text.contains("sender (102)"), "{text}");
}
