//! A bounded queue of events from one thread to the output, in shared memory.

use crate::event::WORDS;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Events that wait to be fetched, at most; further ones are refused, and counted by the caller.
pub(crate) const CAPACITY: usize = 1024;

/// One thread pushes, one thread pops. Zeroed memory is an empty ring.
#[repr(C, align(64))]
pub(crate) struct Ring {
    /// Events ever pushed; written by the pushing thread.
    pushed: Line,
    /// Events ever popped; written by the popping thread.
    popped: Line,
    events: [[AtomicU64; WORDS]; CAPACITY],
}

/// A counter with a cache line to itself.
#[repr(C, align(64))]
struct Line(AtomicU32);

impl Ring {
    /// False when it is full.
    pub(crate) fn push(&self, words: &[u64; WORDS]) -> bool {
        let pushed = self.pushed.0.load(Relaxed);
        if pushed.wrapping_sub(self.popped.0.load(Acquire)) as usize >= CAPACITY {
            return false;
        }
        let place = &self.events[pushed as usize % CAPACITY];
        for (to, word) in place.iter().zip(words) {
            to.store(*word, Relaxed);
        }
        self.pushed.0.store(pushed.wrapping_add(1), Release);
        true
    }

    pub(crate) fn pop(&self) -> Option<[u64; WORDS]> {
        let popped = self.popped.0.load(Relaxed);
        if popped == self.pushed.0.load(Acquire) {
            return None;
        }
        let place = &self.events[popped as usize % CAPACITY];
        let words = std::array::from_fn(|i| place[i].load(Relaxed));
        self.popped.0.store(popped.wrapping_add(1), Release);
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Ring> {
        Box::new(Ring {
            pushed: Line(AtomicU32::new(u32::MAX - 5)),
            popped: Line(AtomicU32::new(u32::MAX - 5)),
            events: std::array::from_fn(|_| [const { AtomicU64::new(0) }; WORDS]),
        })
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_the_order_across_the_wrap() {
        let ring = empty();
        for value in 0..CAPACITY as u64 {
            assert!(ring.push(&[value; WORDS]));
        }
        assert!(!ring.push(&[0; WORDS]), "one too many");
        for value in 0..CAPACITY as u64 {
            assert_eq!(ring.pop(), Some([value; WORDS]));
        }
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn two_threads_hand_over_everything_whole() {
        let ring = empty();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..=20_000u64 {
                    while !ring.push(&[value; WORDS]) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut expected = 1;
            while expected <= 20_000 {
                match ring.pop() {
                    Some(words) => {
                        assert_eq!(words, [expected; WORDS]);
                        expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
