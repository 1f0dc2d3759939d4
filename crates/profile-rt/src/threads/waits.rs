//! Waits for locks, as the wrappers in C report them.

use crate::memory::abi::{Context, What};
use crate::memory::arena::{Arena, PENDING_MAX, Slot};
use crate::memory::event::{Event, Waited};
use crate::system::clock;
use crate::system::shim;
use crate::threads::register;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_profile::record::WaitKind;

/// The calling thread has waited. A lock's wait is kept until the lock is let go; where too many are
/// held, and for waits that take nothing, the event goes out now.
pub(crate) fn waited(wait: Waited) {
    let Some((arena, index)) = register::place() else { return };
    let slot = arena.slot(index);
    let wait = Waited { function: innermost(&arena, index), ..wait };
    let count = shim::pending() as usize;
    let holds = !matches!(wait.kind, WaitKind::Condition | WaitKind::Join);
    if holds && count < PENDING_MAX {
        store(slot, count, wait);
        shim::set_pending(count as u32 + 1);
    } else if wait.is_hold() {
        // Of how long it is held nothing will be known.
        lose(&arena, index);
    } else {
        push(&arena, index, wait);
    }
}

/// The calling thread has let a lock go.
pub(crate) fn released(object: u64) {
    let Some((arena, index)) = register::place() else { return };
    let slot = arena.slot(index);
    let count = (shim::pending() as usize).min(PENDING_MAX);
    // The latest first: locks nest.
    let found = (0..count)
        .rev()
        .find_map(|at| load(slot, at).filter(|w| w.object == object).map(|w| (at, w)));
    let Some((at, wait)) = found else { return };
    for later in at + 1..count {
        if let Some(moved) = load(slot, later) {
            store(slot, later - 1, moved);
        }
    }
    shim::set_pending(count as u32 - 1);
    let released = clock::ticks();
    if wait.is_hold() {
        let shortest = arena.header().watch.holds.number();
        // Zero: another recorder has come since it was taken.
        if shortest == 0 || released.saturating_sub(wait.end) < shortest.into() {
            return;
        }
    }
    push(&arena, index, Waited { released, ..wait });
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
