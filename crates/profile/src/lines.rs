//! Where threads were while they were in slow calls of a function, and in no call within these that was seen.
//!
//! A function's time in itself has no call by which a line could be known. [`InCalls`] reads the trace once more, and counts
//! the samples that fell into that time.

use crate::clock::TickRate;
use crate::functions::Interval;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{AWAY_US, Call, CallFlags, FunctionId, Record, Ticks};
use crate::sampled::{Addresses, Moment, Samples};
use crate::trace::Header;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// At an end known to within less, the scanner was not away: half of what counts as absence.
const SEEN_NS: u64 = AWAY_US * 1_000 / 2;

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
    /// Samples of moments when a call began or ended, the scanner was away, and no slow call was under way for certain.
    pub unclear: u64,
}

/// One more reading of a trace. A sample belongs to the innermost call that was under way, from the middle of its start to
/// that of its end. Where a call began or ended while the scanner was away, only samples that lie surely in it are its own: what
/// ran before or after it may have had the others. These are of the slow call around it, if there is one.
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

/// When a call was under way, in nanoseconds of the samples' clock.
struct Reach {
    surely: RangeInclusive<u64>,
    maybe: RangeInclusive<u64>,
}

/// Where a call stood on its thread's stack.
#[derive(Clone, Copy)]
struct Frame {
    depth: u32,
    generation: u64,
}

impl Frame {
    /// Whether that call was made within this one: after it, and further up.
    const fn is_around(self, other: Self) -> bool {
        self.generation < other.generation && self.depth < other.depth
    }
}

/// The samples of a thread.
#[derive(Default)]
struct Thread {
    /// Those that no ended call has reached yet, the latest first.
    ahead: Vec<Moment>,
    /// Those that belong to calls that have not ended, by time.
    unclaimed: Vec<Moment>,
    /// Those that this call may have had, by time.
    unclear: Vec<(Moment, Frame)>,
    /// Those that belong to ended calls, and lay in no slow one so far, by time.
    waiting: Vec<Waiting>,
}

/// A sample that belongs to an ended call.
#[derive(Clone, Copy)]
struct Waiting {
    moment: Moment,
    function: FunctionId,
    /// Of the call.
    generation: u64,
    /// When that had begun for certain.
    began_by_ns: u64,
    /// A slow call that ended unseen may have made that call.
    is_unclear: bool,
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
    pub fn finish(mut self) -> InSlowCalls {
        let unclear = self.threads.values_mut().map(|thread| thread.forget_before(u64::MAX));
        self.found.unclear += unclear.sum::<u64>();
        self.found
    }

    fn call(&mut self, call: &Call) {
        let reach = self.reach(call);
        let Some(tid) = self.names.tid(call.thread) else { return };
        let samples = &mut self.samples;
        let thread = self.threads.entry(tid).or_insert_with(|| {
            let mut ahead = samples.remove(&tid).unwrap_or_default();
            ahead.reverse();
            Thread { ahead, ..Thread::default() }
        });
        let frame = Frame { depth: call.depth, generation: call.generation };
        let claimed = thread.claim(&reach, frame);
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
                thread.wait(&claimed, call, &reach);
                for Waiting { moment, function, .. } in thread.waiting_in(&reach, call.generation) {
                    within.entry(function).or_default().add(&[moment]);
                }
                let unclear = thread.unclear_in(&reach.surely);
                within.entry(call.function).or_default().add(&unclear);
            }
            None => thread.wait(&claimed, call, &reach),
        }
        if call.depth == 0 {
            // Nothing is around what lies before. Its own stay: a slow call within it may be told later.
            self.found.unclear += thread.forget_before(*reach.maybe.start());
        }
    }

    /// When it was under way.
    fn reach(&self, call: &Call) -> Reach {
        let middles = (self.raw_ns(call.start), self.raw_ns(call.end));
        let slacks = [call.start_slack, call.end_slack];
        let [start_ns, end_ns] = slacks.map(|slack| {
            let ns = self.rate.ns(u64::from(slack));
            // The flag is of both ends, and one of them may have been seen.
            let is_away = call.flags.has(CallFlags::GAP) && ns >= SEEN_NS;
            if is_away { ns } else { 0 }
        });
        let surely = match slacks.contains(&u32::MAX) {
            // It stands for all that is longer.
            true => RangeInclusive::new(1, 0),
            false => middles.0.saturating_add(start_ns)..=middles.1.saturating_sub(end_ns),
        };
        let maybe = middles.0.saturating_sub(start_ns)..=middles.1.saturating_add(end_ns);
        Reach { surely, maybe }
    }

    fn raw_ns(&self, ticks: Ticks) -> u64 {
        let (began, raw_ns) = self.began;
        raw_ns.saturating_add(self.rate.ns(ticks.saturating_sub(began)))
    }
}

impl Thread {
    /// Keeps those of an ended call for what is around it.
    fn wait(&mut self, claimed: &[Moment], call: &Call, reach: &Reach) {
        let Some(first) = claimed.first() else { return };
        let from = self.waiting.partition_point(|one| one.moment.at_ns < first.at_ns);
        let Call { function, generation, .. } = *call;
        let began_by_ns = *reach.surely.start();
        self.waiting.extend(claimed.iter().map(|moment| Waiting {
            moment: *moment,
            function,
            generation,
            began_by_ns,
            is_unclear: false,
        }));
        // Two runs: calls within it have left theirs among them.
        self.waiting[from..].sort_by_key(|one| one.moment.at_ns);
    }

    /// Takes those of a slow call of this generation, and of calls within it: those that began after it, and before it can have
    /// ended. When the slow call began need not have been seen. Of one that began later it is not known which call made it.
    fn waiting_in(&mut self, reach: &Reach, generation: u64) -> impl Iterator<Item = Waiting> {
        let range = range_of(&self.waiting, &reach.maybe, |one| &one.moment);
        let is_within = move |one: &mut Waiting| {
            let is_later = one.generation >= generation;
            let is_made = is_later && one.began_by_ns <= *reach.surely.end();
            let is_taken = is_made || reach.surely.contains(&one.moment.at_ns);
            one.is_unclear |= is_later && !is_taken;
            is_taken
        };
        self.waiting.extract_if(range, is_within)
    }

    /// Forgets all that was before an outermost call. Answers of how many samples it is not known whose they are.
    fn forget_before(&mut self, at_ns: u64) -> u64 {
        let waiting = self.waiting.partition_point(|one| one.moment.at_ns < at_ns);
        let forgotten = self.waiting.drain(..waiting).filter(|one| one.is_unclear).count() as u64;
        let unclear = self.unclear.partition_point(|(moment, _)| moment.at_ns < at_ns);
        self.unclear.drain(..unclear);
        forgotten + unclear as u64
    }

    /// Takes those of this time that calls within may have had.
    fn unclear_in(&mut self, time: &RangeInclusive<u64>) -> Vec<Moment> {
        let range = range_of(&self.unclear, time, |(moment, _)| moment);
        self.unclear.drain(range).map(|(moment, _)| moment).collect()
    }

    /// Takes the samples of a call that has ended. Calls within it ended before, and have taken theirs.
    fn claim(&mut self, reach: &Reach, frame: Frame) -> Vec<Moment> {
        let Reach { surely, maybe } = reach;
        while let Some(next) = self.ahead.pop_if(|moment| moment.at_ns <= *maybe.end()) {
            self.unclaimed.push(next);
        }
        // A clocked call may be told late: what came after its end is not its own.
        let range = range_of(&self.unclaimed, maybe, |moment| moment);
        let (mut claimed, others): (Vec<_>, Vec<_>) =
            self.unclaimed.drain(range).partition(|moment| surely.contains(&moment.at_ns));
        // What a call before or after it has left. One around that call may have been in it, and not in itself.
        let left = range_of(&self.unclear, surely, |(moment, _)| moment);
        let own = self.unclear.extract_if(left, |(_, of)| !frame.is_around(*of));
        claimed.extend(own.map(|(moment, _)| moment));
        claimed.sort_by_key(|moment| moment.at_ns);
        if let Some(first) = others.first() {
            let from = self.unclear.partition_point(|(moment, _)| moment.at_ns < first.at_ns);
            self.unclear.extend(others.iter().map(|moment| (*moment, frame)));
            self.unclear[from..].sort_by_key(|(moment, _)| moment.at_ns);
        }
        claimed
    }
}

/// Where moments of this time lie in a list by time.
fn range_of<T>(
    list: &[T],
    time: &RangeInclusive<u64>,
    moment: impl Fn(&T) -> &Moment,
) -> std::ops::Range<usize> {
    let from = list.partition_point(|one| moment(one).at_ns < *time.start());
    let until = list.partition_point(|one| moment(one).at_ns <= *time.end());
    from..until.max(from)
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
        let reach = Reach { maybe: start..=end, surely: start..=end };
        let frame = Frame { depth: 0, generation: 0 };
        thread.claim(&reach, frame).into_iter().map(|moment| moment.at_ns).collect()
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
