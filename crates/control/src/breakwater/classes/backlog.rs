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

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn started(costs_ns: &[u64], cores: f64) -> Backlog {
        let mut backlog = Backlog::default();
        costs_ns.iter().for_each(|&cost_ns| backlog.join(cost_ns));
        costs_ns.iter().for_each(|&cost_ns| backlog.start(cost_ns, cores));
        backlog
    }

    #[test]
    fn what_waits_counts_whole_and_what_runs_less_with_every_moment() {
        let mut backlog = Backlog::default();
        [300, 100].into_iter().for_each(|cost_ns| backlog.join(cost_ns));
        assert_eq!(backlog.left_ns(), 400.0);
        backlog.start(100, 1.0);
        assert_eq!(backlog.left_ns(), 400.0);
        backlog.advance(at(10), 2.0);
        assert_eq!(backlog.left_ns(), 380.0, "two cores did ten each");
        backlog.advance(at(15), 2.0);
        assert_eq!(backlog.left_ns(), 370.0);
        backlog.advance(at(1_000), 2.0);
        assert_eq!(backlog.left_ns(), 300.0, "no less than nothing");
        backlog.leave(300);
        assert_eq!(backlog.left_ns(), 0.0);
    }

    /// What runs beyond the cores waits for something else: as many as there are cores count, as the last.
    #[test]
    fn of_what_runs_as_much_counts_as_cores_can_do() {
        assert_eq!(started(&[300, 100], 2.0).left_ns(), 400.0);
        assert_eq!(started(&[100, 100, 100], 2.0).left_ns(), 200.0);
        assert_eq!(started(&[100, 100, 100], 1.5).left_ns(), 150.0);
        assert_eq!(started(&[100, 100], 0.5).left_ns(), 100.0, "a core at least");
    }

    #[test]
    fn an_end_leaves_no_more_than_what_runs_still() {
        let mut backlog = started(&[100, 100, 100], 3.0);
        backlog.end(100);
        assert_eq!(backlog.left_ns(), 200.0);
        backlog.advance(at(150), 1.0);
        backlog.end(100);
        assert_eq!(backlog.left_ns(), 50.0);
        backlog.end(100);
        assert_eq!(backlog.left_ns(), 0.0);
        // None runs any more, so that the next has a core.
        backlog.start(70, 1.0);
        assert_eq!(backlog.left_ns(), 70.0);
    }

    #[test]
    fn counted_anew_each_class_adds_what_waits_and_what_runs() {
        let mut backlog = started(&[100], 1.0);
        backlog.join(40);
        backlog.recount();
        [(200, 30), (300, 20)].into_iter().for_each(|(waiting, running)| {
            backlog.count(waiting, running);
        });
        assert_eq!(backlog.left_ns(), 600.0, "what is left of what runs is as it was");
        backlog.end(0);
        assert_eq!(backlog.left_ns(), 550.0, "and no more than runs");
    }
}
