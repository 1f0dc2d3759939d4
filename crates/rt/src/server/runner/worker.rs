//! A worker: a thread that runs handlers for the loops, with an executor of its own.

use super::pool::{Abroad, Handed, Pool};
use super::rider::Rider;
use super::sleep::{Calls, Route, sleep};
use super::start::{Names, bells, start};
use crate::downstream::{Crew, Hold};
use crate::executor::{Executor, Panicked, Started, TaskKey};
use crate::server::inbox::{Done, End, Unbegun};
use crate::server::shared::Shared;
use crate::service::{Reply, Service};
use crate::time::now;
use crate::timers::install_timers;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::threads::Model;

pub(super) struct Worker<F> {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    index: usize,
    executor: Executor<F, Rider<Abroad>>,
    /// Of the handlers that wait: as many as the executor has.
    tasks: HashMap<Abroad, TaskKey>,
    /// `None` without tiers.
    calls: Option<Calls>,
    /// Whose model its handlers follow.
    epoch: u64,
    /// It was woken for a request; see [`Pool::next`].
    was_rung: bool,
}

/// Starts the workers of a server.
pub(in crate::server) fn start_workers<S: Service<Future: Future<Output = Reply>>>(
    count: usize,
    shared: &Arc<Shared>,
    crew: Option<&Arc<Crew>>,
    service: &Arc<S>,
) -> std::io::Result<(Arc<Pool>, Vec<JoinHandle<()>>)> {
    let bells = bells(count, shared)?;
    let pool = Arc::new(Pool::new(bells.clone()));
    // Before a worker can lie down as one that takes requests.
    pool.resize(shared.models.present().workers().max(1));
    let names = Names { system: "tailwater-work", people: "worker" };
    let threads = start(&names, &bells, &pool.staff, shared, |index, bell| {
        let route = Route::new(bell, |trunk| match crew {
            // The loops come first.
            Some(crew) => {
                trunk.with_crew(crew, pool.staff.doorbell(index), shared.config.loops + index)
            }
            None => Ok(trunk),
        })?;
        let (pool, shared, service) = (pool.clone(), shared.clone(), service.clone());
        Ok(move || Worker::new(shared, pool, index, route).run(&*service))
    })?;
    Ok((pool, threads))
}

impl<F: Future<Output = Reply>> Worker<F> {
    fn new(shared: Arc<Shared>, pool: Arc<Pool>, index: usize, route: Option<Route>) -> Self {
        let doorbell = pool.staff.doorbell(index);
        let (tasks, budgets) = (shared.config.tasks_max, shared.config.locks.is_some());
        let executor = Executor::new(doorbell, tasks, budgets);
        let (over, called) = (shared.clone(), pool.clone());
        let is_called = move |time| {
            let staff = &called.staff;
            over.is_over(time) || staff.is_stopped() || staff.has_cancels(index)
        };
        // A handler that runs for too long is cancelled by its loop.
        let hold = Hold { longest: Duration::MAX, is_called: Box::new(is_called) };
        let open = |it: Route| it.open(&shared.config.tiers, hold);
        let worker = Self {
            calls: route.map(open),
            index,
            executor,
            tasks: HashMap::new(),
            epoch: 0,
            was_rung: false,
            pool,
            shared,
        };
        worker.follow(worker.shared.models.present());
        worker
    }

    /// Follows the server's model, if it has changed.
    fn look_at_model(&mut self) {
        if let Some((epoch, model)) = self.shared.models.news(self.epoch) {
            self.epoch = epoch;
            self.follow(model);
        }
    }

    fn follow(&self, model: Model) {
        if let Some(calls) = &self.calls {
            calls.downstream.set_completion(model.completion);
        }
    }

    fn run<S: Service<Future = F>>(mut self, service: &S) {
        let timers = install_timers();
        while !self.pool.staff.is_stopped() {
            self.look_at_model();
            timers.fire(now());
            self.cancel();
            // The answers that came, ahead of the handlers that wait for them; then the calls of those.
            let mut worked = self.call();
            worked |= self.work(service);
            worked |= self.call();
            if !worked {
                self.rest(timers.next());
            }
        }
    }

    /// Calls to other tiers have their turn.
    fn call(&mut self) -> bool {
        let every = self.shared.config.drain_every;
        self.calls.as_mut().is_some_and(|calls| calls.turn(every))
    }

    /// Begins one request and polls one woken handler. False if there was neither.
    fn work<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        // Another worker could have had the request meanwhile; this one was rung for it. A woken handler can
        // go on here alone, and waits for one first poll at most.
        let taken = self.take(service);
        self.resume() || taken
    }

    fn cancel(&mut self) {
        while let Some(flight) = self.pool.staff.next_cancel(self.index) {
            // Otherwise it has ended, and its loop will hear so.
            if let Some(task) = self.tasks.remove(&flight) {
                self.executor.cancel(task);
                self.tell(flight, Err(Unbegun::Cancelled));
            }
        }
    }

    fn resume(&mut self) -> bool {
        let Some(polled) = self.executor.poll_next() else {
            return false;
        };
        if let Some((rider, reply)) = polled {
            self.tasks.remove(&rider.flight);
            self.deliver(rider, reply);
        }
        true
    }

    fn take<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        let was_rung = std::mem::take(&mut self.was_rung);
        if !self.executor.has_room() {
            return false;
        }
        let Some((handed, awaited)) = self.pool.next(self.index, was_rung) else {
            return false;
        };
        let Handed { flight, handover, mut job } = handed;
        if awaited {
            self.shared.wake_loops();
        }
        // Behind the ring: it was pushed by a loop that followed, if all did.
        self.look_at_model();
        let is_ours = handover.take(self.index as u32);
        // The loop uses it again as soon as it hears of the end.
        drop(handover);
        if !is_ours {
            self.tell(flight, Err(Unbegun::Cancelled));
            return true;
        }
        let started = now();
        let late = job.time_left(started).is_some_and(|left| left.is_zero());
        if late && self.shared.config.enforce_deadlines {
            self.tell(flight, Err(Unbegun::Late));
            return true;
        }
        let (budget, mark) = (job.take_budget(started), job.origin.mark(started));
        let rider = Rider { flight, started, budget, mark };
        match self.executor.start(rider, || service.call(job.request)) {
            Started::Finished(rider, reply) => self.deliver(rider, reply),
            Started::Waits(task) => {
                self.tasks.insert(flight, task);
            }
        }
        true
    }

    fn deliver(&self, rider: Rider<Abroad>, reply: Result<Reply, Panicked>) {
        let Rider { flight, started, budget, mark } = rider;
        self.tell(flight, Ok(End { started, ended: now(), reply, budget, mark }));
    }

    fn tell(&self, (home, flight): Abroad, end: Result<End, Unbegun>) {
        let inbox = &self.shared.inboxes[home];
        inbox.done.push(Done { flight, end });
        inbox.doorbell.notify();
    }

    /// Sleeps until there is work or a timer is due.
    fn rest(&mut self, timer: Option<Instant>) {
        let Self { pool, executor, calls, .. } = self;
        self.was_rung = pool.rest(self.index, executor.has_room(), || {
            if !executor.has_ready() {
                sleep(calls.as_mut(), timer);
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::sleep::WorkerBell;
    use super::*;
    use crate::config::ServerConfig;
    use crate::server::inbox::Inbox;
    use crate::server::runner::flights::Flights;
    use crate::server::testing::job;
    use crate::service::Request;
    use std::cell::RefCell;
    use std::future::poll_fn;
    use std::task::Poll;
    use tailwater_core::MethodId;

    thread_local! {
        /// The method of each handler that was polled, in order.
        static POLLS: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
    }

    /// Waits once, and is woken at once.
    async fn yields(request: Request) -> Reply {
        let mut waits = true;
        poll_fn(|cx| {
            POLLS.with_borrow_mut(|polls| polls.push(request.method.0));
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut waits, false) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        Reply::ok(request.payload)
    }

    fn worker<F: Future<Output = Reply>>(_: &impl Service<Future = F>) -> Worker<F> {
        let inboxes = Arc::new([Inbox::new().expect("descriptors are left")]);
        let none = Arc::new(tailwater_control::none::None);
        let shared = Arc::new(Shared::new(ServerConfig::default(), none, inboxes));
        let bell = WorkerBell::new(&shared.config).unwrap();
        Worker::new(shared, Arc::new(Pool::new(vec![bell])), 0, None)
    }

    fn hand_over(pool: &Pool, method: u16) {
        let mut job = job(0, method.into(), 1);
        job.request.method = MethodId(method);
        let flight = (0, Flights::default().next_key());
        assert!(pool.reserve());
        pool.push(Handed { flight, handover: Arc::default(), job });
    }

    /// A poll may take long, and another worker sleep: a request must not wait for it in the ring.
    #[test]
    fn a_request_is_taken_before_a_woken_handler_goes_on() {
        let mut worker = worker(&yields);
        hand_over(&worker.pool, 1);
        assert!(worker.take(&yields), "it waits, and is woken");
        hand_over(&worker.pool, 2);
        assert!(worker.work(&yields));
        assert_eq!(POLLS.take(), [1, 2, 1]);
    }
}
