//! The bells that a consumer has taken and not handed out yet: the same tree of bits, its own alone.

use super::board::{Board, place};
use super::geometry::LEVELS_MAX;

pub(super) struct Local {
    levels: [Vec<u64>; LEVELS_MAX],
    depth: usize,
}

impl Local {
    pub(super) fn new(board: &Board) -> Self {
        let levels = std::array::from_fn(|level| vec![0; board.words(level)]);
        Self { levels, depth: board.depth() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.levels[self.depth - 1][0] == 0
    }

    #[inline]
    pub(super) fn bits(&self, level: usize, index: usize) -> u64 {
        self.levels[level][index]
    }

    #[inline]
    pub(super) fn has(&self, queue: usize) -> bool {
        let (index, bit) = place(queue);
        self.levels[0][index] & bit != 0
    }

    /// Adds bells of a word.
    #[inline]
    pub(super) fn add(&mut self, index: usize, bits: u64) {
        if bits == 0 {
            return;
        }
        self.levels[0][index] |= bits;
        let mut at = index;
        for level in &mut self.levels[1..self.depth] {
            let (index, bit) = place(at);
            level[index] |= bit;
            at = index;
        }
    }

    /// True if it was there.
    #[inline]
    pub(super) fn remove(&mut self, queue: usize) -> bool {
        let had = self.has(queue);
        let mut at = queue;
        for level in &mut self.levels[..self.depth] {
            let (index, bit) = place(at);
            level[index] &= !bit;
            if level[index] != 0 {
                break;
            }
            at = index;
        }
        had
    }

    /// All of them, which ends them here.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = usize> {
        let bells = std::mem::take(&mut self.levels[0]);
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.levels[0] = vec![0; bells.len()];
        bells.into_iter().enumerate().flat_map(|(index, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some((index << crate::primitive::WORD_SHIFT) + bit)
            })
        })
    }
}
