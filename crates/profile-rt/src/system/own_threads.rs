//! The recorder's own threads: where they run, and what they are spared.

use crate::system::shim::{self, Stage};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io;
use std::thread::JoinHandle;

/// The shortest turn on a core that the kernel grants. With its own of some milliseconds, a thread that gives way stays away for
/// as long, and one that wakes waits for as long.
const TURN_NS: u64 = 100_000;

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

/// For the scanner of another process: moves the calling thread to `cpu`; `None`: off the cores of that process, where
/// it may use others. Says whether the two are left with one core.
pub(crate) fn place_beside(process: u32, cpu: Option<usize>) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let (Ok(ours), Ok(theirs)) = (sched_getaffinity(None), sched_getaffinity(process)) else {
        return false;
    };
    let mut wanted = CpuSet::new();
    match cpu {
        Some(cpu) => wanted.set(cpu),
        None => (0..CpuSet::MAX_CPU)
            .filter(|cpu| ours.is_set(*cpu) && !theirs.is_set(*cpu))
            .for_each(|cpu| wanted.set(cpu)),
    }
    let is_there = wanted.count() > 0 && sched_setaffinity(None, &wanted).is_ok();
    theirs.count() == 1 && theirs == if is_there { wanted } else { ours }
}

/// Has the kernel give the calling thread its share of a core in the shortest turns, where it can.
pub(crate) fn take_short_turns() {
    shim::take_turns_of(TURN_NS);
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
