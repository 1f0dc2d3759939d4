//! In which order a thread's calls are told: as they end. Scanned ones come from the scanner, clocked ones from the thread's
//! ring, and either may be late.

use crate::look::scan::Ended;
use std::collections::VecDeque;
use tailwater_profile::record::{Call, CallFlags, Counts, Ticks};

/// A thread's clocked calls that wait for what ended before them.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// As they ended, with what was counted in them.
    held: VecDeque<(Call, Counts)>,
    /// Calls that were live when the scanner looked last, and are told as such.
    unfinished: Vec<u64>,
    /// Clocked calls, less those that the scanner has seen too: it counts the others as lost.
    unseen: i64,
}

/// What becomes of a call that the scanner tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scanned {
    /// The scanner alone tells of it.
    Told,
    /// Its thread does.
    Clocked,
}

impl Order {
    /// A call that its thread has clocked; false where it is told already.
    pub(crate) fn hold(&mut self, call: Call, counts: Counts) -> bool {
        self.unseen += 1;
        let is_new = !self.unfinished.contains(&call.generation);
        if is_new {
            self.held.push_back((call, counts));
        }
        is_new
    }

    /// A clocked call that nobody tells of, by the filter. It is not lost.
    pub(crate) const fn leave_out(&mut self) {
        self.unseen += 1;
    }

    /// Which of the two tells of a call that the scanner has seen.
    pub(crate) fn scanned(&mut self, call: &Ended) -> Scanned {
        let has = |flag| CallFlags(call.flags).has(flag);
        // Of such a call the thread's own time may lie before the recording.
        if !call.what.is_clocked || has(CallFlags::STARTED_BEFORE) {
            return Scanned::Told;
        }
        self.unseen -= 1;
        // One that was live at the last look may have ended since.
        let is_unfinished = has(CallFlags::UNFINISHED)
            && self.held.iter().all(|(held, _)| held.generation != call.generation);
        if is_unfinished {
            self.unfinished.push(call.generation);
            return Scanned::Told;
        }
        Scanned::Clocked
    }

    /// The next of those that ended before a call that the scanner tells of, or are that call.
    pub(crate) fn before(&mut self, scanned: &Ended) -> Option<(Call, Counts)> {
        self.held.pop_front_if(|(held, _)| is_before(held, scanned))
    }

    /// The next of those that had ended by then.
    pub(crate) fn ended_by(&mut self, then: Ticks) -> Option<(Call, Counts)> {
        self.held.pop_front_if(|(held, _)| held.end <= then)
    }

    /// How many of so many calls that the scanner counts as lost were lost.
    pub(crate) fn truly_lost(&mut self, counted: u64) -> u64 {
        let told = u64::try_from(self.unseen).unwrap_or(0).min(counted);
        self.unseen -= told as i64;
        counted - told
    }
}

fn is_before(clocked: &Call, scanned: &Ended) -> bool {
    let Ended { generation, depth, end, .. } = *scanned;
    if clocked.generation > generation {
        // Within it, or after it.
        clocked.end <= end.from || (clocked.depth > depth && clocked.end <= end.to)
    } else {
        // Before it, the same, or around it.
        clocked.generation == generation || clocked.depth >= depth || clocked.end < end.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::scan::Window;
    use crate::memory::abi::What;
    use tailwater_profile::record::{FunctionId, ThreadId};

    fn clocked(depth: u32, generation: u64, start: Ticks, end: Ticks) -> Call {
        Call {
            thread: ThreadId(0),
            function: FunctionId(0),
            parent: None,
            depth,
            generation,
            start,
            start_slack: 0,
            end,
            end_slack: 0,
            flags: CallFlags(CallFlags::CLOCKED),
            site: 0,
        }
    }

    /// Begins and ends within five ticks of these.
    fn scanned(depth: u32, generation: u64, start: Ticks, end: Ticks, flags: u8) -> Ended {
        let window = |at| Window { from: at - 5, to: at + 5 };
        let what = What { desc: 8, site: 0, is_clocked: depth == 1 };
        let (start, end) = (window(start), window(end));
        Ended { what, parent: 0, depth, generation, start, end, flags }
    }

    fn before(order: &mut Order, call: &Ended) -> Vec<u64> {
        std::iter::from_fn(|| order.before(call)).map(|(call, _)| call.generation).collect()
    }

    /// A loop makes clocked calls, in one of which is a scanned one.
    #[test]
    fn a_call_comes_after_those_within_it_and_before_those_around_it() {
        let mut order = Order::default();
        for call in [clocked(1, 2, 100, 110), clocked(1, 3, 120, 300), clocked(1, 5, 310, 320)] {
            assert!(order.hold(call, Counts::default()));
        }
        assert_eq!(before(&mut order, &scanned(2, 4, 150, 250, 0)), [2]);
        // As the scanner sees the call around it.
        assert_eq!(before(&mut order, &scanned(1, 3, 120, 300, 0)), [3]);
        assert_eq!(before(&mut order, &scanned(0, 1, 50, 318, 0)), [5], "the loop ends");
        assert_eq!(order.ended_by(Ticks::MAX), None);
    }

    #[test]
    fn what_no_scanned_call_follows_goes_by_time() {
        let mut order = Order::default();
        for at in [100, 200] {
            order.hold(clocked(1, at, at, at + 10), Counts::default());
        }
        assert_eq!(order.ended_by(209).map(|(call, _)| call.generation), Some(100));
        assert_eq!(order.ended_by(209), None);
    }

    #[test]
    fn each_clocked_call_is_told_once() {
        let mut order = Order::default();
        order.hold(clocked(1, 2, 100, 110), Counts::default());
        assert_eq!(order.scanned(&scanned(1, 2, 100, 110, 0)), Scanned::Clocked);
        let live = scanned(1, 7, 200, 300, CallFlags::UNFINISHED);
        assert_eq!(order.scanned(&live), Scanned::Told);
        assert!(
            !order.hold(clocked(1, 7, 200, 301), Counts::default()),
            "it ended after the last look"
        );
        let other = scanned(1, 9, 200, 300, CallFlags::UNFINISHED);
        order.hold(clocked(1, 9, 200, 301), Counts::default());
        assert_eq!(order.scanned(&other), Scanned::Clocked, "it ended before that was told");
        let before = scanned(1, 1, 5, 90, CallFlags::STARTED_BEFORE);
        assert_eq!(order.scanned(&before), Scanned::Told);
        assert_eq!(order.scanned(&scanned(0, 3, 50, 90, 0)), Scanned::Told, "it is not clocked");
    }

    #[test]
    fn what_the_scanner_missed_and_the_thread_told_is_not_lost() {
        let mut order = Order::default();
        for n in 0..10 {
            order.hold(clocked(1, n, n, n), Counts::default());
        }
        order.scanned(&scanned(1, 4, 100, 110, 0));
        // Nine of these were clocked.
        assert_eq!([order.truly_lost(6), order.truly_lost(8)], [0, 5]);
        assert_eq!(order.truly_lost(3), 3);
        order.leave_out();
        order.scanned(&scanned(1, 11, 120, 130, 0));
        order.leave_out();
        assert_eq!(order.truly_lost(2), 1, "the filter leaves the other out");
    }
}
