//! Where the bits of a set lie: in which line of memory, and in which word of it.
//!
//! ```text
//! line 0      top (the highest level), asleep, rings
//! line 1 …    the lowest level, then the one above it
//! ```

use crate::primitive::{AtomicU64, LINE_SHIFT, WORD_SHIFT};

/// Levels of the largest set.
pub(super) const LEVELS_MAX: usize = 3;
/// Bits of a word.
const BITS: usize = 1 << WORD_SHIFT;
/// All bits of a word.
const FULL: u64 = u64::MAX >> (64 - BITS);
/// Words of a line.
const LINE_WORDS: usize = 1 << LINE_SHIFT;

/// How the words of bells lie in memory. A word has 64 bells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Layout {
    /// Each word on a cache line of its own, 64 bytes: producers of different words share none.
    #[default]
    Padded,
    /// Eight words to a line: an eighth of the memory. Producers of 512 queues share each line.
    Packed,
}

/// A cache line.
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [AtomicU64; LINE_WORDS]);

impl Default for Line {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Geometry {
    /// The lowest first.
    levels: [Level; LEVELS_MAX],
    depth: usize,
    /// From one word of a level to its next, in words, as a power of two.
    stride: usize,
    lines: usize,
}

#[derive(Clone, Copy, Default)]
struct Level {
    words: usize,
    /// The place of the first word.
    first: usize,
    /// The bits that exist in the last word.
    last: u64,
}

impl Geometry {
    pub(super) fn new(queues: usize, layout: Layout) -> Self {
        let stride = if layout == Layout::Packed { 0 } else { LINE_SHIFT };
        let mut levels = [Level::default(); LEVELS_MAX];
        let (mut depth, mut count, mut lines) = (0, queues, 1);
        while depth == 0 || count > 1 {
            let words = count.div_ceil(BITS);
            let last = u64::MAX >> (64 - (count - (words - 1) * BITS));
            // The highest level has a word of line 0.
            let first = if words > 1 { lines * LINE_WORDS } else { 0 };
            if words > 1 {
                lines += (words << stride).div_ceil(LINE_WORDS);
            }
            levels[depth] = Level { words, first, last };
            count = words;
            depth += 1;
        }
        Self { levels, depth, stride, lines }
    }

    #[inline]
    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// How many words a level has.
    #[inline]
    pub(super) const fn words(&self, level: usize) -> usize {
        self.levels[level].words
    }

    /// How many lines a set has.
    pub(super) const fn lines(&self) -> usize {
        self.lines
    }

    /// The line of a word, and which of its words it is.
    #[inline]
    pub(super) const fn place(&self, level: usize, index: usize) -> (usize, usize) {
        let at = self.levels[level].first + (index << self.stride);
        (at >> LINE_SHIFT, at & (LINE_WORDS - 1))
    }

    /// The bits of a word that stand for something. Others can be set only from outside, in memory that is shared.
    #[inline]
    pub(super) const fn valid(&self, level: usize, index: usize) -> u64 {
        let level = &self.levels[level];
        if index + 1 == level.words { level.last } else { FULL }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_has_a_place_of_its_own() {
        for queues in [1, 63, 64, 65, 128, 4_096, 4_097, 20_000, 262_144] {
            for layout in [Layout::Padded, Layout::Packed] {
                let geometry = Geometry::new(queues, layout);
                let mut places = BTreeSet::from([(0, 1), (0, 2)]);
                let mut below = queues;
                for level in 0..geometry.depth() {
                    let words = geometry.words(level);
                    let bits = |index| geometry.valid(level, index).count_ones() as usize;
                    assert_eq!((0..words).map(bits).sum::<usize>(), below, "{queues} queues");
                    for index in 0..words {
                        let (line, word) = geometry.place(level, index);
                        assert!(line < geometry.lines() && word < LINE_WORDS);
                        assert!(places.insert((line, word)), "{queues} queues, level {level}");
                    }
                    below = words;
                }
                assert_eq!(below, 1);
                assert_eq!(geometry.place(geometry.depth() - 1, 0), (0, 0));
            }
        }
    }
}
