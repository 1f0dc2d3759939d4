//! Children that a process had, for its recorder to tell.

use crate::memory::lease::Term;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How many no recorder was told of yet, and above that the term of the recorder that is to be told. One word, so that a
/// recorder that stood still while the next began takes none of the next one's. No other data goes with it: all is relaxed.
#[repr(transparent)]
pub(crate) struct Born(AtomicU64);

impl Born {
    /// One more. For threads that fork.
    pub(crate) fn add(&self) {
        // Not up to the term: the recorder takes them each second.
        self.0.fetch_add(1, Relaxed);
    }

    /// Takes all, for the recorder of that term; none where they are another one's.
    pub(crate) fn take(&self, by: Term) -> u32 {
        let none = |now| (Term::above(now) == by).then(|| by.with(0));
        self.0.fetch_update(Relaxed, Relaxed, none).map_or(0, |word| word as u32)
    }

    /// Those until now are forgotten, and the recorder of that term is told of the next, unless a later one is.
    pub(crate) fn hand_to(&self, next: Term) {
        let none = |now| (Term::above(now) < next).then(|| next.with(0));
        let _ = self.0.fetch_update(Relaxed, Relaxed, none);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_told_to_the_recorder_of_their_term() {
        let born = Born(AtomicU64::new(0));
        let [first, next] = [Term(1), Term(2)];
        born.add();
        born.hand_to(first);
        born.add();
        born.add();
        assert_eq!([born.take(first), born.take(first)], [2, 0], "each once");
        born.hand_to(next);
        born.add();
        // It stood still meanwhile, in the middle of its beginning even.
        born.hand_to(first);
        assert_eq!([born.take(first), born.take(next)], [0, 1]);
    }
}
