//! How much work stands before a request that comes now.

use tailwater_core::Instant;

/// The work of what waits, and what is left of that of what runs, in nanoseconds of one core.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    waiting_ns: u64,
    /// Of what runs, as if none of it had begun.
    running_ns: u64,
    running: u32,
    /// What is left of it: less with every moment.
    rest_ns: f64,
    as_of: Instant,
}

impl Backlog {
    pub(super) fn advance(&mut self, now: Instant, cores: f64) {
        let done = now.nanos_since(self.as_of) as f64 * cores;
        self.rest_ns = (self.rest_ns - done).max(0.0);
        self.as_of = now;
    }

    pub(super) fn left_ns(&self) -> f64 {
        self.waiting_ns as f64 + self.rest_ns
    }

    pub(super) const fn join(&mut self, cost_ns: u64) {
        self.waiting_ns += cost_ns;
    }

    pub(super) const fn leave(&mut self, cost_ns: u64) {
        self.waiting_ns = self.waiting_ns.saturating_sub(cost_ns);
    }

    /// Where more runs than there are cores, handlers wait for something else. The last to start has a core;
    /// what runs is then as many of its kind as there are cores.
    pub(super) fn start(&mut self, cost_ns: u64, cores: f64) {
        self.leave(cost_ns);
        self.running += 1;
        self.running_ns += cost_ns;
        let most = if f64::from(self.running) > cores.ceil() {
            cost_ns as f64 * cores.max(1.0)
        } else {
            self.running_ns as f64
        };
        self.rest_ns = (self.rest_ns + cost_ns as f64).min(most);
    }

    pub(super) fn end(&mut self, cost_ns: u64) {
        self.running = self.running.saturating_sub(1);
        self.running_ns = self.running_ns.saturating_sub(cost_ns);
        self.rest_ns = self.rest_ns.min(self.running_ns as f64);
    }

    /// What requests count as changes: each class is then counted anew.
    pub(super) const fn recount(&mut self) {
        (self.waiting_ns, self.running_ns) = (0, 0);
    }

    pub(super) const fn count(&mut self, waiting_ns: u64, running_ns: u64) {
        self.waiting_ns += waiting_ns;
        self.running_ns += running_ns;
    }
}
