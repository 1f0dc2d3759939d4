//! Synthetic traces whose truth is known.

use crate::sample;
use proptest::prelude::*;
use std::time::Duration;
use tailwater_profile::record::{
    Call, CallFlags, FunctionId, Gap, Hop, HopKind, Mark, MarkKind, Record, ThreadId, Wait,
    WaitKind,
};
use tailwater_profile::requests::{Report, RequestRow, Requests, State};
use tailwater_profile::trace::Ending;

/// A microsecond at two ticks a nanosecond.
const US: u64 = 2_000;

fn report(records: &[Record], slowest: usize) -> Report {
    let mut first = Requests::new(&sample::header(), slowest);
    first.add(&sample::second_clock());
    records.iter().for_each(|record| first.add(record));
    let mut second = first.finish(&Ending::Unfinished);
    records.iter().for_each(|record| second.add(record));
    second.finish()
}

fn mark(thread: u32, request: u64, kind: MarkKind, us: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(thread), request, kind, at: us * US })
}

fn call(thread: u32, function: u32, depth: u32, us: (u64, u64)) -> Record {
    Record::Call(Call {
        thread: ThreadId(thread),
        function: FunctionId(function),
        parent: None,
        depth,
        generation: 0,
        start: us.0 * US,
        start_slack: 0,
        end: us.1 * US,
        end_slack: 0,
        flags: CallFlags::default(),
        site: 0,
    })
}

fn wait(thread: u32, holder: Option<(u32, u32)>, us: (u64, u64)) -> Record {
    Record::Wait(Wait {
        thread: ThreadId(thread),
        kind: WaitKind::Mutex,
        object: 0x1234,
        start: us.0 * US,
        end: us.1 * US,
        released: us.1 * US,
        holder: holder.map(|(thread, _)| ThreadId(thread)),
        function: Some(FunctionId(1)),
        holder_function: holder.map(|(_, function)| FunctionId(function)),
        holder_site: 0,
        site: 0x40_1234,
    })
}

fn gap(thread: Option<u32>, us: (u64, u64)) -> Record {
    Record::Gap(Gap { thread: thread.map(ThreadId), start: us.0 * US, end: us.1 * US })
}

fn sum(row: &RequestRow) -> u64 {
    let parts = row.parts;
    parts.running_ns + parts.waiting_ns + parts.queued_ns + parts.pending_ns + parts.unknown_ns
}

/// The program of the paper's Fig. 1: requests take a lock that a snapshot thread holds now and then
/// for as long as it copies the map.
#[test]
fn the_snapshot_thread_is_blamed_for_the_slow_request() {
    use MarkKind::{End, Start};
    let mut trace = vec![
        sample::function(1, "_Z14handle_requestv"),
        sample::function(2, "_Z8snapshotv"),
        sample::function(3, "_Z8copy_mapv"),
        sample::thread(0, "requests"),
        sample::thread(1, "snapshot"),
    ];
    for n in 0..100 {
        let start = 1_000 + n * 20;
        trace.push(mark(0, n, Start, start));
        trace.push(mark(0, n, End, start + 10));
    }
    trace.extend([
        mark(0, 100, Start, 5_000),
        wait(0, Some((1, 2)), (5_010, 5_910)),
        call(1, 3, 1, (4_900, 5_800)),
        call(1, 2, 0, (4_890, 5_905)),
        mark(0, 100, End, 5_930),
        call(0, 1, 0, (5_000, 5_930)),
    ]);
    let report = report(&trace, 3);
    assert_eq!((report.count, report.slowest.len()), (101, 3));
    assert_eq!((report.p50_ns / 100, report.p9999_ns), (100, 930_000));
    let slow = &report.slowest[0];
    assert_eq!((slow.request, slow.total_ns), (100, 930_000));
    assert_eq!((slow.parts.waiting_ns, slow.parts.running_ns), (900_000, 30_000));
    assert_eq!(slow.running[0].function, "handle_request()");
    let [wait] = &slow.waits[..] else { panic!("one wait, found {:?}", slow.waits) };
    assert_eq!((wait.kind, wait.ns, wait.site), ("mutex", 900_000, 0x40_1234));
    assert_eq!(wait.function.as_deref(), Some("handle_request()"));
    let held = wait.holder.as_ref().expect("the snapshot thread");
    assert_eq!(held.thread, "snapshot (101)");
    assert_eq!(held.function.as_deref(), Some("snapshot()"));
    let doing: Vec<_> = held.doing.iter().map(|one| (one.function.as_str(), one.ns)).collect();
    assert_eq!(doing, [("copy_map()", 790_000), ("snapshot()", 105_000)]);
}

#[test]
fn threads_that_wait_without_end_add_up_to_no_more_than_there_is() {
    let mark =
        |thread, kind, at| Record::Mark(Mark { thread: ThreadId(thread), request: 1, kind, at });
    let endless = |thread| match wait(thread, None, (0, 1)) {
        Record::Wait(wait) => Record::Wait(Wait { end: u64::MAX, released: u64::MAX, ..wait }),
        _ => unreachable!("a wait"),
    };
    let trace = [
        mark(0, MarkKind::Start, 0),
        mark(1, MarkKind::Start, 0),
        endless(0),
        endless(1),
        mark(0, MarkKind::End, u64::MAX),
        mark(1, MarkKind::End, u64::MAX),
    ];
    let report = report(&trace, 1);
    let [row] = &report.slowest[..] else { panic!("one request") };
    assert_eq!((row.waited_ns, row.parts.waiting_ns), (row.total_ns, row.total_ns));
}

#[test]
fn every_state_has_its_part_in_order() {
    use MarkKind::{Block, End, Enqueue, Start};
    let report = report(
        &[
            mark(0, 1, Start, 100),
            mark(0, 1, Enqueue, 110),
            mark(0, 1, End, 115),
            mark(1, 1, Start, 140),
            gap(None, (150, 160)),
            gap(Some(1), (170, 172)),
            gap(Some(0), (174, 178)),
            // A wait is known from the thread itself, gap or no gap.
            wait(1, None, (155, 165)),
            mark(1, 1, Block, 180),
            mark(1, 1, Start, 190),
            mark(1, 1, End, 200),
        ],
        10,
    );
    let slow = &report.slowest[0];
    let us = |ns: u64| ns / 1_000;
    let parts = slow.parts;
    assert_eq!(us(slow.total_ns), 100);
    assert_eq!(us(parts.queued_ns), 25);
    assert_eq!(us(parts.pending_ns), 10);
    assert_eq!(us(parts.waiting_ns), 10);
    assert_eq!(us(parts.unknown_ns), 7);
    assert_eq!(us(parts.running_ns), 48);
    use State::{Pending, Queued, Running, Unknown, Waiting};
    let steps: Vec<_> =
        slow.steps.iter().map(|step| (us(step.at_ns), us(step.ns), step.state)).collect();
    let expected = [
        (0, 15, Running),
        (15, 25, Queued),
        (40, 10, Running),
        (50, 5, Unknown),
        (55, 10, Waiting),
        (65, 5, Running),
        (70, 2, Unknown),
        (72, 8, Running),
        (80, 10, Pending),
        (90, 10, Running),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn queues_are_told_apart_where_the_program_says_which_they_were() {
    use MarkKind::{Block, End, Enqueue, Start};
    let dequeued = |request, queue, at: u64| {
        let kind = HopKind::Dequeued;
        Record::Hop(Hop { thread: ThreadId(0), request, kind, call: queue, at: at * US })
    };
    let report = report(
        &[
            mark(0, 1, Enqueue, 100),
            mark(0, 1, Start, 120),
            dequeued(1, 0x5000, 120),
            // One that is not told of stands between two that are.
            mark(0, 1, Enqueue, 130),
            mark(0, 1, Block, 130),
            mark(0, 1, Start, 145),
            mark(0, 1, Enqueue, 150),
            mark(0, 1, Block, 150),
            mark(0, 1, Start, 155),
            dequeued(1, 0x6000, 155),
            mark(0, 1, Enqueue, 160),
            mark(0, 1, Block, 160),
            mark(0, 1, Start, 190),
            dequeued(1, 0x5000, 190),
            // Not queued then.
            dequeued(1, 0x7000, 195),
            mark(0, 1, End, 200),
        ],
        10,
    );
    let slow = &report.slowest[0];
    let queues: Vec<_> = slow.queues.iter().map(|one| (one.queue, one.ns / 1_000)).collect();
    assert_eq!((queues, slow.parts.queued_ns / 1_000), (vec![(0x5000, 50), (0x6000, 5)], 70));
    assert_eq!(slow.left_out, 0, "all stays are told");
    // Which of two at once it left first is not known.
    let mixed = [
        mark(0, 1, Enqueue, 100),
        mark(1, 1, Enqueue, 110),
        mark(0, 1, Start, 120),
        dequeued(1, 0x5000, 120),
        mark(1, 1, Start, 130),
        dequeued(1, 0x6000, 130),
        mark(0, 1, End, 140),
        mark(1, 1, End, 140),
    ];
    let mixed = self::report(&mixed, 10);
    let slow = &mixed.slowest[0];
    assert!(slow.queues.is_empty() && slow.left_out == 2, "{:?}", slow.queues);
}

#[test]
fn a_request_waits_only_while_all_its_threads_do() {
    use MarkKind::{EndAll, Start};
    let report = report(
        &[
            mark(0, 1, Start, 0),
            mark(1, 1, Start, 0),
            wait(0, None, (10, 50)),
            wait(1, Some((2, 7)), (40, 80)),
            call(2, 7, 0, (0, 100)),
            mark(0, 1, EndAll, 100),
            mark(0, 2, Start, 300),
        ],
        10,
    );
    let slow = &report.slowest[0];
    assert_eq!((slow.parts.waiting_ns, slow.parts.running_ns), (10_000, 90_000));
    let incomplete = report.incomplete;
    assert_eq!((incomplete.unfinished, incomplete.unfinished_max_ns), (1, 0));
}

proptest! {
    #[test]
    fn the_parts_add_up_whatever_the_marks_say(
        marks in prop::collection::vec((0u32..3, 0u64..4, 0usize..5, 0u64..200), 0..60),
        waits in prop::collection::vec((0u32..3, 0u64..200, 0u64..60), 0..20),
        gaps in prop::collection::vec((prop::option::of(0u32..3), 0u64..200, 0u64..30), 0..10),
        calls in prop::collection::vec((0u32..3, 0u32..5, 0u64..200, 0u64..60), 0..20),
    ) {
        use MarkKind::{Block, End, EndAll, Enqueue, Start};
        let kinds = [Start, Block, End, EndAll, Enqueue];
        let mut trace: Vec<Record> = marks
            .iter()
            .map(|&(thread, request, kind, at)| mark(thread, request, kinds[kind], at))
            .collect();
        trace.extend(waits.iter().map(|&(thread, at, len)| wait(thread, None, (at, at + len))));
        trace.extend(gaps.iter().map(|&(thread, at, len)| gap(thread, (at, at + len))));
        trace.extend(calls.iter().map(|&(one, what, at, len)| call(one, what, what, (at, at + len))));
        let report = report(&trace, 1000);
        prop_assert_eq!(report.count, report.slowest.len() as u64);
        for row in &report.slowest {
            prop_assert_eq!(sum(row), row.total_ns);
            let steps: u64 = row.steps.iter().map(|step| step.ns).sum();
            prop_assert_eq!(steps, row.total_ns, "steps follow one another");
            let running: u64 = row.running.iter().map(|share| share.ns).sum();
            prop_assert!(running <= row.parts.running_ns);
            prop_assert_eq!(row.waits.iter().map(|one| one.ns).sum::<u64>(), row.parts.waiting_ns);
        }
        let lengths: Vec<_> = report.slowest.iter().map(|row| row.total_ns).collect();
        prop_assert!(lengths.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn times_of_day_come_with_the_requests() {
    let report = report(&[mark(0, 1, MarkKind::Start, 500), mark(0, 1, MarkKind::End, 501)], 1);
    let header = sample::header().clock;
    let after = Duration::from_nanos(500_000 - header.ticks / 2).as_nanos() as u64;
    assert_eq!(report.slowest[0].start_ns, after);
    assert_eq!(report.slowest[0].start_real_ns, header.real_ns + after);
}

/// The kernel's account of a request adds up over its threads, so what it is compared with must, too.
#[test]
fn waits_of_two_threads_at_a_time_count_both_beside_the_kernels_account() {
    use MarkKind::{End, Start};
    let trace = [
        sample::thread(0, "one"),
        sample::thread(1, "two"),
        mark(0, 7, Start, 1_000),
        mark(1, 7, Start, 1_000),
        wait(0, None, (1_100, 1_600)),
        wait(1, Some((0, 1)), (1_100, 1_600)),
        mark(0, 7, End, 2_000),
        mark(1, 7, End, 2_000),
    ];
    let row = &report(&trace, 1).slowest[0];
    assert_eq!((row.parts.waiting_ns, row.waited_ns), (500_000, 1_000_000));
    assert_eq!(row.stretches.iter().map(|one| one.to_ns - one.from_ns).sum::<u64>(), 2_000_000);
}
