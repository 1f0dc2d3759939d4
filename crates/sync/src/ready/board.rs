//! The bells that producers and consumers share: a tree of bits, and who sleeps.
//!
//! # The protocol
//!
//! A bell is a bit of the lowest level. A word of bits that is not empty has a *mark*: a bit of the level
//! above. The highest level is one word, `top`. `asleep` has a bit for each consumer that sleeps.
//!
//! *A producer* first makes its item visible in the queue. Then it
//! - P1 makes a fence, where its bell is set already;
//! - P2 sets the bell, and its marks level by level up to the top. A bit that is set already is left alone.
//!   Every level is looked at, also where the bit below was set already;
//! - P3 looks at `asleep`, and wakes a consumer if it is the one that clears its bit there.
//!
//! *A consumer* takes bells. It
//! - C1 clears the mark of their word. If no mark is left in that word of marks, it does C1 for it too, looks
//!   at it again, and if it is not empty by now sets its mark again, as in P2 and P3;
//! - C2 takes bits of the word by a read-modify-write;
//! - C3 makes a fence, and only then looks at the queues.
//!
//! Where it takes one bit and leaves others, C2 comes first, C1 follows only if the word is empty then,
//! and the second look is one at the word of bells.
//!
//! *A consumer sleeps*. It
//! - S1 sets its bit in `asleep`;
//! - S2 makes a fence, looks at the top, and sleeps only if that is empty;
//! - S3 clears its bit when it is up, whatever ended its sleep, and does C1 to C3 before it sleeps again.
//!
//! # Why no item is missed
//!
//! All accesses to bits are sequentially consistent: with the fences they have one order, *S*.
//!
//! *A bell that was heard set is not lost.* A producer finds its bell set by others, in P2. That load comes
//! before the clearing of the bit in S, so P1 comes before C3, and the look at the queue finds the item.
//!
//! *A bell that it sets itself brings its item.* Setting is a read-modify-write that releases the item; all changes of
//! the word are such, so the next clearing of the bit reads it, or a later one that continues its release
//! sequence, and acquires the item.
//!
//! *A bell that is set is found.* Say that a word is not empty, and that nobody is between two of its steps.
//! Then its mark is set: the producer that set the bit saw the mark set, or set it. If a consumer cleared the
//! mark after that, it took the word's bits after that (C1 before C2), so the bit would be gone. If it
//! cleared the mark because the word was empty, it looked again after that and saw the bit.
//!
//! *A producer that stops between two levels hides nobody.* Its own item is announced when it goes on. Another
//! producer of the same word looks at every level itself and sets what is missing.
//!
//! *Nobody sleeps over it.* The top was set before P3 in S, and S1 comes before S2. If P3 comes before S1, the
//! consumer finds the top set, unless another consumer took the bell. Otherwise the producer finds the
//! consumer asleep, and wakes it. A wake-up that comes when the consumer is up already ends its next sleep,
//! which is harmless.
//!
//! A mark may be set over an empty word, by a producer that comes late to P2: whoever finds it so clears it,
//! by C1, with the second look. A bell may be set for a queue that was emptied meanwhile: at most one visit for
//! each ring finds nothing.

use super::words::{Layout, Words};
use crate::primitive::{
    AtomicU64, Mutex, WORD_SHIFT, fence, fence_after_rmw, hold, prefetch_for_write,
};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::task::Waker;
use tailwater_core::caught;

/// Levels of the largest set.
pub(super) const LEVELS_MAX: usize = 3;

/// The word and the bit of what has this number on its level.
#[inline]
pub(super) const fn place(at: usize) -> (usize, u64) {
    (at >> WORD_SHIFT, 1 << (at & ((1 << WORD_SHIFT) - 1)))
}

/// On one line: a producer looks at both.
#[repr(align(64))]
struct Head {
    top: AtomicU64,
    asleep: AtomicU64,
}

pub(super) struct Board {
    head: Head,
    /// All levels but the highest, the lowest first.
    below: Box<[Words]>,
    /// How many words each level has.
    words: [usize; LEVELS_MAX],
    /// How each consumer is woken.
    wakers: Box<[Mutex<Option<Waker>>]>,
    wakes: AtomicU64,
}

impl Board {
    pub(super) fn new(queues: usize, layout: Layout, consumers: usize) -> Self {
        let mut words = [0; LEVELS_MAX];
        let (mut depth, mut count) = (0, queues);
        while depth == 0 || count > 1 {
            count = count.div_ceil(1 << WORD_SHIFT);
            words[depth] = count;
            depth += 1;
        }
        let below = words[..depth - 1].iter().map(|count| Words::new(layout, *count)).collect();
        Self {
            head: Head { top: AtomicU64::new(0), asleep: AtomicU64::new(0) },
            below,
            words,
            wakers: (0..consumers).map(|_| Mutex::new(None)).collect(),
            wakes: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.below.len() + 1
    }

    /// How many words a level has.
    #[inline]
    pub(super) fn words(&self, level: usize) -> usize {
        self.words[level]
    }

    #[inline]
    fn word(&self, level: usize, index: usize) -> &AtomicU64 {
        self.below.get(level).map_or(&self.head.top, |words| words.at(index))
    }

    /// The bits of a word, now.
    #[inline]
    pub(super) fn bits(&self, level: usize, index: usize) -> u64 {
        // Has its place in S.
        self.word(level, index).load(SeqCst)
    }

    /// Whether no bell is to be found. One that is being set may not be found yet.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        // S2, and the consumer's first look.
        self.head.top.load(SeqCst) == 0
    }

    /// P1 to P3. True if it woke a consumer.
    #[inline]
    pub(super) fn ring(&self, queue: usize) -> bool {
        let (index, bit) = place(queue);
        let word = self.word(0, index);
        // A guess, by which the line comes while the item is still on its way; nothing relies on it.
        if word.load(Relaxed) & bit != 0 {
            // P1: the item, published by whatever ordering, comes before the look below.
            fence(SeqCst);
            // P2. The load spares the line where the bit is set already, which a hot queue's is.
            if word.load(SeqCst) & bit != 0 {
                return self.raise(1, index, false);
            }
        }
        // P2. Releases the item to the consumer that clears the bit, so P1 is not needed before it.
        let before = word.fetch_or(bit, SeqCst);
        fence_after_rmw();
        self.raise(1, index, before == 0)
    }

    /// P2 from a level on, and P3. Of a word that was silent the mark is likely not set: a look before it is
    /// would fetch its line twice.
    #[inline]
    fn raise(&self, from: usize, mut at: usize, mut silent: bool) -> bool {
        for level in from..self.depth() {
            let (index, bit) = place(at);
            let word = self.word(level, index);
            // P2.
            if silent || word.load(SeqCst) & bit == 0 {
                silent = word.fetch_or(bit, SeqCst) == 0;
                // P3, or the look at the next level, comes after it.
                fence_after_rmw();
            }
            at = index;
        }
        // P3, after the top in S.
        self.head.asleep.load(SeqCst) != 0 && self.wake_one()
    }

    /// C1 for a mark or, at level 0, a bell. True if it was set.
    pub(super) fn lower(&self, level: usize, at: usize) -> bool {
        if level >= self.depth() {
            return true;
        }
        let (index, bit) = place(at);
        let word = self.word(level, index);
        // C1 or, at level 0, C2 of one bell; the fence is C3.
        let before = word.fetch_and(!bit, SeqCst);
        fence_after_rmw();
        if before == bit && level + 1 < self.depth() {
            self.settle(level + 1, index);
        }
        before & bit != 0
    }

    /// Clears the mark of a word that was found empty, and looks at the word again.
    fn settle(&self, level: usize, at: usize) {
        if self.lower(level, at) && self.bits(level - 1, at) != 0 {
            self.raise(level, at, true);
        }
    }

    /// The same where that mark is set.
    #[inline]
    pub(super) fn settle_if_marked(&self, level: usize, at: usize) {
        let (index, bit) = place(at);
        if self.bits(level, index) & bit != 0 {
            self.settle(level, at);
        }
    }

    /// C1 and C2 for all bells of a word, for a set's only consumer.
    #[inline]
    pub(super) fn take_word(&self, index: usize) -> u64 {
        let word = self.word(0, index);
        // The line comes while the mark is cleared.
        prefetch_for_write(word);
        self.lower(1, index);
        // C2; the fence is C3.
        let bits = word.swap(0, SeqCst);
        fence_after_rmw();
        bits
    }

    /// How this consumer is to be woken from now on.
    pub(super) fn register(&self, consumer: usize, waker: Option<Waker>) {
        // Foreign code may run where the old one is dropped: not while the mutex is held.
        let old = std::mem::replace(&mut *hold(&self.wakers[consumer]), waker);
        drop(old);
    }

    /// S1. Look by [`Board::is_silent`] after it.
    pub(super) fn lie_down(&self, consumer: usize) {
        // S1; the fence is that of S2.
        self.head.asleep.fetch_or(1 << consumer, SeqCst);
        fence_after_rmw();
    }

    /// S3. True if a producer woke this consumer or is about to.
    pub(super) fn get_up(&self, consumer: usize) -> bool {
        // S3. Reads the clearing of the producer that woke us, and so sees the bell that it rang.
        let before = self.head.asleep.fetch_and(!(1 << consumer), SeqCst);
        before & (1 << consumer) == 0
    }

    /// Wakes one consumer of those that sleep, the first of them, so that few are kept busy. A waker that
    /// panics counts as none: the next is woken.
    #[cold]
    pub(super) fn wake_one(&self) -> bool {
        loop {
            // P3: after the top in S. Of several that find a sleeper one clears its bit.
            let asleep = self.head.asleep.load(SeqCst);
            if asleep == 0 {
                return false;
            }
            let bit = asleep & asleep.wrapping_neg();
            // P3. Pairs with S3 of that consumer.
            if self.head.asleep.fetch_and(!bit, SeqCst) & bit == 0 {
                continue;
            }
            let waker = hold(&self.wakers[bit.trailing_zeros() as usize]).clone();
            if waker.is_some_and(|waker| caught(|| waker.wake()).is_ok()) {
                // A count for people; nothing is ordered by it.
                self.wakes.fetch_add(1, Relaxed);
                return true;
            }
        }
    }

    pub(super) fn wakes(&self) -> u64 {
        // As above.
        self.wakes.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A producer that dies between two levels must not hide what others ring in the same word.
    #[test]
    fn a_ring_sets_the_marks_that_a_dead_producer_did_not() {
        let board = Board::new(5_000, Layout::Padded, 1);
        // As if it had stopped behind the lowest level, and another behind the second.
        board.word(0, 1).fetch_or(1, SeqCst);
        board.word(0, 70).fetch_or(1, SeqCst);
        board.word(1, 1).fetch_or(1 << 6, SeqCst);
        assert!(board.is_silent());
        board.ring(64);
        assert_eq!((board.bits(1, 0), board.bits(2, 0)), (1 << 1, 1));
        board.ring(70 * 64);
        assert_eq!(board.bits(2, 0), 0b11);
    }
}
