//! A slot's state, in one word: by it threads win the slot, and recorders set it free.
//!
//! A slot is unused, then claimed (a thread won it by compare-and-swap), then live, then ended (its thread is gone). It is
//! unused again once a recorder has taken its last events; without a recorder that lives an ended slot is as good as an
//! unused one.
//!
//! Above the phase is a term: the one in which the thread came, then that of the recorder that adopted it last. So a
//! recorder that stood still sets no slot free of which a later one knows.

use crate::memory::lease::Term;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The numbers are `TW_THREAD_*` of `tailwater/profile_abi.h`; recorders pass over what is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Unused = 0,
    /// A thread pushes frames.
    Live = 1,
    /// It will push no more, and has not been taken off yet.
    Ended = 2,
    Claimed = 3,
}

/// The bits of the phase.
const PHASE_BITS: u32 = 2;

/// Zeroed memory is unused.
#[repr(transparent)]
pub(crate) struct State(AtomicU32);

impl State {
    pub(crate) fn phase(&self) -> Phase {
        // Pairs with `begin` and `end`: what the thread wrote before is there.
        phase(self.0.load(Acquire))
    }

    /// Wins a slot that is free. An ended one is where nothing watches.
    pub(crate) fn claim(&self, is_watched: bool) -> bool {
        let now = self.0.load(Relaxed);
        let is_free = match phase(now) {
            Phase::Unused => true,
            Phase::Ended => !is_watched,
            Phase::Live | Phase::Claimed => false,
        };
        // Acquire: pairs with `free`. The last thread's events were taken before this one's are written. And the term that is
        // read for `begin` is no earlier than that recorder's.
        is_free && self.0.compare_exchange(now, Phase::Claimed as u32, Acquire, Relaxed).is_ok()
    }

    /// The slot that was claimed is set up, in that term.
    pub(crate) fn begin(&self, term: Term) {
        // Not a compare-exchange: nobody else writes a claimed slot. Release: pairs with `adopt` and `phase`.
        self.0.store(word(Phase::Live, term), Release);
    }

    /// The thread is gone. Nothing where it is already.
    pub(crate) fn end(&self) {
        let ended = |now| (phase(now) == Phase::Live).then(|| word(Phase::Ended, term(now)));
        // Release: pairs with `adopt` and `phase`. Its last events and the time of its end are there.
        let _ = self.0.fetch_update(Release, Relaxed, ended);
    }

    /// A recorder knows of the thread from now on. `None`: there is none, or a later recorder knows of it.
    pub(crate) fn adopt(&self, by: Term) -> Option<Phase> {
        let adopted = |now| {
            let is_there = matches!(phase(now), Phase::Live | Phase::Ended);
            (is_there && term(now) <= low(by)).then(|| word(phase(now), by))
        };
        // Acquire: pairs with `begin` and `end`. Not Release: who reads this word reads on from what those released.
        self.0.fetch_update(Acquire, Relaxed, adopted).ok().map(phase)
    }

    /// A recorder has taken the last events of an ended slot. False where a later recorder knows of it, or a thread has won
    /// it since.
    pub(crate) fn free(&self, by: Term) -> bool {
        let freed = |now| {
            (phase(now) == Phase::Ended && term(now) <= low(by)).then_some(Phase::Unused as u32)
        };
        // Release: pairs with `claim`. Relaxed where it fails: nothing is read after it.
        self.0.fetch_update(Release, Relaxed, freed).is_ok()
    }
}

const fn phase(word: u32) -> Phase {
    match word & ((1 << PHASE_BITS) - 1) {
        0 => Phase::Unused,
        1 => Phase::Live,
        2 => Phase::Ended,
        _ => Phase::Claimed,
    }
}

const fn term(word: u32) -> Term {
    Term(word >> PHASE_BITS)
}

/// As much of a term as there is room for: a billion recordings of one process.
const fn low(term: Term) -> Term {
    Term(term.0 & (u32::MAX >> PHASE_BITS))
}

const fn word(phase: Phase, term: Term) -> u32 {
    phase as u32 | term.0 << PHASE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Term = Term(1);
    const NEXT: Term = Term(2);

    /// Of a thread that came in that term.
    fn live(term: Term) -> State {
        let state = State(AtomicU32::new(0));
        assert!(state.claim(true) && !state.claim(false), "one wins it");
        state.begin(term);
        state
    }

    #[test]
    fn a_slot_is_free_once_the_recorder_that_knows_of_it_says_so() {
        let state = live(FIRST);
        assert_eq!(state.adopt(FIRST), Some(Phase::Live));
        assert!(!state.free(FIRST), "it has not ended");
        assert_eq!(state.phase(), Phase::Live);
        state.end();
        assert!(!state.claim(true), "its last events were not taken");
        assert!(state.free(FIRST));
        assert_eq!(state.phase(), Phase::Unused);
        state.end();
        assert_eq!(state.phase(), Phase::Unused, "its thread has gone before");
        let unwatched = live(FIRST);
        unwatched.end();
        assert!(unwatched.claim(false));
    }

    /// Whatever happened between a look at the term and this: the word alone decides.
    #[test]
    fn a_recorder_that_stood_still_frees_no_slot_of_which_the_next_one_knows() {
        let known = live(FIRST);
        assert_eq!(known.adopt(FIRST), Some(Phase::Live));
        assert_eq!(known.adopt(NEXT), Some(Phase::Live));
        known.end();
        assert!(!known.free(FIRST));
        assert_eq!((known.phase(), known.adopt(FIRST)), (Phase::Ended, None));
        assert!(known.free(NEXT));
        assert_eq!(known.phase(), Phase::Unused);
        // Nor one that was won in the next one's term, which has not met it.
        let won_since = live(NEXT);
        won_since.end();
        assert!(!won_since.free(FIRST));
        assert_eq!((won_since.adopt(FIRST), won_since.adopt(NEXT)), (None, Some(Phase::Ended)));
    }
}
