//! What a fork's child keeps. The memory that it finds is the parent's: what it writes there, the parent would
//! see, and what it reads, the parent may have changed. So the parent copies it before it forks.

use crate::memory::abi::{ENTRY_BYTES, What};
use crate::memory::arena::{Arena, Slot};
use crate::memory::stack::Stack;
use crate::memory::state::Phase;
use crate::system::shim;
use crate::threads::register;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering::Relaxed;

/// The stacks that go on in the child: its only thread's, and those of fibers.
#[derive(Debug)]
pub(crate) struct Kept {
    places: Vec<Place>,
    /// The place of the thread, and of what it runs.
    own: Option<usize>,
    current: Option<usize>,
    /// Until parent and child have gone on: the child may walk the modules.
    _no_walk: Option<MutexGuard<'static, ()>>,
}

#[derive(Debug)]
struct Place {
    index: usize,
    generation: u64,
    position: u64,
    started: u64,
    stack: Stack,
    frames: Vec<(u64, u64)>,
}

impl Kept {
    /// Copies the stacks that the calling thread's child would need.
    pub(crate) fn of(arena: &Arena) -> Self {
        let own = arena.index_of(shim::own());
        let used = arena.slots_used();
        let goes_on = |index: &usize| {
            let context = &arena.slot(*index).context;
            let is_fiber = context.state.phase() == Phase::Live && context.tid.load(Relaxed) == 0;
            is_fiber || Some(*index) == own
        };
        let places = (0..used).filter(goes_on).map(|index| Place::copy(arena, index)).collect();
        let current = arena.index_of(shim::context());
        Self { places, own, current, _no_walk: shim::stop_walks() }
    }

    /// Puts them into the same places of an empty arena.
    pub(crate) fn restore(&self, arena: &Arena) {
        for place in &self.places {
            place.put(arena, self.own);
        }
        if let Some(index) = self.current {
            shim::switch(Some(&arena.slot(index).context));
        }
    }
}

impl Place {
    fn copy(arena: &Arena, index: usize) -> Self {
        let Slot { context, life, .. } = arena.slot(index);
        let position = context.position.load(Relaxed);
        let depth = position.saturating_sub(context.base.load(Relaxed)) / ENTRY_BYTES;
        let depth = depth.min(u64::from(arena.frames_max())) as u32;
        let frame = |at| {
            let entry = arena.entry(index, at);
            // The child has no notes of what its parent clocks.
            let what = What { is_clocked: false, ..What::from(entry.what.load(Relaxed)) };
            (what.to_word(), entry.generation.load(Relaxed))
        };
        Self {
            index,
            generation: context.generation.load(Relaxed),
            position,
            started: life.started.load(Relaxed),
            stack: Stack::of(context),
            frames: (0..depth).map(frame).collect(),
        }
    }

    fn put(&self, arena: &Arena, own: Option<usize>) {
        let Slot { context, life, .. } = arena.slot(self.index);
        for (at, (what, generation)) in self.frames.iter().enumerate() {
            let entry = arena.entry(self.index, at as u32);
            entry.what.store(*what, Relaxed);
            entry.generation.store(*generation, Relaxed);
        }
        context.generation.store(self.generation, Relaxed);
        if Some(self.index) == own {
            register::enter(arena, self.index, &self.stack);
        } else {
            register::open(arena, self.index, 0, &self.stack);
        }
        context.position.store(self.position, Relaxed);
        life.started.store(self.started, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_its_fibers_survive_the_replacement_of_their_arena() {
        let arena = Arena::create().expect("address space");
        for (index, tid, stack) in [(3, 7, 0..0), (5, 0, 4096..8192), (6, 8, 0..0)] {
            let context = &arena.slot(index).context;
            let (base, _) = arena.stack(index);
            register::open(&arena, index, tid, &Stack { known: stack, top: u64::from(tid == 0) });
            context.position.store(base + 2 * ENTRY_BYTES, Relaxed);
            context.generation.store(40 + index as u64, Relaxed);
            arena.entry(index, 1).generation.store(39, Relaxed);
        }
        let places = [3, 5].map(|index| Place::copy(&arena, index));
        let kept = Kept { places: places.into(), own: Some(3), current: Some(5), _no_walk: None };
        assert!(arena.replace());
        kept.restore(&arena);
        for index in [3, 5] {
            let context = &arena.slot(index).context;
            assert_eq!(context.position.load(Relaxed), arena.stack(index).0 + 2 * ENTRY_BYTES);
            assert_eq!(context.generation.load(Relaxed), 40 + index as u64);
            assert_eq!(arena.entry(index, 1).generation.load(Relaxed), 39);
            assert_eq!(context.state.phase(), Phase::Live);
        }
        assert_eq!(Stack::of(&arena.slot(5).context).known, 4096..8192);
        let phase = arena.slot(6).context.state.phase();
        assert_eq!(phase, Phase::Unused, "of a thread that is not here");
        assert_eq!(arena.index_of(shim::context()), Some(5));
        assert_eq!(arena.index_of(shim::own()), Some(3));
        shim::set_own(None);
        shim::switch(None);
    }
}
