//! What one thread hands to another of several: which of them has it, and whether it was cancelled meanwhile.

use crate::primitive::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// One word that the giver and one taker write. It begins as `WAITS`; the thread that takes the thing writes its
/// number, the one that cancels it writes `CANCELLED`; whichever is first decides.
#[derive(Debug, Default)]
pub(crate) struct Handover(AtomicU32);

const WAITS: u32 = 0;
const CANCELLED: u32 = 1;
/// A taker's number is told from here up.
const TAKEN: u32 = 2;

impl Handover {
    /// A thread begins with the thing. False if it was cancelled: then it must not.
    pub(crate) fn take(&self, taker: u32) -> bool {
        // The word alone decides, and the thing came through a queue. What the first did before is seen by
        // the second, on which nothing relies so far.
        self.0.compare_exchange(WAITS, TAKEN + taker, AcqRel, Acquire).is_ok()
    }

    /// The giver cancels it. The thread that has it, if one does, is to be told.
    pub(crate) fn cancel(&self) -> Option<u32> {
        // Pairs with `take`.
        let found = self.0.compare_exchange(WAITS, CANCELLED, AcqRel, Acquire);
        found.err().and_then(|found| found.checked_sub(TAKEN))
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
        handover.reset();
        assert!(handover.take(3));
        assert_eq!(handover.cancel(), Some(3), "the taker is to be told");
        assert_eq!(handover.cancel(), Some(3), "as often as is asked");
    }
}
