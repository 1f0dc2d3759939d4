//! Where a request stands on its path.

use crate::paths::Paths;
use crate::slab::Key;
use std::time::Duration;
use tailwater_control::asqm::Budget;
use tailwater_control::{Reached, Reason};
use tailwater_core::{Instant, Rng};
use tailwater_workload::Service;

/// A request on its path through a node.
///
/// Everything is drawn from a generator of the request's own, in the order of its path: what it does
/// depends neither on the controller nor on what others do meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) rng: Rng,
    pub(crate) stage: Stage,
    pub(crate) way: usize,
    /// The next operation.
    pub(crate) at: usize,
    pub(crate) budget: Budget,
    /// Locks that it holds, in the order of taking; as many as locks nest.
    pub(crate) held: Vec<u32>,
    /// What must be done again, under which lock, if it is refused.
    pub(crate) undo: Vec<(u32, Service)>,
    /// The part of that which is being done: its lock has been asked for.
    pub(crate) undoing: Option<Service>,
    /// It is to be answered with this, once nothing is left to undo, having come so far.
    pub(crate) refused: Option<(Reason, Reached)>,
    /// What being woken cost, to be added to its next computing.
    pub(crate) owed: Duration,
    pub(crate) computed: Duration,
    /// What it waited for other nodes, and for nobody.
    pub(crate) called: Duration,
    /// What it waited for locks at which it could not be refused; part of what its budget paid.
    bound: Duration,
    /// The request that waits for this one at another node.
    pub(crate) parent: Option<Key>,
    /// The thread of its node that it began on, or was given back to; means nothing where nodes have none.
    pub(crate) thread: u16,
    /// The thread that made its last calls, and hears the answers. Of a crew's threads that make one each, the last.
    pub(crate) calls_by: u16,
}

/// What a task is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It has not run yet.
    Fresh,
    /// It runs, or waits in the run queue.
    Ready,
    /// It waits for a lock; it `must` have it, or may be refused.
    Waiting { lock: u32, since: Instant, give_up_at: Option<Instant>, must: bool },
    /// It waits for nobody, until a time.
    Pausing { since: Instant },
    /// It waits for a responder that makes its calls.
    Asking { since: Instant },
    /// It waits for the answers of so many calls, of which so many wait for a thread that makes them.
    Calling { since: Instant, left: u32, unmade: u32 },
}

impl Task {
    /// A task that has not run; `seed` decides all that it does.
    pub(crate) fn new(seed: u64, parent: Option<Key>) -> Box<Self> {
        Box::new(Self {
            rng: Rng::from_seed(seed),
            stage: Stage::Fresh,
            way: 0,
            at: 0,
            budget: Budget::new(Duration::ZERO),
            held: Vec::new(),
            undo: Vec::new(),
            undoing: None,
            refused: None,
            owed: Duration::ZERO,
            computed: Duration::ZERO,
            called: Duration::ZERO,
            bound: Duration::ZERO,
            parent,
            thread: 0,
            calls_by: 0,
        })
    }

    /// Chooses its path. `waited` was spent in the node's queues before it could run.
    pub(crate) fn begin(&mut self, paths: &Paths, budget: Budget, waited: Duration) {
        self.way = paths.ways.choose(&mut self.rng);
        self.budget = budget;
        self.budget.deduct(waited);
        self.stage = Stage::Ready;
    }

    /// Its lock was handed over.
    pub(crate) fn granted(&mut self, now: Instant, lock: u32, hand_off: Duration) {
        self.stop_waiting(now);
        self.held.push(lock);
        self.owed += hand_off;
    }

    /// It stands in no queue any more, and pays for having stood there.
    pub(crate) fn stop_waiting(&mut self, now: Instant) {
        match self.stage {
            Stage::Waiting { since, must, .. } => {
                let waited = now.since(since);
                self.budget.deduct(waited);
                self.bound += if must { waited } else { Duration::ZERO };
            }
            Stage::Asking { since } | Stage::Calling { since, .. } | Stage::Pausing { since } => {
                self.called += now.since(since);
            }
            Stage::Fresh | Stage::Ready => {}
        }
        self.stage = Stage::Ready;
    }

    /// The first reason to refuse it stands.
    pub(crate) fn refuse(&mut self, reason: Reason) {
        self.refused.get_or_insert((reason, Reached::Handler));
    }

    /// It was late when its thread took it, so that its handler does nothing.
    pub(crate) fn refuse_unbegun(&mut self) {
        self.refused.get_or_insert((Reason::Deadline, Reached::Start));
    }

    /// Core time that it takes next.
    pub(crate) fn compute(&mut self, time: Duration) -> Duration {
        let time = time + std::mem::take(&mut self.owed);
        self.computed += time;
        time
    }

    /// A core is busy with it for so much longer. Before it has begun, all of its time is waiting.
    pub(crate) fn worked(&mut self, time: Duration) {
        if self.stage != Stage::Fresh {
            self.computed += time;
        }
    }

    /// What budgets must leave room for: all but the waits that they bound.
    pub(crate) fn service(&self) -> Duration {
        self.computed + self.called + self.bound
    }

    /// The time in the node that its books account for: computing, calling, and what was deducted from its
    /// budget.
    pub(crate) fn spent(&self) -> Duration {
        self.computed + self.called + self.budget.waited()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No budget bounds such a wait, so that it comes on top of what budgets allow.
    #[test]
    fn a_wait_that_cannot_be_refused_is_service_and_is_paid_for() {
        let (mut task, waited) = (Task::new(1, None), Duration::from_micros(5));
        for must in [false, true] {
            let since = Instant::ZERO;
            task.stage = Stage::Waiting { lock: 0, since, give_up_at: None, must };
            task.stop_waiting(since + waited);
        }
        assert_eq!((task.budget.waited(), task.service()), (2 * waited, waited));
    }
}
