//! Planted bugs of the driver that need to reach into the node.

use super::Node;
use tailwater_core::Instant;

impl Node {
    /// The delay is not told any more.
    pub(crate) fn stop_ticking(&mut self) {
        self.tick_due = Instant::FAR_FUTURE;
    }

    /// The delay is told a hundred times less often than was said.
    pub(crate) fn tick_seldom(&mut self, now: Instant) {
        if self.tick_due > now && self.tick_due <= now + self.spec.tick {
            self.tick_due = now + 100 * self.spec.tick;
        }
    }

    /// The controller's wish to be called is heard and forgotten.
    pub(crate) fn forget_to_arm(&mut self) {
        self.armed = Instant::ZERO;
    }

    /// The bound of the run queue is not looked at.
    pub(crate) fn unbound_queue(&mut self) {
        self.spec.queue_max = u32::MAX;
    }

    /// The next request is going to be run once more. On paths that would end as a hundred things.
    pub(crate) fn run_twice(&mut self) {
        if let Some(&key) = self.runnable.front().filter(|_| self.walk.is_none()) {
            self.runnable.push_back(key);
        }
    }
}
