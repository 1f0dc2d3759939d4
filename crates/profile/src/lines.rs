//! Where threads were while they were in slow calls of a function, and in no call within these that was seen.
//!
//! A function's time in itself has no call by which a line could be known. [`InCalls`] reads the trace once more, and counts
//! the samples that fell into that time.

use crate::clock::TickRate;
use crate::functions::Interval;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Call, CallFlags, FunctionId, Record, Ticks};
use crate::sampled::{Addresses, Moment, Samples};
use crate::trace::Header;
use std::collections::HashMap;

/// When a function's calls are slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// What they must surely have taken, in nanoseconds.
    pub above_ns: u64,
    /// What is within them is no slower for that: they last for most of the recording, as `main`, or are too few to tell which is
    /// slow.
    pub is_around: bool,
}

/// Where threads were.
#[derive(Default)]
pub struct InSlowCalls {
    /// By function, how many of its calls were slow, and where threads were in these themselves.
    pub itself: HashMap<FunctionId, (u64, Addresses)>,
    /// In slow calls of whichever function, each sample once: by the innermost function that was under way, slow or not.
    pub within: HashMap<FunctionId, Addresses>,
    /// Samples of moments when a call began or ended, the scanner was away, and which call was under way is not known.
    pub unclear: u64,
}

/// One more reading of a trace. A sample belongs to the innermost call that was under way, from the middle of its start to
/// that of its end. Of a call that began or ended while the scanner was away, only samples count that lie surely in it: what
/// ran before it may have had the others.
pub struct InCalls {
    began: (Ticks, u64),
    rate: TickRate,
    slow: HashMap<FunctionId, Slow>,
    /// Half of the recording, in nanoseconds: what a longer call calls is no slower for that.
    half_ns: u64,
    /// Those of threads that have not been named yet.
    samples: Map<u32, Vec<Moment>>,
    /// By the kernel's number, which threads have one after the other.
    threads: Map<u32, Thread>,
    names: Names,
    found: InSlowCalls,
}

/// The samples of a thread.
#[derive(Default)]
struct Thread {
    /// Those that no ended call has reached yet, the latest first.
    ahead: Vec<Moment>,
    /// Those that belong to calls that have not ended, by time.
    unclaimed: Vec<Moment>,
    /// Those that belong to ended calls, and lay in no slow one so far, by time.
    waiting: Vec<(Moment, FunctionId)>,
}

impl InCalls {
    /// Begins, for the trace with this header, whose ticks are so long, and which has that length in nanoseconds; `slow` has the
    /// functions whose calls count.
    #[must_use]
    pub fn new(
        header: &Header,
        (rate, length_ns): (TickRate, u64),
        samples: Samples,
        slow: HashMap<FunctionId, Slow>,
    ) -> Self {
        Self {
            began: (header.clock.ticks, header.clock.raw_ns),
            rate,
            slow,
            half_ns: length_ns / 2,
            samples: samples.into_threads(),
            threads: Map::default(),
            names: Names::default(),
            found: InSlowCalls::default(),
        }
    }

    /// Takes the next record of the trace.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        if let Record::Call(call) = record {
            self.call(call);
        }
    }

    /// Concludes.
    #[must_use]
    pub fn finish(self) -> InSlowCalls {
        self.found
    }

    fn call(&mut self, call: &Call) {
        let slacks = match call.flags.has(CallFlags::GAP) {
            true => (u64::from(call.start_slack), u64::from(call.end_slack)),
            false => (0, 0),
        };
        let start_ns = self.raw_ns(call.start.saturating_sub(slacks.0));
        let end_ns = self.raw_ns(call.end.saturating_add(slacks.1));
        let surely = self.raw_ns(call.start.saturating_add(slacks.0))
            ..=self.raw_ns(call.end.saturating_sub(slacks.1));
        let Some(tid) = self.names.tid(call.thread) else { return };
        let samples = &mut self.samples;
        let thread = self.threads.entry(tid).or_insert_with(|| {
            let mut ahead = samples.remove(&tid).unwrap_or_default();
            ahead.reverse();
            Thread { ahead, ..Thread::default() }
        });
        let mut claimed = thread.claim(start_ns, end_ns);
        let among = claimed.len();
        claimed.retain(|moment| surely.contains(&moment.at_ns));
        self.found.unclear += (among - claimed.len()) as u64;
        let took = Interval::of(call);
        let took_ns = self.rate.ns(took.low);
        let is_slow = |slow: &&Slow| !took.is_unknown() && took_ns >= slow.above_ns;
        let slow = self.slow.get(&call.function).filter(is_slow);
        if slow.is_some() {
            let (calls, addresses) = self.found.itself.entry(call.function).or_default();
            *calls += 1;
            addresses.add(&claimed);
        }
        let within = &mut self.found.within;
        match slow.filter(|slow| !slow.is_around) {
            Some(_) if took_ns > self.half_ns => {
                within.entry(call.function).or_default().add(&claimed);
            }
            Some(_) => {
                thread.wait(&claimed, call.function);
                for (moment, function) in thread.waiting_in(start_ns, end_ns) {
                    within.entry(function).or_default().add(&[moment]);
                }
            }
            None => thread.wait(&claimed, call.function),
        }
        if call.depth == 0 {
            // Nothing is around what lies before. Its own stay: a slow call within it may be told later.
            drop(thread.waiting_in(0, start_ns));
        }
    }

    fn raw_ns(&self, ticks: Ticks) -> u64 {
        let (began, raw_ns) = self.began;
        raw_ns.saturating_add(self.rate.ns(ticks.saturating_sub(began)))
    }
}

impl Thread {
    /// Keeps those of an ended call for what is around it.
    fn wait(&mut self, claimed: &[Moment], function: FunctionId) {
        let Some(first) = claimed.first() else { return };
        let from = self.waiting.partition_point(|(moment, _)| moment.at_ns < first.at_ns);
        self.waiting.extend(claimed.iter().map(|moment| (*moment, function)));
        // Two runs: calls within it have left theirs among them.
        self.waiting[from..].sort_by_key(|(moment, _)| moment.at_ns);
    }

    /// Takes those of this time. A clocked call may be told late, so that what came after it may be there.
    fn waiting_in(
        &mut self,
        start_ns: u64,
        end_ns: u64,
    ) -> std::vec::Drain<'_, (Moment, FunctionId)> {
        let from = self.waiting.partition_point(|(moment, _)| moment.at_ns < start_ns);
        let until = self.waiting.partition_point(|(moment, _)| moment.at_ns <= end_ns);
        self.waiting.drain(from..until.max(from))
    }

    /// Takes the samples of a call that has ended. Calls within it ended before, and have taken theirs.
    fn claim(&mut self, start_ns: u64, end_ns: u64) -> Vec<Moment> {
        while let Some(next) = self.ahead.pop_if(|moment| moment.at_ns <= end_ns) {
            self.unclaimed.push(next);
        }
        let from = self.unclaimed.partition_point(|moment| moment.at_ns < start_ns);
        // A clocked call may be told late: what came after its end is not its own.
        let until = self.unclaimed.partition_point(|moment| moment.at_ns <= end_ns);
        self.unclaimed.drain(from..until.max(from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(at: impl Iterator<Item = u64>) -> Thread {
        let mut ahead: Vec<Moment> = at.map(|at_ns| Moment { at_ns, address: at_ns }).collect();
        ahead.reverse();
        Thread { ahead, ..Thread::default() }
    }

    fn claimed(thread: &mut Thread, start: u64, end: u64) -> Vec<u64> {
        thread.claim(start, end).into_iter().map(|moment| moment.at_ns).collect()
    }

    #[test]
    fn a_sample_belongs_to_the_innermost_call() {
        let mut thread = thread(1..=10);
        assert_eq!(claimed(&mut thread, 3, 4), [3, 4]);
        assert_eq!(claimed(&mut thread, 6, 6), [6]);
        assert_eq!(claimed(&mut thread, 2, 8), [2, 5, 7, 8], "around both");
        assert_eq!(claimed(&mut thread, 0, 9), [1, 9]);
        assert_eq!(claimed(&mut thread, 20, 30), [0; 0], "10 lies before it");
        assert_eq!(claimed(&mut thread, 10, 30), [10], "and was not lost");
    }

    proptest! {
        /// Nested calls in the order of their ends: none is given twice, and none is lost.
        #[test]
        fn every_sample_goes_to_one_call(
            mut at in prop::collection::vec(0u64..1000, 0..100),
            cuts in prop::collection::vec((0u64..1000, 0u64..1000), 0..30),
        ) {
            at.sort_unstable();
            let mut calls: Vec<(u64, u64)> =
                cuts.into_iter().map(|(a, b)| (a.min(b), a.max(b))).chain([(0, 1000)]).collect();
            calls.sort_by_key(|(start, end)| (*end, std::cmp::Reverse(*start)));
            let mut thread = thread(at.iter().copied());
            let mut all: Vec<u64> =
                calls.iter().flat_map(|(start, end)| claimed(&mut thread, *start, *end)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, at);
        }
    }
}
