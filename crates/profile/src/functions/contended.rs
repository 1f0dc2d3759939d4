//! Which locks were waited for the longest in all, whoever waited.

use super::report::wait_name;
use super::rows::ContendedRow;
use crate::clock::TickRate;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Ticks, Wait, WaitKind};
use std::cmp::Reverse;

/// Locks told apart; waits for further ones are counted as beyond bounds.
const LOCKS_MAX: usize = 65_536;

/// Waits by lock.
#[derive(Default)]
pub(super) struct Contended {
    locks: Map<u64, Sum>,
    beyond: u64,
}

struct Sum {
    waits: u64,
    total: Ticks,
    longest: Wait,
}

impl Contended {
    /// Waits for a signal or for a thread's end are none for a lock.
    pub(super) fn add(&mut self, wait: &Wait) {
        if matches!(wait.kind, WaitKind::Condition | WaitKind::Join) {
            return;
        }
        if self.locks.len() >= LOCKS_MAX && !self.locks.contains_key(&wait.object) {
            self.beyond += 1;
            return;
        }
        let fresh = || Sum { waits: 0, total: 0, longest: *wait };
        let sum = self.locks.entry(wait.object).or_insert_with(fresh);
        sum.waits += 1;
        sum.total = sum.total.saturating_add(length(wait));
        if length(wait) > length(&sum.longest) {
            sum.longest = *wait;
        }
    }

    /// Waits beyond the bound.
    pub(super) const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The locks, the most time first.
    pub(super) fn rows(self, names: &Names, rate: TickRate) -> Vec<ContendedRow> {
        let mut locks: Vec<(u64, Sum)> = self.locks.into_iter().collect();
        locks.sort_by_key(|(object, sum)| (Reverse(sum.total), *object));
        let row = |(object, sum): (u64, Sum)| ContendedRow {
            kind: wait_name(sum.longest.kind),
            object,
            waits: sum.waits,
            total_ns: rate.ns(sum.total),
            max_ns: rate.ns(length(&sum.longest)),
            function: sum.longest.function.map(|id| names.of(id)),
            holder: sum.longest.holder_function.map(|id| names.of(id)),
            site: sum.longest.site,
            held_at: names.place(sum.longest.holder_function, sum.longest.holder_site),
            lock: None,
            line: None,
            holder_line: None,
        };
        locks.into_iter().map(row).collect()
    }
}

const fn length(wait: &Wait) -> Ticks {
    wait.end.saturating_sub(wait.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::record::{Clock, ThreadId};

    fn wait(kind: WaitKind, object: u64, ticks: Ticks) -> Wait {
        Wait {
            thread: ThreadId(0),
            kind,
            object,
            start: 100,
            end: 100 + ticks,
            released: 100 + ticks,
            holder: None,
            function: None,
            holder_function: None,
            holder_site: 0,
            site: ticks,
        }
    }

    #[test]
    fn many_short_waits_outrank_a_long_one_and_conditions_are_no_locks() {
        let mut contended = Contended::default();
        (0..100).for_each(|_| contended.add(&wait(WaitKind::Write, 64, 30)));
        contended.add(&wait(WaitKind::Read, 64, 40));
        contended.add(&wait(WaitKind::Mutex, 32, 2_000));
        contended.add(&wait(WaitKind::Condition, 16, 1 << 40));
        let rate = Clocks::new(Clock { ticks: 0, raw_ns: 0, real_ns: 0 }).rate();
        let rows = contended.rows(&Names::default(), rate);
        let brief: Vec<_> =
            rows.iter().map(|row| (row.object, row.waits, row.total_ns, row.site)).collect();
        assert_eq!(brief, [(64, 101, 3_040, 40), (32, 1, 2_000, 2_000)]);
        assert_eq!(rows[0].kind, "read", "as the longest");
    }

    #[test]
    fn locks_beyond_the_bound_are_counted() {
        let mut contended = Contended::default();
        (0..70_000).for_each(|object| contended.add(&wait(WaitKind::Mutex, object, 1)));
        assert_eq!((contended.locks.len(), contended.beyond()), (LOCKS_MAX, 70_000 - 65_536));
    }
}
