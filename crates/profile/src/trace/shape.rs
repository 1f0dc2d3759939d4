//! What a block's reader and writer both remember of the records before: the base of each difference.

use crate::record::{Call, CallFlags, FunctionId, ThreadId, Ticks};

/// Shapes remembered; a slot is one byte.
const SHAPES: usize = 256;
/// Threads whose generation is remembered; threads that differ by a multiple share one.
const GENERATIONS: usize = 64;

/// All of a call but when it took place: calls repeat few shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) thread: ThreadId,
    pub(super) function: FunctionId,
    pub(super) parent: Option<FunctionId>,
    pub(super) depth: u32,
    pub(super) flags: CallFlags,
    pub(super) site: u16,
}

impl Shape {
    pub(super) const fn of(call: &Call) -> Self {
        let Call { thread, function, parent, depth, flags, site, .. } = *call;
        Self { thread, function, parent, depth, flags, site }
    }

    /// Where a writer keeps it. A reader is told, so that this may change without a new version.
    pub(super) fn slot(&self) -> u8 {
        let parent = self.parent.map_or(0, |id| id.0.wrapping_add(1));
        let rest = u32::from(self.flags.0) | u32::from(self.site) << 8;
        let mixed = [self.thread.0, self.function.0, parent, self.depth, rest]
            .into_iter()
            .fold(0u32, |hash, field| (hash.rotate_left(5) ^ field).wrapping_mul(0x9e37_79b1));
        (mixed >> 24) as u8
    }
}

/// The memory of one block; each begins with an empty one.
pub(super) struct Memory {
    shapes: [Option<Shape>; SHAPES],
    generations: [u64; GENERATIONS],
    /// The time named last.
    pub(super) last: Ticks,
    /// Start and its slack, end and its slack of the last call.
    pub(super) call: (Ticks, u8, Ticks, u8),
    /// The request, lock and place named last.
    pub(super) request: u64,
    pub(super) object: u64,
    /// The name of a call between processes that was told last.
    pub(super) named: u64,
    pub(super) site: u64,
    /// Where a thread was last.
    pub(super) address: u64,
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self {
            shapes: [None; SHAPES],
            generations: [0; GENERATIONS],
            last: 0,
            call: (0, 0, 0, 0),
            request: 0,
            object: 0,
            named: 0,
            site: 0,
            address: 0,
        }
    }

    pub(super) const fn shape(&mut self, slot: u8) -> &mut Option<Shape> {
        &mut self.shapes[slot as usize]
    }

    /// The generation named last for this thread, or one that shares its place.
    pub(super) const fn generation(&mut self, thread: ThreadId) -> &mut u64 {
        &mut self.generations[thread.0 as usize % GENERATIONS]
    }
}

/// The low three bits of a record's first byte in an events block.
pub(super) mod event {
    pub(in super::super) const CALL: u8 = 0;
    pub(in super::super) const WAIT: u8 = 1;
    pub(in super::super) const MARK: u8 = 2;
    pub(in super::super) const GAP: u8 = 3;
    pub(in super::super) const LOSS: u8 = 4;
    pub(in super::super) const LOOKS: u8 = 5;
    pub(in super::super) const STATE: u8 = 6;
    pub(in super::super) const INTERRUPTION: u8 = 7;
    /// All three bits and one more: no more kinds have room in three.
    pub(in super::super) const SAMPLE: u8 = 15;
    /// As above.
    pub(in super::super) const HOLD: u8 = 23;
    /// As above.
    pub(in super::super) const COUNTED: u8 = 31;
    /// All bits that say which.
    pub(in super::super) const MASK: u8 = 7;
    /// A call's shape is told; otherwise it is the one remembered in the slot.
    pub(in super::super) const NEW_SHAPE: u8 = 8;
    /// A call's start and its slack are those of the call before.
    pub(in super::super) const SAME_START: u8 = 16;
    /// A call's end and its slack are those of the call before.
    pub(in super::super) const SAME_END: u8 = 32;
}

/// Kinds of marks from here on tell of a call between processes as well.
pub(super) const FIRST_HOP: u8 = 6;

/// Two bytes follow a shape's flags, or a wait: the low bits of an address in the function concerned.
pub(super) const WITH_SITE: u8 = 16;

/// A record's first byte in a tables block.
pub(super) mod entry {
    pub(in super::super) const FUNCTION: u8 = 0;
    pub(in super::super) const THREAD: u8 = 1;
    pub(in super::super) const CLOCK: u8 = 2;
    pub(in super::super) const MODULE: u8 = 3;
    pub(in super::super) const FIGURE: u8 = 4;
}
