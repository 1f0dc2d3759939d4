//! Round-robin with several visits in a row (thesis, §5.2.5). A queue that is not ready when it could be visited
//! again loses the rest of its turn: the thesis' time-out, at zero.

use super::Flags;
use std::sync::Arc;

pub(super) struct Weighted {
    weights: Arc<[u16]>,
    /// Whose turn it is, and how many visits of it are left.
    current: u32,
    left: u16,
    /// Where the next turn is looked for.
    next: u32,
}

impl Weighted {
    pub(super) fn new(weights: Arc<[u16]>, first: u32) -> Self {
        Self { weights, current: first, left: 0, next: first }
    }

    pub(super) fn choose(&mut self, flags: &mut impl Flags) -> Option<u32> {
        if self.left > 0 && flags.has(self.current) {
            return Some(self.current);
        }
        self.left = 0;
        flags.find_around(self.next)
    }

    pub(super) fn served(&mut self, queue: u32) {
        if self.left == 0 {
            self.current = queue;
            self.next = queue + 1;
            self.left = self.weights[queue as usize];
        }
        self.left -= 1;
    }
}
