//! Where threads were while they were in slow calls of a function, and in no call within these that was seen.
//!
//! A function's time in itself has no call by which a line could be known. [`InCalls`] reads the trace once more, and counts
//! the samples that fell into that time.
//!
//! Of all functions together, samples stand for time: for what slow calls took beyond the usual. A sample alone would not
//! do. Each takes some microseconds of the call that it interrupts, and so makes the slowest of a function that is quick. By
//! their number such functions would come first.

use crate::clock::TickRate;
use crate::functions::{Bounds, Interval};
use crate::hash::Map;
use crate::names::Names;
use crate::record::{AWAY_US, Call, CallFlags, FunctionId, Record, Ticks};
use crate::sampled::{Addresses, Moment, Samples};
use crate::trace::Header;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// At an end known to within less, the scanner was not away: half of what counts as absence.
const SEEN_NS: u64 = AWAY_US * 1_000 / 2;
/// How far apart samples are where their file does not tell: 997 in a second, which `record` takes when not told otherwise.
const USUAL_EVERY_NS: u64 = 1_000_000_000 / 997;

/// When a function's calls are slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// What they must surely have taken, in nanoseconds.
    pub above_ns: u64,
    /// What its calls usually take: their median lies between these.
    pub usual: Bounds,
    /// What is within them is no slower for that: they last for most of the recording, as `main`, or are too few to tell which is
    /// slow.
    pub is_around: bool,
}

/// Where threads were.
#[derive(Default)]
pub struct InSlowCalls {
    /// By function, how many of its calls were slow, and where threads were in these themselves.
    pub itself: HashMap<FunctionId, (u64, Addresses)>,
    /// In slow calls of whichever function, each sample once.
    pub within: Vec<Weighed>,
    /// Samples of moments when a call began or ended, the scanner was away, and no slow call was under way for certain.
    pub unclear: u64,
}

/// Samples in slow calls of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// The innermost function that was under way, slow or not.
    pub function: FunctionId,
    /// Where threads were.
    pub addresses: Addresses,
    calls: Sum,
    /// From one sample to the next, in nanoseconds.
    every_ns: u64,
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
    /// From one sample of a thread that has a core to the next, in nanoseconds.
    every_ns: u64,
    kinds: BTreeMap<Kind, Sum>,
    settled: Settled,
    found: InSlowCalls,
}

/// By the innermost function and the kind of the slow call: samples that nothing more can lie around.
type Settled = BTreeMap<(FunctionId, Kind), Addresses>;

/// Slow calls of one function that took about as long, so that one of them stands for all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Kind {
    function: FunctionId,
    /// Of two, the greatest that is no more nanoseconds than each surely took.
    power: u32,
}

/// Slow calls of a kind together, those without a sample as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sum {
    beyond: Beyond,
    /// What they took in all: surely, and at most, in nanoseconds.
    took: (u64, u64),
    /// In them, and in what they call.
    samples: u64,
}

/// How much longer than usual, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Beyond {
    low: u64,
    high: u64,
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
    /// Those that belong to ended calls, by time: slow ones may still turn out to lie around them.
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
    /// Of the slow calls around it, which kind took the longest beyond the usual, and how much that surely was.
    slowest: Option<(Kind, u64)>,
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
        let told_ns = samples.coverage().every_ns;
        Self {
            began: (header.clock.ticks, header.clock.raw_ns),
            rate,
            slow,
            half_ns: length_ns / 2,
            samples: samples.into_threads(),
            threads: Map::default(),
            names: Names::default(),
            every_ns: if told_ns == 0 { USUAL_EVERY_NS } else { told_ns },
            kinds: BTreeMap::new(),
            settled: Settled::new(),
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
        let Self { mut threads, mut settled, mut found, kinds, every_ns, .. } = self;
        for thread in threads.values_mut() {
            found.unclear += thread.forget_before(u64::MAX, &mut settled);
        }
        let weighed = settled.into_iter().filter_map(|((function, kind), addresses)| {
            Some(Weighed { function, addresses, calls: *kinds.get(&kind)?, every_ns })
        });
        found.within = weighed.collect();
        found
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
        thread.wait(&claimed, call, &reach);
        if let Some(slow) = slow.filter(|slow| !slow.is_around) {
            // What it called is no slower for it then.
            let is_alone = took_ns > self.half_ns;
            if !is_alone {
                let unclear = thread.unclear_in(&reach.surely);
                thread.wait(&unclear, call, &reach);
            }
            let power = took_ns.checked_ilog2().unwrap_or(0);
            let kind = Kind { function: call.function, power };
            let beyond = slow.beyond(took, self.rate);
            let sum = self.kinds.entry(kind).or_default();
            sum.beyond.add(beyond);
            let most_ns = if took.high == Ticks::MAX { u64::MAX } else { self.rate.ns(took.high) };
            sum.took = (sum.took.0.saturating_add(took_ns), sum.took.1.saturating_add(most_ns));
            sum.samples += thread.count_in(call, &reach, is_alone, (kind, beyond.low));
        }
        if call.depth == 0 {
            // Nothing is around what lies before. Its own stay: a slow call within it may be told later.
            let before_ns = *reach.maybe.start();
            self.found.unclear += thread.forget_before(before_ns, &mut self.settled);
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

impl Slow {
    /// How much longer than usual a call took.
    fn beyond(&self, took: Interval, rate: TickRate) -> Beyond {
        let low = rate.ns(took.low).saturating_sub(self.usual.high_ns.unwrap_or(u64::MAX));
        let high = if took.high == Ticks::MAX {
            u64::MAX
        } else {
            rate.ns(took.high).saturating_sub(self.usual.low_ns)
        };
        Beyond { low, high }
    }
}

impl Beyond {
    const fn add(&mut self, other: Self) {
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }
}

impl Weighed {
    /// For how much of the time that slow calls took beyond the usual so many of its samples stand, those of a line. Samples come
    /// by time on a core. So they are as many as there is time between them, and fewer where the calls waited. Where they are
    /// more, their own interruptions made calls slow, and together they stand for no more than the calls took.
    ///
    /// What is usual may have been at this line, all of it, and all that was waited beyond the usual. So the lower bound is
    /// without either. The upper bound is all of the line's time, unless the calls took less than that beyond the usual.
    #[must_use]
    pub fn added(&self, samples: u64) -> Bounds {
        let Sum { beyond, took: (least_ns, most_ns), samples: all } = self.calls;
        let share = |took_ns: u64| {
            let on_core_ns = took_ns.min(self.every_ns.saturating_mul(all));
            let share = u128::from(on_core_ns) * u128::from(samples) / u128::from(all.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let usual_ns = least_ns.saturating_sub(beyond.low);
        let low_ns = share(least_ns).saturating_sub(usual_ns);
        Bounds { low_ns, high_ns: Some(share(most_ns).min(beyond.high)) }
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
            slowest: None,
        }));
        // Two runs: calls within it have left theirs among them.
        self.waiting[from..].sort_by_key(|one| one.moment.at_ns);
    }

    /// Counts those of a slow call, and unless it is `alone` of calls within it: those that began after it, and before it can
    /// have ended. When the slow call began need not have been seen. Of one that began later it is not known which call made it.
    /// Each is told of the kind of the slow call, and of what that took beyond the usual, if no other around it took more.
    fn count_in(
        &mut self,
        call: &Call,
        reach: &Reach,
        is_alone: bool,
        (kind, beyond_ns): (Kind, u64),
    ) -> u64 {
        let range = range_of(&self.waiting, &reach.maybe, |one| &one.moment);
        let mut taken = 0;
        for one in &mut self.waiting[range] {
            let is_taken = if is_alone {
                (one.function, one.generation) == (call.function, call.generation)
            } else {
                let is_later = one.generation >= call.generation;
                let is_made = is_later && one.began_by_ns <= *reach.surely.end();
                let is_within = is_made || reach.surely.contains(&one.moment.at_ns);
                one.is_unclear |= is_later && !is_within;
                is_within
            };
            if is_taken {
                taken += 1;
                if one.slowest.is_none_or(|(_, most_ns)| most_ns < beyond_ns) {
                    one.slowest = Some((kind, beyond_ns));
                }
            }
        }
        taken
    }

    /// Forgets all that was before an outermost call; samples of slow calls are settled. Answers of how many others it is not known
    /// whose they are.
    fn forget_before(&mut self, at_ns: u64, settled: &mut Settled) -> u64 {
        let waiting = self.waiting.partition_point(|one| one.moment.at_ns < at_ns);
        let mut forgotten = 0;
        for Waiting { moment, function, is_unclear, slowest, .. } in self.waiting.drain(..waiting) {
            match slowest {
                Some((kind, _)) => settled.entry((function, kind)).or_default().add(&[moment]),
                None => forgotten += u64::from(is_unclear),
            }
        }
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
