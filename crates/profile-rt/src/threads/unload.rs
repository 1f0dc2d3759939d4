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

use crate::system::clock;
use crate::system::process;
use crate::system::shim;
use std::ops::Range;
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

/// A recorder that takes longer stands still, and the program goes on: what it has not read by then of the
/// library's names is lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether it is done; the output looks every 4 ms.
const NAP: Duration = Duration::from_micros(200);

/// The calling thread is about to unmap the library with these descriptors. Returns when nothing that
/// was recorded needs them any more: a recording that was stopped does until its output is through.
/// The caller may not be cancelled: this sleeps.
pub(crate) fn library_gone(descs: Range<u64>) {
    if !process::is_watching() {
        return;
    }
    let Some(arena) = process::arena() else { return };
    let header = arena.header();
    let began = Instant::now();
    let at = clock::ticks();
    let until = |condition: &dyn Fn() -> bool| loop {
        if condition() {
            return true;
        }
        if !process::is_watching() || began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(NAP);
    };
    shim::keeping_errno(|| {
        if until(&|| header.unload.post(&descs, at)) {
            header.epoch.fetch_add(1, Release);
            until(&|| header.unload.is_free());
        }
    });
}
