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

    /// The bits of a word, of both. At the end of a way down along marks, the only consumer takes the word
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
}

impl Flags for View<'_> {
    /// Climbs from the word of `from` until there is something to its right, then goes down to it.
    #[inline]
    fn find(&mut self, from: u32) -> Option<u32> {
        let (mut level, mut at, mut came_down) = (0, from as usize, false);
        loop {
            let index = at >> WORD_SHIFT;
            if index >= self.board.words(level) {
                return None;
            }
            let (_, first) = place(at);
            let all = self.bits(level, index, came_down);
            let bits = all & first.wrapping_neg();
            if bits != 0 {
                let found = (index << WORD_SHIFT) + bits.trailing_zeros() as usize;
                if level == 0 {
                    return u32::try_from(found).ok();
                }
                (level, at, came_down) = (level - 1, found << WORD_SHIFT, true);
                continue;
            }
            level += 1;
            if level == self.board.depth() {
                return None;
            }
            // Also where the way began at the word, or its mark would keep this consumer from sleeping.
            if all == 0 {
                self.board.settle_if_marked(level, index);
            }
            (at, came_down) = (index + 1, false);
        }
    }

    #[inline]
    fn has(&mut self, queue: u32) -> bool {
        let (index, bit) = place(queue as usize);
        self.local.has(queue as usize) || self.board.bits(0, index) & bit != 0
    }
}
