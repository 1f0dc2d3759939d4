//! How long the calls of each function took in one block of the recording after another.
//!
//! Calls that are near in time are alike: what slows one down slows its neighbours down. So not the calls are compared
//! with those of another trace, as if each told something of its own, but blocks.

use crate::functions::{Interval, Report};
use crate::hash::Map;
use crate::record::{Call, CallFlags, FunctionId, Record, Ticks};
use crate::trace::Header;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a recording, all of one length.
pub const BLOCKS: usize = 20;
/// Functions to be read at most; a histogram takes some 10 KB, and each has up to [`BLOCKS`] of them.
pub const FUNCTIONS_MAX: usize = 2048;
/// Calls of a block of which there is a 99th percentile.
const TAIL_CALLS: u64 = 100;
/// Longer calls count as this many ticks, 26 h at 3 GHz.
const LONGEST: u64 = 1 << 48;

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
}

#[derive(Clone)]
struct Function {
    blocks: Vec<Option<Histogram<u32>>>,
    calls: u64,
    short: u64,
}

/// A function's calls, block by block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionBlocks {
    /// Calls that were seen from their start to their end.
    pub calls: u64,
    /// Of these, shorter than the resolution, or seen by one look alone: how many of such are seen depends on the scanner.
    pub short: u64,
    /// Medians in nanoseconds, of blocks with at least eight calls.
    pub p50_ns: Vec<f64>,
    /// 99th percentiles, of blocks with at least a hundred.
    pub p99_ns: Vec<f64>,
    /// The median of how many calls these blocks have: the 99th percentile of few calls is lower than that of many.
    pub p99_calls: u64,
}

impl Blocks {
    /// Begins, for the trace with this header, of which `report` is the first reading's. Calls shorter than
    /// `resolution_ns` are counted apart, in nanoseconds.
    ///
    /// `names` has the functions to be read, demangled, the first [`FUNCTIONS_MAX`] of which count. Those of one name are
    /// one, since nothing tells them apart in another build.
    #[must_use]
    pub fn new(
        header: &Header,
        report: &Report,
        resolution_ns: u64,
        names: &BTreeSet<String>,
    ) -> Self {
        let ns_per_tick = report.rate.ns_per_tick;
        let ticks = |ns: u64| (ns as f64 / ns_per_tick) as Ticks;
        let names: Vec<String> = names.iter().take(FUNCTIONS_MAX).cloned().collect();
        let place = |name: &String| names.binary_search(name).ok();
        let rows = report.functions.iter();
        let places = rows.filter_map(|row| Some((row.id, place(&row.name)?))).collect();
        Self {
            ns_per_tick,
            began: header.clock.ticks,
            length: (ticks(report.length_ns) / BLOCKS as u64).max(1),
            resolution: ticks(resolution_ns),
            places,
            functions: vec![Function::new(); names.len()],
            names,
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
        let is_cut = call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE);
        let duration = Interval::of(call);
        if is_cut || duration.is_unknown() {
            return;
        }
        let Some(function) =
            self.places.get(&call.function).and_then(|at| self.functions.get_mut(*at))
        else {
            return;
        };
        let block = (call.end.saturating_sub(self.began) / self.length).min(BLOCKS as u64 - 1);
        let took = call.length().min(LONGEST);
        function.calls += 1;
        // Without a lower bound it was seen by one look: it may be shorter than the time between two, which the budget
        // makes longer than most are, and others like it were not seen.
        function.short += u64::from(took < self.resolution || duration.low == 0);
        let block = function.blocks[block as usize].get_or_insert_with(empty);
        block.record(took).expect("the histogram grows");
    }
}

fn empty() -> Histogram<u32> {
    Histogram::new(2).expect("two digits are within the library's range")
}

impl Function {
    fn new() -> Self {
        Self { blocks: vec![None; BLOCKS], calls: 0, short: 0 }
    }

    fn told(&self, ns_per_tick: f64) -> FunctionBlocks {
        let quantiles = |q: f64, least: u64| -> Vec<f64> {
            let blocks = self.blocks.iter().flatten().filter(|block| block.len() >= least);
            blocks.map(|block| middle(block, q) * ns_per_tick).collect()
        };
        let calls = self.blocks.iter().flatten().map(Histogram::len);
        let mut of_tail: Vec<u64> = calls.filter(|calls| *calls >= TAIL_CALLS).collect();
        of_tail.sort_unstable();
        FunctionBlocks {
            calls: self.calls,
            short: self.short,
            p50_ns: quantiles(0.5, 8),
            p99_ns: quantiles(0.99, TAIL_CALLS),
            p99_calls: of_tail.get(of_tail.len() / 2).copied().unwrap_or(0),
        }
    }
}

/// A quantile in ticks: the middle of its bucket, which is at most 1 % wide.
fn middle(block: &Histogram<u32>, q: f64) -> f64 {
    let value = block.value_at_quantile(q);
    f64::midpoint(block.lowest_equivalent(value) as f64, block.highest_equivalent(value) as f64)
}
