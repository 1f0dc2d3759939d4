//! The recorder's own threads: where they run, and what they are spared.

use crate::system::shim::{self, Stage};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::thread::JoinHandle;

/// A thread that no signal handler runs on, and that is not profiled.
pub(crate) fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = || {
        shim::set_stage(Stage::Denied);
        shim::hidden(work)
    };
    shim::without_signals(|| std::thread::Builder::new().name(name.into()).spawn(work))
}

/// Whether a scanner on `cpu` (`None`: on any) has no core but those of the calling thread, which has one.
pub(crate) fn share_a_core(cpu: Option<usize>) -> bool {
    let is_apart = |allowed: &CpuSet| cpu.is_some_and(|cpu| !allowed.is_set(cpu));
    sched_getaffinity(None).is_ok_and(|allowed| allowed.count() == 1 && !is_apart(&allowed))
}

/// Moves the calling thread to `cpu`, where it stays; `None`, or one that it may not use: off the core `busy`.
pub(crate) fn place(cpu: Option<usize>, busy: usize) {
    let stays = cpu.is_some_and(|cpu| {
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).is_ok()
    });
    if !stays {
        move_off(busy);
    }
}

/// Moves the calling thread to another core, if it may use one. The kernel starts threads on the core of their
/// parent, and takes a tenth of a second to part two that never sleep. In that time the one could not see the other.
/// Later it may move where it likes.
fn move_off(core: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(core);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &allowed);
    }
}
