//! Fibers that nobody announces: machine stacks that a program goes to and leaves as it likes.
//!
//! Code that was built to find out (`tailwater profile build --fibers`) keeps its context on its own machine
//! stack, and puts it back whenever a call returns. What is left is to find the context of a stack that is new,
//! or that goes on in code that was not built so: by where it is known to lie. A stack grows, so what is
//! known of it begins with its outermost frame and follows it down. An address that is in no known part is of the
//! stack whose known part an unwinder comes to; where it comes to none, it is of a new one.
//!
//! Runs in the middle of any code, signal handlers and allocators included: it neither allocates nor waits.

use crate::abi::{Context, Entry, LIVE};
use crate::arena::Arena;
use crate::{maps, register, session, shim};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Below a frame, so much is of the same machine stack: a stack that had less left would be about to overflow.
/// Spares an unwinding for each small frame.
const MARGIN: u64 = 2048;
/// Between the frame that is entered and what is known of its stack, the unwinder looks at so many at most.
const FRAMES_MAX: u32 = 256;
/// No function with a frame of ours, and no caller of one, has a smaller frame of the machine's.
const FRAME_MIN: u64 = 24;
/// Stacks that are mapped for that are this far apart at least.
const PAGE: u64 = 4096;

/// The place of the machine stack that a function is entered on, which becomes the calling thread's: its return
/// address lies at `stack`, and the thread's context was `left`. `None`: it has none and gets none, and the
/// context is nobody's.
pub(crate) fn enter(left: *const Context, stack: u64) -> Option<(Arena, usize)> {
    let arena = session::arena()?;
    let index = place_of(&arena, left, stack)?;
    register::switch(left, &raw const arena.slot(index).context);
    Some((arena, index))
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
        Some(Hint::Place(index)) => {
            go_on(arena, index, stack);
            return Some(index);
        }
        Some(Hint::Placeless) => return None,
        None => {}
    }
    // A signal's handler counts as called by what it interrupts.
    if shim::is_on_signal_stack() {
        return was.or(own);
    }
    let found = Found::among(arena, own, stack);
    if let Some(index) = found.at {
        go_on(arena, index, stack);
        hint(stack).store(index as u16, Relaxed);
        return Some(index);
    }
    match outermost(stack, &found.next_known) {
        Outermost::Known => {
            grow(&arena.slot(found.next?).context, stack);
            found.next
        }
        Outermost::At(top) => {
            close_overlapping(arena, stack..top);
            let known = stack.saturating_sub(MARGIN)..stack;
            let place = register::found_fiber(arena, &Stack { known, top });
            match place {
                Some(index) => hint(stack).store(index as u16, Relaxed),
                None => hint(stack).store(PLACELESS, Relaxed),
            }
            place
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
        return register::is_full(arena).then_some(Hint::Placeless);
    }
    let index = usize::from(hint);
    let context = &arena.slot(index).context;
    let Stack { known, top } = Stack::of(context);
    let is_fiber = context.state.load(Acquire) == LIVE && top != 0;
    (is_fiber && (known.start..top).contains(&stack)).then_some(Hint::Place(index))
}

/// The calling thread's own place, which it gets now if it has none, and of which it is known now where its
/// machine stack lies.
fn own_place(arena: &Arena) -> Option<usize> {
    let index = match arena.index_of(shim::own()) {
        Some(index) => index,
        None => register::calling_thread()?.1,
    };
    let context = &arena.slot(index).context;
    if context.stack_extent.load(Relaxed) == 0
        && let Some(known) = maps::stack_of_thread()
    {
        Stack { known, top: 0 }.write(context);
    }
    Some(index)
}

/// A machine stack.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// Where it is known to lie; empty: nowhere yet.
    pub(crate) known: Range<u64>,
    /// Where it ends, of a fiber that was found; else zero.
    pub(crate) top: u64,
}

impl Stack {
    pub(crate) const UNKNOWN: Self = Self { known: 0..0, top: 0 };
    /// Of a fiber that is announced, and need not be found.
    pub(crate) const ANNOUNCED: Self = Self { known: 0..u64::MAX, top: 0 };

    pub(crate) fn of(context: &Context) -> Self {
        let low = context.stack_low.load(Relaxed);
        let known = low..low.saturating_add(context.stack_extent.load(Relaxed));
        Self { known, top: context.stack_top.load(Relaxed) }
    }

    pub(crate) fn write(&self, context: &Context) {
        context.stack_low.store(self.known.start, Relaxed);
        context.stack_extent.store(self.known.end - self.known.start, Relaxed);
        context.stack_top.store(self.top, Relaxed);
    }
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
    let used = arena.header().slots_used.load(Acquire) as usize;
    (0..used).map(|index| (index, &arena.slot(index).context)).filter(|(_, context)| {
        context.state.load(Acquire) == LIVE && context.stack_top.load(Relaxed) != 0
    })
}

/// A function is entered on a fiber's stack, at `stack`. Takes off frames that are gone: where the outermost was,
/// or above, they all are; and so they are where another fiber has begun in this one's memory.
fn go_on(arena: &Arena, index: usize, stack: u64) {
    let context = &arena.slot(index).context;
    let mut known = Stack::of(context);
    let base = context.base.load(Relaxed);
    let is_empty = context.position.load(Relaxed) == base;
    if stack >= known.known.end
        || !(is_empty || is_there(arena.entry(index, 0), known.known.end, stack))
    {
        context.position.store(base, Relaxed);
        known.known.end = stack;
        known.write(context);
    }
}

/// A stack is known from a little below `stack` on.
fn grow(context: &Context, stack: u64) {
    let mut grown = Stack::of(context);
    grown.known.start = stack.saturating_sub(MARGIN).min(grown.known.start);
    grown.write(context);
}

/// Where a new stack lies now, no other is any more.
fn close_overlapping(arena: &Arena, taken: Range<u64>) {
    for (index, context) in fibers(arena) {
        let Stack { known, top } = Stack::of(context);
        if known.start < taken.end && taken.start < top {
            register::close(arena, index);
        }
    }
}

/// The end of an unwinding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outermost {
    /// In the part of a stack that is known.
    Known,
    /// Where the outermost frame ends.
    At(u64),
}

/// Follows the frames that called the function entered at `stack` up until one lies in what is `known`.
fn outermost(stack: u64, known: &Range<u64>) -> Outermost {
    let mut found = Outermost::At(stack + 1);
    callers(stack, |frame| {
        let met = known.contains(&frame.low);
        found = if met { Outermost::Known } else { Outermost::At(frame.low) };
        !met
    });
    found
}

/// Whether the function of `entry` is among those that called the one that is entered at `stack`; its return
/// address lay no higher than at `bottom`. So it is where that cannot be found out.
fn is_there(entry: &Entry, bottom: u64, stack: u64) -> bool {
    // Of a library that may have been closed.
    let Some(wanted) = shim::word_at(entry.desc.load(Relaxed)) else { return true };
    let (mut is_there, mut ends) = (false, false);
    callers(stack, |frame| {
        is_there = frame.function == wanted;
        ends = frame.code == 0 || frame.low + FRAME_MIN > bottom;
        !is_there
    });
    is_there || !ends
}

/// Shows the frames that called the function entered at `stack` to `each`, for as long as that wants more and
/// they lie on one stack: some libraries lead unwinders from a fiber's stack on to that of who resumed it.
fn callers(stack: u64, mut each: impl FnMut(&Frame) -> bool) {
    let mut last = 0;
    unwind(|frame| {
        if last == 0 && frame.low <= stack {
            // Our own, and the one that is entered.
            return true;
        }
        let below = if last == 0 { stack } else { last };
        last = frame.low;
        let one =
            frame.low >= below && (frame.low - below < PAGE || maps::is_one(below, frame.low));
        one && each(frame)
    });
}

/// A frame of the machine's. Past the outermost, some unwinders show one without code.
struct Frame {
    /// Its stack pointer: right below lies its callee's return address.
    low: u64,
    code: u64,
    /// Where its function begins.
    function: u64,
}

/// Shows the calling thread's frames to `each`, for as long as that wants more.
fn unwind<F: FnMut(&Frame) -> bool>(each: F) {
    struct Walk<F> {
        left: u32,
        each: F,
    }
    extern "C" fn step<F: FnMut(&Frame) -> bool>(frame: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the walk below, which is in nobody else's hands meanwhile.
        let walk = unsafe { &mut *walk.cast::<Walk<F>>() };
        // SAFETY: the unwinder's own, for the time of this call.
        let frame = unsafe {
            Frame {
                low: _Unwind_GetCFA(frame) as u64,
                code: _Unwind_GetIP(frame) as u64,
                function: _Unwind_GetRegionStart(frame) as u64,
            }
        };
        walk.left -= 1;
        if (walk.each)(&frame) && walk.left > 0 { NO_REASON } else { NORMAL_STOP }
    }
    let mut walk = Walk { left: FRAMES_MAX, each };
    // SAFETY: `step` does not unwind, and `walk` outlives the call.
    let _ = unsafe { _Unwind_Backtrace(step::<F>, (&raw mut walk).cast()) };
}

const NO_REASON: c_int = 0;
const NORMAL_STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetRegionStart(frame: *mut c_void) -> usize;
}
