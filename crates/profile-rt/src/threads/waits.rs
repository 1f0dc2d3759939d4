//! Waits for locks, as the wrappers in C report them.

use crate::memory::abi::{Context, What};
use crate::memory::arena::{Arena, PENDING_MAX, Slot};
use crate::memory::event::{Event, Waited};
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
    if has_lock && wait.is_hold() && is_had_again(slot, count, wait.object) {
        return;
    }
    let wait = Waited { function: innermost(&arena, index), ..wait };
    if has_lock && count < PENDING_MAX {
        // Until it is let go the word says for which recorder that is.
        store(slot, count, Waited { released: arena.term().0.into(), ..wait });
        shim::set_pending(count as u32 + 1);
    } else if wait.is_hold() {
        // Of how long it is held nothing will be known.
        lose(&arena, index);
    } else {
        push(&arena, index, wait);
    }
}

/// Whether the thread had the lock already without a wait: then it has that once more, which the word of the holder counts.
fn is_had_again(slot: &Slot, count: usize, object: u64) -> bool {
    let had = |at: usize| load(slot, at).filter(|one| one.is_hold() && one.object == object);
    let Some((at, hold)) = (0..count).rev().find_map(|at| Some((at, had(at)?))) else {
        return false;
    };
    store(slot, at, Waited { holder: hold.holder.saturating_add(1), ..hold });
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
    if wait.is_hold() && wait.holder > 0 {
        return store(slot, place, Waited { holder: wait.holder - 1, ..wait });
    }
    for later in place + 1..count {
        if let Some(moved) = load(slot, later) {
            store(slot, later - 1, moved);
        }
    }
    shim::set_pending(count as u32 - 1);
    let is_anothers = wait.released != u64::from(arena.term().0);
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
    let words = std::array::from_fn(|i| slot.own.pending[at][i].load(Relaxed));
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
