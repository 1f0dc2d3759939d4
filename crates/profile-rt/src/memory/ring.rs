//! A bounded queue of events from one thread to the output, in shared memory.
//!
//! It begins small and grows, within what all rings may take together, after it was found full. A thread that makes a
//! million marks a second must outlast the moments in which the output does not run. A thousand threads that make a
//! few must not take a gigabyte.

use crate::memory::lease::Term;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

/// Words that a ring holds at first.
pub(crate) const WORDS_FIRST: usize = 2048;
/// It grows by this factor.
const GROWTH: usize = 8;
/// Words by which all rings together may grow: 64 MiB.
pub(crate) const GROWTH_WORDS_MAX: u64 = 8 << 20;

/// How far a ring is written and read. Zeroed memory is an empty ring.
#[repr(C, align(64))]
pub(crate) struct Control {
    /// Words ever pushed; written by the pushing thread, as are the next two.
    pushed: Line,
    /// Written by recorders.
    popped: Popped,
}

/// Words ever popped, and above them the term of the recorder that popped last or was handed the ring. One word, so that
/// a recorder which stood still while the next began takes nothing of the next one's.
#[repr(C, align(64))]
struct Popped(AtomicU64);

/// A counter with a cache line to itself, and what its writer notes beside it.
#[repr(C, align(64))]
struct Line {
    count: AtomicU32,
    /// How often the ring has grown.
    growths: AtomicU32,
    /// It was full, and is to grow when it is empty next: only then is no word in the way.
    wants: AtomicU32,
    /// The thread is in the middle of a push.
    is_pushing: AtomicU32,
}

/// A ring, as both sides see it. One thread pushes, one thread pops.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    pub(crate) control: &'a Control,
    /// As many as it can ever hold, a power of two.
    pub(crate) words: &'a [AtomicU64],
    /// Words by which all rings have grown.
    pub(crate) grown: &'a AtomicU64,
}

impl Ring<'_> {
    /// Appends an event. False when it is full, and where a handler of a signal comes in the middle of the thread's own push.
    pub(crate) fn push(self, event: &[u64]) -> bool {
        self.push_with_room(event, 0)
    }

    /// The same; before, it grows to hold so many words, if it is empty and there is room for all rings.
    pub(crate) fn push_with_room(self, event: &[u64], words: usize) -> bool {
        let is_pushing = &self.control.pushed.is_pushing;
        // Relaxed: only the thread itself and handlers on it look. Fences keep the compiler from moving anything out.
        if is_pushing.load(Relaxed) != 0 {
            return false;
        }
        is_pushing.store(1, Relaxed);
        // A handler finds it set before anything is pushed, and until all is.
        compiler_fence(SeqCst);
        self.make_room(words);
        let is_pushed = self.append(event);
        compiler_fence(SeqCst);
        is_pushing.store(0, Relaxed);
        is_pushed
    }

    /// Another thread pushes from now on. The last may have ended in the middle of a push.
    pub(crate) fn change_hands(self) {
        self.control.pushed.is_pushing.store(0, Relaxed);
    }

    fn make_room(self, words: usize) {
        let wanted = words.min(self.words.len());
        while self.capacity() < wanted && self.is_empty() {
            let before = self.capacity();
            self.grow();
            if self.capacity() == before {
                return;
            }
        }
    }

    /// As its own thread sees it.
    fn is_empty(self) -> bool {
        let Control { pushed: own, popped } = self.control;
        // Acquire: as in `append`.
        own.count.load(Relaxed) == count(popped.0.load(Acquire))
    }

    fn append(self, event: &[u64]) -> bool {
        let Control { pushed: own, popped } = self.control;
        // Relaxed: this thread alone writes it.
        let pushed = own.count.load(Relaxed);
        // Acquire: pairs with the Release of `pop`. Words were read before they are written anew.
        let waiting = pushed.wrapping_sub(count(popped.0.load(Acquire))) as usize;
        if waiting == 0 && own.wants.load(Relaxed) != 0 {
            self.grow();
        }
        let capacity = self.capacity();
        if waiting + event.len() > capacity {
            own.wants.store(1, Relaxed);
            return false;
        }
        for (at, word) in event.iter().enumerate() {
            self.words[(pushed as usize).wrapping_add(at) % capacity].store(*word, Relaxed);
        }
        // Release: pairs with the Acquire of `pop`. The words are there before their number is.
        own.count.store(pushed.wrapping_add(event.len() as u32), Release);
        true
    }

    /// Takes the oldest event, padded with zeros. `length` tells by its first word of how many words,
    /// at most `N`, it is made. `None` also where the ring is a later recorder's.
    pub(crate) fn pop<const N: usize>(
        self,
        by: Term,
        length: impl Fn(u64) -> usize,
    ) -> Option<[u64; N]> {
        let Control { pushed, popped: own } = self.control;
        // Relaxed: the compare-exchange below finds out whether it is still so.
        let before = own.0.load(Relaxed);
        if Term::above(before) > by {
            return None;
        }
        let popped = count(before);
        // Acquire: pairs with the Release of `append`. The capacity is younger than the events: while there are any, it does not
        // change.
        let waiting = pushed.count.load(Acquire).wrapping_sub(popped) as usize;
        if waiting == 0 {
            return None;
        }
        let capacity = self.capacity();
        let word = |at| self.words[(popped as usize).wrapping_add(at) % capacity].load(Relaxed);
        let length = length(word(0)).clamp(1, waiting.min(N));
        let event = std::array::from_fn(|at| if at < length { word(at) } else { 0 });
        let after = by.with(popped.wrapping_add(length as u32));
        // Not a store: since it was loaded the ring may have been handed to the next recorder, whose event this is then.
        // Release: the words were read, and may be written anew. Relaxed where it fails: nothing is read after it.
        own.0.compare_exchange(before, after, Release, Relaxed).ok().map(|_| event)
    }

    /// Forgets what waits. The ring is that recorder's from now on, unless it is a later one's already.
    pub(crate) fn hand_to(self, next: Term) {
        let Control { pushed, popped: own } = self.control;
        let all = |now| (Term::above(now) < next).then(|| next.with(pushed.count.load(Acquire)));
        let _ = own.0.fetch_update(AcqRel, Relaxed, all);
    }

    /// What waits and what comes is that recorder's from now on, unless it is a later one's. For one that adopts the thread.
    pub(crate) fn adopt(self, by: Term) {
        let own = &self.control.popped.0;
        let same = |now| (Term::above(now) < by).then(|| by.with(count(now)));
        // Relaxed: nothing is read or written before or after by this. A thread that pushes reads on from what `pop` released.
        let _ = own.fetch_update(Relaxed, Relaxed, same);
    }

    /// Words that it holds now.
    pub(crate) fn capacity(self) -> usize {
        // Counters wrap at a power of two, and so must the places.
        let growths = self.control.pushed.growths.load(Relaxed).min(16);
        GROWTH.saturating_pow(growths).saturating_mul(WORDS_FIRST).min(self.words.len())
    }

    /// Whether a quarter of it waits for that recorder, which should be back soon.
    pub(crate) fn is_filling(self, by: Term) -> bool {
        let Control { pushed, popped } = self.control;
        let popped = popped.0.load(Relaxed);
        let waiting = pushed.count.load(Relaxed).wrapping_sub(count(popped));
        Term::above(popped) <= by && waiting as usize > self.capacity() / 4
    }

    #[cold]
    fn grow(self) {
        let own = &self.control.pushed;
        own.wants.store(0, Relaxed);
        let old = self.capacity();
        let more = (old.saturating_mul(GROWTH).min(self.words.len()) - old) as u64;
        let takes = |grown: u64| (grown + more <= GROWTH_WORDS_MAX).then_some(grown + more);
        if more > 0 && self.grown.fetch_update(Relaxed, Relaxed, takes).is_ok() {
            own.growths.store(own.growths.load(Relaxed) + 1, Relaxed);
        }
    }
}

const fn count(popped: u64) -> u32 {
    popped as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: usize = 8;
    const FIRST: Term = Term(1);

    struct Memory {
        control: Control,
        words: Vec<AtomicU64>,
        grown: AtomicU64,
    }

    impl Memory {
        /// An empty ring, shortly before its counters wrap.
        fn new(words: usize) -> Self {
            let count = u32::MAX - 5;
            let pushed = Line {
                count: count.into(),
                growths: 0.into(),
                wants: 0.into(),
                is_pushing: 0.into(),
            };
            let control = Control { pushed, popped: Popped(Term::default().with(count).into()) };
            let words = (0..words).map(|_| AtomicU64::new(0)).collect();
            Self { control, words, grown: AtomicU64::new(0) }
        }

        fn ring(&self) -> Ring<'_> {
            Ring { control: &self.control, words: &self.words, grown: &self.grown }
        }
    }

    /// The first word is the length.
    fn pop(ring: Ring<'_>) -> Option<[u64; WORDS]> {
        pop_by(FIRST, ring)
    }

    fn pop_by(by: Term, ring: Ring<'_>) -> Option<[u64; WORDS]> {
        ring.pop(by, |tag| tag as usize)
    }

    fn fill(ring: Ring<'_>) -> u64 {
        (0..).take_while(|value| ring.push(&[3, *value, 0])).count() as u64
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_the_order_across_the_wrap() {
        let memory = Memory::new(WORDS_FIRST);
        let ring = memory.ring();
        let held = fill(ring);
        assert_eq!(held, WORDS_FIRST as u64 / 3);
        assert!(ring.is_filling(FIRST));
        for value in 0..held {
            assert_eq!(pop(ring), Some([3, value, 0, 0, 0, 0, 0, 0]));
        }
        assert_eq!(pop(ring), None);
    }

    #[test]
    fn what_waits_for_a_recorder_is_forgotten_by_the_next_of_which_it_takes_nothing() {
        let memory = Memory::new(WORDS_FIRST);
        let ring = memory.ring();
        let next = Term(2);
        fill(ring);
        assert!(pop(ring).is_some());
        ring.hand_to(next);
        assert_eq!(pop_by(next, ring), None, "what waits is forgotten");
        fill(ring);
        // It stood still meanwhile.
        assert_eq!(pop(ring), None);
        assert!(!ring.is_filling(FIRST) && ring.is_filling(next));
        ring.hand_to(FIRST);
        ring.adopt(FIRST);
        assert_eq!(pop_by(next, ring).map(|event| event[1]), Some(0), "nothing of it is gone");
    }

    #[test]
    fn a_recorder_that_adopts_a_thread_has_what_waits_and_an_earlier_one_nothing() {
        let memory = Memory::new(WORDS_FIRST);
        let ring = memory.ring();
        fill(ring);
        let next = Term(2);
        ring.adopt(next);
        assert_eq!(pop(ring), None);
        assert_eq!(pop_by(next, ring).map(|event| event[1]), Some(0));
    }

    #[test]
    fn it_grows_once_it_was_full_and_is_empty_until_all_have_enough() {
        let memory = Memory::new(1 << 19);
        let ring = memory.ring();
        for expected in [WORDS_FIRST, WORDS_FIRST * 8, WORDS_FIRST * 64, 1 << 19, 1 << 19] {
            assert_eq!(fill(ring), expected as u64 / 3);
            assert_eq!(ring.capacity(), expected);
            while pop(ring).is_some() {}
        }
        let late = Memory::new(1 << 19);
        late.grown.store(GROWTH_WORDS_MAX, Relaxed);
        fill(late.ring());
        while pop(late.ring()).is_some() {}
        assert_eq!(fill(late.ring()), WORDS_FIRST as u64 / 3, "nothing is left for it");
    }

    #[test]
    fn room_is_made_before_anything_is_lost_and_not_under_what_waits() {
        let memory = Memory::new(1 << 19);
        let ring = memory.ring();
        assert!(ring.push(&[3, 7, 0]));
        assert!(ring.push_with_room(&[3, 8, 0], 1 << 17));
        assert_eq!(ring.capacity(), WORDS_FIRST, "an event is in the way");
        assert_eq!([pop(ring), pop(ring)].map(|event| event.map(|it| it[1])), [Some(7), Some(8)]);
        assert!(ring.push_with_room(&[3, 9, 0], 1 << 17));
        assert_eq!(ring.capacity(), 1 << 17);
        assert_eq!(pop(ring).map(|event| event[1]), Some(9));
        let late = Memory::new(1 << 19);
        late.grown.store(GROWTH_WORDS_MAX, Relaxed);
        assert!(late.ring().push_with_room(&[3, 7, 0], 1 << 17));
        assert_eq!(late.ring().capacity(), WORDS_FIRST, "nothing is left for it");
    }

    #[test]
    fn a_handler_that_interrupts_a_push_is_refused() {
        let memory = Memory::new(WORDS_FIRST);
        let ring = memory.ring();
        memory.control.pushed.is_pushing.store(1, Relaxed);
        assert!(!ring.push(&[3, 7, 0]));
        assert_eq!(pop(ring), None);
        ring.change_hands();
        assert!(ring.push(&[3, 7, 0]));
    }

    #[test]
    fn words_that_are_no_event_do_not_lead_out_of_the_ring() {
        let memory = Memory::new(WORDS_FIRST);
        let ring = memory.ring();
        for tag in [0, 1, 7, u64::MAX] {
            assert!(ring.push(&[tag, 5]));
        }
        while pop(ring).is_some() {}
        assert!(ring.push(&[2, 9]));
        assert_eq!(pop(ring).map(|event| event[1]), Some(9));
    }

    #[test]
    fn two_threads_hand_over_everything_whole_while_it_grows() {
        let memory = Memory::new(WORDS_FIRST * 64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..=60_000u64 {
                    let event =
                        [[3, value, value, 0], [4, value, value, value]][value as usize % 2];
                    while !memory.ring().push(&event[..event[0] as usize]) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut expected = 1;
            while expected <= 60_000 {
                match pop(memory.ring()) {
                    Some([length, value, again, ..]) => {
                        assert_eq!((value, again), (expected, expected));
                        assert_eq!(length, 3 + expected % 2);
                        expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
