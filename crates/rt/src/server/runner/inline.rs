//! Handlers on the loop's own thread.

use super::rider::Rider;
use crate::bell::Doorbell;
use crate::executor::{Executor, Panicked, Started, TaskKey};
use crate::server::job::{Ended, Job, Origin};
use crate::server::key::FlightKey;
use crate::service::{Reply, Service};
use std::sync::Arc;
use tailwater_core::Instant;

pub(in crate::server) struct Inline<F> {
    executor: Executor<F, Rider<(FlightKey, Origin)>>,
}

impl<F: Future<Output = Reply>> Inline<F> {
    pub(in crate::server) fn new(doorbell: Arc<Doorbell>, tasks: usize, budgets: bool) -> Self {
        Self { executor: Executor::new(doorbell, tasks, budgets) }
    }

    pub(super) fn has_room(&self) -> bool {
        self.executor.has_room()
    }

    pub(super) fn has_woken(&self) -> bool {
        self.executor.has_ready()
    }

    /// Runs the handler up to its first wait. It will be this flight if it waits.
    pub(super) fn start<S: Service<Future = F>>(
        &mut self,
        mut job: Job,
        started: Instant,
        flight: FlightKey,
        service: &S,
    ) -> Result<Ended, TaskKey> {
        let budget = job.take_budget(started);
        let mark = job.origin.mark(started);
        let rider = Rider { flight: (flight, job.origin), started, budget, mark };
        match self.executor.start(rider, || service.call(job.request)) {
            Started::Finished(rider, reply) => Ok(ended(rider, reply).1),
            Started::Waits(task) => Err(task),
        }
    }

    /// Polls the next woken handler. Outer `None`: none is woken; inner: it waits again.
    pub(super) fn resume(&mut self) -> Option<Option<(FlightKey, Ended)>> {
        let polled = self.executor.poll_next()?;
        Some(polled.map(|(rider, reply)| ended(rider, reply)))
    }

    pub(super) fn cancel(&mut self, task: TaskKey) {
        self.executor.cancel(task);
    }
}

fn ended(rider: Rider<(FlightKey, Origin)>, reply: Result<Reply, Panicked>) -> (FlightKey, Ended) {
    let Rider { flight: (flight, origin), started, budget, mark } = rider;
    (flight, Ended { origin, started, reply, budget, mark })
}
