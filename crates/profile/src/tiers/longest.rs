//! The longest requests of a trace, in bounded memory.

use crate::record::Ticks;
use crate::requests::{Leg, Request, rank};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A request, without what threads did for it.
#[derive(PartialEq, Eq)]
pub(super) struct Brief {
    pub(super) number: u64,
    pub(super) start: Ticks,
    pub(super) end: Ticks,
    /// The call that it is, and when that was told.
    pub(super) called: Option<(u64, Ticks)>,
    /// Its calls to other processes, as they were sent.
    pub(super) legs: Box<[Leg]>,
}

/// How many requests there is room for, and for how many calls of all of them together.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) requests: usize,
    pub(super) legs: usize,
}

/// Requests, of which the shortest make room for longer ones.
pub(super) struct Longest {
    kept: BinaryHeap<Reverse<Brief>>,
    legs: usize,
    room: Room,
    /// The longest that had to make room. No longer ones are refused, so that all that are kept are longer than all others.
    bar: Option<Ticks>,
    /// Requests that are not among them.
    left_out: u64,
}

impl Longest {
    pub(super) const fn new(room: Room) -> Self {
        Self { kept: BinaryHeap::new(), legs: 0, room, bar: None, left_out: 0 }
    }

    pub(super) fn add(&mut self, request: Request) {
        if self.bar.is_some_and(|bar| request.length() <= bar) {
            self.left_out += 1;
            return;
        }
        self.legs += request.legs.len();
        self.kept.push(Reverse(Brief::from(request)));
        while self.kept.len() > self.room.requests || self.legs > self.room.legs {
            let Some(Reverse(shortest)) = self.kept.pop() else { break };
            self.legs -= shortest.legs.len();
            self.bar = Some(shortest.length());
            self.left_out += 1;
        }
    }

    /// Longest first; and how many were left out.
    pub(super) fn finish(self) -> (Vec<Brief>, u64) {
        // Of what is reversed the least is the longest.
        let longest = self.kept.into_sorted_vec().into_iter().map(|Reverse(one)| one);
        (longest.collect(), self.left_out)
    }
}

impl Brief {
    pub(super) const fn length(&self) -> Ticks {
        self.end.saturating_sub(self.start)
    }

    /// Longest first, this is before, at or behind the place of a request.
    pub(super) fn beside(&self, request: &Request) -> Ordering {
        rank(request.number, request.start, request.end).cmp(&self.rank())
    }

    const fn rank(&self) -> (Ticks, Reverse<Ticks>, Reverse<u64>) {
        rank(self.number, self.start, self.end)
    }
}

impl From<Request> for Brief {
    fn from(request: Request) -> Self {
        let Request { number, start, end, called, legs, .. } = request;
        Self { number, start, end, called, legs: legs.into() }
    }
}

impl Ord for Brief {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Brief {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(start: Ticks, length: Ticks, legs: usize) -> Request {
        let leg = Leg { call: start, sent: start, answered: None };
        Request {
            number: 1,
            start,
            end: start + length,
            parts: Vec::new(),
            parts_left_out: 0,
            called: None,
            legs: vec![leg; legs],
        }
    }

    proptest! {
        /// Beside the heap a sorted list; of requests without calls the order in which they end decides nothing.
        #[test]
        fn the_longest_are_kept_whenever_they_end(lengths in prop::collection::vec(0u64..50, 0..60)) {
            let mut longest = Longest::new(Room { requests: 10, legs: 0 });
            let spans = lengths.iter().enumerate().map(|(at, &length)| (length, at as Ticks));
            spans.clone().for_each(|(length, start)| longest.add(request(start, length, 0)));
            let mut naive: Vec<_> = spans.map(|(length, start)| (Reverse(length), start)).collect();
            naive.sort_unstable();
            let (kept, left_out) = longest.finish();
            let kept: Vec<_> = kept.iter().map(|one| (Reverse(one.length()), one.start)).collect();
            prop_assert_eq!(left_out, naive.len().saturating_sub(10) as u64);
            naive.truncate(10);
            prop_assert_eq!(kept, naive);
        }
    }

    #[test]
    fn a_long_request_takes_the_room_of_shorter_ones_and_no_short_one_comes_back() {
        let mut longest = Longest::new(Room { requests: 10, legs: 8 });
        for (start, length, legs) in [(0, 5, 3), (10, 7, 3), (20, 6, 2), (30, 90, 4), (40, 6, 1)] {
            longest.add(request(start, length, legs));
        }
        let (kept, left_out) = longest.finish();
        let kept: Vec<_> = kept.iter().map(|one| (one.start, one.legs.len())).collect();
        assert_eq!((kept, left_out), (vec![(30, 4), (10, 3)], 3));
    }
}
