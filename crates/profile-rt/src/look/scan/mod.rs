//! What a scanner thinks: from glimpses of a shadow stack to calls with error bars.
//!
//! Start with [`ThreadScan`]. Nothing here reads shared memory or a clock: a [`Probe`] does.

mod duty;
mod gaps;
mod looks;
mod pace;
mod thread;
mod timeline;
mod watch;
#[cfg(test)]
mod simulated;

pub(crate) use duty::{Break, Duty};
pub(crate) use gaps::Gaps;
pub(crate) use pace::{Costs, Pace, WHOLE};
pub(crate) use thread::ThreadScan;
pub(crate) use watch::Watch;

use crate::memory::abi::What;
use tailwater_profile::record::Ticks;

/// Frames beyond this depth are not followed; they count as lost.
pub(crate) const DEPTH_MAX: u32 = 1 << 16;

/// What can be seen of one thread. Each method looks again, at whatever is there by then.
pub(crate) trait Probe {
    /// The clock.
    fn now(&mut self) -> Ticks;
    /// The position, then the generation.
    fn head(&mut self) -> Head;
    /// A frame; the thread may be writing it.
    fn frame(&mut self, index: u32) -> Glimpse;
    /// The generation of a frame.
    fn generation(&mut self, index: u32) -> u64;
}

/// What a thread says of its stack in one line of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Head {
    /// Frames on the stack.
    pub(crate) depth: u32,
    /// Frames ever pushed.
    pub(crate) generation: u64,
}

/// What stood in a frame; the two may belong to different frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Glimpse {
    pub(crate) what: What,
    pub(crate) generation: u64,
}

/// An instant that is known to lie between two readings of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) from: Ticks,
    pub(crate) to: Ticks,
}

impl Window {
    /// Bounds in the wrong order are those of one instant, seen at `to`.
    pub(crate) const fn new(from: Ticks, to: Ticks) -> Self {
        Self { from: if from < to { from } else { to }, to }
    }

    /// Where the instant was seen up to `delay` later than it was: looks that did not find it rule out less.
    pub(crate) const fn seen_late(self, delay: Ticks) -> Self {
        Self { from: self.from.saturating_sub(delay), to: self.to }
    }

    /// The middle, and half the width, rounded up so that the window stays covered.
    pub(crate) fn middle(self) -> (Ticks, u32) {
        let half = (self.to - self.from).div_ceil(2);
        (self.from + (self.to - self.from) / 2, u32::try_from(half).unwrap_or(u32::MAX))
    }
}

/// A call that is over, as the scanner knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) what: What,
    /// The descriptor of the frame below; zero for the lowest.
    pub(crate) parent: u64,
    pub(crate) depth: u32,
    pub(crate) generation: u64,
    pub(crate) start: Window,
    pub(crate) end: Window,
    /// Bits of `tailwater_profile::record::CallFlags`.
    pub(crate) flags: u8,
}
