//! Threads come and go: how one gets its place in the arena, and how it leaves.
//!
//! A slot is UNUSED, then LIVE (a thread won it by compare-and-swap), then ENDED (its thread is gone),
//! and UNUSED again once a scanner has taken its last events; without a scanner an ENDED slot is
//! as good as an UNUSED one.

use crate::abi::{Context, ENDED, ENTRY_BYTES, LIVE, UNUSED};
use crate::arena::{Arena, Slot, THREADS_MAX};
use crate::shim::{self, Stage};
use crate::{clock, session};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Registers the calling thread, if that may be and there is room. Neither allocates nor blocks.
pub(crate) fn calling_thread() -> Option<(Arena, usize)> {
    if shim::stage() != Stage::Fresh {
        return None;
    }
    shim::set_stage(Stage::Busy);
    let place = session::arena().map(|arena| (arena, claim(&arena)));
    match place {
        Some((arena, Some(index))) => {
            enter(&arena, index);
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
    let arena = session::arena()?;
    arena.index_of(shim::context()).map(|index| (arena, index)).or_else(calling_thread)
}

/// Takes the calling thread off; what it calls from now on is not recorded.
pub(crate) fn end_of_thread() {
    shim::keeping_errno(|| {
        let context = shim::context();
        shim::set_stage(Stage::Denied);
        shim::set_context(None);
        let Some(arena) = session::arena() else { return };
        let Some(index) = arena.index_of(context) else { return };
        shim::set_pending(0);
        close(&arena, index);
    });
}

/// Wins the lowest free slot, so that memory that was used once is used again.
fn claim(arena: &Arena) -> Option<usize> {
    let header = arena.header();
    let unwatched = header.lease.load(Acquire) == 0;
    (0..THREADS_MAX).find(|index| {
        let state = &arena.slot(*index).context.state;
        let now = state.load(Relaxed);
        let free = now == UNUSED || (now == ENDED && unwatched);
        free && state.compare_exchange(now, CLAIMED, AcqRel, Relaxed).is_ok()
    })
}

/// Between UNUSED and LIVE: scanners pass it over.
const CLAIMED: u32 = 3;

fn enter(arena: &Arena, index: usize) {
    open(arena, index, rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
    shim::set_pending(0);
    shim::set_context(Some(&arena.slot(index).context));
}

/// Sets up a slot that was won; `tid` is zero for a fiber.
fn open(arena: &Arena, index: usize, tid: u32) {
    let Slot { context, life, own, .. } = arena.slot(index);
    let (base, pad) = arena.stack(index);
    context.base.store(base, Relaxed);
    context.position.store(base, Relaxed);
    context.tid.store(tid, Relaxed);
    life.first_generation.store(context.generation.load(Relaxed), Relaxed);
    life.started.store(clock::ticks(), Relaxed);
    life.incarnation.fetch_add(1, Relaxed);
    own.active_len.store(0, Relaxed);
    own.pending_len.store(0, Relaxed);
    context.limit.store(pad, Relaxed);
    context.state.store(LIVE, Release);
    arena.header().slots_used.fetch_max(index as u32 + 1, Release);
    arena.header().epoch.fetch_add(1, Release);
}

/// Says that nobody will push there any more.
fn close(arena: &Arena, index: usize) {
    let slot = arena.slot(index);
    slot.life.ended.store(clock::ticks(), Relaxed);
    slot.context.state.store(ENDED, Release);
    arena.header().epoch.fetch_add(1, Release);
}

/// A stack of frames for a fiber; one that nobody reads where there is no room.
pub(crate) fn new_fiber() -> &'static Context {
    let place = session::arena().and_then(|arena| Some((arena, claim(&arena)?)));
    let Some((arena, index)) = place else {
        if let Some(arena) = session::arena() {
            arena.header().denied.fetch_add(1, Relaxed);
        }
        return shim::spare();
    };
    open(&arena, index, 0);
    &arena.slot(index).context
}

/// The calling thread runs a fiber from now on; null: what it runs without one. The waits whose locks
/// are still held stay with who waited.
pub(crate) fn switch_to(fiber: *const Context) {
    let Some(arena) = session::arena() else { return };
    if let Some(left) = arena.index_of(shim::context()) {
        arena.slot(left).own.pending_len.store(shim::pending(), Relaxed);
    }
    let entered = arena.index_of(fiber).map(|index| &arena.slot(index).context);
    shim::switch(entered.or_else(|| (!fiber.is_null()).then(shim::spare)));
    let pending = arena
        .index_of(shim::context())
        .map_or(0, |index| arena.slot(index).own.pending_len.load(Relaxed));
    shim::set_pending(pending);
}

/// The fiber is done, and no thread runs it.
pub(crate) fn end_of_fiber(fiber: *const Context) {
    let Some(arena) = session::arena() else { return };
    if let Some(index) = arena.index_of(fiber) {
        close(&arena, index);
    }
}

/// What a fork's child needs of its only thread.
#[derive(Debug)]
pub(crate) struct Kept {
    generation: u64,
    position: u64,
    started: u64,
    frames: Vec<(u64, u64)>,
}

/// Copies the calling thread's stack.
pub(crate) fn keep(arena: &Arena, index: usize) -> Kept {
    let Slot { context, life, .. } = arena.slot(index);
    let position = context.position.load(Relaxed);
    let depth = position.saturating_sub(context.base.load(Relaxed)) / ENTRY_BYTES;
    let depth = depth.min(u64::from(arena.frames_max())) as u32;
    let frame = |at| {
        let entry = arena.entry(index, at);
        (entry.desc.load(Relaxed), entry.generation.load(Relaxed))
    };
    Kept {
        generation: context.generation.load(Relaxed),
        position,
        started: life.started.load(Relaxed),
        frames: (0..depth).map(frame).collect(),
    }
}

/// Puts it back, into the same slot of an empty arena.
pub(crate) fn restore(arena: &Arena, index: usize, kept: &Kept) {
    let Slot { context, life, .. } = arena.slot(index);
    for (at, (desc, generation)) in kept.frames.iter().enumerate() {
        let entry = arena.entry(index, at as u32);
        entry.desc.store(*desc, Relaxed);
        entry.generation.store(*generation, Relaxed);
    }
    context.generation.store(kept.generation, Relaxed);
    enter(arena, index);
    context.position.store(kept.position, Relaxed);
    life.started.store(kept.started, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_won_and_an_ended_one_waits_for_its_scanner() {
        let arena = Arena::create().expect("address space");
        assert_eq!([claim(&arena), claim(&arena)], [Some(0), Some(1)]);
        arena.slot(0).context.state.store(ENDED, Relaxed);
        arena.header().lease.store(1, Relaxed);
        assert_eq!(claim(&arena), Some(2), "the scanner has not seen 0 end");
        arena.header().lease.store(0, Relaxed);
        assert_eq!(claim(&arena), Some(0));
    }

    #[test]
    fn a_stack_survives_the_replacement_of_its_arena() {
        let arena = Arena::create().expect("address space");
        let (base, _) = arena.stack(5);
        let context = &arena.slot(5).context;
        context.base.store(base, Relaxed);
        context.position.store(base + 2 * ENTRY_BYTES, Relaxed);
        context.generation.store(40, Relaxed);
        arena.entry(5, 1).generation.store(39, Relaxed);
        let kept = keep(&arena, 5);
        assert!(arena.replace());
        restore(&arena, 5, &kept);
        assert_eq!(context.position.load(Relaxed), base + 2 * ENTRY_BYTES);
        assert_eq!(context.generation.load(Relaxed), 40);
        assert_eq!(arena.entry(5, 1).generation.load(Relaxed), 39);
        assert_eq!(arena.slot(4).context.state.load(Relaxed), UNUSED);
        assert_eq!(context.state.load(Relaxed), LIVE);
        end_of_thread();
    }

    #[test]
    fn threads_beyond_the_last_slot_find_none() {
        let arena = Arena::create().expect("address space");
        for index in 0..THREADS_MAX {
            arena.slot(index).context.state.store(LIVE, Relaxed);
        }
        assert_eq!(claim(&arena), None);
    }
}
