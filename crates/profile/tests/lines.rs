//! Samples in slow calls, from records to lines.

mod sample;

use std::collections::HashMap;
use tailwater_profile::clock::TickRate;
use tailwater_profile::lines::InCalls;
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

fn samples(at_ns: &[u64]) -> Samples {
    let mut samples = Samples::default();
    samples.add(&thread(7));
    for at in at_ns {
        let sample = Sample { thread: ThreadId(7), at: *at, address: *at };
        samples.add(&Record::Sample(sample));
    }
    samples.sorted()
}

/// Slow calls of function 1, of at least so many nanoseconds, and the samples in them. The header's clock reads 1,000 ticks at
/// 500 ns.
fn found(records: &[Record], at_ns: &[u64], slow_ns: u64) -> Option<(u64, Sampled)> {
    let rate = TickRate { ns_per_tick: 1.0, measured: true };
    let slow = HashMap::from([(FunctionId(1), slow_ns)]);
    let mut calls = InCalls::new(&sample::header(), rate, samples(at_ns), slow);
    records.iter().for_each(|record| calls.add(record));
    let (calls, addresses) = calls.finish().remove(&FunctionId(1))?;
    Some((calls, addresses.named(|address| address.to_string())))
}

#[test]
fn samples_of_slow_calls_are_counted_and_those_of_others_are_not() {
    let records = [thread(0), call(0, 1, (2_000, 2_100)), call(0, 2, (3_000, 4_000))];
    let (calls, sampled) =
        found(&records, &[1_550, 2_600, 2_700, 9_000], 900).expect("a slow call");
    assert_eq!((calls, sampled.samples), (1, 2), "{sampled:?}");
    let of_lines: u64 = sampled.lines.iter().map(|line| line.samples).sum();
    assert_eq!(of_lines, 2);
    assert_eq!(found(&records, &[1_550], 2_000), None, "none is that slow");
}

/// The kernel gives a number again once its thread is gone.
#[test]
fn threads_that_had_one_number_after_one_another_have_their_own_samples() {
    let records = [thread(0), call(0, 1, (2_000, 3_000)), thread(1), call(1, 1, (5_000, 6_000))];
    let (calls, sampled) = found(&records, &[2_000, 5_000], 900).expect("slow calls");
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
