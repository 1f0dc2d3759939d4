//! Stacks and histories of whole traces.

use crate::sample;
use proptest::prelude::*;
use tailwater_profile::history::History;
use tailwater_profile::record::{Call, MarkKind, Record, ThreadId};
use tailwater_profile::stacks::{Choice, Report, Stacks, Tail};
use tailwater_profile::trace::Ending;

fn call(generation: u64, path: &[u32], start: u64, end: u64) -> Record {
    Record::Call(sample::call_on(generation, path, start, end))
}

/// A thousand requests of 100 ns, of which each hundredth takes 10 µs, in a parser.
fn requests() -> Vec<Record> {
    let names = ["main", "request", "parse"].iter().zip(1..);
    let mut records: Vec<Record> = names.map(|(name, id)| sample::function(id, name)).collect();
    for n in 0..1_000 {
        let (start, generation) = (n * 20_000, 2 + n * 2);
        let parse = if n % 100 == 0 { 9_900 } else { 40 };
        records.push(call(generation + 1, &[1, 2, 3], start + 30, start + 30 + parse));
        records.push(call(generation, &[1, 2], start, start + 60 + parse));
    }
    records.push(call(1, &[1], 0, 20_000_000));
    records
}

fn stacks(records: &[Record], choice: Choice) -> Report {
    let mut stacks = Stacks::new(&sample::header(), choice);
    stacks.add(&sample::second_clock());
    records.iter().for_each(|record| stacks.add(record));
    stacks.finish(&Ending::Unfinished)
}

/// `a;b 12` for each.
fn folded(report: &Report) -> Vec<String> {
    let line = |stack: &tailwater_profile::stacks::Stack| {
        let names = stack.frames.iter().map(|at| report.frames[*at as usize].name.as_str());
        format!("{} {}", names.collect::<Vec<_>>().join(";"), stack.ns)
    };
    report.stacks.iter().map(line).collect()
}

#[test]
fn stacks_have_the_time_of_each_moment_once() {
    let report = stacks(&requests(), Choice::All);
    let parse = 990 * 40 + 10 * 9_900;
    let main = 20_000_000 - parse - 60_000;
    let expected = [
        format!("main {main}"),
        "main;request 60000".to_owned(),
        format!("main;request;parse {parse}"),
    ];
    assert_eq!(folded(&report), expected);
    assert_eq!((report.total_ns, report.calls), (20_000_000, 1));
}

/// The same with times that are known to within so many ns.
fn vaguely(record: Record, slack: u32) -> Record {
    match record {
        Record::Call(call) => {
            Record::Call(Call { start_slack: slack * 2, end_slack: slack * 2, ..call })
        }
        other => other,
    }
}

/// 800 calls of 100 ns, of each of which nothing is known but that it took 200 ns at most.
#[test]
fn calls_shorter_than_their_bounds_take_no_time_that_did_not_pass() {
    let names = ["handle", "f"].iter().zip(1..).map(|(name, id)| sample::function(id, name));
    let mut records: Vec<Record> = names.collect();
    records.extend((0..800).map(|n| call(n + 2, &[1, 2], n * 120, n * 120 + 100)));
    records.push(call(1, &[1], 0, 100_000));
    for slack in [0, 50, 5_000] {
        let vague: Vec<Record> = records.iter().cloned().map(|one| vaguely(one, slack)).collect();
        let report = stacks(&vague, Choice::All);
        assert_eq!(folded(&report), ["handle 20000", "handle;f 80000"], "slack {slack}");
        assert_eq!(report.total_ns, 100_000);
    }
}

#[test]
fn callees_that_seem_longer_than_their_caller_share_its_time() {
    let names = ["handle", "f", "g"].iter().zip(1..).map(|(name, id)| sample::function(id, name));
    let calls = [
        call(2, &[1, 2], 0, 300),
        call(4, &[1, 3, 2], 0, 200),
        call(3, &[1, 3], 300, 400),
        call(1, &[1], 0, 200),
    ];
    let report = stacks(&names.chain(calls).collect::<Vec<_>>(), Choice::All);
    let expected = ["handle 0", "handle;f 150", "handle;g 0", "handle;g;f 50"];
    assert_eq!(folded(&report), expected);
    assert_eq!(report.total_ns, 200);
}

proptest! {
    /// However the clock's rate rounds, and whatever the bounds.
    #[test]
    fn stacks_add_up_to_the_outermost_calls(
        lengths in prop::collection::vec((0..400_u64, 0..400_u64), 1..60),
        slack in 0..1_000_u32,
    ) {
        let mut records: Vec<Record> = (1..3).map(|id| sample::function(id, "f")).collect();
        let mut at = 0;
        for (nth, (itself, callee)) in (0..).zip(&lengths) {
            records.push(call(nth * 2 + 2, &[1, 2], at + itself, at + itself + callee));
            at += itself + callee;
        }
        records.push(call(1, &[1], 0, at));
        let vague: Vec<Record> = records.into_iter().map(|one| vaguely(one, slack)).collect();
        prop_assert_eq!(stacks(&vague, Choice::All).total_ns, at);
    }
}

#[test]
fn of_the_tail_are_the_calls_above_the_percentile_and_what_lies_within_them() {
    for (quantile, calls) in [(None, 1_000), (Some(0.5), 10), (Some(0.99), 10), (Some(0.995), 0)] {
        let mut tail = Tail::new(quantile, |function| function.name == "request");
        requests().iter().for_each(|record| tail.add(record));
        assert_eq!((tail.functions(), tail.calls()), (1, 1_000));
        let report = stacks(&requests(), tail.finish());
        assert_eq!(report.calls, calls, "{quantile:?}");
        if calls == 10 {
            assert_eq!(folded(&report), ["main;request 600", "main;request;parse 99000"]);
        }
    }
}

#[test]
fn of_a_program_that_makes_a_thread_for_each_request_all_are_in_its_stacks() {
    let of = |thread: u32| {
        let own = sample::call_on(1, &[1], 0, 100);
        Record::Call(Call { thread: ThreadId(thread), ..own })
    };
    let records: Vec<Record> = (0..10_000).map(of).collect();
    let report = stacks(&records, Choice::All);
    assert_eq!((report.total_ns, report.calls), (1_000_000, 10_000));
}

#[test]
fn a_chosen_call_within_another_counts_once() {
    let names = ["main", "again"].iter().zip(1..).map(|(name, id)| sample::function(id, name));
    let calls = [call(3, &[1, 2, 2], 10, 40), call(2, &[1, 2], 0, 100), call(1, &[1], 0, 200)];
    let records: Vec<Record> = names.chain(calls).collect();
    let mut tail = Tail::new(None, |function| function.name == "again");
    records.iter().for_each(|record| tail.add(record));
    let report = stacks(&records, tail.finish());
    assert_eq!(folded(&report), ["main;again 70", "main;again;again 30"]);
    assert_eq!(report.calls, 1);
}

#[test]
fn a_history_has_calls_in_the_order_in_which_they_nest() {
    let mut history = History::new(&sample::header());
    history.add(&sample::second_clock());
    let calls = [call(3, &[1, 2, 3], 0, 10), call(2, &[1, 2], 0, 10), call(1, &[1], 0, 50)];
    let names =
        ["main", "request", "parse"].iter().zip(1..).map(|(name, id)| sample::function(id, name));
    names.chain(calls).for_each(|record| history.add(&record));
    history.add(&sample::wait());
    history.add(&sample::mark(MarkKind::Start, 10_020));
    let report = history.finish(&Ending::Unfinished);
    let names: Vec<&str> = report.calls.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(names, ["main", "request", "parse"]);
    assert_eq!((report.calls[0].start_ns, report.calls[0].ns), (4_500, 50));
    assert_eq!((report.waits.len(), report.waits[0].ns), (1, 15_000));
    assert_eq!((report.marks[0].kind, report.marks[0].at_ns), ("start", 4_510));
    assert_eq!((report.threads.len(), report.left_out), (1, 0));
}

#[test]
fn a_history_keeps_the_longest_and_says_what_it_left_out() {
    let mut history = History::new(&sample::header());
    history.add(&sample::second_clock());
    let count = (1 << 20) + 1_000;
    for n in 0..count {
        history.add(&call(
            n + 1,
            &[1],
            n * 100,
            n * 100 + if n % 1_000 == 0 { 90 } else { 10 + n % 2 },
        ));
    }
    let report = history.finish(&Ending::Unfinished);
    assert_eq!((report.calls.len(), report.left_out, report.left_out_max_ns), (1 << 20, 1_000, 10));
    assert!(report.calls.iter().filter(|one| one.ns == 90).count() as u64 == count.div_ceil(1_000));
}

#[test]
fn sizes_leave_the_marks_of_requests_their_room() {
    let mut history = History::new(&sample::header());
    let sizes = (1 << 19) + 7;
    (0..sizes).for_each(|at| history.add(&sample::mark(MarkKind::Size, at)));
    history.add(&sample::mark(MarkKind::Start, sizes));
    let report = history.finish(&Ending::Unfinished);
    assert_eq!(report.marks.iter().filter(|mark| mark.kind == "start").count(), 1);
    assert_eq!((report.marks.len(), report.quality.beyond_bounds), ((1 << 19) + 1, 7));
}
