//! A library goes while the program is recorded: what its functions are called is read before.
//!
//! The thread that closes it posts where the library's descriptors lie, and waits. The scanner looks at
//! every thread once more and hands the request on behind what it saw; the output writes down all that
//! came before it, keeps the names, and sets the place free. What comes later at these addresses is
//! another library's.
//!
//! When the process exits, its libraries say the same, though none is unmapped and threads may still be at
//! work in them. So the scanner also names the functions of calls that are under way.
//!
//! The closing thread has the dynamic linker's lock, and a thread that begins needs it: before the
//! recorder's threads run, nobody waits for them. They have seen nothing of the library then.

use crate::{clock, session, shim};
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};
use tailwater_profile::record::Ticks;

/// Nobody asks.
const FREE: u32 = 0;
/// Somebody is about to.
const FILLING: u32 = 1;
/// For the scanner.
const POSTED: u32 = 2;
/// For the output.
const TAKEN: u32 = 3;

/// A recorder that takes longer stands still, and the program goes on: what it has not read by then of the
/// library's names is lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether it is done; the output looks every 4 ms.
const NAP: Duration = Duration::from_micros(200);

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

/// The calling thread is about to unmap the library with these descriptors. Returns when nothing that
/// was recorded needs them any more: a recording that was stopped does until its output is through.
/// The caller may not be cancelled: this sleeps.
pub(crate) fn library_gone(descs: Range<u64>) {
    if !session::is_watching() {
        return;
    }
    let Some(arena) = session::arena() else { return };
    let header = arena.header();
    let began = Instant::now();
    let at = clock::ticks();
    let until = |condition: &dyn Fn() -> bool| loop {
        if condition() {
            return true;
        }
        if !session::is_watching() || began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(NAP);
    };
    shim::keeping_errno(|| {
        if until(&|| header.unload.post(&descs, at)) {
            header.epoch.fetch_add(1, Release);
            until(&|| header.unload.state.load(Acquire) == FREE);
        }
    });
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
