//! Dispatched placement: a pool of threads that run handlers, each with an executor of its own.
//!
//! The run queue stays with the loop, so that delay signal, AQM and order are the same as in-line;
//! only as many requests as there are workers are handed over ahead of time.

use crate::bell::{Bell, Doorbell};
use crate::executor::{Executor, Finished, Meta, Panicked};
use crate::server::{Inbox, Job};
use crate::service::{Reply, Service};
use crate::time::now;
use crate::timers::install_timers;
use crossbeam_queue::ArrayQueue;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_sync::budget::TaskBudget;

/// A handler's answer on its way back to the loop that owns the connection.
pub(crate) struct Done {
    pub(crate) ticket: Ticket,
    pub(crate) reply: Result<Reply, Panicked>,
    /// When the handler ended, where budgets are measured: on its way back it may wait for the loop.
    pub(crate) ended: Option<Instant>,
}

/// What identifies a running request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) connection: u32,
    pub(crate) generation: u32,
    pub(crate) id: tailwater_core::RequestId,
    /// Length of its arguments.
    pub(crate) bytes: usize,
    pub(crate) arrived: Instant,
    pub(crate) started: Instant,
    /// What is left of its queueing delay, as of its last poll.
    pub(crate) budget: Option<TaskBudget>,
}

impl Meta for Ticket {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        self.budget.as_mut()
    }
}

struct Task {
    ticket: Ticket,
    home: usize,
}

impl Meta for Task {
    fn budget(&mut self) -> Option<&mut TaskBudget> {
        self.ticket.budget()
    }
}

/// What is the same for every worker's executor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most handlers of a worker that wait for something at once.
    pub(crate) tasks: usize,
    /// Requests have budgets of queueing delay.
    pub(crate) budgets: bool,
}

/// The pool's shared half.
pub(crate) struct Pool {
    ring: ArrayQueue<(usize, Job)>,
    workers: Vec<Arc<Doorbell>>,
    /// The same bells, for those who sleep and have room for a job.
    takers: Vec<Doorbell>,
    /// A loop has more than fits the ring and wants to hear of room.
    hungry: AtomicBool,
    stop: AtomicBool,
}

impl Pool {
    /// Starts `count` workers that answer to `inboxes`.
    pub(crate) fn start<S: Service<Future: Future<Output = Reply>>>(
        count: usize,
        limits: Limits,
        service: Arc<S>,
        inboxes: Arc<[Inbox]>,
    ) -> std::io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let bells: Vec<_> = (0..count).map(|_| ThreadBell::default()).collect();
        let pool = Arc::new(Self {
            ring: ArrayQueue::new(count),
            workers: bells
                .iter()
                .map(|bell| Arc::new(Doorbell::new(Box::new(bell.clone()))))
                .collect(),
            takers: bells.iter().map(|bell| Doorbell::new(Box::new(bell.clone()))).collect(),
            hungry: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for (index, bell) in bells.into_iter().enumerate() {
            let (pool, service, inboxes) = (pool.clone(), service.clone(), inboxes.clone());
            let thread = std::thread::Builder::new()
                .name(format!("tailwater-work-{index}"))
                .spawn(move || Worker::new(pool, index, limits, inboxes).run(&*service))?;
            bell.0.set(thread.thread().clone()).expect("each bell is set once");
            threads.push(thread);
        }
        Ok((pool, threads))
    }

    pub(crate) fn has_room(&self) -> bool {
        !self.ring.is_full()
    }

    /// Hands a job over; gives it back when the ring has filled meanwhile.
    #[expect(clippy::result_large_err, reason = "a job that does not fit goes back to its queue")]
    pub(crate) fn push(&self, home: usize, job: Job) -> Result<(), Job> {
        self.ring.push((home, job)).map_err(|(_, job)| job)?;
        // One sleeper per job is enough, if it has room; busy workers look at the ring by themselves.
        let _ = self.takers.iter().any(Doorbell::notify);
        Ok(())
    }

    /// The caller cannot go on before there is room. True if there is some already.
    pub(crate) fn await_room(&self) -> bool {
        self.hungry.store(true, SeqCst);
        self.has_room()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, SeqCst);
        for worker in &self.workers {
            worker.notify();
        }
    }
}

#[derive(Clone, Default)]
struct ThreadBell(Arc<OnceLock<Thread>>);

impl Bell for ThreadBell {
    fn ring(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

struct Worker<F> {
    pool: Arc<Pool>,
    index: usize,
    doorbell: Arc<Doorbell>,
    executor: Executor<F, Task>,
    inboxes: Arc<[Inbox]>,
}

impl<F: Future<Output = Reply>> Worker<F> {
    fn new(pool: Arc<Pool>, index: usize, limits: Limits, inboxes: Arc<[Inbox]>) -> Self {
        let doorbell = pool.workers[index].clone();
        let executor = Executor::new(doorbell.clone(), limits.tasks, limits.budgets);
        Self { pool, index, doorbell, executor, inboxes }
    }

    fn run<S: Service<Future = F>>(mut self, service: &S) {
        let timers = install_timers();
        while !self.pool.stop.load(SeqCst) {
            timers.fire(now());
            let resumed = self.resume();
            if !self.take(service) && !resumed {
                self.rest(timers.next());
            }
        }
    }

    fn resume(&mut self) -> bool {
        let Some(polled) = self.executor.poll_next() else {
            return false;
        };
        self.deliver(polled);
        true
    }

    fn take<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        if !self.executor.has_room() {
            return false;
        }
        let Some((home, job)) = self.pool.ring.pop() else {
            return false;
        };
        if self.pool.hungry.load(SeqCst) && self.pool.hungry.swap(false, SeqCst) {
            for inbox in &*self.inboxes {
                inbox.doorbell.notify();
            }
        }
        let task = Task { ticket: job.ticket(now()), home };
        let finished = self.executor.start(task, || service.call(job.request)).finished();
        self.deliver(finished);
        true
    }

    fn deliver(&self, finished: Finished<Task, F>) {
        if let Some((task, reply)) = finished {
            let inbox = &self.inboxes[task.home];
            let ended = task.ticket.budget.map(|_| now());
            inbox.done.push(Done { ticket: task.ticket, reply, ended });
            inbox.doorbell.notify();
        }
    }

    /// Sleeps until there is work or a timer is due. See [`Doorbell`] for why none is missed.
    fn rest(&self, timer: Option<Instant>) {
        let (taker, has_room) = (&self.pool.takers[self.index], self.executor.has_room());
        if has_room {
            taker.lie_down();
        }
        self.doorbell.lie_down();
        let takes = has_room && !self.pool.ring.is_empty();
        if !takes && !self.executor.has_ready() && !self.pool.stop.load(SeqCst) {
            let longest = Duration::from_secs(3600);
            std::thread::park_timeout(timer.map_or(longest, |at| at.since(now())));
        }
        self.doorbell.get_up();
        taker.get_up();
    }
}
