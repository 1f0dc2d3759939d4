//! Waits for locks, as the wrappers in C report them.

use crate::memory::abi::{Context, What};
use crate::memory::arena::{Arena, PENDING_MAX, Slot};
use crate::memory::event::{Event, Waited};
use crate::memory::lease::Term;
use crate::system::shim;
use crate::threads::register;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_profile::record::Ticks;

/// The calling thread has waited. Where it has the lock now, that is kept until the lock is let go; where too many are
/// held, and for waits that took nothing, the event goes out now.
pub(crate) fn waited(wait: Waited, has_lock: bool) {
    let Some((arena, index)) = register::place() else { return };
    let slot = arena.slot(index);
    let count = (shim::pending() as usize).min(PENDING_MAX);
    let kept = Kept { term: arena.term(), again: 0 };
    if has_lock && wait.is_hold() && is_had_again(slot, count, wait.object, kept.term) {
        return;
    }
    let wait = Waited { function: innermost(&arena, index), ..wait };
    if has_lock && count < PENDING_MAX {
        store(slot, count, Waited { released: kept.word(), ..wait });
        shim::set_pending(count as u32 + 1);
    } else if wait.is_hold() {
        // Of how long it is held nothing will be known.
        lose(&arena, index);
    } else {
        push(&arena, index, wait);
    }
}

/// What the word of the time at which a lock was let go has until that is known.
struct Kept {
    /// For whom the event is.
    term: Term,
    /// How often the thread has got the lock again meanwhile, and has to let it go for that.
    again: u32,
}

impl Kept {
    const fn of(word: u64) -> Self {
        Self { term: Term(word as u32), again: (word >> 32) as u32 }
    }

    fn word(&self) -> u64 {
        u64::from(self.term.0) | u64::from(self.again) << 32
    }
}

/// Whether the thread had the lock already, which is counted. Not by what an earlier recording has left: of that the lock may
/// have been let go elsewhere.
fn is_had_again(slot: &Slot, count: usize, object: u64, term: Term) -> bool {
    let had = |at: usize| {
        let one = load(slot, at).filter(|one| one.object == object)?;
        (Kept::of(one.released).term == term).then_some((at, one))
    };
    let Some((at, one)) = (0..count).rev().find_map(had) else { return false };
    let again = Kept::of(one.released).again.saturating_add(1);
    store(slot, at, Waited { released: Kept { term, again }.word(), ..one });
    true
}

/// The calling thread lets a lock go, at this time.
pub(crate) fn released(object: u64, at: Ticks) {
    let Some((arena, index)) = register::place() else { return };
    let slot = arena.slot(index);
    let count = (shim::pending() as usize).min(PENDING_MAX);
    // The latest first: locks nest.
    let found = (0..count)
        .rev()
        .find_map(|place| Some((place, load(slot, place).filter(|one| one.object == object)?)));
    let Some((place, wait)) = found else { return };
    let Kept { term, again } = Kept::of(wait.released);
    if let Some(again) = again.checked_sub(1) {
        return store(slot, place, Waited { released: Kept { term, again }.word(), ..wait });
    }
    for later in place + 1..count {
        if let Some(moved) = load(slot, later) {
            store(slot, later - 1, moved);
        }
    }
    shim::set_pending(count as u32 - 1);
    let is_anothers = term != arena.term();
    let is_short =
        wait.is_hold() && at.saturating_sub(wait.end) < arena.header().watch.holds.number().into();
    if !is_anothers && !is_short {
        push(&arena, index, Waited { released: at, ..wait });
    }
}

/// Functions of waits whose lock is still held, and of some that were told already.
pub(crate) fn pending_functions(slot: &Slot) -> impl Iterator<Item = u64> {
    let waits = (0..PENDING_MAX).filter_map(|at| load(slot, at));
    waits.flat_map(|wait| [wait.function, wait.held_in.desc])
}

fn push(arena: &Arena, index: usize, wait: Waited) {
    if !Event::Wait(wait).push(arena.ring(index)) {
        lose(arena, index);
    }
}

fn lose(arena: &Arena, index: usize) {
    let lost = &arena.slot(index).lost.waits;
    lost.store(lost.load(Relaxed) + 1, Relaxed);
}

fn store(slot: &Slot, at: usize, wait: Waited) {
    for (to, word) in slot.own.pending[at].iter().zip(Event::Wait(wait).to_words()) {
        to.store(word, Relaxed);
    }
}

fn load(slot: &Slot, at: usize) -> Option<Waited> {
    let kept = &slot.own.pending[at];
    let words = std::array::from_fn(|i| kept.get(i).map_or(0, |word| word.load(Relaxed)));
    match Event::from_words(&words)? {
        Event::Wait(wait) => Some(wait),
        Event::Mark { .. } | Event::Hop { .. } | Event::Call(_) => None,
    }
}

/// The calling thread's innermost instrumented function; zero when there is none.
fn innermost(arena: &Arena, index: usize) -> u64 {
    let Context { position, base, .. } = &arena.slot(index).context;
    let depth =
        position.load(Relaxed).saturating_sub(base.load(Relaxed)) / crate::memory::abi::ENTRY_BYTES;
    match u32::try_from(depth).ok().and_then(|depth| depth.checked_sub(1)) {
        Some(top) if top <= arena.frames_max() => {
            What::from(arena.entry(index, top).what.load(Relaxed)).desc
        }
        _ => 0,
    }
}
