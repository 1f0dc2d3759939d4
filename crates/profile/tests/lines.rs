//! Samples in slow calls, from records to lines.

use crate::sample;
use std::collections::HashMap;
use tailwater_profile::clock::TickRate;
use tailwater_profile::functions::Bounds;
use tailwater_profile::lines::{InCalls, InSlowCalls, Slow};
use tailwater_profile::record::{
    Call, CallFlags, Figure, FunctionId, Loss, LossKind, Measured, Record, Sample, Thread, ThreadId,
};
use tailwater_profile::sampled::{Sampled, Samples};

const TID: u32 = 100;

fn thread(id: u32) -> Record {
    Record::Thread(Thread { id: ThreadId(id), tid: TID, name: String::new() })
}

/// A call of function 1, of a nanosecond to the tick.
fn call(thread: u32, generation: u64, (start, end): (u64, u64)) -> Record {
    Record::Call(Call {
        thread: ThreadId(thread),
        function: FunctionId(1),
        parent: None,
        depth: 0,
        generation,
        start,
        start_slack: 2,
        end,
        end_slack: 2,
        flags: CallFlags::default(),
        site: 0,
    })
}

/// Of the thread.
fn of(function: u32, depth: u32, at: (u64, u64)) -> Record {
    let Record::Call(one) = call(0, u64::from(function) + at.0, at) else { unreachable!() };
    Record::Call(Call { function: FunctionId(function), depth, ..one })
}

fn samples(at_ns: &[u64]) -> Samples {
    let mut samples = Samples::default();
    samples.add(&thread(7));
    for at in at_ns {
        let sample = Sample { thread: ThreadId(7), at: *at, address: *at };
        samples.add(&Record::Sample(sample));
    }
    samples.sorted()
}

/// What is found where calls of these functions are slow from so many nanoseconds on. The header's clock reads 1,000 ticks at
/// 500 ns.
fn found(records: &[Record], at_ns: &[u64], slow: &[(u32, u64)]) -> InSlowCalls {
    found_in(10_000, records, at_ns, slow)
}

/// The same of a recording of so many nanoseconds.
fn found_in(length_ns: u64, records: &[Record], at_ns: &[u64], slow: &[(u32, u64)]) -> InSlowCalls {
    let slow: Vec<(u32, u64, u64)> =
        slow.iter().map(|(function, above_ns)| (*function, *above_ns, 0)).collect();
    found_beyond(length_ns, records, samples(at_ns), &slow)
}

/// The same of functions whose calls usually take so long: the last number of each.
fn found_beyond(
    length_ns: u64,
    records: &[Record],
    samples: Samples,
    slow: &[(u32, u64, u64)],
) -> InSlowCalls {
    let rate = TickRate { ns_per_tick: 1.0, measured: true };
    let slow = slow.iter().map(|(function, above_ns, usual_ns)| {
        let usual = Bounds { low_ns: *usual_ns, high_ns: Some(*usual_ns) };
        // Function 0 is around all else.
        (FunctionId(*function), Slow { above_ns: *above_ns, usual, is_around: *function == 0 })
    });
    let slow: HashMap<FunctionId, Slow> = slow.collect();
    let mut calls = InCalls::new(&sample::header(), (rate, length_ns), samples, slow);
    records.iter().for_each(|record| calls.add(record));
    calls.finish()
}

/// Samples in slow calls for which this function stands.
fn within(found: &InSlowCalls, function: u32) -> u64 {
    let of_it = found.within.iter().filter(|one| one.function == FunctionId(function));
    of_it.map(|one| one.addresses.named(|at| at.to_string()).samples).sum()
}

/// What these samples stand for, in microseconds: the bounds of the sum.
fn added_us(found: &InSlowCalls, function: u32) -> (u64, u64) {
    let of_it = found.within.iter().filter(|one| one.function == FunctionId(function));
    let sums = of_it.map(|one| {
        let samples = one.addresses.named(|at| at.to_string()).samples;
        let added = one.added(samples);
        (added.low_ns, added.high_ns.expect("a bound"))
    });
    let (low, high) = sums.fold((0, 0), |(low, high), (more, most)| (low + more, high + most));
    (low / 1_000, high / 1_000)
}

/// So many calls of a function, one after the other, each of that many nanoseconds; of the first ones, samples a millisecond apart or
/// one in the middle.
fn calls_of(
    function: u32,
    (count, took): (u64, u64),
    sampled: u64,
    from: u64,
) -> (Vec<Record>, Vec<u64>) {
    let starts = (0..count).map(|nth| from + nth * 10_000_000);
    let calls = starts.clone().map(|start| of(function, 0, (start, start + took))).collect();
    let per_call = took.div_ceil(1_000_000);
    let middles = starts.take(sampled as usize).flat_map(|start| {
        // 1,000 ticks are 500 ns.
        (0..per_call).map(move |nth| start - 500 + (2 * nth + 1) * took / (2 * per_call))
    });
    (calls, middles.collect())
}

fn of_one(records: &[Record], at_ns: &[u64], above_ns: u64) -> Option<(u64, Sampled)> {
    let mut found = found(records, at_ns, &[(1, above_ns)]);
    let (calls, addresses) = found.itself.remove(&FunctionId(1))?;
    Some((calls, addresses.named(|address| address.to_string())))
}

/// A callee that is always slow has few calls beyond its own percentile; its caller's slow calls have its samples.
#[test]
fn a_sample_counts_once_among_all_if_any_call_around_it_was_slow() {
    let records = [
        thread(0),
        // Function 2 in a slow call of 1, and in one that is not slow; all in function 0.
        of(2, 2, (2_100, 2_900)),
        of(1, 1, (2_000, 3_000)),
        of(2, 2, (4_010, 4_020)),
        of(1, 1, (4_000, 4_100)),
        of(0, 0, (1_000, 9_000)),
    ];
    // In 1 itself, twice in 2, once in the short 2, once in the short 1, once in 0.
    let at_ns = [1_550, 1_700, 1_800, 3_515, 3_550, 6_000];
    let found = found(&records, &at_ns, &[(0, 1), (1, 900), (2, 5_000)]);
    assert_eq!([0, 1, 2].map(|function| within(&found, function)), [0, 1, 2]);
    assert!(!found.itself.contains_key(&FunctionId(2)), "none of its calls is slow");
}

/// A quick call that is interrupted for a sample is one of the slowest of its function for that alone.
#[test]
fn samples_stand_for_time_and_not_for_their_number() {
    let (mut records, mut at_ns) = (vec![thread(0)], vec![]);
    // A thousand quick calls of 20 µs, all with a sample, and ten of 8 ms.
    let quick = calls_of(1, (1_000, 20_000), 1_000, 1_000_000);
    for (calls, middles) in [quick, calls_of(2, (10, 8_000_000), 10, 1 << 34)] {
        records.extend(calls);
        at_ns.extend(middles);
    }
    let slow = [(1, 15_000, 2_000), (2, 1_000_000, 10_000)];
    let found = found_beyond(1 << 36, &records, samples(&at_ns), &slow);
    assert_eq!([1, 2].map(|function| within(&found, function)), [1_000, 80]);
    // A thousand times 18 µs and ten times 7.99 ms, each 4 ns more or less.
    assert_eq!(
        [1, 2].map(|function| added_us(&found, function)),
        [(17_996, 18_004), (79_899, 79_900)]
    );
}

/// Calls shorter than the time between two samples mostly have none.
#[test]
fn few_samples_stand_for_all_slow_calls_of_their_kind() {
    let (calls, middles) = calls_of(1, (1_000, 200_000), 200, 1_000_000);
    let records = [vec![thread(0)], calls].concat();
    let found = found_beyond(1 << 36, &records, samples(&middles), &[(1, 100_000, 10_000)]);
    assert_eq!((within(&found, 1), added_us(&found, 1)), (200, (189_996, 190_004)));
}

#[test]
fn samples_stand_for_no_more_time_than_lies_between_them() {
    // It waits for most of its 9 ms, and is on a core for two samples.
    let records = [thread(0), of(1, 0, (2_000, 9_002_000))];
    let at_ns = [10_000, 5_000_000];
    let slow = [(1, 1_000_000, 10_000)];
    let found = found_beyond(1 << 36, &records, samples(&at_ns), &slow);
    assert_eq!(added_us(&found, 1), (1_996, 2_006), "of 997 in a second, and 10 µs are usual");
    let mut often = samples(&at_ns);
    often.add(&Record::Figure(Figure { what: Measured::SampledEveryNs, value: 250_000 }));
    let found = found_beyond(1 << 36, &records, often, &slow);
    assert_eq!(added_us(&found, 1), (490, 500), "of 4,000 in a second");
}

/// Each line had half of what was added, be it where calls always come to.
#[test]
fn what_is_usual_may_be_at_any_line() {
    // It takes 20 ms for 10, half of it at an address at which it may always be for as long.
    let records = [thread(0), of(1, 0, (1_000_000, 21_000_000))];
    let at_ns: Vec<u64> = (1..=20).map(|nth| nth * 1_000_000).collect();
    let slow = [(1, 11_000_000, 10_000_000)];
    let mut often = samples(&at_ns);
    often.add(&Record::Figure(Figure { what: Measured::SampledEveryNs, value: 1_000_000 }));
    let found = found_beyond(1 << 36, &records, often, &slow);
    let [of_it] = &found.within[..] else { panic!("of one kind: {:?}", found.within) };
    let us = |samples: u64| {
        let Bounds { low_ns, high_ns } = of_it.added(samples);
        (low_ns / 1_000, high_ns.expect("a bound") / 1_000)
    };
    assert_eq!([us(10), us(15), us(20)], [(0, 10_000), (4_999, 10_000), (9_999, 10_000)]);
}

/// It was told to have added 5 ms, where all that was longer than usual may be the wait.
#[test]
fn what_a_slow_call_waited_its_lines_have_not_surely_added() {
    // It takes 13 ms for 5, and is on a core for five samples: as ever, as far as is known.
    let records = [thread(0), of(1, 0, (1_000_000, 14_000_000))];
    let at_ns = [2_000_000, 3_000_000, 4_000_000, 5_000_000, 6_000_000];
    let slow = [(1, 6_000_000, 5_000_000)];
    let found = found_beyond(1 << 36, &records, samples(&at_ns), &slow);
    assert_eq!(added_us(&found, 1), (15, 5_015));
}

/// What is slow each time is slow for none of its own calls, and makes those of its caller slow that come to it.
#[test]
fn a_sample_stands_for_what_the_slowest_call_around_it_took_beyond_the_usual() {
    let records = [
        thread(0),
        // 5 ms as ever, and 10 ns more.
        of(2, 1, (1_010_000, 6_010_010)),
        of(1, 0, (1_000_000, 6_020_000)),
    ];
    let at_ns = [1_500_000, 2_500_000, 3_500_000, 4_500_000, 5_500_000];
    let slow = [(1, 1_000_000, 10_000), (2, 5_000_000, 5_000_000)];
    let found = found_beyond(1 << 36, &records, samples(&at_ns), &slow);
    assert_eq!([1, 2].map(|function| within(&found, function)), [0, 5]);
    assert_eq!(
        added_us(&found, 2),
        (5_005, 5_010),
        "5.01 ms of its caller, for 5.015 ms of samples"
    );
}

#[test]
fn where_it_is_not_known_how_long_a_slow_call_took_nor_is_what_it_added() {
    let Record::Call(one) = of(1, 0, (1_000_000, 9_000_000)) else { unreachable!() };
    // It began up to 3 ms before or after.
    let flags = CallFlags(CallFlags::GAP);
    let vague = Record::Call(Call { start_slack: 3_000_000, flags, ..one });
    let at_ns = [4_500_000, 5_500_000, 6_500_000, 7_500_000, 8_500_000];
    // Each stands for 2 ms at most.
    let mut often = samples(&at_ns);
    often.add(&Record::Figure(Figure { what: Measured::SampledEveryNs, value: 2_000_000 }));
    let slow = [(1, 1_000_000, 10_000)];
    let found = found_beyond(1 << 36, &[thread(0), vague], often, &slow);
    assert_eq!(added_us(&found, 1), (4_989, 10_000));
}

/// A clocked call may be told earlier than what a scanner saw within it, which then has no samples itself.
#[test]
fn samples_of_a_slow_call_that_is_told_late_are_those_of_what_is_around_it() {
    // 3 is clocked, and told before the slow 2 within it.
    let records =
        [thread(0), of(3, 1, (2_000, 4_000)), of(2, 2, (2_500, 3_000)), of(0, 0, (1_000, 9_000))];
    let at_ns = [1_600, 2_100, 2_300, 3_300];
    let found = found(&records, &at_ns, &[(0, 1), (2, 100), (3, 5_000)]);
    assert_eq!([2, 3].map(|function| within(&found, function)), [0, 2], "of 2,500 to 3,000 ticks");
}

/// Nothing is around the outermost call, and still what is within it may come.
#[test]
fn samples_of_an_outermost_call_wait_for_what_is_told_late_within_it() {
    let records = [
        thread(0),
        of(3, 0, (2_000, 4_000)),
        of(2, 1, (2_500, 3_000)),
        of(3, 0, (5_000, 5_500)),
        of(2, 1, (2_000, 4_500)),
    ];
    let found = found(&records, &[1_600, 2_100, 2_300, 3_300], &[(2, 100), (3, 5_000)]);
    assert_eq!(within(&found, 3), 2, "the next outermost call has ended the waiting");
}

/// What ran before a call may have had the time in which it began.
#[test]
fn where_the_scanner_was_away_samples_of_the_ends_are_of_the_slow_call_around() {
    let Record::Call(one) = of(2, 1, (30_000, 40_000)) else { unreachable!() };
    let flags = CallFlags(CallFlags::GAP);
    // It began between 25,000 and 35,000 ticks: 24,500 and 34,500 ns. Its end was seen.
    let vague = Record::Call(Call { start_slack: 5_000, flags, ..one });
    let records = [thread(0), vague, of(1, 0, (20_000, 60_000))];
    let at_ns = [20_600, 25_000, 28_000, 34_000, 36_000, 39_499, 50_000];
    let found = found_in(100_000, &records, &at_ns, &[(1, 30_000), (2, 400)]);
    // Three lie where it began: the slow call around it has them, and not as its own.
    assert_eq!([1, 2].map(|function| within(&found, function)), [5, 2]);
    let own = &found.itself[&FunctionId(1)];
    assert_eq!((own.0, own.1.named(|at| at.to_string()).samples, found.unclear), (1, 2, 0));
    // Where what is around it is not slow, they are nobody's.
    let found = found_in(100_000, &records, &at_ns, &[(2, 400)]);
    assert_eq!((within(&found, 2), found.unclear), (2, 3));
}

/// A call that has timed itself beside one that began unseen is told after it.
#[test]
fn a_clocked_call_has_the_samples_that_the_one_beside_it_left() {
    let Record::Call(one) = of(2, 1, (30_000, 40_000)) else { unreachable!() };
    let vague = Call { start_slack: 5_000, flags: CallFlags(CallFlags::GAP), ..one };
    let records =
        [thread(0), Record::Call(vague), of(3, 1, (26_000, 29_000)), of(1, 0, (20_000, 60_000))];
    let slow = [(1, 30_000), (2, 400), (3, 400)];
    let found = found_in(100_000, &records, &[24_600, 26_500, 27_000, 38_000], &slow);
    assert_eq!([1, 2, 3].map(|function| within(&found, function)), [1, 1, 2]);
}

/// One that begins lower on the stack, and knows when, is not around what ended unseen.
#[test]
fn a_clocked_call_has_its_own_samples_though_a_deeper_one_ended_unseen_then() {
    let Record::Call(one) = of(4, 3, (22_000, 30_000)) else { unreachable!() };
    let vague = Call { end_slack: 5_000, flags: CallFlags(CallFlags::GAP), ..one };
    let records = [thread(0), Record::Call(vague), of(3, 2, (28_000, 40_000))];
    let slow = [(3, 400), (4, 400)];
    let found = found_in(100_000, &records, &[23_000, 28_000, 36_000], &slow);
    assert_eq!([3, 4].map(|function| within(&found, function)), [2, 1]);
}

/// What began after a slow call was made by it, though nobody saw when that began.
#[test]
fn a_slow_call_that_began_unseen_has_what_it_called_then() {
    let Record::Call(one) = of(2, 1, (30_000, 40_000)) else { unreachable!() };
    let vague = Call { start_slack: 5_000, flags: CallFlags(CallFlags::GAP), ..one };
    let Record::Call(callee) = of(3, 2, (27_000, 28_000)) else { unreachable!() };
    let callee = Call { generation: vague.generation + 1, ..callee };
    let records = [thread(0), Record::Call(callee), Record::Call(vague)];
    let slow = [(2, 400), (3, 900_000)];
    let found = found_in(100_000, &records, &[26_700], &slow);
    assert_eq!(within(&found, 3), 1);
}

/// A clocked call deeper than one that ended unseen is told before it, be it within it or after it.
#[test]
fn a_slow_call_that_ended_unseen_has_no_sample_of_what_may_have_come_after_it() {
    let Record::Call(one) = of(2, 1, (22_000, 30_000)) else { unreachable!() };
    let vague = Call { end_slack: 5_000, flags: CallFlags(CallFlags::GAP), ..one };
    let records = [thread(0), of(3, 2, (31_000, 33_000)), Record::Call(vague)];
    let slow = [(2, 400), (3, 900_000)];
    let found = found_in(100_000, &records, &[23_000, 31_500], &slow);
    assert_eq!([2, 3].map(|function| within(&found, function)), [1, 0]);
    assert_eq!(found.unclear, 1, "the one that may be either's");
    // One that began when the slow one was still there, and ended before it could have.
    let records = [thread(0), of(3, 2, (24_000, 33_000)), Record::Call(vague)];
    let found = found_in(100_000, &records, &[23_000, 30_000], &slow);
    assert_eq!([2, 3].map(|function| within(&found, function)), [1, 1]);
    assert_eq!(found.unclear, 0);
}

/// What ran before a slow call that began unseen is no part of it.
#[test]
fn a_slow_call_that_began_unseen_has_no_sample_of_what_was_told_before() {
    let Record::Call(one) = of(2, 1, (30_000, 40_000)) else { unreachable!() };
    let vague = Call { start_slack: 5_000, flags: CallFlags(CallFlags::GAP), ..one };
    let records = [thread(0), of(3, 1, (26_000, 29_000)), Record::Call(vague)];
    let slow = [(2, 400), (3, 900_000)];
    let found = found_in(100_000, &records, &[26_500, 27_000, 38_000], &slow);
    assert_eq!([2, 3].map(|function| within(&found, function)), [1, 0]);
}

#[test]
fn a_call_that_lasts_for_most_of_the_recording_makes_nothing_within_it_slow() {
    let records = [thread(0), of(2, 1, (2_100, 2_900)), of(1, 0, (2_000, 8_000))];
    let found = found(&records, &[1_700, 3_000, 4_000], &[(1, 900)]);
    assert_eq!(found.itself[&FunctionId(1)].0, 1);
    assert_eq!([1, 2].map(|function| within(&found, function)), [2, 0], "its own time is slow");
}

#[test]
fn samples_of_slow_calls_are_counted_and_those_of_others_are_not() {
    let records = [thread(0), call(0, 1, (2_000, 2_100)), call(0, 2, (3_000, 4_000))];
    let (calls, sampled) =
        of_one(&records, &[1_550, 2_600, 2_700, 9_000], 900).expect("a slow call");
    assert_eq!((calls, sampled.samples), (1, 2), "{sampled:?}");
    let of_lines: u64 = sampled.lines.iter().map(|line| line.samples).sum();
    assert_eq!(of_lines, 2);
    assert_eq!(of_one(&records, &[1_550], 2_000), None, "none is that slow");
}

/// The kernel gives a number again once its thread is gone.
#[test]
fn threads_that_had_one_number_after_one_another_have_their_own_samples() {
    let records = [thread(0), call(0, 1, (2_000, 3_000)), thread(1), call(1, 1, (5_000, 6_000))];
    let (calls, sampled) = of_one(&records, &[2_000, 5_000], 900).expect("slow calls");
    assert_eq!((calls, sampled.samples), (2, 2), "{sampled:?}");
}

#[test]
fn what_is_not_in_the_samples_is_told() {
    let mut samples = samples(&[1, 2]);
    let loss = |kind, count| Record::Loss(Loss { thread: None, kind, count });
    samples.add(&loss(LossKind::Events, 3));
    samples.add(&loss(LossKind::Threads, 4));
    samples.add(&Record::Figure(Figure { what: Measured::OutsideKernel, value: 1 }));
    samples.damaged();
    let told = samples.coverage();
    assert_eq!((told.samples, told.lost, told.left_out, told.damaged_parts), (2, 3, 4, 1));
    assert!(told.outside_kernel);
    assert_eq!(samples.between(TID, 2, 2).len(), 1);
    assert!(samples.between(TID + 1, 0, u64::MAX).is_empty());
}
