//! Where a thread that closes a library asks the recorder to read its names: `threads::unload` says why.

use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use tailwater_profile::record::Ticks;

/// No question is there.
const FREE: u32 = 0;
/// A thread is about to ask.
const FILLING: u32 = 1;
/// For the scanner.
const POSTED: u32 = 2;
/// For the output.
const TAKEN: u32 = 3;

/// One request at a time, in shared memory. Written by whoever has the state's say: a closing thread
/// while it is free or being filled, the scanner while posted, the output while taken.
#[repr(C)]
pub(crate) struct Unload {
    state: AtomicU32,
    from: AtomicU64,
    to: AtomicU64,
    /// When it was posted: by then the library's last function had returned.
    at: AtomicU64,
}

impl Unload {
    /// The scanner takes a request that was posted: the descriptors, and when their functions were over.
    pub(crate) fn take(&self) -> Option<(Range<u64>, Ticks)> {
        if self.state.load(Acquire) != POSTED {
            return None;
        }
        self.state.store(TAKEN, Relaxed);
        Some((self.from.load(Relaxed)..self.to.load(Relaxed), self.at.load(Relaxed)))
    }

    /// The output is through with it.
    pub(crate) fn done(&self) {
        self.state.store(FREE, Release);
    }

    /// Whether none is under way.
    pub(crate) fn is_free(&self) -> bool {
        self.state.load(Acquire) == FREE
    }

    /// A closing thread asks; false: another's request is under way.
    pub(crate) fn post(&self, descs: &Range<u64>, at: Ticks) -> bool {
        if self.state.compare_exchange(FREE, FILLING, Acquire, Relaxed).is_err() {
            return false;
        }
        self.from.store(descs.start, Relaxed);
        self.to.store(descs.end, Relaxed);
        self.at.store(at, Relaxed);
        self.state.store(POSTED, Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_at_a_time_goes_from_hand_to_hand() {
        let unload = Unload { state: FREE.into(), from: 0.into(), to: 0.into(), at: 0.into() };
        assert_eq!(unload.take(), None);
        assert!(unload.post(&(16..48), 7));
        assert!(!unload.post(&(64..96), 8), "the first is not done");
        assert_eq!(unload.take(), Some((16..48, 7)));
        assert_eq!(unload.take(), None, "taken once");
        assert!(!unload.post(&(64..96), 8));
        unload.done();
        assert!(unload.post(&(64..96), 8));
    }
}
