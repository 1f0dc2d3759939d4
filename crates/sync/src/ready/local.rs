//! The bells that a consumer has taken and not handed out yet: the same tree of bits, its own alone.

use super::board::{Board, place};
use super::geometry::LEVELS_MAX;

pub(super) struct Local {
    /// All levels, the lowest first.
    words: Vec<u64>,
    /// Where each level begins.
    first: [usize; LEVELS_MAX],
    depth: usize,
}

impl Local {
    pub(super) fn new(board: &Board) -> Self {
        let (mut first, mut all) = ([0; LEVELS_MAX], 0);
        for (level, first) in first.iter_mut().enumerate() {
            *first = all;
            all += board.words(level);
        }
        Self { words: vec![0; all], first, depth: board.depth() }
    }

    /// The highest level, which is one word.
    #[inline]
    pub(super) fn top(&self) -> u64 {
        self.words.last().map_or(0, |top| *top)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.top() == 0
    }

    #[inline]
    pub(super) fn bits(&self, level: usize, index: usize) -> u64 {
        self.words[self.first[level] + index]
    }

    #[inline]
    pub(super) fn has(&self, queue: usize) -> bool {
        let (index, bit) = place(queue);
        self.words[index] & bit != 0
    }

    /// Adds bells of a word.
    #[inline]
    pub(super) fn add(&mut self, index: usize, bits: u64) {
        if bits == 0 {
            return;
        }
        self.words[index] |= bits;
        let mut at = index;
        for first in &self.first[1..self.depth] {
            let (index, bit) = place(at);
            self.words[first + index] |= bit;
            at = index;
        }
    }

    /// True if it was there.
    #[inline]
    pub(super) fn remove(&mut self, queue: usize) -> bool {
        let (index, bit) = place(queue);
        let before = self.words[index];
        self.words[index] = before & !bit;
        if before == bit {
            self.unmark(index);
        }
        before & bit != 0
    }

    /// Clears the mark of a word that is empty now.
    fn unmark(&mut self, mut at: usize) {
        for first in &self.first[1..self.depth] {
            let (index, bit) = place(at);
            let word = &mut self.words[first + index];
            *word &= !bit;
            if *word != 0 {
                break;
            }
            at = index;
        }
    }

    /// All of them, which ends them here.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = usize> {
        let none = vec![0; self.words.len()];
        let mut bells = std::mem::replace(&mut self.words, none);
        bells.truncate(self.first[1]);
        bells.into_iter().enumerate().flat_map(|(index, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some((index << crate::primitive::WORD_SHIFT) + bit)
            })
        })
    }
}
