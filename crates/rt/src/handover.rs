//! What one thread hands to another of several: which of them has it, and whether it was cancelled meanwhile.

use crate::primitive::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// One word that the giver and one taker write. It begins as `WAITS`; the thread that takes the thing writes its
/// number, the one that cancels it writes `CANCELLED`; whichever is first decides.
#[derive(Debug, Default)]
pub(crate) struct Handover(AtomicU32);

const WAITS: u32 = 0;
const CANCELLED: u32 = 1;
/// It was cancelled behind its taker's back, and its giver knows whom to tell.
const TOLD: u32 = 2;
/// A taker's number is told from here up.
const TAKEN: u32 = 3;

impl Handover {
    /// A thread begins with the thing. False if it was cancelled: then it must not.
    pub(crate) fn take(&self, taker: u32) -> bool {
        // The word alone decides who goes on with the thing. What the first did before is seen by the second.
        self.0.compare_exchange(WAITS, TAKEN + taker, AcqRel, Acquire).is_ok()
    }

    /// The giver takes it back unless a thread has begun with it: true, and true again.
    pub(crate) fn revoke(&self) -> bool {
        // Pairs with `take`.
        let found = self.0.compare_exchange(WAITS, CANCELLED, AcqRel, Acquire);
        found.map_or_else(|found| found == CANCELLED, |_| true)
    }

    /// It was taken back.
    pub(crate) fn is_revoked(&self) -> bool {
        // Relaxed: it stays so, and the one who asks does nothing with the thing.
        self.0.load(Relaxed) == CANCELLED
    }

    /// The giver cancels it. The thread that has begun with it, if one has, is to be told: once.
    pub(crate) fn cancel(&self) -> Option<u32> {
        if self.revoke() {
            return None;
        }
        // Relaxed: its taker looks at the word no more, and the giver is one thread.
        self.0.swap(TOLD, Relaxed).checked_sub(TAKEN)
    }

    /// For another thing. The giver calls this when no other thread has a part in it any more.
    pub(crate) fn reset(&mut self) {
        // Relaxed: it has no other user. The next one hears of it through a queue.
        self.0.store(WAITS, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whichever_is_first_decides() {
        let mut handover = Handover::default();
        assert_eq!(handover.cancel(), None);
        assert!(!handover.take(3), "what was cancelled is not begun");
        assert!(handover.revoke(), "it is back");
        handover.reset();
        assert!(handover.take(3));
        assert!(!handover.revoke(), "it was begun");
        assert_eq!(handover.cancel(), Some(3), "the taker is to be told");
        assert_eq!(handover.cancel(), None, "once");
        assert!(!handover.revoke(), "it was begun all the same");
    }
}
