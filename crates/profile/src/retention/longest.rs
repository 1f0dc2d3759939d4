//! The longest requests so far, by their lengths alone.

use crate::record::Ticks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The lengths of the longest, and how short a request may be and still be among them.
#[derive(Debug)]
pub(super) struct Longest {
    lengths: BinaryHeap<Reverse<Ticks>>,
    max: usize,
    /// Shorter ones are never wanted.
    least: Ticks,
}

impl Longest {
    /// Of the so many longest that are at least `least` long.
    pub(super) fn new(max: usize, least: Ticks) -> Self {
        Self { lengths: BinaryHeap::new(), max: max.max(1), least }
    }

    /// A request of this length is over.
    pub(super) fn add(&mut self, length: Ticks) {
        if length < self.bar() {
            return;
        }
        self.lengths.push(Reverse(length));
        if self.lengths.len() > self.max {
            self.lengths.pop();
        }
    }

    /// Requests that are as long are among the longest so far. It never falls: what is below it now will not be wanted.
    pub(super) fn bar(&self) -> Ticks {
        match self.lengths.peek() {
            Some(Reverse(shortest)) if self.lengths.len() == self.max => {
                (*shortest).max(self.least)
            }
            _ => self.least,
        }
    }

    /// No so many are remembered, though there may have been.
    pub(super) fn are_fewer(&self, than: usize) -> bool {
        self.max < than
    }

    /// The length of the `nth` longest, from one on; of the last that is known where there are fewer.
    pub(super) fn nth(&self, nth: usize) -> Option<Ticks> {
        let mut all: Vec<Ticks> = self.lengths.iter().map(|Reverse(length)| *length).collect();
        all.sort_unstable_by_key(|length| Reverse(*length));
        all.get(nth.saturating_sub(1)).or(all.last()).copied()
    }
}
