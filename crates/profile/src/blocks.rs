//! How long the calls of each function took in one block of the recording after another.
//!
//! Calls that are near in time are alike: what slows one down slows its neighbours down. So not the calls are compared
//! with those of another trace, as if each told something of its own, but blocks.

use crate::functions::{Interval, Report};
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Call, CallFlags, FunctionId, Record, Ticks};
use crate::trace::Header;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Blocks of a recording, all of one length.
pub const BLOCKS: usize = 20;
/// Functions kept apart; a histogram takes some 10 KB, and each has up to [`BLOCKS`] of them.
const FUNCTIONS_MAX: usize = 2048;
/// Longer calls count as this many ticks, 26 h at 3 GHz.
const LONGEST: u64 = 1 << 48;

/// Blocks in the making, in a second reading of a trace.
pub struct Blocks {
    names: Names,
    ns_per_tick: f64,
    began: Ticks,
    /// Of a block, in ticks.
    length: Ticks,
    /// Calls that are shorter could be missed, in ticks.
    resolution: Ticks,
    functions: Map<FunctionId, Function>,
    beyond: u64,
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
    /// Of these, shorter than the resolution: how many of such are seen depends on the scanner.
    pub short: u64,
    /// Medians in nanoseconds, of blocks with at least eight calls.
    pub p50_ns: Vec<f64>,
    /// 99th percentiles, of blocks with at least a hundred.
    pub p99_ns: Vec<f64>,
}

impl Blocks {
    /// Begins, for the trace with this header, of which `report` is the first reading's. Calls shorter than
    /// `resolution_ns` are counted apart, in nanoseconds.
    #[must_use]
    pub fn new(header: &Header, report: &Report, resolution_ns: u64) -> Self {
        let ns_per_tick = report.rate.ns_per_tick;
        let ticks = |ns: u64| (ns as f64 / ns_per_tick) as Ticks;
        Self {
            names: Names::default(),
            ns_per_tick,
            began: header.clock.ticks,
            length: (ticks(report.length_ns) / BLOCKS as u64).max(1),
            resolution: ticks(resolution_ns),
            functions: Map::default(),
            beyond: 0,
        }
    }

    /// Takes the next record of the second reading.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::Call(call) => self.call(call),
            _ => self.names.add(record),
        }
    }

    /// Calls of functions beyond the bound.
    #[must_use]
    pub const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Concludes: functions by name, demangled. Those of one name are one, since nothing tells them apart in another build.
    #[must_use]
    pub fn finish(self) -> BTreeMap<String, FunctionBlocks> {
        let mut named: BTreeMap<String, Function> = BTreeMap::new();
        for (id, function) in self.functions {
            let one = named.entry(self.names.of(id)).or_insert_with(Function::new);
            one.merge(&function);
        }
        let ns_per_tick = self.ns_per_tick;
        named.into_iter().map(|(name, one)| (name, one.told(ns_per_tick))).collect()
    }

    fn call(&mut self, call: &Call) {
        let took = Interval::of(call);
        let is_cut = call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE);
        if is_cut || took.is_unknown() {
            return;
        }
        if self.functions.len() >= FUNCTIONS_MAX && !self.functions.contains_key(&call.function) {
            self.beyond += 1;
            return;
        }
        let block = (call.end.saturating_sub(self.began) / self.length).min(BLOCKS as u64 - 1);
        let function = self.functions.entry(call.function).or_insert_with(Function::new);
        let took = took.middle().min(LONGEST);
        function.calls += 1;
        function.short += u64::from(took < self.resolution);
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

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.short += other.short;
        for (block, more) in self.blocks.iter_mut().zip(&other.blocks) {
            if let Some(more) = more {
                block.get_or_insert_with(empty).add(more).expect("the histogram grows");
            }
        }
    }

    fn told(&self, ns_per_tick: f64) -> FunctionBlocks {
        let quantiles = |q: f64, least: u64| -> Vec<f64> {
            let blocks = self.blocks.iter().flatten().filter(|block| block.len() >= least);
            blocks.map(|block| middle(block, q) * ns_per_tick).collect()
        };
        FunctionBlocks {
            calls: self.calls,
            short: self.short,
            p50_ns: quantiles(0.5, 8),
            p99_ns: quantiles(0.99, 100),
        }
    }
}

/// A quantile in ticks: the middle of its bucket, which is at most 1 % wide.
fn middle(block: &Histogram<u32>, q: f64) -> f64 {
    let value = block.value_at_quantile(q);
    f64::midpoint(block.lowest_equivalent(value) as f64, block.highest_equivalent(value) as f64)
}
