//! What was counted in the calls of functions that time themselves, and in the slow ones among these.

use crate::clock::TickRate;
use crate::record::{Counted, Counter, Counts, FunctionId, Record, Ticks};
use serde::Serialize;
use std::collections::HashMap;

/// A count of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Count {
    /// The counter's name.
    pub counter: &'static str,
    /// How much; of `cpu` in nanoseconds.
    pub count: u64,
}

/// Of each counter.
#[must_use]
pub fn told(counts: &Counts) -> Vec<Count> {
    counts.iter().map(|(counter, count)| Count { counter: counter.name(), count }).collect()
}

/// What was counted in the calls of a function.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CountedCalls {
    /// All of which something was counted.
    pub all: MeanCall,
    /// Those of `above_ns` or more.
    pub slow: MeanCall,
    /// In nanoseconds.
    pub above_ns: u64,
}

/// The mean of some calls.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MeanCall {
    /// How many there are.
    pub calls: u64,
    /// How long one took, in nanoseconds; 0 where there is none.
    pub took_ns: f64,
    /// By counter. One that could not be read in some calls is of the others.
    pub counters: Vec<MeanCount>,
}

/// What a counter counted in a call.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanCount {
    /// The counter's name.
    pub counter: &'static str,
    /// Calls in which it was read.
    pub calls: u64,
    /// The mean of these; of `cpu` in nanoseconds.
    pub mean: f64,
    /// The most in one of them.
    pub max: u64,
}

/// Adds up what a trace tells.
pub struct Counting {
    rate: TickRate,
    above: HashMap<FunctionId, u64>,
    found: HashMap<FunctionId, Sums>,
}

#[derive(Default)]
struct Sums {
    all: Sum,
    slow: Sum,
}

#[derive(Default)]
struct Sum {
    calls: u64,
    ticks: u128,
    counters: [CounterSum; Counter::ALL.len()],
}

#[derive(Clone, Copy, Default)]
struct CounterSum {
    calls: u64,
    total: u128,
    max: u64,
}

impl Counting {
    /// Begins; `above` has how long a slow call of a function takes at least, in nanoseconds. Calls of others do not count.
    #[must_use]
    pub fn new(rate: TickRate, above: HashMap<FunctionId, u64>) -> Self {
        Self { rate, above, found: HashMap::new() }
    }

    /// Takes the next record of a trace.
    pub fn add(&mut self, record: &Record) {
        let Record::Counted(Counted { function, start, end, counts, .. }) = record else { return };
        let Some(above_ns) = self.above.get(function) else { return };
        let took = end.saturating_sub(*start);
        let sums = self.found.entry(*function).or_default();
        sums.all.add(took, counts);
        if self.rate.ns(took) >= *above_ns {
            sums.slow.add(took, counts);
        }
    }

    /// By function.
    #[must_use]
    pub fn finish(self) -> HashMap<FunctionId, CountedCalls> {
        let Self { rate, above, found } = self;
        let row = |(function, sums): (FunctionId, Sums)| {
            let above_ns = above.get(&function).copied().unwrap_or_default();
            let calls =
                CountedCalls { all: sums.all.mean(rate), slow: sums.slow.mean(rate), above_ns };
            (function, calls)
        };
        found.into_iter().map(row).collect()
    }
}

impl Sum {
    fn add(&mut self, took: Ticks, counts: &Counts) {
        self.calls += 1;
        self.ticks += u128::from(took);
        for (counter, count) in counts.iter() {
            let sum = &mut self.counters[counter as usize];
            sum.calls += 1;
            sum.total += u128::from(count);
            sum.max = sum.max.max(count);
        }
    }

    fn mean(&self, rate: TickRate) -> MeanCall {
        let counters = Counter::ALL.into_iter().zip(&self.counters);
        let read = counters.filter(|(_, sum)| sum.calls > 0);
        let mean = |(counter, sum): (Counter, &CounterSum)| MeanCount {
            counter: counter.name(),
            calls: sum.calls,
            mean: sum.total as f64 / sum.calls as f64,
            max: sum.max,
        };
        let ticks = u64::try_from(self.ticks).unwrap_or(u64::MAX);
        MeanCall {
            calls: self.calls,
            took_ns: rate.ns(ticks) as f64 / self.calls.max(1) as f64,
            counters: read.map(mean).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::record::{Clock, Counters, ThreadId};

    fn call(function: u32, took: Ticks, mask: u16, counts: &[u64]) -> Record {
        let mut counts = counts.iter();
        let of = Counters::of_mask(mask).expect("counters");
        Record::Counted(Counted {
            thread: ThreadId(0),
            function: FunctionId(function),
            generation: 1,
            start: 100,
            end: 100 + took,
            counts: Counts::new(of, |_| *counts.next().expect("a count for each")),
        })
    }

    #[test]
    fn slow_calls_are_told_beside_all_and_a_mean_is_of_the_calls_in_which_it_was_read() {
        let rate = Clocks::new(Clock { ticks: 0, raw_ns: 0, real_ns: 0 }).rate();
        let above = HashMap::from([(FunctionId(1), 1_000), (FunctionId(2), 7)]);
        let mut counting = Counting::new(rate, above);
        for (took, mask, counts) in [
            (100, 0b11, [90, 0].as_slice()),
            (300, 0b11, &[210, 2]),
            (999, 0b01, &[600]),
            (5_000, 0b11, &[300, 10]),
        ] {
            counting.add(&call(1, took, mask, counts));
        }
        counting.add(&call(3, 9_000, 1, &[1]));
        let found = counting.finish();
        assert_eq!(
            found.len(),
            1,
            "of the second nothing was counted, and the third is not asked for"
        );
        let CountedCalls { all, slow, above_ns } = &found[&FunctionId(1)];
        assert_eq!((all.calls, slow.calls, *above_ns), (4, 1, 1_000));
        assert_eq!((all.took_ns, slow.took_ns), (6_399.0 / 4.0, 5_000.0));
        let told = |mean: &MeanCall| -> Vec<(&str, u64, f64, u64)> {
            let of = |one: &MeanCount| (one.counter, one.calls, one.mean, one.max);
            mean.counters.iter().map(of).collect()
        };
        assert_eq!(told(all), [("cpu", 4, 300.0, 600), ("faults", 3, 4.0, 10)]);
        assert_eq!(told(slow), [("cpu", 1, 300.0, 300), ("faults", 1, 10.0, 10)]);
    }
}
