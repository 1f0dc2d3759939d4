//! Libraries that were closed without an answer of the recorder's, for the recorder to know: `threads::unload` says which.
//!
//! Closing threads alone write here, each for the recorder of the latest term. No recorder does: one that stood still while
//! the next began would clear what that one is told.

use crate::memory::lease::Term;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use tailwater_profile::record::Ticks;

/// All of a term's, with a place in the mailbox or without, in one range. Zeroed memory has none.
#[repr(C)]
pub(crate) struct Unawaited {
    /// Complement of the least start of their descriptors.
    not_from: Greatest,
    to: Greatest,
    /// Complement of when the first of them was closed.
    not_first: Greatest,
    last: Greatest,
    /// How many, and the term above.
    count: AtomicU64,
}

/// Libraries that were closed without an answer. Another one's descriptors may lie there since the first of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Gone {
    /// How many they are.
    pub(crate) count: u32,
    /// All of theirs, and what lies between.
    pub(crate) descs: Range<u64>,
    /// When the first of them was closed, or less than a [`UNIT`] earlier.
    pub(crate) first: Ticks,
    /// When the last was, or less than a [`UNIT`] later.
    pub(crate) last: Ticks,
}

/// Of time, in ticks: some microseconds. [`NUMBER_MAX`] of them are 24 years at 3 GHz.
pub(crate) const UNIT: Ticks = 1 << 13;

impl Unawaited {
    /// A closing thread goes on without an answer, and the library with these descriptors goes. By the time that this returns,
    /// the recorder that `term` has is told.
    pub(crate) fn leave(&self, descs: &Range<u64>, at: Ticks, term: impl Fn() -> Term) {
        loop {
            let by = term();
            let is_latest = || term() == by;
            self.not_from.note(NUMBER_MAX - descs.start.min(NUMBER_MAX), by, is_latest);
            self.to.note(descs.end, by, is_latest);
            self.not_first.note(NUMBER_MAX - (at / UNIT).min(NUMBER_MAX), by, is_latest);
            self.last.note(at.div_ceil(UNIT), by, is_latest);
            let one_more = |now: u64| {
                let one_more = by.with((now as u32).wrapping_add(1));
                if Term::above(now) == by {
                    Some(one_more)
                } else {
                    is_latest().then(|| by.with(1))
                }
            };
            // Release: pairs with `gone`. The words above hold this library. Acquire: as in `note`.
            let _ = self.count.fetch_update(Release, Acquire, one_more);
            // Else the next recorder has begun meanwhile, and may have looked before.
            if is_latest() {
                return;
            }
        }
    }

    /// The libraries that went without an answer in that recorder's term, if they are not still so many. What is answered when
    /// the next term has begun has no meaning.
    pub(crate) fn gone(&self, known: u32, by: Term) -> Option<Gone> {
        let count = self.count.load(Acquire);
        let count = if Term::above(count) == by { count as u32 } else { 0 };
        (count != known).then(|| Gone {
            count,
            descs: NUMBER_MAX - self.not_from.of(by)..self.to.of(by),
            first: (NUMBER_MAX - self.not_first.of(by)) * UNIT,
            last: self.last.of(by) * UNIT,
        })
    }
}

/// The greatest number that was noted in a term, and as much of the term above it as there is room for. One word, so that
/// what is noted late, in an earlier term, changes nothing.
#[repr(transparent)]
struct Greatest(AtomicU64);

/// Addresses of descriptors are no greater (`TW_SITE_SHIFT`).
const NUMBER_MAX: u64 = (1 << 48) - 1;

impl Greatest {
    /// `is_latest` says whether no later term than this has begun.
    fn note(&self, number: u64, term: Term, is_latest: impl Fn() -> bool) {
        let noted = above(term) | number.min(NUMBER_MAX);
        // What is there of another term is of an earlier one, unless a later one has begun. After 65,536 terms without a library
        // that went so, the range of that one's is in ours: it is wider than it need be.
        let is_less = |now: u64| {
            if now & !NUMBER_MAX == above(term) { now < noted } else { is_latest() }
        };
        let greater = |now| is_less(now).then_some(noted);
        // Acquire, Release: where a word of a later term is found, that term is found after it.
        let _ = self.0.fetch_update(Release, Acquire, greater);
    }

    /// Zero where none was noted in that term.
    fn of(&self, term: Term) -> u64 {
        let now = self.0.load(Relaxed);
        if now & !NUMBER_MAX == above(term) { now & NUMBER_MAX } else { 0 }
    }
}

const fn above(term: Term) -> u64 {
    (term.0 as u64) << 48
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

    /// As it is in zeroed memory.
    pub(crate) fn unawaited() -> Unawaited {
        let greatest = || Greatest(0.into());
        Unawaited {
            not_from: greatest(),
            to: greatest(),
            not_first: greatest(),
            last: greatest(),
            count: 0.into(),
        }
    }

    const FIRST: Term = Term(1);
    const NEXT: Term = Term(2);

    #[test]
    fn what_goes_in_a_term_is_in_one_range_for_its_recorder() {
        let unawaited = unawaited();
        unawaited.leave(&(640..672), 3 * UNIT, || FIRST);
        unawaited.leave(&(64..96), 5 * UNIT - 1, || FIRST);
        let both = Gone { count: 2, descs: 64..672, first: 3 * UNIT, last: 5 * UNIT };
        assert_eq!(unawaited.gone(0, FIRST), Some(both));
        assert_eq!(unawaited.gone(2, FIRST), None, "it knows");
        assert_eq!(unawaited.gone(0, NEXT), None, "of what went before");
        unawaited.leave(&(128..160), 9 * UNIT, || NEXT);
        let one = Gone { count: 1, descs: 128..160, first: 9 * UNIT, last: 9 * UNIT };
        assert_eq!(unawaited.gone(0, NEXT), Some(one.clone()), "that range begins anew");
        // Whatever the low bits of a term are.
        let (by, far) = (Term(FIRST.0 + (3 << 16)), Term(FIRST.0 + (7 << 16)));
        unawaited.leave(&(128..160), 9 * UNIT, || by);
        assert_eq!((unawaited.gone(0, by), unawaited.gone(0, far)), (Some(one), None));
    }

    /// Right after each of its looks at the term but the last.
    #[test]
    fn a_thread_that_stood_still_while_the_next_recorder_began_tells_that_one_too() {
        for look in 1..7 {
            let unawaited = unawaited();
            let looks = Cell::new(0);
            let term = || {
                looks.set(looks.get() + 1);
                if looks.get() == look {
                    // Another thread is the first in the next term.
                    unawaited.leave(&(640..672), 3 * UNIT, || NEXT);
                }
                if looks.get() <= look { FIRST } else { NEXT }
            };
            unawaited.leave(&(128..160), 2 * UNIT, term);
            let both = Gone { count: 2, descs: 128..672, first: 2 * UNIT, last: 3 * UNIT };
            assert_eq!(unawaited.gone(0, NEXT), Some(both), "after look {look}");
        }
    }
}
