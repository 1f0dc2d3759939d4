//! In which function a thread was when it ended a sleep: found by one more reading of the trace.
//!
//! That names what let go of a lock of any kind, also of one that no wait is recorded of.

use super::account::Woken;
use crate::clock::TickRate;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Call, FunctionId, Record, Ticks};
use crate::trace::Header;

/// The functions in the making.
pub struct Wakers {
    /// By thread: the ends of sleeps, by time, and their places among what was asked for.
    wanted: Map<u32, Vec<(Ticks, usize)>>,
    found: Vec<Option<Found>>,
    names: Names,
}

/// The innermost call so far.
#[derive(Clone, Copy)]
struct Found {
    depth: u32,
    function: FunctionId,
}

impl Wakers {
    /// Begins, for the trace with this header, whose ticks are so long.
    #[must_use]
    pub fn new(header: &Header, rate: TickRate, wanted: &[Woken]) -> Self {
        let clock = header.clock;
        let ticks = |at_ns: u64| {
            let since = at_ns.saturating_sub(clock.raw_ns) as f64 / rate.ns_per_tick;
            clock.ticks.saturating_add(since as u64)
        };
        let mut by_thread: Map<u32, Vec<(Ticks, usize)>> = Map::default();
        for (nth, one) in wanted.iter().enumerate() {
            by_thread.entry(one.tid).or_default().push((ticks(one.at_ns), nth));
        }
        by_thread.values_mut().for_each(|all| all.sort_unstable());
        Self { wanted: by_thread, found: vec![None; wanted.len()], names: Names::default() }
    }

    /// Takes the next record of the trace.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        if let Record::Call(call) = record {
            self.call(call);
        }
    }

    /// The function for each that was asked for, where one is known.
    #[must_use]
    pub fn finish(self) -> Vec<Option<String>> {
        let named = |found: Found| self.names.of(found.function);
        self.found.iter().map(|found| found.map(named)).collect()
    }

    fn call(&mut self, call: &Call) {
        let tid = self.names.tid(call.thread);
        let Some(ends) = tid.and_then(|tid| self.wanted.get(&tid)) else { return };
        let first = ends.partition_point(|(at, _)| *at < call.start);
        for (_, nth) in ends[first..].iter().take_while(|(at, _)| *at <= call.end) {
            let found = &mut self.found[*nth];
            if found.is_none_or(|found| found.depth <= call.depth) {
                *found = Some(Found { depth: call.depth, function: call.function });
            }
        }
    }
}
