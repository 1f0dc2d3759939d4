//! The delay signal is true and fresh.

use super::Finding;
use std::time::Duration;
use tailwater_control::{Reason, Verdict};
use tailwater_core::Instant;

/// When the controller last heard of the delay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signal {
    told: Instant,
}

impl Signal {
    pub(crate) const fn on_tick(&mut self, now: Instant) {
        self.told = now;
    }

    /// After a piece of work has ended: the node ticks then, unless it did within the last `tick`.
    pub(crate) fn check(&self, now: Instant, tick: Duration) -> Finding {
        let age = now.since(self.told);
        (age > tick)
            .then(|| format!("work has ended, but the controller heard of the delay {age:?} ago"))
    }
}

/// `idle` says that nothing waits at the loop, packet or request, and that this one did not wait to be parsed.
pub(crate) fn shed_while_idle(idle: bool, verdict: Verdict) -> Finding {
    (idle && verdict == Verdict::Shed(Reason::Delay))
        .then(|| "a request was shed for its delay where nothing waits".into())
}
