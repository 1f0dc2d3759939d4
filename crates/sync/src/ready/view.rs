//! What a consumer sees: the bells that it has taken, and those that it may take.

use super::board::{Board, place};
use super::local::Local;
use super::order::Flags;
use crate::primitive::WORD_SHIFT;

pub(super) struct View<'a> {
    pub(super) board: &'a Board,
    pub(super) local: &'a mut Local,
    /// The set has no other consumer, so that this one takes bells by the word.
    pub(super) alone: bool,
    /// How many bells were taken from producers.
    pub(super) taken: &'a mut u64,
}

impl View<'_> {
    /// Takes the bell of a queue. False if it was not set, or if another consumer took it.
    #[inline]
    pub(super) fn claim(&mut self, queue: usize) -> bool {
        if self.local.remove(queue) {
            return true;
        }
        if self.alone {
            self.take_word(place(queue).0);
            return self.local.remove(queue);
        }
        let was_set = self.board.lower(0, queue);
        *self.taken += u64::from(was_set);
        was_set
    }

    #[inline]
    fn take_word(&mut self, index: usize) {
        let bits = self.board.take_word(index);
        *self.taken += u64::from(bits.count_ones());
        self.local.add(index, bits);
    }

    /// The bits of a word below the top, of both. At the end of a way down along marks, the only consumer takes the word
    /// at once: a load before that would fetch its line twice.
    #[inline]
    fn bits(&mut self, level: usize, index: usize, came_down: bool) -> u64 {
        let own = self.local.bits(level, index);
        if level == 0 && came_down && own == 0 && self.alone {
            self.take_word(index);
            return self.local.bits(0, index);
        }
        own | self.board.bits(level, index)
    }

    /// Climbs from the word of `from` until there is something at `from` or to its right, then goes down to it. If
    /// there is nothing and it `wraps`, it goes down from the top to the first of all. The words of the first queues
    /// are not looked at for that.
    #[inline]
    fn search(&mut self, from: u32, mut wraps: bool) -> Option<u32> {
        let (mut level, mut at, mut came_down) = (0, from as usize, false);
        let top = self.board.depth() - 1;
        loop {
            let (index, first) = place(at);
            let bits = if level == top {
                let all = self.local.top() | self.board.top_bits();
                // The top is one word, so that there is nothing to the right of it.
                let right = if index == 0 { all & first.wrapping_neg() } else { 0 };
                let bits = if right == 0 && wraps { all } else { right };
                wraps &= right != 0;
                if bits == 0 {
                    return None;
                }
                bits
            } else {
                let exists = index < self.board.words(level);
                let all = if exists { self.bits(level, index, came_down) } else { 0 };
                // Also where the way began at the word, or its mark would keep this consumer from sleeping.
                if all == 0 && exists {
                    self.board.settle_if_marked(level + 1, index);
                }
                all & first.wrapping_neg()
            };
            if bits == 0 {
                (level, at, came_down) = (level + 1, index + 1, false);
                continue;
            }
            let word = if level == top { 0 } else { index };
            let found = (word << WORD_SHIFT) + bits.trailing_zeros() as usize;
            if level == 0 {
                return u32::try_from(found).ok();
            }
            (level, at, came_down) = (level - 1, found << WORD_SHIFT, true);
        }
    }
}

impl Flags for View<'_> {
    #[inline]
    fn find(&mut self, from: u32) -> Option<u32> {
        self.search(from, false)
    }

    #[inline]
    fn find_around(&mut self, from: u32) -> Option<u32> {
        self.search(from, true)
    }

    #[inline]
    fn has(&mut self, queue: u32) -> bool {
        let (index, bit) = place(queue as usize);
        self.local.has(queue as usize) || self.board.bits(0, index) & bit != 0
    }
}
