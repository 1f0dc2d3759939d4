//! Threads come and go: how one gets its place in the arena, and how it leaves. What becomes of a slot meanwhile,
//! `memory::state` says.

use crate::memory::abi::Context;
use crate::memory::arena::{Arena, Slot, THREADS_MAX};
use crate::memory::stack::Stack;
use crate::system::clock;
use crate::system::process;
use crate::system::processor;
use crate::system::shim::{self, Stage};
use crate::threads::clocked;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Registers the calling thread, if that may be and there is room, and has it push there. Neither allocates nor
/// blocks.
pub(crate) fn calling_thread() -> Option<(Arena, usize)> {
    let (arena, index) = own_place()?;
    shim::switch(Some(&arena.slot(index).context));
    Some((arena, index))
}

/// The same, but what it pushes on stays as it is.
pub(crate) fn own_place() -> Option<(Arena, usize)> {
    if shim::stage() != Stage::Fresh {
        return None;
    }
    shim::set_stage(Stage::Busy);
    let place = process::arena().map(|arena| (arena, claim(&arena, THREADS_MAX)));
    match place {
        Some((arena, Some(index))) => {
            enter(&arena, index, &Stack::UNKNOWN);
            shim::set_stage(Stage::Fresh);
            Some((arena, index))
        }
        Some((arena, None)) => {
            arena.header().denied.fetch_add(1, Relaxed);
            shim::set_stage(Stage::Denied);
            None
        }
        // Another thread is making the arena: the next call tries again.
        None => {
            shim::set_stage(Stage::Fresh);
            None
        }
    }
}

/// The calling thread's place, which it gets now if it has none.
pub(crate) fn place() -> Option<(Arena, usize)> {
    let arena = process::arena()?;
    arena.index_of(shim::settled()).map(|index| (arena, index)).or_else(calling_thread)
}

/// Takes the calling thread off; what it calls from now on is not recorded.
pub(crate) fn end_of_thread() {
    shim::keeping_errno(|| {
        let context = shim::context();
        shim::set_stage(Stage::Denied);
        shim::set_own(None);
        shim::switch(None);
        let Some(arena) = process::arena() else { return };
        let Some(index) = arena.index_of(context) else { return };
        shim::set_pending(0);
        close(&arena, index);
        processor::end();
    });
}

/// Wins the lowest free slot of the first `below`, so that memory that was used once is used again.
fn claim(arena: &Arena, below: usize) -> Option<usize> {
    let is_watched = arena.is_watched(clock::ticks);
    (0..below).find(|index| arena.slot(*index).context.state.claim(is_watched))
}

/// Sets up a slot that was won for the calling thread.
pub(crate) fn enter(arena: &Arena, index: usize, stack: &Stack) {
    open(arena, index, rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), stack);
    shim::set_pending(0);
    shim::set_own(Some(&arena.slot(index).context));
}

/// Sets up a slot that was won; `tid` is zero for a fiber.
pub(crate) fn open(arena: &Arena, index: usize, tid: u32, stack: &Stack) {
    let Slot { context, life, own, .. } = arena.slot(index);
    let (base, pad) = arena.stack(index);
    context.base.store(base, Relaxed);
    context.position.store(base, Relaxed);
    context.tid.store(tid, Relaxed);
    stack.write(context);
    life.first_generation.store(context.generation.load(Relaxed), Relaxed);
    life.started.store(clock::ticks(), Relaxed);
    life.incarnation.fetch_add(1, Relaxed);
    own.active_len.store(0, Relaxed);
    own.pending_len.store(0, Relaxed);
    arena.notes(index).clear();
    arena.ring(index).change_hands();
    context.limit.store(pad, Relaxed);
    // Read after the slot was won.
    context.state.begin(arena.term());
    arena.header().slots_used.fetch_max(index as u32 + 1, Release);
    arena.header().epoch.fetch_add(1, Release);
}

/// Says that nobody will push there any more.
pub(crate) fn close(arena: &Arena, index: usize) {
    clocked::close(arena, index);
    let slot = arena.slot(index);
    // A thread that ran it last is to find out when it enters a function.
    slot.context.stack_extent.store(0, Relaxed);
    slot.life.ended.store(clock::ticks(), Relaxed);
    slot.context.state.end();
    arena.header().epoch.fetch_add(1, Release);
}

/// A stack of frames for a fiber; one that nobody reads where there is no room.
pub(crate) fn new_fiber() -> &'static Context {
    let place = process::arena().and_then(|arena| Some((arena, claim(&arena, THREADS_MAX)?)));
    let Some((arena, index)) = place else {
        if let Some(arena) = process::arena() {
            arena.header().denied.fetch_add(1, Relaxed);
        }
        return shim::spare();
    };
    open(&arena, index, 0, &Stack::ANNOUNCED);
    &arena.slot(index).context
}

/// Places for threads alone: fibers that nobody announces do not tell when they end.
const RESERVED: usize = 256;

/// A place for a fiber that was found on a machine stack.
pub(crate) fn found_fiber(arena: &Arena, stack: &Stack) -> Option<usize> {
    let epoch = arena.header().epoch.load(Acquire);
    let Some(index) = claim(arena, THREADS_MAX - RESERVED) else {
        FULL.store(epoch, Relaxed);
        FULL_AT.store(clock::ticks(), Relaxed);
        arena.header().denied.fetch_add(1, Relaxed);
        return None;
    };
    open(arena, index, 0, stack);
    Some(index)
}

/// The epoch in which no place was found for a fiber, and when.
static FULL: AtomicU64 = AtomicU64::new(u64::MAX);
static FULL_AT: AtomicU64 = AtomicU64::new(0);

/// Whether there was none within the last `ticks`, and nobody has come or gone since.
pub(crate) fn is_full(arena: &Arena, ticks: u64) -> bool {
    FULL.load(Relaxed) == arena.header().epoch.load(Acquire)
        && clock::ticks().saturating_sub(FULL_AT.load(Relaxed)) < ticks
}

/// The calling thread runs a fiber from now on; null: what it runs without one.
pub(crate) fn switch_to(fiber: *const Context) {
    let Some(arena) = process::arena() else { return };
    let to = if fiber.is_null() { shim::own() } else { fiber };
    move_waits(&arena, shim::context(), to);
    let entered = arena.index_of(fiber).map(|index| &arena.slot(index).context);
    shim::switch(entered.or_else(|| (!fiber.is_null()).then(shim::spare)));
}

/// The calling thread goes from one context to another. The waits whose locks are still held stay with who
/// waited.
pub(crate) fn move_waits(arena: &Arena, left: *const Context, to: *const Context) {
    if let Some(left) = arena.index_of(left) {
        arena.slot(left).own.pending_len.store(shim::pending(), Relaxed);
    }
    let pending =
        arena.index_of(to).map_or(0, |index| arena.slot(index).own.pending_len.load(Relaxed));
    shim::set_pending(pending);
}

/// The fiber is done, and no thread runs it.
pub(crate) fn end_of_fiber(fiber: *const Context) {
    let Some(arena) = process::arena() else { return };
    if let Some(index) = arena.index_of(fiber) {
        close(&arena, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::lease::Recorder;

    #[test]
    fn the_lowest_free_slot_is_won_and_an_ended_one_waits_for_its_scanner() {
        let arena = Arena::create().expect("address space");
        let claim = |arena| claim(arena, THREADS_MAX);
        assert_eq!([claim(&arena), claim(&arena)], [Some(0), Some(1)]);
        let ends = |index| {
            let state = &arena.slot(index).context.state;
            state.begin(arena.term());
            state.end();
        };
        ends(0);
        let lease = &arena.header().watch.lease;
        lease.take(Recorder::Own(1), 0).expect("nobody's");
        assert_eq!(claim(&arena), Some(2), "the scanner has not seen 0 end");
        lease.give_back(Recorder::Own(1));
        assert_eq!(claim(&arena), Some(0));
        ends(1);
        lease.take(Recorder::Other(1), 0).expect("nobody's");
        assert_eq!(claim(&arena), Some(1), "the scanner was in a process that is dead");
    }

    #[test]
    fn threads_beyond_the_last_slot_find_none() {
        let arena = Arena::create().expect("address space");
        for index in 0..THREADS_MAX {
            arena.slot(index).context.state.begin(arena.term());
        }
        assert_eq!(claim(&arena, THREADS_MAX), None);
    }
}
