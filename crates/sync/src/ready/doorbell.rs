//! A producer's end.

use super::{QueueId, Shared};
use std::fmt;
use std::sync::Arc;

/// The bell of one queue. A clone rings the same one.
#[derive(Clone)]
pub struct Doorbell {
    shared: Arc<Shared>,
    queue: u32,
}

impl Doorbell {
    pub(super) fn new(shared: Arc<Shared>, queue: usize) -> Self {
        // The set has no larger numbers than fit.
        Self { shared, queue: queue as u32 }
    }

    /// Something was pushed into the queue. True if that woke a consumer. Does not wait for it; waking costs a mutex,
    /// held for a few instructions on either side, and a system call.
    #[inline]
    pub fn ring(&self) -> bool {
        self.shared.board.ring(self.queue as usize)
    }

    /// Pushes, then rings. The order is right by construction. It rings also where `push` panics, which may have pushed by
    /// then.
    ///
    /// ```
    /// # use std::sync::mpsc;
    /// # use tailwater_sync::ready::{ReadySet, VisitPolicy};
    /// # let (set, waiter) = ReadySet::new(1, VisitPolicy::Strict)?;
    /// # let (sender, receiver) = mpsc::channel();
    /// let bell = set.doorbell(0)?;
    /// bell.after(|| sender.send(1)).expect("the receiver is there");
    /// # Ok::<(), tailwater_sync::ready::Error>(())
    /// ```
    #[inline]
    pub fn after<R>(&self, push: impl FnOnce() -> R) -> R {
        let _behind = Behind(self);
        push()
    }

    /// The number of its queue.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        QueueId(self.queue)
    }
}

impl fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorbell").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// Rings when it goes.
struct Behind<'a>(&'a Doorbell);

impl Drop for Behind<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.ring();
    }
}
