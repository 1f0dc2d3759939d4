//! Where threads were while they were in slow calls of a function, and in no call within these that was seen.
//!
//! A function's time in itself has no call by which a line could be known. [`InCalls`] reads the trace once more, and counts
//! the samples that fell into that time.
//!
//! Of all functions together, samples stand for time: for what slow calls took beyond the usual. A sample alone would not
//! do. Each takes some microseconds of the call that it interrupts, and so makes the slowest of a function that is quick. By
//! their number such functions would come first.

mod reach;
mod thread;
mod weighed;

pub use weighed::Weighed;

use crate::clock::TickRate;
use crate::functions::{Bounds, Interval};
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Call, FunctionId, Record, Ticks};
use crate::sampled::{Addresses, Moment, Samples};
use crate::trace::Header;
use reach::SampleClock;
use std::collections::{BTreeMap, HashMap};
use thread::{Frame, Thread};
use weighed::{Beyond, Kind, Sum};

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

/// One more reading of a trace. A sample belongs to the innermost call that was under way, from the middle of its start to
/// that of its end. Where a call began or ended while the scanner was away, only samples that lie surely in it are its own: what
/// ran before or after it may have had the others. These are of the slow call around it, if there is one.
pub struct InCalls {
    clock: SampleClock,
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
            clock: SampleClock::new(header, rate),
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
        let reach = self.clock.reach(call);
        let Some(tid) = self.names.tid(call.thread) else { return };
        let samples = &mut self.samples;
        let thread = self.threads.entry(tid).or_insert_with(|| {
            let samples = samples.remove(&tid).unwrap_or_default();
            Thread::of(samples)
        });
        let frame = Frame { depth: call.depth, generation: call.generation };
        let claimed = thread.claim(&reach, frame);
        let took = Interval::of(call);
        let rate = self.clock.rate;
        let took_ns = rate.ns(took.low);
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
            let beyond = slow.beyond(took, rate);
            let most_ns = if took.high == Ticks::MAX { u64::MAX } else { rate.ns(took.high) };
            let samples = thread.count_in(call, &reach, is_alone, (kind, beyond.low));
            self.kinds.entry(kind).or_default().add(beyond, (took_ns, most_ns), samples);
        }
        if call.depth == 0 {
            // Nothing is around what lies before. Its own stay: a slow call within it may be told later.
            let before_ns = *reach.maybe.start();
            self.found.unclear += thread.forget_before(before_ns, &mut self.settled);
        }
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
