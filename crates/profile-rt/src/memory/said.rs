//! What the recorder says to the program's threads.

use crate::memory::lease::Term;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A number, and above it the term of the recorder that said it. One word, so that a recorder that stood still while the next
/// began changes nothing that the next one has said. No other data goes with it: all is relaxed, save where said.
#[repr(transparent)]
pub(crate) struct Said(AtomicU64);

impl Said {
    pub(crate) fn number(&self) -> u32 {
        self.0.load(Relaxed) as u32
    }

    /// The recorder of that term says it, unless a later one has said something.
    pub(crate) fn say(&self, by: Term, number: u32) {
        let said = |now| (Term::above(now) <= by).then(|| by.with(number));
        let _ = self.0.fetch_update(Relaxed, Relaxed, said);
    }

    /// For [`Said::unsay`].
    pub(crate) fn word(&self) -> u64 {
        // Acquire: before the lease is looked at. A recorder that takes the lease after that says another word.
        self.0.load(Acquire)
    }

    /// It is zero, if it is still what was seen.
    pub(crate) fn unsay(&self, seen: u64) {
        let zero = Term::above(seen).with(0);
        let _ = self.0.compare_exchange(seen, zero, Relaxed, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recorder_says_late_is_not_heard() {
        let said = Said(AtomicU64::new(0));
        let [first, next] = [Term(1), Term(2)];
        said.say(first, 7);
        let seen = said.word();
        said.say(next, 7);
        said.say(first, 0);
        said.unsay(seen);
        assert_eq!(said.number(), 7, "the same number, of another");
        said.unsay(said.word());
        assert_eq!(said.number(), 0);
        said.say(first, 9);
        assert_eq!(said.number(), 0, "the term stays");
        said.say(next, 9);
        assert_eq!(said.number(), 9);
    }
}
