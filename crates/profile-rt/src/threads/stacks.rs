//! Fibers that nobody announces: machine stacks that a program goes to and leaves as it likes.
//!
//! Code that was built with `tailwater profile build --fibers` keeps its context on its own machine stack, and puts
//! it back whenever a call returns. This module finds the contexts of the remaining stacks: new ones, and those that
//! go on in code that was not built so. It finds them by where they are known to lie. A stack grows, so what is known
//! of it begins with its outermost frame and follows it down. An address that is in no known part is of the stack
//! whose known part an unwinder comes to; where it comes to none, it is of a new one. Fibers do not announce their
//! end: a place is reused when its memory is, or when there are no more places.
//!
//! Runs in the middle of any code, signal handlers and allocators included: it neither allocates nor waits, and
//! the thread's context belongs to no stack meanwhile.

use crate::memory::abi::{Context, What};
use crate::memory::arena::Arena;
use crate::memory::stack::Stack;
use crate::memory::state::Phase;
use crate::system::clock::ticks;
use crate::system::maps;
use crate::system::process;
use crate::system::shim;
use crate::system::unwind::{callers, function_with};
use crate::threads::register;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU16, AtomicU64};

/// Below a frame, so much is of the same machine stack: finding out takes more of it than that. Spares an
/// unwinding for each small frame.
const MARGIN: u64 = 2048;
/// Between two searches for places that nobody needs: some ten milliseconds with any processor's counter.
const SWEEP_TICKS: u64 = 20_000_000;

/// The place of the machine stack that a function is entered on, for the calling thread: its return address lies
/// at `stack`, and the thread's context was `left`. `None`: it has none and gets none.
pub(crate) fn enter(left: *const Context, stack: u64) -> Option<(Arena, usize)> {
    let arena = process::arena()?;
    let place = place_of(&arena, left, stack);
    let context = |index| &raw const arena.slot(index).context;
    register::move_waits(&arena, left, place.map_or(std::ptr::null(), context));
    Some((arena, place?))
}

fn place_of(arena: &Arena, left: *const Context, stack: u64) -> Option<usize> {
    let is_known = |index: &usize| Stack::of(&arena.slot(*index).context).known.contains(&stack);
    let was = arena.index_of(left);
    if let Some(index) = was.filter(is_known) {
        return Some(index);
    }
    let own = own_place(arena);
    if let Some(index) = own.filter(is_known) {
        return Some(index);
    }
    match hinted(arena, stack) {
        Some(Hint::Place(index)) => return go_on(arena, was, index, stack),
        Some(Hint::Placeless) => return None,
        None => {}
    }
    // A signal's handler counts as called by what it interrupts.
    if shim::is_on_signal_stack() {
        return was.or(own);
    }
    let found = Found::among(arena, own, stack);
    let place = if let Some(index) = found.at {
        go_on(arena, was, index, stack)
    } else {
        match outermost(stack, &found.next_known) {
            Outermost::Known => {
                let index = found.next?;
                if was != Some(index)
                    && let Err(top) = is_alive(arena, index, stack)
                {
                    return begin(arena, stack, top);
                }
                grow(arena, index, stack);
                return Some(index);
            }
            Outermost::At(top) => begin(arena, stack, top),
        }
    };
    hint(stack).store(place.map_or(PLACELESS, |index| index as u16), Relaxed);
    place
}

/// The calling thread's own place, which it gets now if it has none, and of which it is known now where its
/// machine stack lies.
fn own_place(arena: &Arena) -> Option<usize> {
    let index = match arena.index_of(shim::own()) {
        Some(index) => index,
        None => register::own_place()?.1,
    };
    let context = &arena.slot(index).context;
    if context.stack_extent.load(Relaxed) == 0
        && let Some(known) = maps::stack_of_thread()
    {
        Stack { known, top: 0 }.write(context);
    }
    Some(index)
}

/// A stack begins, on which a function is entered at `stack` and the outermost frame ends at `top`.
fn begin(arena: &Arena, stack: u64, top: u64) -> Option<usize> {
    let known = stack.saturating_sub(MARGIN)..stack;
    close_all_in(arena, known.start..top, None);
    let stack = Stack { known, top };
    register::found_fiber(arena, &stack).or_else(|| {
        sweep(arena);
        None
    })
}

/// A function is entered at `stack`, where the fiber at `index` is known to lie. Answers the place that it is
/// of: where `was` lies further up and has grown down to here, or where another fiber has begun in this one's
/// memory, this one is no more.
fn go_on(arena: &Arena, was: Option<usize>, index: usize, stack: u64) -> Option<usize> {
    let context = &arena.slot(index).context;
    let mut found = Stack::of(context);
    if let Some(above) = was
        && let Stack { known, .. } = Stack::of(&arena.slot(above).context)
        && known.end > found.top
        && outermost(stack, &known) == Outermost::Known
    {
        grow(arena, above, stack);
        return Some(above);
    }
    if stack >= found.known.end {
        // Where its outermost frame was, or above: that is gone, and so are all others.
        context.position.store(context.base.load(Relaxed), Relaxed);
        found.known.end = stack;
        found.write(context);
        return Some(index);
    }
    is_alive(arena, index, stack).map_or_else(|top| begin(arena, stack, top), |()| Some(index))
}

/// Whether the frames at `index` are among the callers of the function that is entered at `stack`; or, where there
/// are none, whether its stack ends where these do. Else where they end.
fn is_alive(arena: &Arena, index: usize, stack: u64) -> Result<(), u64> {
    let context = &arena.slot(index).context;
    let top = Stack::of(context).top;
    if top == 0 {
        // A thread's, which no other has.
        return Ok(());
    }
    let is_empty = context.position.load(Relaxed) == context.base.load(Relaxed);
    // The descriptor may be of a library that was closed; then no caller is of it.
    let What { desc, .. } = What::from(arena.entry(index, 0).what.load(Relaxed));
    let bottom = if is_empty { None } else { shim::word_at(desc) };
    let (mut is_there, mut last) = (false, stack + 1);
    callers(stack, |low, code| {
        is_there = bottom.is_some() && function_with(code) == bottom;
        last = low;
        !is_there
    });
    if is_there || (is_empty && last == top) { Ok(()) } else { Err(last) }
}

/// A stack is known from a little below `stack` on.
fn grow(arena: &Arena, index: usize, stack: u64) {
    let context = &arena.slot(index).context;
    let mut grown = Stack::of(context);
    let below = grown.known.start;
    grown.known.start = stack.saturating_sub(MARGIN).min(below);
    grown.write(context);
    close_all_in(arena, grown.known.start..below, Some(index));
}

/// No stack lies in memory that another is known to have, `whose`.
fn close_all_in(arena: &Arena, taken: Range<u64>, whose: Option<usize>) {
    for (index, context) in fibers(arena) {
        let Stack { known, top } = Stack::of(context);
        if known.start < taken.end && taken.start < top && Some(index) != whose {
            register::close(arena, index);
        }
    }
}

/// Gives up the places of fibers that have no frames and were not entered since the last time.
fn sweep(arena: &Arena) {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let (last, now) = (LAST.load(Relaxed), ticks());
    if now.saturating_sub(last) < SWEEP_TICKS
        || LAST.compare_exchange(last, now, Relaxed, Relaxed).is_err()
    {
        return;
    }
    for (index, context) in fibers(arena) {
        if context.position.load(Relaxed) != context.base.load(Relaxed) {
            continue;
        }
        // A thread that enters one comes by here first, since nothing is known of it, and makes it known.
        if context.stack_extent.swap(0, Relaxed) == 0 {
            register::close(arena, index);
        }
    }
}

/// The places at which pieces of memory were last found to be stacks: there may be thousands.
static HINTS: [AtomicU16; 8192] = [const { AtomicU16::new(0) }; 8192];

/// In a hint: when that was last looked up, there was no room for another.
const PLACELESS: u16 = u16::MAX;

/// What a hint says, where that is true.
enum Hint {
    Place(usize),
    Placeless,
}

fn hint(stack: u64) -> &'static AtomicU16 {
    &HINTS[(stack / MARGIN) as usize % HINTS.len()]
}

fn hinted(arena: &Arena, stack: u64) -> Option<Hint> {
    let hint = hint(stack).load(Relaxed);
    if hint == PLACELESS {
        return register::is_full(arena, SWEEP_TICKS).then_some(Hint::Placeless);
    }
    let index = usize::from(hint);
    let context = &arena.slot(index).context;
    let is_fiber = context.state.phase() == Phase::Live && context.stack_top.load(Relaxed) != 0;
    let Stack { known, top } = Stack::of(context);
    (is_fiber && (known.start..top).contains(&stack)).then_some(Hint::Place(index))
}

/// What is known of the addresses from `stack` up.
struct Found {
    /// The place of a fiber's stack that they are of.
    at: Option<usize>,
    /// Else the place of the next stack further up, which they may be of; and where that is known.
    next: Option<usize>,
    next_known: Range<u64>,
}

impl Found {
    fn among(arena: &Arena, own: Option<usize>, stack: u64) -> Self {
        let mut found = Self { at: None, next: None, next_known: u64::MAX..u64::MAX };
        let mut nearest = u64::MAX;
        if let Some(index) = own {
            let range = Stack::of(&arena.slot(index).context).known;
            if range.start > stack && !range.is_empty() {
                nearest = range.end;
                found.next = own;
                found.next_known = range;
            }
        }
        for (index, context) in fibers(arena) {
            let Stack { known, top } = Stack::of(context);
            if stack >= top || top > nearest {
                continue;
            }
            nearest = top;
            found.at = (known.start <= stack).then_some(index);
            found.next = Some(index);
            found.next_known = known.start..top;
        }
        found
    }
}

/// Fibers that were found.
fn fibers(arena: &Arena) -> impl Iterator<Item = (usize, &'static Context)> {
    let used = arena.slots_used();
    (0..used).map(|index| (index, &arena.slot(index).context)).filter(|(_, context)| {
        context.state.phase() == Phase::Live && context.stack_top.load(Relaxed) != 0
    })
}

/// The end of an unwinding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outermost {
    /// In the part of a stack that is known.
    Known,
    /// Where the outermost frame ends.
    At(u64),
}

/// Follows the callers of the function entered at `stack` up until one lies in what is `known`.
fn outermost(stack: u64, known: &Range<u64>) -> Outermost {
    let mut found = Outermost::At(stack + 1);
    callers(stack, |low, _| {
        let met = known.contains(&low);
        found = if met { Outermost::Known } else { Outermost::At(low) };
        !met
    });
    found
}
