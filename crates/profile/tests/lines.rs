//! Samples in slow calls, from records to lines.

use crate::sample;
use std::collections::HashMap;
use tailwater_profile::clock::TickRate;
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
    let rate = TickRate { ns_per_tick: 1.0, measured: true };
    let slow = slow.iter().map(|(function, above_ns)| {
        // Function 0 is around all else.
        (FunctionId(*function), Slow { above_ns: *above_ns, is_around: *function == 0 })
    });
    let slow: HashMap<FunctionId, Slow> = slow.collect();
    let mut calls = InCalls::new(&sample::header(), (rate, length_ns), samples(at_ns), slow);
    records.iter().for_each(|record| calls.add(record));
    calls.finish()
}

/// Samples in slow calls for which this function stands.
fn within(found: &InSlowCalls, function: u32) -> u64 {
    let addresses = found.within.get(&FunctionId(function));
    addresses.map_or(0, |addresses| addresses.named(|at| at.to_string()).samples)
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
