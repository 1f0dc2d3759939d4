//! Functions that time their own calls: those that `tailwater profile build --clock` names.
//!
//! On entry a note is made of where the frame will lie and when it was. On return an event leaves by the thread's ring, as
//! a mark does. A call may not return: by an exception, a long jump, or its thread's end. Then it lasts for as long as its
//! frame stays on the shadow stack, and is told of when that is found gone.

use crate::memory::abi::{ENTRY_BYTES, What};
use crate::memory::arena::Arena;
use crate::memory::event::{Clocked, Event};
use crate::memory::notes::Note;
use crate::system::clock;
use crate::system::process;
use crate::system::processor;
use crate::system::shim;
use crate::threads::counting::{self, Edge};
use std::sync::atomic::Ordering::Relaxed;
use tailwater_profile::record::{Counters, Counts, Ticks};

/// What a call is measured by.
trait Meters {
    fn ticks(&self) -> Ticks;
    /// What the calling thread has counted, of those counters.
    fn counts(&self, of: Counters, edge: Edge) -> Counts;
}

/// The processor's and the kernel's.
struct Own;

impl Meters for Own {
    fn ticks(&self) -> Ticks {
        clock::ticks()
    }

    fn counts(&self, of: Counters, edge: Edge) -> Counts {
        counting::read(of, edge)
    }
}

/// A function of `tailwater/profile_abi.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_profile_clocked_enter(position: u64, what: u64) -> u64 {
    if !process::is_recording() {
        processor::close();
        return what;
    }
    match place() {
        Some((arena, index)) => enter(&arena, index, position, what, &Own),
        None => what,
    }
}

/// A function of `tailwater/profile_abi.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_profile_clocked_leave(position: u64) {
    let now = clock::ticks();
    if let Some((arena, index)) = place() {
        leave(&arena, index, position, now, &Own);
    }
}

/// A function of `tailwater/profile_abi.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_profile_clocked_link(position: u64) {
    if let Some((arena, index)) = place() {
        link(&arena, index, position, &Own);
    }
}

/// The thread or fiber is gone: what was under way has ended.
pub(crate) fn close(arena: &Arena, index: usize) {
    link(arena, index, 0, &Own);
}

/// Where the calling thread pushes its frames.
fn place() -> Option<(Arena, usize)> {
    let arena = process::made_arena()?;
    Some((arena, arena.index_of(shim::context())?))
}

fn enter(arena: &Arena, index: usize, position: u64, what: u64, meters: &impl Meters) -> u64 {
    let Some(depth) = depth(arena, index, position) else { return what };
    let notes = arena.notes(index);
    while let Some(gone) = notes.pop_from(position) {
        // Since when is not known: code without frames may have run meanwhile.
        tell(arena, index, &gone, meters.ticks(), End::FoundGone);
    }
    let below = depth.checked_sub(1);
    let parent =
        below.map_or(0, |below| What::from(arena.entry(index, below).what.load(Relaxed)).desc);
    let note = Note {
        position,
        what: What { is_clocked: true, ..What::from(what) }.to_word(),
        parent,
        generation: arena.slot(index).context.generation.load(Relaxed).wrapping_add(1),
        counts: meters.counts(asked(arena, index), Edge::Start),
        // Last: what came before is not the function's.
        start: meters.ticks(),
    };
    if notes.push(&note) {
        return note.what;
    }
    lose(arena, index);
    what
}

fn leave(arena: &Arena, index: usize, position: u64, now: Ticks, meters: &impl Meters) {
    let Some(depth) = depth(arena, index, position) else { return };
    let notes = arena.notes(index);
    while let Some(gone) = notes.pop_from(position + 1) {
        tell(arena, index, &gone, now, End::FoundGone);
    }
    let entry = arena.entry(index, depth);
    if !What::from(entry.what.load(Relaxed)).is_clocked {
        return;
    }
    match notes.pop_from(position) {
        Some(note) => {
            // A handler of a signal may have counted on between the note and the frame.
            let generation = entry.generation.load(Relaxed);
            let note = Note { generation, ..note };
            tell(arena, index, &note, now, End::Seen(counted(&note, meters)));
        }
        // A handler has taken it for one that is gone.
        None => lose(arena, index),
    }
}

/// A caller goes on, and says where its frame ends: those above last until now.
fn link(arena: &Arena, index: usize, position: u64, meters: &impl Meters) {
    while let Some(gone) = arena.notes(index).pop_from(position) {
        let now = meters.ticks();
        tell(arena, index, &gone, now, End::Seen(counted(&gone, meters)));
    }
}

/// What has been counted since the note was made.
fn counted(note: &Note, meters: &impl Meters) -> Counts {
    match note.counts.counters() {
        none if none.is_empty() => Counts::default(),
        of => meters.counts(of, Edge::End).since(&note.counts),
    }
}

/// What calls are to count: of a fiber nothing, since its thread runs others before it ends, and it may end on another.
fn asked(arena: &Arena, index: usize) -> Counters {
    let is_fiber = arena.slot(index).context.tid.load(Relaxed) == 0;
    if is_fiber { Counters::default() } else { arena.header().watch.counters() }
}

/// Of a frame at `position`; `None` on an overflow pad.
fn depth(arena: &Arena, index: usize, position: u64) -> Option<u32> {
    let (base, pad) = arena.stack(index);
    (base..pad).contains(&position).then(|| ((position - base) / ENTRY_BYTES) as u32)
}

/// How a call's end is known.
#[derive(Clone, Copy)]
enum End {
    /// The thread was there, and has counted this in the call.
    Seen(Counts),
    /// Its frame was found gone later.
    FoundGone,
}

fn tell(arena: &Arena, index: usize, note: &Note, end: Ticks, known: End) {
    let (is_found_gone, counts) = match known {
        End::Seen(counts) => (false, counts),
        End::FoundGone => (true, Counts::default()),
    };
    let Some(depth) = depth(arena, index, note.position) else { return };
    let call = Clocked {
        what: What::from(note.what),
        parent: note.parent,
        depth,
        generation: note.generation,
        start: note.start,
        end,
        is_found_gone,
        counts,
    };
    if !Event::Call(call).push(arena.ring(index)) {
        lose(arena, index);
    }
}

fn lose(arena: &Arena, index: usize) {
    let lost = &arena.slot(index).lost.calls;
    lost.store(lost.load(Relaxed) + 1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::event::CALLS_ROOM;
    use crate::memory::lease::Term;
    use crate::memory::notes::NOTES_MAX;
    use crate::memory::ring::GROWTH_WORDS_MAX;
    use std::cell::Cell;

    /// A thread, and what its instrumented code does.
    struct Thread {
        arena: Arena,
        now: Cell<Ticks>,
        /// Those that can be read.
        counters: Cell<Counters>,
    }

    impl Meters for Thread {
        fn ticks(&self) -> Ticks {
            self.tick()
        }

        /// All count with the clock.
        fn counts(&self, of: Counters, _: Edge) -> Counts {
            let of = if of.is_empty() { of } else { self.counters.get() };
            Counts::new(of, |one| self.now.get() * (one as u64 + 1))
        }
    }

    const F: u64 = 64;

    impl Thread {
        fn new() -> Self {
            let arena = Arena::create().expect("address space");
            arena.slot(0).context.position.store(arena.stack(0).0, Relaxed);
            arena.slot(0).context.tid.store(7, Relaxed);
            Self { arena, now: Cell::new(0), counters: Cell::default() }
        }

        fn tick(&self) -> Ticks {
            self.now.set(self.now.get() + 10);
            self.now.get()
        }

        /// Returns the position at which the frame was pushed.
        fn enter(&self) -> u64 {
            let context = &self.arena.slot(0).context;
            let position = context.position.load(Relaxed);
            let what = enter(&self.arena, 0, position, F, self);
            let generation = context.generation.load(Relaxed) + 1;
            context.generation.store(generation, Relaxed);
            let depth = (position - self.arena.stack(0).0) / ENTRY_BYTES;
            let entry = self.arena.entry(0, depth as u32);
            entry.what.store(what, Relaxed);
            entry.generation.store(generation, Relaxed);
            context.position.store(position + ENTRY_BYTES, Relaxed);
            position
        }

        fn leave(&self, position: u64) {
            leave(&self.arena, 0, position, self.tick(), self);
            self.arena.slot(0).context.position.store(position, Relaxed);
        }

        fn link(&self, position: u64) {
            link(&self.arena, 0, position + ENTRY_BYTES, self);
            self.arena.slot(0).context.position.store(position + ENTRY_BYTES, Relaxed);
        }

        /// Generation, depth, start, end, and whether it was found gone.
        fn told(&self) -> Vec<(u64, u32, Ticks, Ticks, bool)> {
            let ring = self.arena.ring(0);
            let events = std::iter::from_fn(|| Event::pop(ring, Term::default()));
            let call = |event: Option<Event>| match event {
                Some(Event::Call(it)) => {
                    assert!(it.what.is_clocked && it.what.desc == F);
                    assert_eq!(it.parent, if it.depth == 0 { 0 } else { F });
                    (it.generation, it.depth, it.start, it.end, it.is_found_gone)
                }
                other => panic!("{other:?}"),
            };
            events.map(call).collect()
        }

        /// Counters that the recorder asks for, and those that can be read.
        fn count(&self, asked: u16, read: u16) {
            let of = |mask| Counters::of_mask(mask).expect("counters");
            self.arena.header().watch.count(Term::default(), of(asked));
            self.counters.set(of(read));
        }

        /// What was counted, of each call.
        fn counted(&self) -> Vec<Vec<u64>> {
            let ring = self.arena.ring(0);
            let events = std::iter::from_fn(|| Event::pop(ring, Term::default()));
            let counts = |event: Option<Event>| match event {
                Some(Event::Call(it)) => it.counts.iter().map(|(_, count)| count).collect(),
                other => panic!("{other:?}"),
            };
            events.map(counts).collect()
        }

        fn lost(&self) -> u64 {
            self.arena.slot(0).lost.calls.load(Relaxed)
        }
    }

    #[test]
    fn nested_calls_are_told_as_they_end() {
        let thread = Thread::new();
        let outer = thread.enter();
        for _ in 0..2 {
            thread.leave(thread.enter());
        }
        thread.leave(outer);
        let expected = [(2, 1, 20, 30, false), (3, 1, 40, 50, false), (1, 0, 10, 60, false)];
        assert_eq!(thread.told(), expected);
        assert_eq!(thread.lost(), 0);
    }

    #[test]
    fn what_does_not_return_lasts_until_its_frame_is_gone() {
        let thread = Thread::new();
        let outer = thread.enter();
        thread.enter();
        thread.enter();
        // An exception is caught in the outer one.
        thread.link(outer);
        assert_eq!(thread.told(), [(3, 2, 30, 40, false), (2, 1, 20, 50, false)]);
        // One that nobody says was caught: code without frames has caught it.
        thread.enter();
        thread.arena.slot(0).context.position.store(outer + ENTRY_BYTES, Relaxed);
        let next = thread.enter();
        assert_eq!(thread.told(), [(4, 1, 60, 70, true)]);
        thread.enter();
        thread.leave(next);
        assert_eq!(thread.told(), [(6, 2, 90, 100, true), (5, 1, 80, 100, false)]);
        // The thread ends.
        close(&thread.arena, 0);
        let [(1, 0, 10, end, false)] = thread.told()[..] else { panic!("the outer one has ended") };
        assert!(end > 100);
    }

    #[test]
    fn each_call_has_what_its_thread_counted_in_it() {
        let thread = Thread::new();
        thread.leave(thread.enter());
        assert_eq!(thread.counted(), [[0; 0]], "nothing is asked for");
        thread.count(0b101, 0b101);
        let outer = thread.enter();
        thread.leave(thread.enter());
        let inner = thread.enter();
        // By an exception it does not return.
        thread.link(outer);
        assert_eq!(
            thread.counted(),
            [[20, 60], [20, 60]],
            "of each the clock's second reading, too"
        );
        // The second can no longer be read.
        thread.count(0b101, 0b001);
        thread.leave(outer);
        assert_eq!(thread.counted(), [[60]]);
        thread.enter();
        thread.enter();
        thread.leave(inner - ENTRY_BYTES);
        let [gone, around] = &thread.counted()[..] else { panic!("two calls") };
        assert_eq!((gone.len(), around.len()), (0, 1), "when that ended is not known");
    }

    #[test]
    fn a_fiber_counts_nothing() {
        let thread = Thread::new();
        thread.count(1, 1);
        thread.arena.slot(0).context.tid.store(0, Relaxed);
        thread.leave(thread.enter());
        assert_eq!(thread.counted(), [[0; 0]]);
    }

    #[test]
    fn of_deep_recursion_each_call_is_told_or_counted() {
        let thread = Thread::new();
        let depth = NOTES_MAX + 100;
        let frames: Vec<u64> = (0..depth).map(|_| thread.enter()).collect();
        frames.iter().rev().for_each(|frame| thread.leave(*frame));
        assert_eq!((thread.told().len(), thread.lost()), (NOTES_MAX, 100));
    }

    #[test]
    fn what_finds_the_ring_full_is_counted() {
        let thread = Thread::new();
        let told = (0..100_000).map(|_| thread.leave(thread.enter())).count() as u64;
        let found = thread.told().len() as u64;
        assert!(found >= CALLS_ROOM as u64 / 6 && found < told, "{found} of {told}");
        assert_eq!(found + thread.lost(), told);
        assert!(CALLS_ROOM as u64 <= GROWTH_WORDS_MAX / 64, "there is room for many threads");
    }

    #[test]
    fn a_handler_of_a_signal_between_note_and_frame_costs_a_count_at_most() {
        let thread = Thread::new();
        let context = &thread.arena.slot(0).context;
        let position = context.position.load(Relaxed);
        let what = enter(&thread.arena, 0, position, F, &thread);
        // It runs where the frame will lie, and returns.
        thread.leave(thread.enter());
        let entry = thread.arena.entry(0, 0);
        entry.what.store(what, Relaxed);
        entry.generation.store(2, Relaxed);
        context.generation.store(2, Relaxed);
        thread.leave(position);
        let told = thread.told().len() as u64;
        assert_eq!(
            (told, thread.lost()),
            (2, 1),
            "the interrupted one was taken for one that is gone"
        );
    }
}
