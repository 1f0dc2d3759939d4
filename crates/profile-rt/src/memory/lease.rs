//! The recorder's right to a program, in one word of shared memory. A recorder in another process may die at any moment,
//! and nothing tells the program. So that recorder has the word for a time only, and renews it; the program takes it
//! back when the time is over.
//!
//! NOBODY, then by compare-and-swap the program itself or another process, then NOBODY again: by the recorder that had
//! it, or by any thread of the program that finds the time over.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use tailwater_profile::record::Ticks;

const NOBODY: u64 = 0;
/// Set where it is another process.
const OTHER: u64 = 1 << 63;
/// The process has the bits from here to [`OTHER`]: the kernel numbers no process higher than 2²². Below is the time.
const TIME_BITS: u32 = 41;
/// Ticks to a unit of that time, as a power of two: a third of a millisecond, and all of it 24 years, at 3 GHz.
const UNIT_BITS: u32 = 20;
const TIMES: u64 = (1 << TIME_BITS) - 1;

/// What records a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recorder {
    /// Threads of the process with this number. They end with it, so there is no time to renew.
    Own(u32),
    /// Another process, as its own kernel's namespace numbers it.
    Other(u32),
}

/// The time from one taking of the lease to the next, numbered from one. A recorder that stood still and lost the lease may
/// go on for a moment: by the number it is refused what is the next one's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Term(pub(crate) u32);

impl Term {
    /// A word with the term in its upper half: what one compare-exchange is to decide about lies below.
    pub(crate) const fn with(self, below: u32) -> u64 {
        (self.0 as u64) << 32 | below as u64
    }

    /// The term of such a word.
    pub(crate) const fn above(word: u64) -> Self {
        Self((word >> 32) as u32)
    }
}

/// The word; zeroed memory is nobody's.
#[repr(transparent)]
pub(crate) struct Lease(AtomicU64);

impl Lease {
    /// The recorder that has it, be its time over or not.
    pub(crate) fn recorder(&self) -> Option<Recorder> {
        recorder(self.0.load(Acquire))
    }

    /// Whether another process has it, and its time is not over.
    pub(crate) fn is_of_other(&self, now: Ticks) -> bool {
        let word = self.0.load(Acquire);
        word & OTHER != 0 && !is_over(word, now)
    }

    /// Whether anybody has it, and the time is not over. `now` is asked where that matters.
    pub(crate) fn holds(&self, now: impl FnOnce() -> Ticks) -> bool {
        let word = self.0.load(Acquire);
        word != NOBODY && (word & OTHER == 0 || !is_over(word, now()))
    }

    /// `who` takes it, until then where that is another process. Fails where it is taken.
    pub(crate) fn take(&self, who: Recorder, until: Ticks) -> Result<(), Option<Recorder>> {
        // Acquire: pairs with `give_back` and `withdraw`. What the recorder before has left is read after this. Release: pairs with
        // the loads of the program's threads.
        let taken = self.0.compare_exchange(NOBODY, word(who, until), AcqRel, Acquire);
        taken.map(|_| ()).map_err(recorder)
    }

    /// `who` has it until then. False: it was taken back meanwhile. A time that is over is no reason: whatever the program does
    /// in its stead takes the lease back first, and libraries that went meanwhile are told of.
    pub(crate) fn renew(&self, who: Recorder, until: Ticks) -> bool {
        // As in `take`: a longer time is published as the first one was.
        let renewed = self.0.fetch_update(AcqRel, Acquire, |now| {
            (recorder(now) == Some(who)).then(|| word(who, until))
        });
        renewed.is_ok()
    }

    /// The program, which has it as [`Recorder::Own`], is `who` from now on.
    pub(crate) fn hand_to(&self, who: Recorder) {
        // A store: the program has it, and nothing takes it from the program. Release: pairs with the loads of its threads.
        self.0.store(word(who, 0), Release);
    }

    /// It is free again, if `who` had it.
    pub(crate) fn give_back(&self, who: Recorder) {
        let gone = |now| (recorder(now) == Some(who)).then_some(NOBODY);
        // Release: pairs with `take`. All that was done under the lease is done before the next recorder has it.
        let _ = self.0.fetch_update(AcqRel, Relaxed, gone);
    }

    /// Takes it from another process whose time is over. True where that was so.
    pub(crate) fn withdraw(&self, now: Ticks) -> bool {
        let word = self.0.load(Acquire);
        let is_due = word & OTHER != 0 && is_over(word, now);
        // Not a store: the recorder may have renewed it since. Release: as in `give_back`.
        is_due && self.0.compare_exchange(word, NOBODY, AcqRel, Relaxed).is_ok()
    }

    /// Takes it from any other process. The caller knows that one to be dead.
    pub(crate) fn bury(&self) {
        let dead = |now: u64| (now & OTHER != 0).then_some(NOBODY);
        let _ = self.0.fetch_update(AcqRel, Relaxed, dead);
    }
}

const fn word(who: Recorder, until: Ticks) -> u64 {
    match who {
        Recorder::Own(pid) => (pid as u64) << TIME_BITS & !OTHER | TIMES,
        Recorder::Other(pid) => {
            let units = until >> UNIT_BITS;
            OTHER | (pid as u64) << TIME_BITS | if units < TIMES { units } else { TIMES }
        }
    }
}

const fn recorder(word: u64) -> Option<Recorder> {
    let pid = ((word & !OTHER) >> TIME_BITS) as u32;
    match word {
        NOBODY => None,
        other if other & OTHER != 0 => Some(Recorder::Other(pid)),
        _ => Some(Recorder::Own(pid)),
    }
}

const fn is_over(word: u64, now: Ticks) -> bool {
    now >> UNIT_BITS > word & TIMES
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Ticks = 1 << UNIT_BITS;
    const OURS: Recorder = Recorder::Own(71);
    const THEIRS: Recorder = Recorder::Other((1 << 22) - 1);

    fn lease() -> Lease {
        Lease(NOBODY.into())
    }

    #[test]
    fn one_has_it_at_a_time() {
        let lease = lease();
        assert_eq!(lease.take(THEIRS, 9 * UNIT), Ok(()));
        assert_eq!(lease.recorder(), Some(THEIRS));
        assert_eq!(lease.take(OURS, 0), Err(Some(THEIRS)));
        assert_eq!(lease.take(Recorder::Other(5), 9 * UNIT), Err(Some(THEIRS)));
        lease.give_back(Recorder::Other(5));
        assert_eq!(lease.recorder(), Some(THEIRS), "not theirs to give");
        lease.give_back(THEIRS);
        assert_eq!(lease.take(OURS, 0), Ok(()));
        assert_eq!(lease.recorder(), Some(OURS));
    }

    #[test]
    fn of_a_recorder_that_does_not_renew_it_is_taken_back() {
        let lease = lease();
        lease.take(THEIRS, 9 * UNIT).expect("nobody's");
        assert!(lease.holds(|| 9 * UNIT) && lease.is_of_other(9 * UNIT));
        assert!(!lease.withdraw(9 * UNIT), "not over");
        assert!(lease.renew(THEIRS, 20 * UNIT));
        assert!(!lease.withdraw(20 * UNIT), "renewed");
        assert!(!lease.holds(|| 21 * UNIT) && !lease.is_of_other(21 * UNIT));
        assert!(lease.withdraw(21 * UNIT));
        assert!(!lease.withdraw(21 * UNIT), "once");
        assert!(!lease.renew(THEIRS, 40 * UNIT), "a recorder that stood still finds it gone");
        assert_eq!(lease.recorder(), None);
    }

    #[test]
    fn the_programs_own_has_no_end_and_is_nobody_elses_to_end() {
        let lease = lease();
        lease.take(OURS, 0).expect("nobody's");
        assert!(lease.holds(|| unreachable!("no clock is asked")));
        assert!(!lease.is_of_other(0) && !lease.withdraw(u64::MAX));
        lease.bury();
        assert_eq!(lease.recorder(), Some(OURS));
        lease.hand_to(Recorder::Own(0));
        assert_eq!(lease.recorder(), Some(Recorder::Own(0)), "and not nobody's");
        lease.give_back(Recorder::Own(0));
        lease.take(THEIRS, UNIT).expect("nobody's");
        lease.bury();
        assert_eq!(lease.recorder(), None);
    }

    #[test]
    fn a_time_beyond_what_the_word_holds_is_its_last() {
        let lease = lease();
        lease.take(THEIRS, u64::MAX).expect("nobody's");
        assert_eq!(lease.recorder(), Some(THEIRS));
        assert!(lease.is_of_other(u64::MAX >> 4));
    }
}
