//! What each of a recording's scanners looks at, and what they have in common.

use crate::memory::lease::Term;
use crate::memory::mailbox::{CLOSINGS_MAX, Closing, Unloads};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use tailwater_profile::record::ThreadId;

/// A scanner's part of the program's threads: every so many-th slot. A slot is one scanner's for as long as it is recorded, so
/// that a thread is nobody else's, and none is nobody's.
pub(crate) struct Part {
    first: usize,
    every: usize,
    common: Arc<Common>,
    /// Libraries that this scanner has looked for.
    seen: u64,
}

/// What all have in common.
#[derive(Default)]
struct Common {
    /// Threads that were numbered.
    threads: AtomicU32,
    closings: Mutex<Closings>,
}

/// The libraries that went last, for all scanners: each looks at its own threads before a library goes.
#[derive(Default)]
struct Closings {
    taken: u64,
    /// The last of them. Those that a scanner has not seen are among these: each keeps its place until all have.
    last: VecDeque<Closing>,
}

impl Part {
    /// A part for each of so many scanners.
    pub(crate) fn of_each(scanners: usize) -> Vec<Self> {
        let common = Arc::<Common>::default();
        let part = |first| Self { first, every: scanners, common: common.clone(), seen: 0 };
        (0..scanners).map(part).collect()
    }

    /// How many parts there are.
    pub(crate) const fn parts(&self) -> u64 {
        self.every as u64
    }

    /// Of so many slots, those that are in it.
    pub(crate) fn slots(&self, used: usize) -> impl Iterator<Item = usize> + use<> {
        (self.first..used).step_by(self.every)
    }

    /// The number of the next thread that comes, in any part.
    pub(crate) fn number(&self) -> ThreadId {
        // Relaxed: no other data goes with it.
        ThreadId(self.common.threads.fetch_add(1, Relaxed))
    }

    /// The libraries that go, as far as this scanner has not looked for them. Whichever scanner comes first takes them for all.
    pub(crate) fn closings(&mut self, unloads: &Unloads, term: Term) -> Vec<Closing> {
        let mut all = self.common.closings.lock().unwrap_or_else(PoisonError::into_inner);
        // More may be posted all the time.
        for closing in (0..CLOSINGS_MAX).map_while(|_| unloads.take(term)) {
            all.taken += 1;
            all.last.push_back(closing);
            if all.last.len() > CLOSINGS_MAX {
                all.last.pop_front();
            }
        }
        let new = usize::try_from(all.taken - self.seen).unwrap_or(usize::MAX);
        self.seen = all.taken;
        all.last.iter().skip(all.last.len().saturating_sub(new)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::mailbox::tests::unloads;
    use std::collections::BTreeSet;

    #[test]
    fn each_slot_and_each_number_is_in_one_part() {
        for scanners in 1..6 {
            let parts = Part::of_each(scanners);
            let slots: Vec<usize> = parts.iter().flat_map(|part| part.slots(13)).collect();
            assert_eq!(slots.len(), 13);
            assert_eq!(slots.iter().copied().collect::<BTreeSet<_>>(), (0..13).collect());
            let numbers: Vec<u32> = parts.iter().map(|part| part.number().0).collect();
            assert_eq!(numbers, (0..scanners as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_library_that_goes_is_told_to_each_scanner_once() {
        let unloads = unloads();
        let term = Term(1);
        let [mut first, mut other] = Part::of_each(2).try_into().ok().expect("two parts");
        let at = |closings: Vec<Closing>| closings.iter().map(|one| one.at).collect::<Vec<_>>();
        assert!(unloads.post(&(0..32), 7, term).is_some());
        assert_eq!(at(first.closings(&unloads, term)), [7]);
        assert!(unloads.post(&(32..64), 8, term).is_some());
        assert_eq!(at(other.closings(&unloads, term)), [7, 8]);
        assert_eq!(at(first.closings(&unloads, term)), [8]);
        for part in [&mut first, &mut other] {
            assert_eq!(at(part.closings(&unloads, term)), [0; 0]);
        }
    }
}
