//! How long requests waited in a run queue: made-up marks and states of threads, with known answers.

use crate::sample;
use tailwater_profile::kernel::{After, Did, ThreadState, WaitedBehind};
use tailwater_profile::record::{Figure, Gap, Mark, MarkKind, Measured, Record, ThreadId};
use tailwater_profile::requests::{Requests, RunQueue, RunQueueSums, RunQueueTimes};
use tailwater_profile::tiers::{Joined, Survey};
use tailwater_profile::trace::Ending;

/// A microsecond of the trace, at two ticks a nanosecond.
const TRACE_US: u64 = 2_000;
/// The same of the kernel's file, and of what is told.
const US: u64 = 1_000;

fn mark(thread: u32, request: u64, kind: MarkKind, us: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(thread), request, kind, at: us * TRACE_US })
}

fn state(thread: u32, us: (u64, u64), did: Did) -> Record {
    let (start, end) = (us.0 * US, us.1 * US);
    Record::State(ThreadState { thread: ThreadId(thread), start, end, did })
}

fn running() -> Did {
    Did::Running { cpu: 0 }
}

fn runnable() -> Did {
    Did::Runnable { cpu: 0, after: After::Woken, behind: WaitedBehind::default() }
}

fn run_queue(trace: &[Record], kernel: &[Record]) -> Option<RunQueue> {
    let threads = [sample::thread(0, "loop"), sample::thread(1, "worker")];
    let mut first = Requests::new(&sample::header(), 1).with_every();
    first.add(&sample::second_clock());
    trace.iter().for_each(|record| first.add(record));
    let mut second = first.finish(&Ending::Unfinished);
    threads.iter().chain(trace).for_each(|record| second.add(record));
    let every = second.finish().every.expect("it was asked for");
    let mut times = RunQueueTimes::new(every);
    threads.iter().chain(kernel).for_each(|record| times.add(record));
    times.finish()
}

/// Of a trace with one request.
fn of_one(trace: &[Record], kernel: &[Record]) -> RunQueueSums {
    let found = run_queue(trace, kernel).expect("a request");
    assert_eq!((found.all.requests, found.all), (1, found.slowest));
    found.all
}

#[test]
fn waits_are_told_of_every_request_and_of_the_slowest_apart() {
    use MarkKind::{End, Enqueue, Start};
    let (mut trace, mut kernel) = (Vec::new(), Vec::new());
    let mut told_until = 0;
    for n in 0..200 {
        let at = 1_000 + n * 100;
        // How long it is queued, how long it is worked for, and when its thread waits for a core.
        let (queued, worked, waits) = match n {
            50 | 150 => (40, 40, vec![(10, 35), (50, 60)]),
            100 => (39, 40, vec![(45, 50)]),
            _ => (10, 20, vec![]),
        };
        trace.push(mark(0, n, Enqueue, at));
        trace.push(mark(0, n, Start, at + queued));
        trace.push(mark(0, n, End, at + queued + worked));
        for (from, to) in waits {
            kernel.push(state(0, (told_until, at + from), running()));
            kernel.push(state(0, (at + from, at + to), runnable()));
            told_until = at + to;
        }
        // Between requests its waits are nobody's.
        kernel.push(state(0, (told_until, at + 85), running()));
        kernel.push(state(0, (at + 85, at + 95), runnable()));
        told_until = at + 95;
    }
    kernel.push(state(0, (told_until, 30_000), running()));
    let all = RunQueueSums {
        requests: 200,
        least_ns: 30 * US,
        took_ns: (197 * 30 + 79 + 2 * 80) * US,
        waited_ns: (5 + 2 * 35) * US,
        queued_ns: 2 * 25 * US,
        unknown_ns: 0,
        threadless_ns: 0,
        p50_ns: 0,
        p99_ns: 5 * US,
    };
    let slowest = RunQueueSums {
        requests: 2,
        least_ns: 80 * US,
        took_ns: 2 * 80 * US,
        waited_ns: 2 * 35 * US,
        p50_ns: 35 * US,
        p99_ns: 35 * US,
        ..all
    };
    assert_eq!(
        run_queue(&trace, &kernel),
        Some(RunQueue { all, slowest, left_out: 0, states_left_out: 0 })
    );
}

#[test]
fn while_no_thread_has_a_request_no_wait_is_its_own() {
    use MarkKind::{Block, End, EndAll, Enqueue, Start};
    let handed_over =
        [mark(0, 1, Start, 10), mark(0, 1, Block, 20), mark(1, 1, Start, 60), mark(1, 1, End, 70)];
    let kernel = [
        state(0, (0, 15), running()),
        state(0, (15, 18), runnable()),
        state(0, (18, 30), running()),
        state(0, (30, 50), runnable()),
        state(1, (0, 65), Did::Unknown),
        state(1, (65, 70), runnable()),
        // An event of that time came too late.
        Record::Gap(Gap { thread: None, start: 66 * US, end: 68 * US }),
    ];
    let found = of_one(&handed_over, &kernel);
    assert_eq!((found.took_ns, found.threadless_ns), (60 * US, 40 * US));
    assert_eq!((found.waited_ns, found.queued_ns), ((3 + 3) * US, 0));
    assert_eq!(found.unknown_ns, (5 + 2) * US);
    // It is shed from its queue: no thread took it up.
    let shed = [mark(0, 1, Enqueue, 10), mark(0, 1, EndAll, 50)];
    let found = of_one(&shed, &[state(0, (0, 100), runnable())]);
    assert_eq!((found.waited_ns, found.unknown_ns, found.threadless_ns), (0, 0, 40 * US));
}

#[test]
fn what_is_queued_waits_with_the_thread_that_takes_it_up() {
    use MarkKind::{End, Enqueue, Start};
    // The loop hands it to a worker, and waits for a core itself afterwards.
    let handed_over = [
        mark(0, 1, Start, 10),
        mark(0, 1, Enqueue, 15),
        mark(0, 1, End, 20),
        mark(1, 1, Start, 50),
        mark(1, 1, End, 60),
    ];
    let kernel = [
        state(0, (0, 30), running()),
        state(0, (30, 90), runnable()),
        state(1, (0, 40), running()),
        state(1, (40, 50), runnable()),
        state(1, (50, 90), running()),
    ];
    let found = of_one(&handed_over, &kernel);
    assert_eq!((found.took_ns, found.threadless_ns), (50 * US, 0));
    assert_eq!((found.waited_ns, found.queued_ns), (10 * US, 10 * US));
}

#[test]
fn a_moment_counts_once_however_many_threads_wait_in_it() {
    use MarkKind::{End, Start};
    let trace =
        [mark(0, 1, Start, 10), mark(1, 1, Start, 10), mark(0, 1, End, 110), mark(1, 1, End, 110)];
    let kernel = [
        state(0, (0, 30), running()),
        state(0, (30, 50), runnable()),
        state(0, (50, 200), running()),
        state(1, (0, 40), running()),
        state(1, (40, 70), runnable()),
        state(1, (70, 200), running()),
    ];
    let found = of_one(&trace, &kernel);
    assert_eq!((found.took_ns, found.waited_ns, found.threadless_ns), (100 * US, 40 * US, 0));
}

#[test]
fn of_a_kept_part_and_of_nothing_nothing_is_told() {
    assert_eq!(run_queue(&[], &[]), None);
    let every = |figure: Option<Record>| {
        let mut first = Requests::new(&sample::header(), 1).with_every();
        let marks = [mark(0, 1, MarkKind::Start, 10), mark(0, 1, MarkKind::End, 20)];
        marks.iter().chain(&figure).for_each(|record| first.add(record));
        first.finish(&Ending::Unfinished).finish().every
    };
    assert!(every(None).is_some());
    let kept = Record::Figure(Figure { what: Measured::Requests, value: 1_000 });
    assert!(every(Some(kept)).is_none(), "its requests are the slowest of a thousand");
}

/// With the whole room for each, 32 of them would take 13 GB.
#[test]
fn traces_that_are_read_together_share_the_room() {
    use MarkKind::{End, Start};
    let span = |n: u64| [mark(0, n, Start, n * 100), mark(0, n, End, n * 100 + 20)];
    let trace: Vec<Record> = (1..=3).flat_map(span).collect();
    let kernel = [
        state(0, (0, 105), running()),
        state(0, (105, 110), runnable()),
        state(0, (110, 900), running()),
    ];
    let thread = [sample::thread(0, "loop")];
    let found = |among: usize, figure: Option<Record>| -> Option<RunQueue> {
        let mut survey = Survey::new("loop", &sample::header()).with_every(among);
        survey.add(&sample::second_clock());
        trace.iter().chain(&figure).for_each(|record| survey.add(record));
        let tier = survey.finish(&Ending::Unfinished).expect("two clock readings");
        let joined = Joined::new(vec![tier], 1);
        let mut review = joined.review(0);
        thread.iter().chain(&trace).for_each(|record| review.add(record));
        let every = joined.finish(vec![review]).traces.remove(0).every?;
        let mut times = RunQueueTimes::new(every);
        thread.iter().chain(&kernel).for_each(|record| times.add(record));
        times.finish()
    };
    let whole = found(1, None).expect("three requests");
    assert_eq!((whole.all.requests, whole.all.waited_ns, whole.left_out), (3, 5 * US, 0));
    // There is room for a part of each.
    let one = found(1 << 20, None).expect("a request");
    assert_eq!((one.all.requests, one.all.waited_ns, one.left_out), (1, 5 * US, 2));
    let kept = Record::Figure(Figure { what: Measured::Requests, value: 1_000 });
    assert_eq!(found(1, Some(kept)), None, "its requests are the slowest of a thousand");
}
