//! What offloads go to, as the host's threads see it.

use super::kernels::Pool;
use crate::failure::Failure;
use std::time::Duration;
use tailwater_tune::accelerator::Threading;

/// Host threads at most.
pub(super) const LANES: usize = 3;

/// An accelerator that runs. Each host thread has a lane of its own, in which answers come in the order of its offloads.
///
/// What makes a [`Body`] prepares it; what that does is timed.
pub(super) trait Accelerator: Sync {
    /// Whether it has ended: nothing will be answered any more.
    fn is_over(&self) -> bool;
    /// Has it end, whatever is under way.
    fn end(&self);
    /// From now on other hosts take this share of its time, in percent.
    fn share_with_others(&self, percent: u32);
    /// What it has done so far, by its own account, once nothing is left to do.
    fn stamp(&self) -> Result<Stamp, Failure>;
    /// The requests of one thread: `work`, then an offload.
    fn requests<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b>;
    /// The part of the thread that takes the answers of another's offloads.
    fn respond<'b>(&'b self, offloads: Offloads<'b>) -> Body<'b>;
    /// `work` between an empty offload and its answer, which none waits for.
    fn described<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b>;
}

/// What a thread does in a block; it tells how many answers were wrong.
pub(super) type Body<'b> = Box<dyn FnOnce() -> u64 + 'b>;
/// What a request does beside its kernel.
pub(super) type Work<'b> = Box<dyn Fn() + 'b>;

/// What is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offloaded {
    /// Without the kernel: what is left is the way there and back.
    pub(super) is_empty: bool,
    /// How long the accelerator takes at least.
    pub(super) hold: Duration,
}

/// One thread's offloads of a block.
#[derive(Clone, Copy)]
pub(super) struct Offloads<'b> {
    pub(super) pool: &'b Pool,
    /// Which size of the pool.
    pub(super) size: usize,
    pub(super) lane: usize,
    /// Of the lane's offloads, the number of the first.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) threading: Threading,
    pub(super) offloaded: Offloaded,
}

impl Offloads<'_> {
    /// The answer that the `number`th of the lane must get.
    pub(super) fn right(&self, number: usize) -> u64 {
        match self.offloaded.is_empty {
            true => 0,
            false => self.pool.get(self.size, number).answer,
        }
    }
}

/// What the accelerator has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stamp {
    /// Time of its clock.
    pub(super) wall: Duration,
    /// Time that its thread ran.
    pub(super) cpu: Duration,
    /// Offloads, and how long they took once it had their data.
    pub(super) served: u64,
    pub(super) service: Duration,
    /// Silent ones whose answer was wrong.
    pub(super) wrong: u64,
}

/// Ends the accelerator when dropped, however the host ends.
pub(super) struct Ends<'a>(pub(super) &'a dyn Accelerator);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
