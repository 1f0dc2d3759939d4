//! Several scanners of one program, held against one.

use super::tests::scanner_of;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// The thread of a slot is in the calls of these generations, each of a function of its own.
fn stands_in(arena: Arena, slot: usize, generations: &[u64]) {
    let context = &arena.slot(slot).context;
    for (depth, generation) in generations.iter().enumerate() {
        let entry = arena.entry(slot, depth as u32);
        entry.what.store(generation * 32, Relaxed);
        entry.generation.store(*generation, Relaxed);
    }
    let last = context.generation.load(Relaxed);
    let now = generations.last().map_or(last, |now| last.max(*now));
    context.generation.store(now, Relaxed);
    let depth = generations.len() as u64;
    context.position.store(arena.stack(slot).0 + depth * ENTRY_BYTES, Relaxed);
}

/// A thread comes in a slot.
fn comes(arena: Arena, slot: usize) {
    let life = &arena.slot(slot).life;
    life.started.store(ticks(), Relaxed);
    life.first_generation.store(arena.slot(slot).context.generation.load(Relaxed), Relaxed);
    life.incarnation.fetch_add(1, Relaxed);
    stands_in(arena, slot, &[]);
    arena.slot(slot).context.state.begin(Term::default());
}

/// Of each thread its slot, the calls that were told of it, by generation and function, and whether it went.
type Told = Vec<(usize, BTreeSet<(u64, u64)>, bool)>;

/// What so many scanners tell of threads that come and go, and of their calls.
fn told_by(scanners: usize) -> Told {
    let arena = Arena::create().expect("address space");
    let parts = Part::of_each(scanners);
    let (mut all, from): (Vec<Scanner>, Vec<_>) =
        parts.into_iter().map(|part| scanner_of(arena, part)).unzip();
    let mut look = || {
        for scanner in &mut all {
            let now = scanner.adopt(ticks());
            scanner.catch_up(now);
        }
    };
    (0..SLOTS).for_each(|slot| comes(arena, slot));
    arena.header().slots_used.store(SLOTS as u32, Relaxed);
    for generations in [&[1][..], &[1, 2], &[1, 2, 3], &[1], &[1, 4]] {
        look();
        (0..SLOTS).for_each(|slot| stands_in(arena, slot, generations));
    }
    look();
    let ends = |slot: &usize| !slot.is_multiple_of(3);
    for slot in (0..SLOTS).filter(ends) {
        stands_in(arena, slot, &[]);
        arena.slot(slot).life.ended.store(ticks(), Relaxed);
        arena.slot(slot).context.state.end();
    }
    look();
    for slot in (0..SLOTS).filter(ends).filter(|slot| slot.is_multiple_of(2)) {
        assert!(arena.slot(slot).context.state.free(Term::default()));
        comes(arena, slot);
        look();
        stands_in(arena, slot, &[5, 6]);
    }
    look();
    all.into_iter().for_each(|scanner| scanner.finish(ticks()));
    let mut threads = BTreeMap::new();
    for item in from.iter().flat_map(|from| from.try_iter().flatten()) {
        match item {
            Item::Came { id, slot, .. } => {
                assert!(threads.insert(id, (slot, BTreeSet::new(), false)).is_none(), "{id:?}");
            }
            Item::Went { id, slot } => {
                let thread = threads.get_mut(&id).expect("it came");
                assert_eq!((thread.0, std::mem::replace(&mut thread.2, true)), (slot, false));
            }
            Item::Call(id, call) => {
                let calls = &mut threads.get_mut(&id).expect("it came").1;
                assert!(calls.insert((call.generation, call.what.desc)), "told twice: {call:?}");
            }
            _ => {}
        }
    }
    let mut threads: Told = threads.into_values().collect();
    threads.sort_unstable();
    threads
}

const SLOTS: usize = 64;

#[test]
fn several_scanners_tell_of_each_thread_once_and_what_one_tells() {
    let one = told_by(1);
    let (went, all) = (one.iter().filter(|thread| thread.2).count(), one.len());
    assert_eq!(
        (went, all),
        (42, SLOTS + 21),
        "two of three end, and half of these have another in their place"
    );
    assert!(one.iter().all(|(_, calls, _)| calls.len() >= 2), "{one:?}");
    for scanners in [2, 3, 7] {
        assert_eq!(told_by(scanners), one, "{scanners} scanners");
    }
}
