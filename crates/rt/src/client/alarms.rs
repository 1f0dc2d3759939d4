//! Times at which something is due for a call.

use super::slots::KEPT;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailwater_core::Instant;

/// Beyond twice the calls and so many entries those of calls that have ended are swept out: rarely enough that each call
/// pays for two visits at most, however few there are. Where there is one call at a time, the list has 16 places, and
/// 256 bytes. There is a list for each connection: one of a thousand dead entries was half of a connection's memory.
const SPARE: usize = 12;

/// Tokens by time. A token may be in it several times, and longer than its call.
#[derive(Debug, Default)]
pub(super) struct Alarms(BinaryHeap<Reverse<(Instant, u64)>>);

impl Alarms {
    /// Adds one; `calls` is how many there are, and `is_due` says whether an entry still means something.
    pub(super) fn add(
        &mut self,
        at: Instant,
        token: u64,
        calls: usize,
        is_due: impl Fn(Instant, u64) -> bool,
    ) {
        self.0.push(Reverse((at, token)));
        if self.0.len() > 2 * calls + SPARE {
            self.0.retain(|&Reverse((at, token))| is_due(at, token));
            self.give_back();
        }
    }

    /// Takes the first out that is due.
    pub(super) fn next_due(&mut self, now: Instant) -> Option<(Instant, u64)> {
        let Reverse((at, _)) = *self.0.peek()?;
        if at > now {
            return None;
        }
        let first = self.0.pop().map(|Reverse(entry)| entry);
        if self.0.is_empty() {
            self.give_back();
        }
        first
    }

    /// Gives the memory of a burst back, as the calls' own table does.
    fn give_back(&mut self) {
        let used = self.0.len();
        if self.0.capacity() > KEPT.max(4 * used) {
            self.0.shrink_to(2 * used);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// It had a thousand, which each connection kept.
    #[test]
    fn the_list_of_one_call_at_a_time_stays_short() {
        let mut alarms = Alarms::default();
        for call in 0..10_000 {
            alarms.add(Instant::from_nanos(1_000_000 + call), call, 1, |_, due| due == call);
        }
        assert!(alarms.0.capacity() <= 16, "{} places", alarms.0.capacity());
    }

    #[test]
    fn a_list_whose_burst_is_over_is_short_again() {
        let (at, all) = (Instant::from_nanos, 4 * KEPT as u64);
        for are_due in [true, false] {
            let mut alarms = Alarms::default();
            (0..all).for_each(|token| alarms.add(at(token), token, KEPT * 4, |_, _| true));
            if are_due {
                while alarms.next_due(at(all)).is_some() {}
            } else {
                alarms.add(at(all), all, 1, |_, due| due == all);
            }
            assert!(alarms.0.capacity() <= KEPT, "{} places", alarms.0.capacity());
        }
    }

    #[test]
    fn entries_of_calls_that_have_ended_are_not_kept_until_they_are_due() {
        let mut alarms = Alarms::default();
        let at = Instant::from_nanos;
        alarms.add(at(1_000_000), 0, 1, |_, _| true);
        for token in 1..10_000 {
            alarms.add(at(2_000_000 + token), token, 1, |_, due| due == 0);
        }
        assert!(alarms.0.len() <= SPARE + 3, "{} are kept", alarms.0.len());
        assert_eq!(alarms.next_deadline(), Some(at(1_000_000)));
        assert_eq!(alarms.next_due(at(999_999)), None);
        assert_eq!(alarms.next_due(at(1_000_000)), Some((at(1_000_000), 0)));
    }
}
