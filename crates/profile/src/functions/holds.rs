//! Which locks were held the longest in all, and by which functions.

use super::report::wait_name;
use super::rows::HoldRow;
use super::sums::{Sum, Sums};
use crate::clock::TickRate;
use crate::names::Names;
use crate::record::{FunctionId, Hold, Ticks, Wait};

/// A lock, and what took it.
type Key = (u64, Option<FunctionId>);

/// Holds by lock and function.
#[derive(Default)]
pub(super) struct Holds {
    sums: Sums<Key, Hold>,
    /// How long a lock must have been held, where that was asked for. Without it only those that were waited for are known.
    asked: Option<Ticks>,
}

impl Holds {
    /// Holds of so many ticks are recorded.
    pub(super) const fn asked(&mut self, ticks: Ticks) {
        self.asked = Some(ticks);
    }

    /// What is held after a wait.
    pub(super) fn add_wait(&mut self, wait: &Wait) {
        let Wait { thread, kind, object, end: start, released: end, function, site, .. } = *wait;
        if kind.is_of_lock() {
            self.add(&Hold { thread, kind, object, start, end, function, site });
        }
    }

    pub(super) fn add(&mut self, hold: &Hold) {
        if self.asked.is_some_and(|least| length(hold) >= least) {
            self.sums.add((hold.object, hold.function), *hold, length(hold));
        }
    }

    /// Holds beyond the bound.
    pub(super) const fn beyond(&self) -> u64 {
        self.sums.beyond()
    }

    /// The most time first.
    pub(super) fn rows(self, names: &Names, rate: TickRate) -> Vec<HoldRow> {
        let row = |((object, function), sum): (Key, Sum<Hold>)| HoldRow {
            kind: wait_name(sum.longest.kind),
            object,
            function: function.map(|id| names.of(id)),
            holds: sum.count,
            total_ns: rate.ns(sum.total),
            max_ns: rate.ns(sum.max),
            site: sum.longest.site,
            lock: None,
            line: None,
        };
        self.sums.sorted().into_iter().map(row).collect()
    }
}

const fn length(hold: &Hold) -> Ticks {
    hold.end.saturating_sub(hold.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;
    use crate::record::{Clock, ThreadId, WaitKind};

    fn hold(object: u64, function: u32, ticks: Ticks) -> Hold {
        Hold {
            thread: ThreadId(0),
            kind: WaitKind::Write,
            object,
            start: 100,
            end: 100 + ticks,
            function: Some(FunctionId(function)),
            site: ticks,
        }
    }

    fn wait(kind: WaitKind, held: Ticks) -> Wait {
        Wait {
            thread: ThreadId(0),
            kind,
            object: 64,
            start: 10,
            end: 100,
            released: 100 + held,
            holder: None,
            function: Some(FunctionId(1)),
            holder_function: None,
            holder_site: 0,
            site: 7,
        }
    }

    fn rows(holds: Holds) -> Vec<(u64, u64, u64, u64)> {
        let rate = Clocks::new(Clock { ticks: 0, raw_ns: 0, real_ns: 0 }).rate();
        let rows = holds.rows(&Names::default(), rate);
        rows.iter().map(|row| (row.object, row.holds, row.total_ns, row.site)).collect()
    }

    #[test]
    fn holds_after_a_wait_count_with_those_without_one_and_functions_are_told_apart() {
        let mut holds = Holds::default();
        holds.asked(5);
        [hold(64, 1, 30), hold(64, 1, 40), hold(64, 2, 5), hold(32, 1, 200)]
            .iter()
            .for_each(|hold| holds.add(hold));
        holds.add_wait(&wait(WaitKind::Mutex, 50));
        // These take nothing, and this one was held for less.
        [wait(WaitKind::Condition, 50), wait(WaitKind::Join, 50), wait(WaitKind::Mutex, 4)]
            .iter()
            .for_each(|wait| holds.add_wait(wait));
        assert_eq!(rows(holds), [(32, 1, 200, 200), (64, 3, 120, 7), (64, 1, 5, 5)]);
    }

    #[test]
    fn those_of_waits_are_told_where_holds_were_asked_for() {
        let mut holds = Holds::default();
        holds.add_wait(&wait(WaitKind::Mutex, 50));
        assert_eq!(rows(holds), []);
        let mut holds = Holds { asked: Some(50), ..Holds::default() };
        holds.add_wait(&wait(WaitKind::Mutex, 50));
        assert_eq!(rows(holds), [(64, 1, 50, 7)]);
    }
}
