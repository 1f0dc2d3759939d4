//! Planted bugs of the driver that need to reach into the node.

use super::Node;
use tailwater_core::Instant;

impl Node {
    /// The delay is not told any more.
    pub(crate) fn stop_ticking(&mut self) {
        self.loops.iter_mut().for_each(|it| it.tick_due = Instant::FAR_FUTURE);
    }

    /// The delay is told a hundred times less often than was said.
    pub(crate) fn tick_seldom(&mut self, now: Instant) {
        for it in &mut self.loops {
            if it.tick_due > now && it.tick_due <= now + self.spec.tick {
                it.tick_due = now + 100 * self.spec.tick;
            }
        }
    }

    /// The controller's wish to be called is heard and forgotten.
    pub(crate) fn forget_to_arm(&mut self) {
        self.loops.iter_mut().for_each(|it| it.armed = Instant::ZERO);
    }

    /// The bound of the run queue is not looked at.
    pub(crate) fn unbound_queue(&mut self) {
        self.spec.queue_max = u32::MAX;
    }

    /// The next request is going to be run once more. On paths that would end as a hundred things.
    pub(crate) fn run_twice(&mut self) {
        let next = self.loops[0].runnable.front().copied();
        if let Some(key) = next.filter(|_| self.walk.is_none()) {
            self.loops[0].runnable.push_back(key);
        }
    }
}
