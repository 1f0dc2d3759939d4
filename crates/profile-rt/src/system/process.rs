//! What all of a process knows of its recording: where the shared memory is, and how far the recorder is.

use crate::memory::arena::Arena;
use crate::memory::lease::Term;
use crate::system::clock;
use crate::system::shim;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

static ARENA: OnceLock<Arena> = OnceLock::new();
static MAKING: AtomicBool = AtomicBool::new(false);
/// The term in which this process records itself; zero: it does not.
static TERM: AtomicU32 = AtomicU32::new(0);
/// The process that begins to record in a while; zero: none does.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// How many threads a recording has, or had: those that look, and the one that writes.
static THREADS: AtomicU32 = AtomicU32::new(2);
/// How many of these have started; none once its output is through.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// The scanner is to stop. An atomic, since who asks may be a signal's handler.
static STOP: AtomicBool = AtomicBool::new(false);
/// The program's threads have all gone.
static OUTLIVED: AtomicBool = AtomicBool::new(false);
/// The output is through.
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// The arena, which the first to ask makes; `None` while it is being made, and when there is no room. Never waits:
/// instrumented code may ask, in a signal handler even.
pub(crate) fn arena() -> Option<Arena> {
    if let Some(arena) = made_arena() {
        return Some(arena);
    }
    if MAKING.swap(true, AcqRel) {
        return None;
    }
    let arena = Arena::create()?;
    // No other thread comes here, so none waits.
    let _ = ARENA.set(arena);
    let watch = &arena.header().watch;
    shim::ask_at(&watch.recording, &watch.holds);
    Some(arena)
}

/// The same, if it was made already.
pub(crate) fn made_arena() -> Option<Arena> {
    ARENA.get().copied()
}

/// Whether marks and waits are worth telling: a recorder of this process or of another is there. The first to find out
/// that the other has died is the last to tell.
#[inline]
pub(crate) fn is_recording() -> bool {
    made_arena().is_some_and(|arena| {
        arena.header().watch.recording.number() != 0 && arena.is_watched(clock::ticks)
    })
}

/// Whether a recorder is at work. Threads of this process may not be when they have just begun, and just stopped, they
/// are until all is written.
pub(crate) fn is_watching(arena: &Arena) -> bool {
    STARTED.load(Acquire) == own_threads() || arena.header().watch.lease.is_of_other(clock::ticks())
}

/// Whether the output is through.
pub(crate) fn is_written() -> bool {
    WRITTEN.load(Acquire)
}

/// Whether the program's threads have all gone.
pub(crate) fn is_outlived() -> bool {
    OUTLIVED.load(Relaxed)
}

/// True once the scanner is to stop.
pub(crate) fn stop() -> &'static AtomicBool {
    &STOP
}

/// A recording by so many scanners is about to begin.
pub(crate) fn begins(scanners: usize) {
    THREADS.store(scanners as u32 + 1, Relaxed);
    STARTED.store(0, Relaxed);
    STOP.store(false, Relaxed);
    WRITTEN.store(false, Relaxed);
}

/// How many threads of this process are the recorder's, while it is recorded.
pub(crate) fn own_threads() -> u32 {
    THREADS.load(Relaxed)
}

/// One of these has started.
pub(crate) fn has_started() {
    STARTED.fetch_add(1, Release);
}

/// From now on marks are recorded, and waits of so many ticks. What else is asked for was said before.
pub(crate) fn records(arena: Arena, term: Term, lock_threshold: u32) {
    TERM.store(term.0, Relaxed);
    arena.header().watch.recording.say(term, lock_threshold);
}

/// The scanner looks a last time, and the output writes what is left.
pub(crate) fn end() {
    // Zero where it has ended already: that is said late, and changes nothing.
    let term = Term(TERM.swap(0, Relaxed));
    if let Some(arena) = made_arena() {
        arena.header().watch.recording.say(term, 0);
    }
    STOP.store(true, Relaxed);
}

/// The program's last thread has gone, and nobody called `exit`: the C library does when the last of all ends, which
/// are ours.
pub(crate) fn outlive() {
    OUTLIVED.store(true, Relaxed);
    end();
}

/// This is a fork's child, which does not record yet. Says whether its parent did by threads of its own. The shared
/// memory is still the parent's.
pub(crate) fn forget_parent() -> bool {
    STARTED.store(0, Relaxed);
    TERM.swap(0, Relaxed) != 0
}

/// This process, a fork's child, begins to record in a while.
pub(crate) fn begins_later(pid: u32) {
    WAITING.store(pid, Relaxed);
}

/// The while is over. Whether this process still is to begin; true once.
pub(crate) fn is_to_begin(pid: u32) -> bool {
    WAITING.swap(0, Relaxed) == pid
}

/// It will not begin by itself. Says whether it was to.
pub(crate) fn begins_no_more() -> bool {
    WAITING.swap(0, Relaxed) != 0
}

/// In the output's hands: nobody waits for a thread that has ended, be it by a panic.
pub(crate) struct AtWork;

impl Drop for AtWork {
    fn drop(&mut self) {
        STARTED.store(0, Release);
        // Pairs with `is_written`: the trace comes first.
        WRITTEN.store(true, Release);
    }
}

/// This process has a child.
pub(crate) fn is_born() {
    if let Some(arena) = made_arena() {
        arena.header().watch.born.add();
    }
}
