//! Reports held against the truth: calls whose durations are known, seen by a scanner that shares its core
//! with the program.

use crate::sample;
use tailwater_profile::functions::{Bounds, Durations, Functions, Report};
use tailwater_profile::record::{Call, CallFlags, FunctionId, Gap, Record, ThreadId};
use tailwater_profile::trace::Ending;

/// Ticks in a microsecond; [`sample::second_clock`] says so.
const US: u64 = 2_000;
/// Absences longer than this are gaps, as in the recorder.
const GAP_TICKS: u64 = 2 * US;
/// The scanner and the program take turns of these lengths.
const TURNS_US: [u64; 5] = [300, 4_000, 900, 8_000, 2_500];

const REQUEST: u32 = 1;
const PLANTED: u32 = 2;
const LOOP: u32 = 3;

/// A call as it was.
#[derive(Clone, Copy)]
struct Truth {
    function: u32,
    start: u64,
    end: u64,
}

/// Requests of 5 to 200 µs, one in fifty of 1 to 9 ms; every thousandth takes the planted path of 76 ms.
fn program(requests: u64) -> Vec<Truth> {
    let mut at = 1_000_000;
    let mut calls = Vec::new();
    for n in 0..requests {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let us = if mixed.is_multiple_of(50) { 1_000 + mixed % 8_000 } else { 5 + mixed % 195 };
        let start = at + 3 * US;
        at = start + us * US;
        if n % 1_000 == 700 {
            let began = at;
            at += 76_000 * US;
            calls.push(Truth { function: PLANTED, start: began, end: at });
        }
        calls.push(Truth { function: REQUEST, start, end: at });
    }
    calls.push(Truth { function: LOOP, start: 1_000_000, end: at + US });
    calls
}

/// When the scanner looked: some times in a row at the end of each of the program's turns.
fn looks(until: u64) -> Vec<u64> {
    let mut looks = vec![990_000];
    let mut turns = TURNS_US.iter().cycle();
    while looks[looks.len() - 1] < until + 20_000 * US {
        let last = looks[looks.len() - 1];
        let turn = turns.next().expect("an endless row") * US;
        looks.extend((0..5).map(|n| last + turn + n * US / 10));
    }
    looks
}

/// What a trace tells of a call, if anything: between which looks it began and ended.
fn seen(truth: &Truth, looks: &[u64]) -> Option<Call> {
    let window = |instant| {
        let after = looks.partition_point(|look| *look < instant);
        (looks[after - 1], looks[after])
    };
    let (start, end) = (window(truth.start), window(truth.end));
    if start == end {
        return None;
    }
    let is_gap = [start, end].iter().any(|(from, to)| to - from > GAP_TICKS);
    let slack = |(from, to): (u64, u64)| ((to - from).div_ceil(2)) as u32;
    Some(Call {
        thread: ThreadId(0),
        function: FunctionId(truth.function),
        parent: None,
        depth: 0,
        generation: truth.start,
        start: u64::midpoint(start.0, start.1),
        start_slack: slack(start),
        end: u64::midpoint(end.0, end.1),
        end_slack: slack(end),
        flags: CallFlags(if is_gap { CallFlags::GAP } else { 0 }),
        site: 0,
    })
}

/// The report, and all calls, with whether they were seen.
struct Scene {
    report: Report,
    truths: Vec<(Truth, bool)>,
}

fn scene(requests: u64) -> Scene {
    let calls = program(requests);
    let looks = looks(calls.last().expect("some").end);
    let mut functions = Functions::new(&sample::header());
    functions.add(&sample::second_clock());
    for (id, name) in [(REQUEST, "request"), (PLANTED, "planted"), (LOOP, "loop")] {
        functions.add(&sample::function(id, name));
    }
    let mut truths = Vec::new();
    for truth in calls {
        let call = seen(&truth, &looks);
        truths.push((truth, call.is_some()));
        call.into_iter().for_each(|call| functions.add(&Record::Call(call)));
    }
    for pair in looks.windows(2).filter(|pair| pair[1] - pair[0] > GAP_TICKS) {
        functions.add(&Record::Gap(Gap { thread: None, start: pair[0], end: pair[1] }));
    }
    Scene { report: functions.finish(&Ending::Unfinished), truths }
}

impl Scene {
    fn row(&self, function: u32) -> Durations {
        let mut rows = self.report.functions.iter();
        rows.find(|row| row.id == FunctionId(function)).expect("it was seen").calls
    }

    /// How long the calls of a function took, in ascending order: those that were seen, or all.
    fn ns(&self, function: u32, is_of_seen: bool) -> Vec<u64> {
        let counts =
            |truth: &Truth, seen: bool| truth.function == function && (seen || !is_of_seen);
        let counted = self.truths.iter().filter(|(truth, seen)| counts(truth, *seen));
        let mut ns: Vec<u64> = counted.map(|(truth, _)| (truth.end - truth.start) / 2).collect();
        ns.sort_unstable();
        ns
    }
}

fn assert_holds(bounds: Bounds, truth_ns: u64, what: &str) {
    let Bounds { low_ns, high_ns } = bounds;
    assert!(
        low_ns <= truth_ns && high_ns.is_none_or(|high_ns| truth_ns <= high_ns),
        "{what} is {truth_ns} ns, the report says {low_ns} to {high_ns:?} ns"
    );
}

#[test]
fn quantiles_on_a_shared_core_hold_the_truth() {
    let scene = scene(20_000);
    for function in [REQUEST, PLANTED, LOOP] {
        let calls = scene.row(function);
        let [truth, all] = [true, false].map(|is_of_seen| scene.ns(function, is_of_seen));
        assert_eq!((calls.count, calls.left_out), (truth.len() as u64, 0));
        let named = [
            ("p50", 0.5, calls.p50),
            ("p99", 0.99, calls.p99),
            ("p99.9", 0.999, calls.p999),
            ("p99.99", 0.9999, calls.p9999),
            ("max", 1.0, calls.max),
        ];
        for (name, q, bounds) in named {
            let at = |of: &[u64]| of[(q * of.len() as f64).ceil() as usize - 1];
            assert_holds(bounds, at(&truth), &format!("{name} of function {function}"));
            // With those that were not seen it is lower: an upper bound is one of all.
            let upper = Bounds { low_ns: 0, ..bounds };
            assert_holds(upper, at(&all), &format!("{name} of all of function {function}"));
        }
        assert_holds(calls.total, truth.iter().sum(), "the sum");
    }
}

#[test]
fn the_tail_that_touches_gaps_is_told() {
    let scene = scene(20_000);
    let planted = scene.row(PLANTED);
    assert_eq!((planted.count, planted.gap), (20, 20), "all touch a gap");
    for bounds in [planted.p50, planted.p999, planted.max] {
        // Two absences of the scanner are 16 ms together at most.
        assert!(bounds.low_ns > 59_000_000, "{bounds:?}");
        assert_holds(bounds, 76_000_000, "the planted path");
    }
    let request = scene.row(REQUEST).p9999;
    assert!(request.low_ns > 59_000_000, "the requests that took it: {request:?}");
}

/// Where each call that touched a gap was left out, none of a deep recursion was told.
#[test]
fn a_deep_recursion_that_touches_gaps_is_told() {
    const DEEP: u64 = 60_000;
    let end = 1_000_000 + 100_000 * US;
    let looks = looks(end);
    let mut functions = Functions::new(&sample::header());
    functions.add(&sample::second_clock());
    functions.add(&sample::function(LOOP, "nested"));
    // The innermost ends first.
    for depth in (0..DEEP).rev() {
        let (start, end) = (1_000_000 + depth * 20, end - depth * 20);
        let call = seen(&Truth { function: LOOP, start, end }, &looks).expect("a long call");
        functions.add(&Record::Call(Call { depth: depth as u32, ..call }));
    }
    let report = functions.finish(&Ending::Unfinished);
    let nested = report.functions[0].calls;
    assert_eq!((nested.count, nested.left_out), (DEEP, 0));
    assert!(nested.gap > DEEP / 10 * 9, "{} touch a gap", nested.gap);
    assert_holds(nested.max, 100_000_000, "the outermost call");
}
