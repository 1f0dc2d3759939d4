//! Which locks were waited for the longest in all, whoever waited.

use super::report::wait_name;
use super::rows::ContendedRow;
use super::sums::{Sum, Sums};
use crate::clock::TickRate;
use crate::names::Names;
use crate::record::{Ticks, Wait};

/// Waits by lock.
#[derive(Default)]
pub(super) struct Contended(Sums<u64, Wait>);

impl Contended {
    pub(super) fn add(&mut self, wait: &Wait) {
        if wait.kind.is_of_lock() {
            self.0.add(wait.object, *wait, length(wait));
        }
    }

    /// Waits beyond the bound.
    pub(super) const fn beyond(&self) -> u64 {
        self.0.beyond()
    }

    /// The locks, the most time first.
    pub(super) fn rows(self, names: &Names, rate: TickRate) -> Vec<ContendedRow> {
        let row = |(object, sum): (u64, Sum<Wait>)| ContendedRow {
            kind: wait_name(sum.longest.kind),
            object,
            waits: sum.count,
            total_ns: rate.ns(sum.total),
            max_ns: rate.ns(sum.max),
            function: sum.longest.function.map(|id| names.of(id)),
            holder: sum.longest.holder_function.map(|id| names.of(id)),
            site: sum.longest.site,
            held_at: names.place(sum.longest.holder_function, sum.longest.holder_site),
            lock: None,
            line: None,
            holder_line: None,
        };
        self.0.sorted().into_iter().map(row).collect()
    }
}

const fn length(wait: &Wait) -> Ticks {
    wait.end.saturating_sub(wait.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::record::{Clock, ThreadId, WaitKind};

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
    fn locks_are_told_by_their_longest_wait_and_conditions_are_none() {
        let mut contended = Contended::default();
        contended.add(&wait(WaitKind::Write, 64, 30));
        contended.add(&wait(WaitKind::Read, 64, 40));
        contended.add(&wait(WaitKind::Mutex, 32, 2_000));
        contended.add(&wait(WaitKind::Condition, 16, 1 << 40));
        let rate = Clocks::new(Clock { ticks: 0, raw_ns: 0, real_ns: 0 }).rate();
        let rows = contended.rows(&Names::default(), rate);
        let brief: Vec<_> =
            rows.iter().map(|row| (row.object, row.waits, row.total_ns, row.site)).collect();
        assert_eq!(brief, [(32, 1, 2_000, 2_000), (64, 2, 70, 40)]);
        assert_eq!(rows[1].kind, "read", "as the longest");
    }
}
