//! Visits to processors that tell nothing.
//!
//! A processor that has nothing to do tells no event. So nothing says that it can be seen and that no thread of the
//! program is on it. A thread that runs there for a moment brings the switch that does. Where a real-time thread has
//! the processor, such a visit may be late by seconds or for ever. So each is made by a thread of its own that
//! nothing waits for.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A processor is visited when it has been blind for longer than this: one that is at work tells an event by itself.
const PATIENCE_NS: u64 = 5_000_000;
/// Between two visits to a processor: each takes it from what runs there, for some ten microseconds.
const PERIOD_NS: u64 = 1_000_000_000;

/// Visits to all processors: at most one under way to each, and one a second.
#[derive(Default)]
pub(crate) struct Visits {
    all: BTreeMap<u32, Visit>,
}

#[derive(Default)]
struct Visit {
    blind_since_ns: Option<u64>,
    began_ns: Option<u64>,
    is_under_way: Arc<AtomicBool>,
}

impl Visits {
    /// Begins with processors that have been blind for ever.
    pub(crate) fn new(cpus: impl Iterator<Item = u32>) -> Self {
        let blind = || Visit { blind_since_ns: Some(0), ..Visit::default() };
        Self { all: cpus.map(|cpu| (cpu, blind())).collect() }
    }

    /// Has a processor visited if that is due.
    pub(crate) fn look(&mut self, cpu: u32, is_blind: bool, now_ns: u64) {
        if self.is_due(cpu, is_blind, now_ns) {
            let is_under_way = Arc::clone(&self.all.entry(cpu).or_default().is_under_way);
            is_under_way.store(true, Ordering::Relaxed);
            let visitor = std::thread::Builder::new().name("tw-visit".into());
            let over = Arc::clone(&is_under_way);
            let begun = visitor.spawn(move || {
                visit(cpu);
                // Orders nothing: it only says that another visit may begin.
                over.store(false, Ordering::Relaxed);
            });
            if begun.is_err() {
                is_under_way.store(false, Ordering::Relaxed);
            }
        }
    }

    fn is_due(&mut self, cpu: u32, is_blind: bool, now_ns: u64) -> bool {
        let visit = self.all.entry(cpu).or_default();
        if !is_blind {
            visit.blind_since_ns = None;
            return false;
        }
        let since_ns = *visit.blind_since_ns.get_or_insert(now_ns);
        let rested = visit.began_ns.is_none_or(|began| now_ns.saturating_sub(began) >= PERIOD_NS);
        let is_due = rested
            && now_ns.saturating_sub(since_ns) >= PATIENCE_NS
            && !visit.is_under_way.load(Ordering::Relaxed);
        if is_due {
            visit.began_ns = Some(now_ns);
        }
        is_due
    }
}

/// Runs there for a moment. A processor that this process may not use tells of itself with its next event.
fn visit(cpu: u32) {
    if (cpu as usize) < CpuSet::MAX_CPU {
        let mut one = CpuSet::new();
        one.set(cpu as usize);
        let _ = sched_setaffinity(None, &one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_processor_is_visited_when_it_stays_silent_and_once_a_second() {
        let mut visits = Visits::new([0, 1].into_iter());
        assert!(visits.is_due(0, true, 100 * MS), "it was blind from the beginning");
        assert!(!visits.is_due(1, false, 100 * MS), "its program brought an event");
        assert!(!visits.is_due(1, true, 110 * MS), "its next event may come");
        assert!(!visits.is_due(1, false, 120 * MS), "it came");
        assert!(!visits.is_due(1, true, 130 * MS));
        assert!(visits.is_due(1, true, 140 * MS), "it did not");
        assert!(!visits.is_due(0, true, 1_000 * MS), "not twice in a second");
        assert!(visits.is_due(0, true, 1_100 * MS));
    }

    #[test]
    fn a_visit_that_is_late_has_no_second_beside_it() {
        let mut visits = Visits::new([0].into_iter());
        assert!(visits.is_due(0, true, 100 * MS));
        let under_way = Arc::clone(&visits.all[&0].is_under_way);
        under_way.store(true, Ordering::Relaxed);
        assert!(!visits.is_due(0, true, 9_000 * MS), "a real-time thread has the processor");
        under_way.store(false, Ordering::Relaxed);
        assert!(visits.is_due(0, true, 9_001 * MS));
    }
}
