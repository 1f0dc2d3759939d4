//! Nothing above the percentile is missing: what is kept of a trace tells of its slowest requests what the whole tells.

use crate::sample;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_profile::kernel::{Did, Interrupting, Interruption, ThreadState, Waker};
use tailwater_profile::record::{
    Call, CallFlags, Clock, FunctionId, Gap, Looks, Loss, LossKind, Mark, MarkKind, Record,
    ThreadId, Wait, WaitKind,
};
use tailwater_profile::requests::{Report, Requests};
use tailwater_profile::retention::{Found, Gone, Last, Retention};
use tailwater_profile::stacks::MarkedCalls;
use tailwater_profile::trace::Ending;

/// A microsecond at two ticks a nanosecond.
const US: u64 = 2_000;
const MS: u64 = 1_000 * US;
const THREADS: u64 = 8;

/// A request that one thread serves, and where its truth lies.
struct Served {
    thread: u32,
    number: u64,
    start: u64,
    end: u64,
}

fn mark(thread: u32, request: u64, kind: MarkKind, at: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(thread), request, kind, at })
}

fn call(
    thread: u32,
    function: u32,
    depth: u32,
    generation: u64,
    (start, end): (u64, u64),
) -> Record {
    Record::Call(Call {
        thread: ThreadId(thread),
        function: FunctionId(function),
        parent: None,
        depth,
        generation,
        start,
        start_slack: 100,
        end,
        end_slack: 100,
        flags: CallFlags::default(),
        site: 0,
    })
}

/// What is recorded of a request, each with the time at which it is over: it was queued, ran in three functions, waited for
/// a lock that the next thread held, and was handed over for a moment.
fn records_of(one: &Served, nth: u64) -> Vec<(u64, Record)> {
    let Served { thread, number, start, end } = *one;
    let at = |share: u64| start + (end - start) * share / 10;
    let wait = Wait {
        thread: ThreadId(thread),
        kind: WaitKind::Mutex,
        object: 0x1000 + u64::from(thread),
        start: at(3),
        end: at(5),
        released: at(6),
        holder: Some(ThreadId((thread + 1) % THREADS as u32)),
        function: Some(FunctionId(2)),
        holder_function: Some(FunctionId(3)),
        holder_site: 0,
        site: 0,
    };
    let generation = nth * 4;
    vec![
        (at(1), mark(thread, number, MarkKind::Enqueue, start)),
        (at(1), mark(thread, number, MarkKind::Start, at(1))),
        (at(3), call(thread, 3, 2, generation + 3, (at(2), at(3)))),
        (at(6), Record::Wait(wait)),
        (at(7), mark(thread, number, MarkKind::Block, at(7))),
        (at(8), mark(thread, number, MarkKind::Start, at(8))),
        (at(9), call(thread, 2, 1, generation + 2, (at(1), at(9)))),
        (end, mark(thread, number, MarkKind::EndAll, end)),
    ]
}

/// Requests of these lengths in microseconds on eight threads, and what a recorder writes of them: each thread's records in
/// order, one thread after the other every 100 ms. An event loop's call lies around all.
fn trace(lengths: &[u64]) -> (Vec<Served>, Vec<Record>) {
    let mut free = [10 * MS; THREADS as usize];
    let (mut served, mut all): (Vec<Served>, Vec<(u64, u64, Record)>) = (vec![], vec![]);
    for (nth, length) in lengths.iter().enumerate() {
        let thread = nth as u64 % THREADS;
        let start = free[thread as usize];
        let end = start + length * US;
        free[thread as usize] = end + 3 * US;
        // Numbers come again.
        let number = nth as u64 % (4 * THREADS);
        served.push(Served { thread: thread as u32, number, start, end });
        let records = records_of(&served[nth], nth as u64);
        all.extend(records.into_iter().map(|(over, record)| (over, thread, record)));
    }
    let last = *free.iter().max().expect("threads");
    for thread in 0..THREADS {
        all.push((last, thread, call(thread as u32, 1, 0, 1, (5 * MS, last))));
    }
    for nth in 0..last / (7 * MS) {
        let (start, end) = (nth * 7 * MS, nth * 7 * MS + 5 * US);
        all.push((end, THREADS, Record::Gap(Gap { thread: None, start, end })));
    }
    all.sort_by_key(|(over, thread, _)| (over / (100 * MS), *thread, *over));
    let names = (1..4).map(|id| sample::function(id, &format!("f{id}")));
    let names = names.chain((0..THREADS as u32).map(|id| sample::thread(id, "worker")));
    let records = names.chain([sample::second_clock()]).chain(all.into_iter().map(|it| it.2));
    (served, records.collect())
}

/// Both readings.
fn kept_of(records: &[Record], max: usize, quantile: f64) -> (Found, Vec<Record>) {
    let (mut first, mut kept) = (vec![], vec![]);
    let mut retention = Retention::of_slowest(&sample::header(), max);
    for record in records {
        retention.add(record.clone(), |record| first.push(record.clone()));
    }
    let found = retention.finish(quantile, |record| first.push(record.clone()));
    let mut retention = Retention::of_found(&sample::header(), &found);
    for record in first {
        retention.add(record, |record| kept.push(record.clone()));
    }
    retention.finish(quantile, |record| kept.push(record.clone()));
    kept.extend(found.figures());
    (found, kept)
}

fn report(records: &[Record], slowest: usize) -> Report {
    let mut first = Requests::new(&sample::header(), slowest);
    records.iter().for_each(|record| first.add(record));
    let mut second = first.finish(&Ending::Unfinished);
    records.iter().for_each(|record| second.add(record));
    second.finish()
}

/// A record as a key: those of one trace differ.
fn key(record: &Record) -> String {
    format!("{record:?}")
}

/// Of every request above the percentile each record that touches it is kept, and what is said of it is the same.
fn check(lengths: &[u64], max: usize, quantile: f64) -> (usize, usize) {
    let (served, records) = trace(lengths);
    let (found, kept) = kept_of(&records, max, quantile);
    assert_eq!((found.requests, found.incomplete), (lengths.len() as u64, 0));
    let wanted = ((1.0 - quantile) * lengths.len() as f64).floor() as usize;
    let mut longest: Vec<&Served> = served.iter().collect();
    longest.sort_by_key(|one| std::cmp::Reverse(one.end - one.start));
    let has: BTreeSet<String> = kept.iter().map(key).collect();
    for one in &longest[..wanted] {
        let touches = |record: &&Record| match record {
            Record::Call(call) => call.start <= one.end && call.end >= one.start,
            Record::Wait(wait) => wait.start <= one.end && wait.end >= one.start,
            Record::Gap(gap) => gap.start <= one.end && gap.end >= one.start,
            Record::Mark(mark) => {
                mark.request == one.number && (one.start..=one.end).contains(&mark.at)
            }
            _ => false,
        };
        for record in records.iter().filter(touches) {
            assert!(
                has.contains(&key(record)),
                "{record:?} of a request of {}",
                one.end - one.start
            );
        }
    }
    let (whole, part) = (report(&records, wanted), report(&kept, wanted));
    assert_eq!(part.slowest, whole.slowest);
    assert_eq!((part.count, part.incomplete.orphan_marks), (whole.count, 0));
    for (part, whole) in [(part.p50_ns, whole.p50_ns), (part.p999_ns, whole.p999_ns)] {
        assert!(part.abs_diff(whole) <= whole / 50, "{part} for {whole}");
    }
    (records.len(), kept.len())
}

/// Heavy tails: one in two hundred takes a hundred times as long.
fn lengths(count: usize) -> Vec<u64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let one = |_| {
        let length = 200 + draw() % 1_000;
        if draw().is_multiple_of(200) { length * (50 + draw() % 100) } else { length }
    };
    (0..count).map(one).collect()
}

#[test]
fn nothing_above_the_percentile_is_missing_and_most_of_the_rest_is() {
    let (records, kept) = check(&lengths(60_000), 600, 0.999);
    // Sixty requests of some 100 ms on eight threads: most of it is what happened beside them.
    assert!(kept * 4 < records, "kept {kept} of {records}");
}

/// Of fifty requests at p99 the one kept one, and the other found none.
#[test]
fn what_is_kept_above_a_percentile_is_what_flame_graphs_take_for_slow() {
    let different = |count: u64| (1..=count).map(|nth| nth * US).collect::<Vec<u64>>();
    let longest_alike = [different(980), vec![5_000 * US; 20]].concat();
    for (lengths, above) in [
        (different(1), 1),
        (different(50), 1),
        (different(99), 1),
        (different(100), 1),
        (different(101), 2),
        (different(1_000), 10),
        (vec![7 * US; 50], 50),
        (longest_alike, 20),
    ] {
        let (mut at, mut records) = (MS, vec![]);
        for (request, length) in (1..).zip(&lengths) {
            records.push(mark(0, request, MarkKind::Start, at));
            records.push(mark(0, request, MarkKind::End, at + length));
            at += length + US;
        }
        let mut marked = MarkedCalls::new(&sample::header());
        records.iter().for_each(|record| marked.add(record));
        let slow = marked.finish(&Ending::Unfinished, 0.99).slow_requests;
        let (_, kept) = kept_of(&records, 10_000, 0.99);
        let kept = report(&kept, lengths.len()).slowest.len() as u64;
        assert_eq!((kept, slow), (above, above), "of {}", lengths.len());
    }
}

#[test]
fn requests_that_grow_for_ever_are_all_kept_until_the_second_reading() {
    let lengths: Vec<u64> = (0..8_000).map(|nth| 200 + nth / 4).collect();
    check(&lengths, 80, 0.99);
}

#[test]
fn where_the_slowest_are_more_than_are_kept_it_is_said_of_which_all_are_there() {
    let (_, records) = trace(&lengths(4_000));
    let (found, kept) = kept_of(&records, 40, 0.9);
    assert!(found.is_short);
    let part = report(&kept, 40);
    assert_eq!(part.slowest, report(&records, 40).slowest);
}

#[test]
fn marks_that_come_too_late_are_counted() {
    let (_, mut records) = trace(&lengths(40_000));
    // Of a request that was served at the beginning, behind all others.
    records.push(mark(0, 999, MarkKind::Start, 20 * MS));
    records.push(mark(0, 999, MarkKind::EndAll, 900 * MS));
    let (found, _) = kept_of(&records, 10, 0.999);
    assert_eq!(found.incomplete, 1);
}

/// What is handed on for want of room began what never ended, and was one with the next request of that number.
#[test]
fn what_was_begun_for_want_of_room_is_ended() {
    // No second clock comes: a tick is a nanosecond.
    let (second, ms) = (1_000_000_000, 1_000_000);
    let once = |number, from, to| {
        [mark(0, number, MarkKind::Start, from), mark(0, number, MarkKind::EndAll, to)]
    };
    let [start, end] = once(7, 3 * second, 3 * second + 200 * ms);
    // More than are held, within a tenth of a second.
    let crowd = (0..1 << 20).map(|nth| {
        let at = 3 * second + 80 * nth;
        Record::Gap(Gap { thread: None, start: at, end: at + 1 })
    });
    let long = once(1, second, 2 * second);
    let next = once(7, 3 * second + 300 * ms, 3 * second + 301 * ms);
    let records = long.into_iter().chain([start]).chain(crowd).chain([end]).chain(next);
    let mut kept = vec![];
    let mut keep = |record: &Record| {
        if let Record::Mark(mark) = record {
            kept.push((mark.request, mark.kind));
        }
    };
    let mut retention = Retention::of_slowest(&sample::header(), 1);
    records.for_each(|record| retention.add(record, &mut keep));
    retention.finish(0.5, &mut keep);
    let whole = |number| [(number, MarkKind::Start), (number, MarkKind::EndAll)];
    assert_eq!(kept, [whole(1), whole(7)].concat());
}

/// The silent ones among very many that are open are the slow ones: they must not go without a word.
#[test]
fn requests_given_up_as_too_many_were_open_are_counted() {
    let mut retention = Retention::of_slowest(&sample::header(), 100);
    for request in 0..=65_536 {
        retention.add(mark(0, request, MarkKind::Start, MS + request), |_| {});
    }
    let found = retention.finish(0.999, |_| {});
    // The quarter of them, and that at its edge.
    assert_eq!(found.incomplete, 16_385);
}

/// As where a program hangs: what it does goes on to be told.
#[test]
fn how_long_a_request_was_open_is_told_also_where_no_mark_follows() {
    let mut retention = Retention::of_slowest(&sample::header(), 10);
    retention.add(mark(0, 1, MarkKind::Start, 1_000), |_| {});
    // No second clock comes: a tick is a nanosecond.
    let gap = Gap { thread: None, start: 2_000, end: 3_001_000 };
    retention.add(Record::Gap(gap), |_| {});
    let found = retention.finish(0.999, |_| {});
    assert_eq!((found.unfinished, found.unfinished_max_ns), (1, 3_000_000));
}

/// Else it would be open for ever, and all be kept with it.
#[test]
fn a_request_whose_end_was_lost_is_given_up() {
    let (_, mut records) = trace(&lengths(60_000));
    let kept = kept_of(&records, 600, 0.999).1.len();
    let early = records.len() / 8;
    let Some(Record::Mark(at)) =
        records[early..].iter().find(|one| matches!(one, Record::Mark(_))).cloned()
    else {
        panic!("it has marks")
    };
    let loss = Record::Loss(Loss { thread: None, kind: LossKind::Marks, count: 1 });
    // The runtime tells of losses each second: often, here.
    let often = (early..records.len()).step_by(50).rev().collect::<Vec<_>>();
    often.into_iter().for_each(|at| records.insert(at, loss.clone()));
    records.insert(early, mark(0, 9_999, MarkKind::Start, at.at));
    let (found, with_it) = kept_of(&records, 600, 0.999);
    assert_eq!(found.incomplete, 1);
    assert!(with_it.len() < kept * 2, "{} for {kept}", with_it.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_the_lengths(
        lengths in prop::collection::vec(prop_oneof![8 => 200u64..2_000, 1 => 2_000u64..400_000], 200..900),
        max in 20usize..200,
    ) {
        check(&lengths, max, 1.0 - 20.0 / lengths.len() as f64);
    }
}

#[test]
fn a_flight_recorder_keeps_what_ended_within_its_time_whatever_the_order() {
    let mut last = Last::new(&sample::header(), Duration::from_millis(5));
    let mut kept = Vec::new();
    let from = 2_000_000_000;
    let ends = [0, 9, 1, 12, 11, 8, 6].map(|ms| from + ms * MS);
    for (generation, end) in (0..).zip(ends) {
        if generation == 1 {
            last.add(sample::second_clock(), |record| kept.push(record.clone()));
        }
        // In another order by their beginnings.
        let long = call(0, 0, 0, generation, (end - (generation + 1) * 3 * MS, end));
        last.add(long, |record| kept.push(record.clone()));
    }
    assert_eq!(kept, [sample::second_clock()], "a clock is handed on at once");
    let gone = last.finish(|record| kept.push(record.clone()));
    assert_eq!(gone, Gone { old: 3, crowded: 0 });
    let generations = kept.iter().filter_map(|record| match record {
        Record::Call(call) => Some(call.generation),
        _ => None,
    });
    assert_eq!(generations.collect::<Vec<_>>(), [1, 3, 4, 5], "in the order in which they came");
}

/// Whatever the length of the recording: here two thousand times the time that is kept.
#[test]
fn a_flight_recorder_keeps_threads_looks_and_losses_of_its_time_alone() {
    let mut last = Last::new(&sample::header(), Duration::from_millis(5));
    let mut early = Vec::new();
    let from = 2_000_000_000;
    let looks = |id| Looks { thread: ThreadId(id), within: 64, count: 1, ticks: 10 };
    let lost = |thread, count| Record::Loss(Loss { thread, kind: LossKind::Calls, count });
    last.add(sample::second_clock(), |record| early.push(record.clone()));
    for id in 0..10_000 {
        let end = from + u64::from(id) * MS;
        let clock = Clock { ticks: end, raw_ns: end / 2, real_ns: end / 2 };
        let records = [
            sample::thread(id, "brief"),
            call(id, 0, 0, 1, (end - 1, end)),
            Record::Looks(looks(id)),
            lost(Some(ThreadId(id)), 2),
            Record::Clock(clock),
        ];
        records
            .into_iter()
            .for_each(|record| last.add(record, |record| early.push(record.clone())));
    }
    assert_eq!(early, [sample::second_clock()], "the first clock is handed on at once");
    let mut kept = Vec::new();
    last.finish(|record| kept.push(record.clone()));
    let count = |is: fn(&Record) -> bool| kept.iter().filter(|record| is(record)).count();
    let [threads, calls, looks] = [
        count(|record| matches!(record, Record::Thread(_))),
        count(|record| matches!(record, Record::Call(_))),
        count(|record| matches!(record, Record::Looks(_))),
    ];
    assert_eq!([threads, calls, looks], [6; 3], "of the last five milliseconds");
    assert!(matches!(kept[0], Record::Thread(_)), "names come before what uses them");
    assert!(kept.contains(&lost(None, 20_000)), "of the whole recording");
    let last = from + 9_999 * MS;
    assert!(kept.iter().any(|it| matches!(it, Record::Clock(clock) if clock.ticks == last)));
    assert_eq!(kept.len(), 3 * 6 + 2);
}

/// Nothing happened until the end, or what writes stood still: then the clock is as late as the records.
#[test]
fn a_flight_recorder_keeps_no_more_after_a_stall() {
    let (before, after) = (2_000_000_000, 2_000_000_000 + 10_000 * MS);
    let clock = Clock { ticks: after, raw_ns: after / 2, real_ns: after / 2 };
    let early = call(0, 0, 0, 1, (before - MS, before));
    let late = call(0, 0, 0, 2, (after - MS, after));
    for ended in [None, Some(late)] {
        let mut last = Last::new(&sample::header(), Duration::from_millis(5));
        let calls = [early.clone()].into_iter().chain(ended.clone());
        let records = [sample::second_clock()].into_iter().chain(calls);
        records.chain([Record::Clock(clock)]).for_each(|record| last.add(record, |_| {}));
        let mut kept = Vec::new();
        let gone = last.finish(|record| kept.push(record.clone()));
        assert_eq!(gone, Gone { old: 1, crowded: 0 }, "{ended:?}");
        let calls = kept.into_iter().filter(|record| matches!(record, Record::Call(_)));
        assert_eq!(calls.collect::<Vec<_>>(), Vec::from_iter(ended));
    }
}

#[test]
fn a_flight_recorder_keeps_the_kernels_facts_of_its_time_alone() {
    let mut last = Last::new(&sample::header(), Duration::from_millis(5));
    let mut early = Vec::new();
    let from = 2_000_000_000;
    last.add(sample::second_clock(), |record| early.push(record.clone()));
    for id in 0..1_000 {
        let (end, waker) = (from + u64::from(id) * MS, 10_000 + id);
        let did = Did::Asleep { is_uninterruptible: false, woken: Waker::Thread(ThreadId(waker)) };
        let records = [
            sample::thread(id, "sleeper"),
            sample::thread(waker, "waker"),
            Record::State(ThreadState { thread: ThreadId(id), start: end - MS, end, did }),
            Record::Interruption(Interruption {
                thread: ThreadId(id),
                start: end,
                end,
                by: Interrupting::Timer,
            }),
        ];
        let mut keep = |record: &Record| early.push(record.clone());
        records.into_iter().for_each(|record| last.add(record, &mut keep));
    }
    assert_eq!(early, [sample::second_clock()], "no fact is handed on at once");
    let mut kept = Vec::new();
    let gone = last.finish(|record| kept.push(record.clone()));
    assert_eq!(gone, Gone { old: 2 * 994, crowded: 0 });
    let count = |is: fn(&Record) -> bool| kept.iter().filter(|record| is(record)).count();
    let [states, interruptions, threads] = [
        count(|record| matches!(record, Record::State(_))),
        count(|record| matches!(record, Record::Interruption(_))),
        count(|record| matches!(record, Record::Thread(_))),
    ];
    assert_eq!([states, interruptions, threads], [6, 6, 12], "with the names of who woke whom");
}

#[test]
fn an_end_in_the_far_future_makes_no_other_too_old() {
    let from = 2_000_000_000;
    for is_early in [true, false] {
        let mut last = Last::new(&sample::header(), Duration::from_millis(5));
        let bogus = call(0, 0, 0, 9, (from, u64::MAX));
        let clocks = [sample::second_clock()];
        let calls = [call(0, 0, 0, 1, (from - MS, from)), call(0, 0, 0, 2, (from, from + MS))];
        let early = is_early.then(|| bogus.clone());
        let late = (!is_early).then(|| bogus.clone());
        let records = early.into_iter().chain(clocks).chain(late).chain(calls);
        records.for_each(|record| last.add(record, |_| {}));
        let mut kept = 0;
        let gone = last.finish(|_| kept += 1);
        assert_eq!((gone, kept), (Gone { old: 0, crowded: 0 }, 3), "early: {is_early}");
    }
}
