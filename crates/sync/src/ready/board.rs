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
//! - C1 clears the mark of their word. If a look after that finds no mark left in that word of marks, it does C1 for it
//!   too and looks at it again. If it is not empty by now, it sets its mark again, as in P2 and P3;
//! - C2 takes bits of the word by a read-modify-write;
//! - C3 makes a fence, and only then looks at the queues.
//!
//! Where it takes one bit and leaves others, C2 comes first. C1 follows only if the word is empty then, and the
//! second look is one at the word of bells.
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
//! *A bell that it sets itself brings its item.* Setting is a read-modify-write that releases the item. All changes
//! of the word are such. So the next clearing of the bit reads it, or a later one that continues its release
//! sequence, and acquires the item.
//!
//! *A bell that is set is found.* Say that a word is not empty, and that nothing is between two of its steps.
//! Then its mark is set: the producer that set the bit saw the mark set, or set it. If a consumer cleared the
//! mark after that, it took the word's bits after that (C1 before C2), so the bit would be gone. If it
//! cleared the mark because the word was empty, it looked again after that and saw the bit.
//!
//! *A producer that stops between two levels hides nobody.* Its own item is announced when it goes on. Another
//! producer of the same word looks at every level itself and sets what is missing.
//!
//! *A consumer that stops between C1 and its second look may delay others.* It has cleared the mark of a word to which a
//! bell has come meanwhile. Until it goes on, another consumer does not find that bell and may sleep. Nothing is lost, since
//! the second look sets the mark again and wakes a sleeper.
//!
//! *No consumer sleeps over it.* The top was set before P3 in S, and S1 comes before S2. If P3 comes before S1, the
//! consumer finds the top set, unless another consumer took the bell. Otherwise the producer finds the
//! consumer asleep, and wakes it. A wake-up that comes when the consumer is up already ends its next sleep,
//! which is harmless.
//!
//! A mark may be set over an empty word, by a producer that comes late to P2: whoever finds it so clears it,
//! by C1, with the second look. A bell may be set for a queue that was emptied meanwhile: at most one visit for
//! each ring finds nothing.
//!
//! # Across processes
//!
//! The lines may lie in memory that several processes have. Bells are rung and taken as above. There is one consumer,
//! and its sleep is another, since either side may die between any two of its steps. It
//! - X1 reads the count `rings`, and sets its bit in `asleep`;
//! - X2 makes a fence, looks at the top, and goes on only if that is empty;
//! - X3 sleeps at the futex `rings`, if that is still what it read; then S3.
//!
//! A producer that finds `asleep` set in P3
//! - X4 adds one to `rings`, and then wakes who sleeps there. It leaves `asleep` as it is.
//!
//! *No consumer sleeps over a bell.* A ring that finds `asleep` clear has set the top before X1's bit in S, so X2
//! sees it. One that finds it set adds to `rings` after X1, so the kernel refuses the sleep, or the wake-up ends it.
//!
//! *A producer that dies takes no wake-up with it.* Here `asleep` is the consumer's alone, so the next ring finds it
//! set and does X4 anew. If the producer's own ring did not return, its item was not announced; its successor rings
//! once for each queue that it takes over. The price: each ring costs a system call while the consumer gets up.
//!
//! *A consumer that dies* may have taken bells, cleared a mark of a word that is not empty, or lain down. Its
//! successor takes all bells ([`Board::take_over`]), each by a read-modify-write, which continues the release sequences
//! that the dead one read. Then it visits every queue once. So it finds what any ring before had announced.
//!
//! *Other processes may write anything.* Words are atomics, of which only the bits that exist are looked at, and numbers
//! are never read from them. So the worst is a visit for nothing, or a bell that is not heard. Of `asleep` only the
//! consumer's bit is looked at, and S3 writes the whole word. So what others set there costs each ring a system call
//! until the consumer has next slept, and no longer.

use super::geometry::{Geometry, Layout, Line};
use super::memory::Memory;
use crate::clock;
use crate::primitive::{
    AtomicU64, Futex, Mutex, WORD_SHIFT, fence, fence_after_load, fence_after_rmw, hold,
    prefetch_for_write,
};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::task::Waker;
use tailwater_core::{Instant, caught};

/// The word and the bit of what has this number on its level.
#[inline]
pub(super) const fn place(at: usize) -> (usize, u64) {
    (at >> WORD_SHIFT, 1 << (at & ((1 << WORD_SHIFT) - 1)))
}

pub(super) struct Board {
    lines: Memory<Line>,
    geometry: Geometry,
    /// The bits of the highest level that exist; it is the first word of the first line.
    top_mask: u64,
    beds: Beds,
    /// The bits of `asleep` that are a consumer's. Of shared memory others may have set any.
    beds_mask: u64,
    wakes: AtomicU64,
}

/// How those that sleep are woken.
#[cfg_attr(loom, allow(dead_code, reason = "the models of the second are unit tests"))]
pub(super) enum Beds {
    /// By a waker for each consumer.
    Wakers(Box<[Mutex<Option<Waker>>]>),
    /// By the futex `rings`: the only consumer, maybe of another process.
    Across(Futex),
}

impl Beds {
    #[cfg(any(test, not(loom)))]
    pub(super) fn across() -> Self {
        Self::Across(Futex::new())
    }
}

impl Board {
    /// For the threads of this process.
    pub(super) fn new(queues: usize, layout: Layout, consumers: usize) -> Self {
        let geometry = Geometry::new(queues, layout);
        let lines = Memory::own((0..geometry.lines()).map(|_| Line::default()));
        let wakers = (0..consumers).map(|_| Mutex::new(None)).collect();
        Self::over(lines, geometry, Beds::Wakers(wakers))
    }

    /// Over these lines, which are as many as the geometry has or more.
    pub(super) fn over(lines: Memory<Line>, geometry: Geometry, beds: Beds) -> Self {
        assert!(lines.len() >= geometry.lines(), "a set needs {} lines", geometry.lines());
        let beds_mask = match &beds {
            Beds::Wakers(_) => u64::MAX,
            Beds::Across(_) => 1,
        };
        let top_mask = geometry.valid(geometry.depth() - 1, 0);
        Self { lines, geometry, top_mask, beds, beds_mask, wakes: AtomicU64::new(0) }
    }

    #[inline]
    pub(super) const fn depth(&self) -> usize {
        self.geometry.depth()
    }

    /// How many words a level has.
    #[inline]
    pub(super) const fn words(&self, level: usize) -> usize {
        self.geometry.words(level)
    }

    #[inline]
    fn word(&self, level: usize, index: usize) -> &AtomicU64 {
        let (line, word) = self.geometry.place(level, index);
        &self.lines[line].0[word]
    }

    #[inline]
    fn asleep(&self) -> &AtomicU64 {
        &self.lines[0].0[1]
    }

    /// How often a sleeper of another process was woken, or nearly.
    fn rings(&self) -> &AtomicU64 {
        &self.lines[0].0[2]
    }

    /// The bits of a word, now. Of shared memory others may have made anything, so only what can be is seen.
    #[inline]
    pub(super) fn bits(&self, level: usize, index: usize) -> u64 {
        // Has its place in S.
        self.word(level, index).load(SeqCst) & self.geometry.valid(level, index)
    }

    /// The bits of the highest level.
    #[inline]
    pub(super) fn top_bits(&self) -> u64 {
        // As in `bits`: has its place in S.
        self.lines[0].0[0].load(SeqCst) & self.top_mask
    }

    /// Whether no bell is to be found. One that is being set may not be found yet.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        // S2, and the consumer's first look.
        self.top_bits() == 0
    }

    /// P1 to P3. True if it woke a consumer.
    #[inline]
    pub(super) fn ring(&self, queue: usize) -> bool {
        let (index, bit) = place(queue);
        let word = self.word(0, index);
        // A guess, by which the line comes while the item is still on its way; nothing relies on it.
        let guess = word.load(Relaxed);
        if guess & bit != 0 {
            // P1: the item, published by whatever ordering, comes before the look below.
            fence(SeqCst);
            // P2. The load spares the line where the bit is set already, which a hot queue's is.
            if word.load(SeqCst) & bit != 0 {
                return self.raise(1, index, false);
            }
        }
        // P2. Releases the item to the consumer that clears the bit, so P1 is not needed before it. What was there
        // before is not asked for: the answer would cost a second fetch of the line.
        word.fetch_or(bit, SeqCst);
        fence_after_rmw();
        self.raise(1, index, guess == 0)
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
                // As in `ring`: what was there is not asked for.
                word.fetch_or(bit, SeqCst);
                // P3, or the look at the next level, comes after it.
                fence_after_rmw();
                // Relaxed: a guess, for which the line is here.
                silent = word.load(Relaxed) == bit;
            } else {
                // The same. The thread that set it may be dead, so that P3 is left to us.
                fence_after_load();
            }
            at = index;
        }
        // P3, after the top in S.
        self.asleep().load(SeqCst) & self.beds_mask != 0 && self.wake_one()
    }

    /// C1 for a mark or, at level 0, a bell. True if it was set.
    pub(super) fn lower(&self, level: usize, at: usize) -> bool {
        if level >= self.depth() {
            return true;
        }
        let (index, bit) = place(at);
        let word = self.word(level, index);
        // C1 or, at level 0, C2 of one bell; the fence is C3. Of what was there before only the bit is asked for: the
        // rest would cost a second fetch of the line.
        let was_set = word.fetch_and(!bit, SeqCst) & bit != 0;
        fence_after_rmw();
        // Nothing is left, by now. The last that cleared a bit of it sees this, or a bit that came since.
        if level + 1 < self.depth() && word.load(SeqCst) == 0 {
            self.settle(level + 1, index);
        }
        was_set
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
        bits & self.geometry.valid(0, index)
    }

    /// All bells that a word has.
    #[cfg(any(test, not(loom)))]
    pub(super) const fn all(&self, index: usize) -> u64 {
        self.geometry.valid(0, index)
    }

    /// Takes all bells at once and mends what a consumer left that ended between two steps: a word without its mark, a
    /// sleep that nobody sleeps.
    #[cfg(any(test, not(loom)))]
    pub(super) fn take_over(&self) {
        // S3 of the one that is gone; nobody is woken for it any more.
        self.asleep().store(0, SeqCst);
        for index in 0..self.words(0) {
            self.take_word(index);
        }
    }

    /// How this consumer is to be woken from now on. Of no use to a sleeper [`Beds::Across`].
    pub(super) fn register(&self, consumer: usize, waker: Option<Waker>) {
        if let Beds::Wakers(wakers) = &self.beds {
            // Foreign code may run where the old one is dropped: not while the mutex is held, and its panic ends here.
            let old = std::mem::replace(&mut *hold(&wakers[consumer]), waker);
            let _ = caught(|| drop(old));
        }
    }

    /// S1. Look by [`Board::is_silent`] after it.
    pub(super) fn lie_down(&self, consumer: usize) {
        // S1; the fence is that of S2.
        self.asleep().fetch_or(1 << consumer, SeqCst);
        fence_after_rmw();
    }

    /// S3. True if a producer woke this consumer or is about to; always false [`Beds::Across`].
    pub(super) fn get_up(&self, consumer: usize) -> bool {
        if matches!(self.beds, Beds::Across(_)) {
            // S3. No producer changes it, so nothing is to be read; and what a hostile one has put there ends here.
            self.asleep().store(0, SeqCst);
            return false;
        }
        // S3. Reads the clearing of the producer that woke us, and so sees the bell that it rang.
        let before = self.asleep().fetch_and(!(1 << consumer), SeqCst);
        before & (1 << consumer) == 0
    }

    /// X1 to X3 for the only consumer of a set that processes share; `None` if this is not one. True once it is past
    /// `until`.
    pub(super) fn sleep_across(&self, until: Option<Instant>) -> Option<bool> {
        let Beds::Across(futex) = &self.beds else { return None };
        // X1.
        let rings = self.rings().load(SeqCst);
        self.lie_down(0);
        // X2, X3.
        if self.is_silent() {
            return Some(futex.wait(self.rings(), rings, until));
        }
        // The end counts here too: a hostile process can keep the top from ever being empty.
        Some(until.is_some_and(|until| clock::now() >= until))
    }

    /// Wakes one consumer of those that sleep. True if there was one.
    #[cold]
    pub(super) fn wake_one(&self) -> bool {
        let woke = match &self.beds {
            Beds::Wakers(wakers) => self.wake_first(wakers),
            Beds::Across(futex) => {
                // X4: the count first, for a sleeper that is still on its way into the futex.
                self.rings().fetch_add(1, SeqCst);
                futex.wake(self.rings())
            }
        };
        // A count for people; nothing is ordered by it.
        self.wakes.fetch_add(u64::from(woke), Relaxed);
        woke
    }

    /// Wakes the first that sleeps, so that few are kept busy. A waker that panics counts as none: the next is woken.
    fn wake_first(&self, wakers: &[Mutex<Option<Waker>>]) -> bool {
        loop {
            // P3: after the top in S. Of several that find a sleeper one clears its bit.
            let asleep = self.asleep().load(SeqCst);
            if asleep == 0 {
                return false;
            }
            let bit = asleep & asleep.wrapping_neg();
            // P3. Pairs with S3 of that consumer.
            if self.asleep().fetch_and(!bit, SeqCst) & bit == 0 {
                continue;
            }
            let waker = &wakers[bit.trailing_zeros() as usize];
            // Cloning is foreign code as well as waking is.
            let woken = caught(|| {
                let waker = hold(waker).clone();
                waker.map(Waker::wake)
            });
            if matches!(woken, Ok(Some(()))) {
                return true;
            }
        }
    }

    pub(super) fn wakes(&self) -> u64 {
        // A count for people, as above.
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

    /// A hostile process that set the top again and again kept a wait from its end.
    #[test]
    fn a_wait_across_processes_ends_in_time_though_it_may_not_sleep() {
        let geometry = Geometry::new(5_000, Layout::Padded);
        let lines = Memory::own((0..geometry.lines()).map(|_| Line::default()));
        let board = Board::over(lines, geometry, Beds::across());
        board.word(2, 0).fetch_or(1, SeqCst);
        assert_eq!(board.sleep_across(Some(Instant::ZERO)), Some(true));
        assert_eq!(board.sleep_across(Some(Instant::FAR_FUTURE)), Some(false));
        assert_eq!(board.sleep_across(None), Some(false));
    }
}

#[cfg(all(test, loom))]
mod models;
