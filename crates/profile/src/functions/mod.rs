//! Per function and caller: how long calls took, how sure that is, and which locks were behind them.
//!
//! One pass over the records, in memory bounded by the number of functions and threads.

mod spread;
mod locks;
mod report;

pub use report::{CallerRow, Durations, FunctionRow, LockRow, Quantile, Report};

pub(crate) use report::wait_name;

use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{Call, CallFlags, FunctionId, Record};
use crate::trace::{Ending, Header, TraceError};
use locks::Locks;
use spread::Spread;

/// Pairs of function and caller told apart; calls of further ones are counted as beyond bounds.
const PAIRS_MAX: usize = 16_384;

/// Statistics in the making.
pub struct Functions {
    clocks: Clocks,
    names: Names,
    quality: Quality,
    slots: Map<(FunctionId, Option<FunctionId>), u32>,
    pairs: Vec<Pair>,
    locks: Locks,
    records: u64,
    beyond: u64,
}

/// A function as called by one caller.
struct Pair {
    function: FunctionId,
    caller: Option<FunctionId>,
    spread: Spread,
    salvaged: u64,
    /// Calls that touch a gap, kept out.
    gap: u64,
    /// Calls whose start or end lies outside the recording, kept out, and the longest of them.
    partial: (u64, u64),
}

impl Functions {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            clocks: Clocks::new(header.clock),
            names: Names::default(),
            quality: Quality::default(),
            slots: Map::default(),
            pairs: Vec::new(),
            locks: Locks::default(),
            records: 0,
            beyond: 0,
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Call(call) => self.call(call),
            Record::Wait(wait) => self.locks.wait(wait),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) => self.quality.add(record),
            Record::Function(_) | Record::Thread(_) | Record::Module(_) => self.names.add(record),
            Record::Mark(_) => {}
        }
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.quality.damaged(error);
    }

    /// Concludes with what the reader says of the end.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Report {
        let rate = self.clocks.rate();
        self.quality.beyond_bounds = self.beyond + self.names.forgotten() + self.locks.beyond();
        self.quality.end(ending, rate);
        report::build(self.pairs, self.locks, self.names, rate, self.quality, self.records)
    }

    fn call(&mut self, call: &Call) {
        self.locks.call(call);
        let Some(pair) = self.pair(call.function, call.parent) else {
            self.beyond += 1;
            return;
        };
        let length = call.end.saturating_sub(call.start);
        if call.flags.has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE) {
            pair.partial = (pair.partial.0 + 1, pair.partial.1.max(length));
        } else if call.flags.has(CallFlags::GAP) {
            pair.gap += 1;
        } else {
            pair.salvaged += u64::from(call.flags.has(CallFlags::SALVAGED));
            pair.spread.add(length, u64::from(call.start_slack) + u64::from(call.end_slack));
        }
    }

    fn pair(&mut self, function: FunctionId, caller: Option<FunctionId>) -> Option<&mut Pair> {
        let next = self.pairs.len();
        let slot = match self.slots.get(&(function, caller)) {
            Some(&slot) => slot as usize,
            None if next >= PAIRS_MAX => return None,
            None => {
                self.slots.insert((function, caller), next as u32);
                self.pairs.push(Pair::new(function, caller));
                next
            }
        };
        self.pairs.get_mut(slot)
    }
}

impl Pair {
    fn new(function: FunctionId, caller: Option<FunctionId>) -> Self {
        Self { function, caller, spread: Spread::new(), salvaged: 0, gap: 0, partial: (0, 0) }
    }

    /// Adds the calls of `other`, as if they had come from the same caller.
    fn merge(&mut self, other: &Self) {
        self.spread.merge(&other.spread);
        self.salvaged += other.salvaged;
        self.gap += other.gap;
        let (count, longest) = other.partial;
        self.partial = (self.partial.0 + count, self.partial.1.max(longest));
    }
}
