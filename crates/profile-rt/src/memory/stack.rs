//! Where the machine stack lies that a context's frames are of.

use super::abi::Context;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

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
