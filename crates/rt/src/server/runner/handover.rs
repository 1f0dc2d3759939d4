//! A request between its loop and a worker: who has it, and whether it was cancelled meanwhile.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// One word that the loop and one worker write. It begins as `WAITS`; the worker that takes the request
/// writes its number, the loop that cancels it writes `CANCELLED`; whichever is first decides.
#[derive(Debug, Default)]
pub(crate) struct Handover(AtomicU32);

const WAITS: u32 = 0;
const CANCELLED: u32 = 1;
/// A worker's number is told from here up.
const TAKEN: u32 = 2;

impl Handover {
    /// A worker begins the request. False if it was cancelled: then it must not.
    pub(crate) fn take(&self, worker: u32) -> bool {
        // The word alone decides, and the job came through the ring. What the first did before is seen by
        // the second, on which nothing relies so far.
        self.0.compare_exchange(WAITS, TAKEN + worker, AcqRel, Acquire).is_ok()
    }

    /// The loop cancels the request. The worker that has it, if one does, is to be told.
    pub(crate) fn cancel(&self) -> Option<u32> {
        // Pairs with `take`.
        let found = self.0.compare_exchange(WAITS, CANCELLED, AcqRel, Acquire);
        found.err().and_then(|found| found.checked_sub(TAKEN))
    }

    /// For another request. The loop calls this when no worker has a part in it any more.
    pub(crate) fn reset(&mut self) {
        *self.0.get_mut() = WAITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whichever_is_first_decides() {
        let mut handover = Handover::default();
        assert_eq!(handover.cancel(), None);
        assert!(!handover.take(3), "a cancelled request is not begun");
        handover.reset();
        assert!(handover.take(3));
        assert_eq!(handover.cancel(), Some(3), "the worker is to be told");
        assert_eq!(handover.cancel(), Some(3), "as often as is asked");
    }
}
