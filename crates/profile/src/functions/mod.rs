//! Per function and caller: how long calls took, how sure that is, and which locks were behind them.
//!
//! One pass over the records, in memory bounded by the number of functions and threads.

mod interval;
mod spread;
mod locks;
mod contended;
mod holds;
mod sums;
mod nested;
mod together;
mod rows;
mod report;

pub use report::Report;
pub use rows::{
    Bounds, CalleeRow, CallerRow, ContendedRow, Durations, FunctionRow, HoldRow, LockRow, SlowLine,
};
pub use together::Together;

pub(crate) use interval::Interval;
pub(crate) use nested::Threads;
pub(crate) use report::wait_name;
pub(crate) use rows::bounds;
pub(crate) use spread::BoundedDurations;

use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{Call, CallFlags, Figure, Function, FunctionId, Measured, Record, Ticks};
use crate::trace::{Ending, Header, TraceError};
use contended::Contended;
use holds::Holds;
use interval::within_recording;
use locks::Locks;
use report::Gathered;
use std::collections::HashSet;
use together::Set;

/// Pairs of function and caller told apart; calls of further ones are counted as beyond bounds.
const PAIRS_MAX: usize = 16_384;
/// Places in callers told apart; calls from further ones count among those of the pair whose place is unknown.
const PLACES_MAX: usize = 16_384;

/// Statistics in the making.
pub struct Functions {
    clocks: Clocks,
    names: Names,
    quality: Quality,
    slots: Map<(FunctionId, Option<FunctionId>, u16), u32>,
    callers: HashSet<(FunctionId, Option<FunctionId>)>,
    pairs: Vec<Pair>,
    places: usize,
    /// Calls whose place is not told, for want of room.
    unplaced: u64,
    locks: Locks,
    contended: Contended,
    holds: Holds,
    /// What is told of as one.
    set: Option<Set>,
    records: u64,
    beyond: u64,
    began: Ticks,
    /// The last end of a call.
    until: Ticks,
}

/// A function as called from one place.
struct Pair {
    function: FunctionId,
    caller: Option<FunctionId>,
    /// Where that goes on; zero when unknown.
    site: u16,
    spread: BoundedDurations,
    /// The time that its calls took of the recording, those left out and those cut included.
    within: Interval,
    salvaged: u64,
    /// Calls that the program measured itself.
    clocked: u64,
    /// Calls of which the scanner missed the start or the end.
    gap: u64,
    /// Calls whose start or end lies outside the recording.
    partial: u64,
    left_out: LeftOut,
}

/// Calls of whose duration nothing is known: they are in no quantile.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    count: u64,
    /// The most that one of them can have taken of the recording, in ticks.
    longest: Ticks,
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
            callers: HashSet::default(),
            pairs: Vec::new(),
            places: 0,
            unplaced: 0,
            locks: Locks::default(),
            contended: Contended::default(),
            holds: Holds::default(),
            set: None,
            records: 0,
            beyond: 0,
            began: header.clock.ticks,
            until: header.clock.ticks,
        }
    }

    /// Has the functions that `includes` says yes to told of as one, too: see [`Report::together`].
    #[must_use]
    pub fn together(mut self, includes: impl Fn(&Function) -> bool + 'static) -> Self {
        self.set = Some(Set::new(Box::new(includes)));
        self
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Call(call) => self.call(call),
            Record::Wait(wait) => {
                self.locks.wait(wait);
                self.contended.add(wait);
                self.holds.add_wait(wait);
            }
            Record::Hold(hold) => self.holds.add(hold),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Figure(Figure { what: Measured::HoldTicks, value }) => self.holds.asked(*value),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) | Record::Figure(_) => {
                self.quality.add(record);
            }
            Record::Function(_) | Record::Thread(_) | Record::Module(_) => self.names.add(record),
            Record::Counted(_)
            | Record::Mark(_)
            | Record::Hop(_)
            | Record::State(_)
            | Record::Interruption(_)
            | Record::Sample(_) => {}
        }
        if let Some(set) = &mut self.set {
            set.add(record);
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
        self.quality.beyond_bounds = self.beyond + self.names.forgotten();
        self.quality.beyond_bounds += self.set.as_ref().map_or(0, Set::beyond);
        let left_out = [self.locks.beyond(), self.contended.beyond(), self.holds.beyond()];
        let locks_left_out = left_out.into_iter().fold(0, u64::saturating_add);
        self.quality.end(ending, rate);
        report::build(Gathered {
            records: self.records,
            rate,
            quality: self.quality,
            unplaced: self.unplaced,
            locks: self.contended.rows(&self.names, rate),
            holds: self.holds.rows(&self.names, rate),
            locks_left_out,
            together: self.set.map(|set| set.finish(&self.pairs, rate)),
            length: self.until - self.began,
            names: self.names,
            pairs: self.pairs,
            waits: self.locks,
        })
    }

    fn call(&mut self, call: &Call) {
        self.locks.call(call);
        self.until = self.until.max(call.end);
        let Some(pair) = self.pair(call) else {
            self.beyond += 1;
            return;
        };
        pair.add(call);
    }

    fn pair(&mut self, call: &Call) -> Option<&mut Pair> {
        let Call { function, parent, site, .. } = *call;
        let slot = match self.slots.get(&(function, parent, site)) {
            Some(&slot) => slot as usize,
            None => self.new_pair(function, parent, site)?,
        };
        self.pairs.get_mut(slot)
    }

    fn new_pair(
        &mut self,
        function: FunctionId,
        caller: Option<FunctionId>,
        site: u16,
    ) -> Option<usize> {
        if !self.callers.contains(&(function, caller)) {
            if self.callers.len() >= PAIRS_MAX {
                return None;
            }
            self.callers.insert((function, caller));
        }
        let is_beyond = site != 0 && self.places >= PLACES_MAX;
        self.unplaced += u64::from(is_beyond);
        let site = if is_beyond { 0 } else { site };
        if let Some(&known) = self.slots.get(&(function, caller, site)) {
            return Some(known as usize);
        }
        self.places += usize::from(site != 0);
        let slot = self.pairs.len();
        self.slots.insert((function, caller, site), slot as u32);
        self.pairs.push(Pair::new(function, caller, site));
        Some(slot)
    }
}

impl Pair {
    fn new(function: FunctionId, caller: Option<FunctionId>, site: u16) -> Self {
        Self {
            function,
            caller,
            site,
            spread: BoundedDurations::new(),
            within: Interval::NONE,
            salvaged: 0,
            clocked: 0,
            gap: 0,
            partial: 0,
            left_out: LeftOut::default(),
        }
    }

    fn add(&mut self, call: &Call) {
        let duration = Interval::of(call);
        self.within.add(Interval::within(call));
        if duration.is_unknown() {
            self.left_out.add(LeftOut { count: 1, longest: within_recording(call) });
            return;
        }
        let has = |bits| u64::from(call.flags.has(bits));
        self.gap += has(CallFlags::GAP);
        self.partial += has(CallFlags::UNFINISHED | CallFlags::STARTED_BEFORE);
        self.salvaged += has(CallFlags::SALVAGED);
        self.clocked += has(CallFlags::CLOCKED);
        self.spread.add(duration);
    }

    /// Adds the calls of `other`, as if they had come from the same caller.
    fn merge(&mut self, other: &Self) {
        self.spread.merge(&other.spread);
        self.within.add(other.within);
        self.salvaged += other.salvaged;
        self.clocked += other.clocked;
        self.gap += other.gap;
        self.partial += other.partial;
        self.left_out.add(other.left_out);
    }
}

impl LeftOut {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
    }
}
