//! The recorder's own threads: where they run, and what they are spared.

use crate::shim::{self, Stage};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use std::io;
use std::thread::JoinHandle;

/// A thread that no signal handler runs on, and that is not profiled.
pub(crate) fn own<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = || {
        shim::set_stage(Stage::Denied);
        work()
    };
    shim::without_signals(|| std::thread::Builder::new().name(name.into()).spawn(work))
}

/// Moves the calling thread to another core, if it may use one: the kernel starts threads on the core
/// of their parent and takes a tenth of a second to part two that never sleep, in which the one could
/// not see the other. Later it may move where it likes.
pub(crate) fn move_off(core: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(core);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &allowed);
    }
}
