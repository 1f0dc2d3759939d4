//! How long the calls of each function took in one block after another: parts of a recording, or whole recordings.
//!
//! Calls that are near in time are alike: what slows one down slows its neighbours down. So not the calls are compared
//! with those of another build, as if each told something of its own, but blocks. Parts of one process are alike, too: two
//! processes of one build differ for as long as they live. Where a build was recorded often, a recording is one block.

use crate::clock::TickRate;
use crate::functions::{Interval, Report, Threads};
use crate::hash::Map;
use crate::record::{Call, CallFlags, FunctionId, Record, Ticks};
use crate::trace::Header;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a recording that is compared with one other, all of one length.
pub const BLOCKS: usize = 20;
/// Functions to be read at most; a histogram takes some 10 KB, and each has four of them in up to [`BLOCKS`] blocks.
pub const FUNCTIONS_MAX: usize = 1024;
/// Calls of a block of which there is a median.
const MEDIAN_CALLS: u64 = 8;
/// Calls of a block of which there is a 99th percentile.
const TAIL_CALLS: u64 = 100;
/// Longer calls count as this many ticks, 26 h at 3 GHz.
const LONGEST: u64 = 1 << 48;

/// What a first reading of a trace found, as far as the second needs it.
#[derive(Clone, Debug)]
pub struct First {
    /// How ticks become time.
    pub rate: TickRate,
    /// How long was recorded, in nanoseconds.
    pub length_ns: u64,
    /// All functions with a call.
    pub functions: Vec<Known>,
}

/// A function of a trace.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its number in the trace.
    pub id: FunctionId,
    /// Demangled.
    pub name: String,
    /// Its calls, those of unknown length included.
    pub calls: u64,
}

/// Blocks in the making, in a second reading of a trace.
pub struct Blocks {
    ns_per_tick: f64,
    began: Ticks,
    /// Of a block, in ticks.
    length: Ticks,
    /// Calls that are shorter could be missed, in ticks.
    resolution: Ticks,
    /// Functions of one name have one place.
    places: Map<FunctionId, usize>,
    names: Vec<String>,
    functions: Vec<Function>,
    /// The calls that others may yet turn out to lie around.
    threads: Threads,
}

#[derive(Clone)]
struct Function {
    blocks: Vec<Option<Block>>,
    calls: u64,
    short: u64,
}

/// Durations of calls in ticks.
#[derive(Clone)]
struct Block {
    whole: Histogram<u32>,
    /// Without the calls that were seen within.
    itself: Histogram<u32>,
    /// The least that this may have been, for when looks came.
    itself_low: Histogram<u32>,
    /// The most.
    itself_high: Histogram<u32>,
    /// Of all its calls together.
    calls_within: u64,
}

/// How long a call was in the function itself.
struct Itself {
    middle: Ticks,
    bounds: Interval,
}

/// A function's calls, block by block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionBlocks {
    /// Calls that were seen from their start to their end.
    pub calls: u64,
    /// Of these, shorter than the resolution, or seen by one look alone: how many of such are seen depends on the scanner.
    /// Calls that the program measured itself are not among them.
    pub short: u64,
    /// How long calls took.
    pub whole: Quantiles,
    /// How long of that they were in the function itself, and in calls that were not seen.
    pub itself: Quantiles,
    /// How far the latter is above the least that it may have been, for when looks came: the quantile of the one less that of the
    /// other.
    pub above_least: Quantiles,
    /// How far it is below the most that it may have been.
    pub below_most: Quantiles,
    /// How many calls were seen within one, by the mean of each block with a median. Those that one of them made are not among
    /// them.
    pub calls_within: Vec<f64>,
    /// How many calls the blocks with a 99th percentile have: that of few calls is lower than that of many.
    pub tail_calls: Vec<u64>,
}

/// Quantiles of blocks, in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Quantiles {
    /// Medians, of blocks with at least eight calls.
    pub p50_ns: Vec<f64>,
    /// 99th percentiles, of blocks with at least a hundred.
    pub p99_ns: Vec<f64>,
}

impl First {
    /// Of a trace with this report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let known = report.functions.iter().map(|row| Known {
            id: row.id,
            name: row.name.clone(),
            calls: row.calls.count + row.calls.left_out,
        });
        Self { rate: report.rate, length_ns: report.length_ns, functions: known.collect() }
    }
}

impl Blocks {
    /// Begins, for the trace with this header that is cut into so many parts of one length. Calls shorter than
    /// `resolution_ns` are counted apart, in nanoseconds.
    ///
    /// `names` has the functions to be read, demangled, the first [`FUNCTIONS_MAX`] of which count. Those of one name are
    /// one, since nothing tells them apart in another build.
    #[must_use]
    pub fn new(
        header: &Header,
        first: &First,
        resolution_ns: u64,
        names: &BTreeSet<String>,
        parts: usize,
    ) -> Self {
        let ns_per_tick = first.rate.ns_per_tick;
        let ticks = |ns: u64| (ns as f64 / ns_per_tick) as Ticks;
        let names: Vec<String> = names.iter().take(FUNCTIONS_MAX).cloned().collect();
        let place = |name: &String| names.binary_search(name).ok();
        let known = first.functions.iter();
        let places = known.filter_map(|one| Some((one.id, place(&one.name)?))).collect();
        let parts = parts.max(1);
        Self {
            ns_per_tick,
            began: header.clock.ticks,
            length: (ticks(first.length_ns) / parts as u64).max(1),
            resolution: ticks(resolution_ns),
            places,
            functions: vec![Function::new(parts); names.len()],
            names,
            threads: Threads::default(),
        }
    }

    /// Takes the next record of the second reading.
    pub fn add(&mut self, record: &Record) {
        if let Record::Call(call) = record {
            self.call(call);
        }
    }

    /// Concludes: all functions that were to be read, by name.
    #[must_use]
    pub fn finish(self) -> BTreeMap<String, FunctionBlocks> {
        let told = self.functions.iter().map(|one| one.told(self.ns_per_tick));
        self.names.into_iter().zip(told).collect()
    }

    fn call(&mut self, call: &Call) {
        // Also of calls that do not count: others lie around them.
        let duration = Interval::of(call);
        // `None` on a thread too many. A first reading with a set of functions says how many such calls there are: it has the same
        // bound.
        let Some(within) = self.threads.ended(call, Some(duration)) else { return };
        let is_cut = call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE);
        if is_cut || duration.is_unknown() {
            return;
        }
        let Some(function) =
            self.places.get(&call.function).and_then(|at| self.functions.get_mut(*at))
        else {
            return;
        };
        let last = function.blocks.len() - 1;
        let block = (call.end.saturating_sub(self.began) / self.length).min(last as u64);
        let took = call.length().min(LONGEST);
        function.calls += 1;
        // Without a lower bound it was seen by one look: it may be shorter than the time between two, which the budget
        // makes longer than most are, and others like it were not seen.
        let is_short = took < self.resolution || duration.low == 0;
        function.short += u64::from(is_short && !call.flags.has(CallFlags::CLOCKED));
        let itself = Itself {
            middle: took.saturating_sub(within.length),
            bounds: duration.without(within.time),
        };
        let block = function.blocks[block as usize].get_or_insert_with(Block::new);
        block.add(took, &itself, within.calls);
    }
}

impl Block {
    fn new() -> Self {
        let empty = || Histogram::new(2).expect("two digits are within the library's range");
        let [itself_low, itself_high] = [empty(), empty()];
        Self { whole: empty(), itself: empty(), itself_low, itself_high, calls_within: 0 }
    }

    fn add(&mut self, took: Ticks, itself: &Itself, calls: u64) {
        self.calls_within += calls;
        for (times, ticks) in [
            (&mut self.whole, took),
            (&mut self.itself, itself.middle),
            (&mut self.itself_low, itself.bounds.low),
            (&mut self.itself_high, itself.bounds.high),
        ] {
            times.record(ticks.min(LONGEST)).expect("the histogram grows");
        }
    }
}

impl Function {
    fn new(parts: usize) -> Self {
        Self { blocks: vec![None; parts], calls: 0, short: 0 }
    }

    fn told(&self, ns_per_tick: f64) -> FunctionBlocks {
        let blocks = |least: u64| {
            self.blocks.iter().flatten().filter(move |block| block.whole.len() >= least)
        };
        let quantiles = |of: fn(&Block, f64) -> f64| {
            let told = |q: f64, least: u64| -> Vec<f64> {
                blocks(least).map(|block| of(block, q) * ns_per_tick).collect()
            };
            Quantiles { p50_ns: told(0.5, MEDIAN_CALLS), p99_ns: told(0.99, TAIL_CALLS) }
        };
        let mean = |block: &Block| block.calls_within as f64 / block.whole.len() as f64;
        FunctionBlocks {
            calls: self.calls,
            short: self.short,
            whole: quantiles(|block, q| middle(&block.whole, q)),
            itself: quantiles(|block, q| middle(&block.itself, q)),
            above_least: quantiles(|block, q| {
                middle(&block.itself, q) - lowest(&block.itself_low, q)
            }),
            below_most: quantiles(|block, q| {
                highest(&block.itself_high, q) - middle(&block.itself, q)
            }),
            calls_within: blocks(MEDIAN_CALLS).map(mean).collect(),
            tail_calls: blocks(TAIL_CALLS).map(|block| block.whole.len()).collect(),
        }
    }
}

impl FunctionBlocks {
    /// Adds the blocks of another recording.
    pub fn append(&mut self, other: Self) {
        self.calls += other.calls;
        self.short += other.short;
        self.whole.append(other.whole);
        self.itself.append(other.itself);
        self.above_least.append(other.above_least);
        self.below_most.append(other.below_most);
        self.calls_within.extend(other.calls_within);
        self.tail_calls.extend(other.tail_calls);
    }
}

impl Quantiles {
    fn append(&mut self, other: Self) {
        self.p50_ns.extend(other.p50_ns);
        self.p99_ns.extend(other.p99_ns);
    }
}

/// A quantile in ticks: the middle of its bucket, which is at most 1 % wide.
fn middle(block: &Histogram<u32>, q: f64) -> f64 {
    let value = block.value_at_quantile(q);
    f64::midpoint(block.lowest_equivalent(value) as f64, block.highest_equivalent(value) as f64)
}

/// No quantile is below it: the lower end of its bucket.
fn lowest(block: &Histogram<u32>, q: f64) -> f64 {
    block.lowest_equivalent(block.value_at_quantile(q)) as f64
}

/// Nor above it.
fn highest(block: &Histogram<u32>, q: f64) -> f64 {
    block.highest_equivalent(block.value_at_quantile(q)) as f64
}
