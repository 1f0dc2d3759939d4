//! One queue of completions, as a loop of the runtime has it, with what wakes its thread: the runtime's bell, which is
//! built from its own source, and a ready set of one queue in its role.

use super::{Pop, Push};
use crate::bell::{Bell, Doorbell};
use crossbeam_queue::SegQueue;
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;
use tailwater_sync::ready::{Doorbell as ReadyBell, ReadySet, VisitPolicy, Waiter};

const SLEEP: Duration = Duration::from_millis(1);

/// Items with the numbers of their queues, of any number of producers: what the runtime's loops have.
type Completions = Arc<SegQueue<(u32, u64)>>;

/// What a consumer does where nothing is ready.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    Sleeps,
    /// Its loop is awake for other reasons.
    Spins,
}

pub(super) fn bell(idle: Idle) -> (impl Push, impl Pop) {
    let queue = Completions::default();
    let thread = Unpark::default();
    let bell = Arc::new(Doorbell::new(Box::new(thread.clone())));
    let producer = Ringing {
        queue: queue.clone(),
        ring: {
            let bell = bell.clone();
            move || bell.notify()
        },
    };
    (producer, Belled { queue, bell, thread, idle })
}

pub(super) fn ready_set(idle: Idle) -> Result<(impl Push, impl Pop), String> {
    let made = ReadySet::builder(1).policy(VisitPolicy::RoundRobin).spin(Duration::ZERO).build();
    let (set, waiter) = made.map_err(|error| error.to_string())?;
    let bell: ReadyBell = set.doorbell(0).map_err(|error| error.to_string())?;
    let queue = Completions::default();
    let producer = Ringing { queue: queue.clone(), ring: move || bell.ring() };
    Ok((producer, InSet { queue, waiter, idle, visiting: false }))
}

struct Ringing<R> {
    queue: Completions,
    ring: R,
}

impl<R: FnMut() -> bool + Send> Push for Ringing<R> {
    fn push(&mut self, queue: usize, item: u64) {
        self.queue.push((queue as u32, item));
        (self.ring)();
    }
}

/// Wakes the thread that pops, which is known before it first sleeps.
#[derive(Clone, Default)]
struct Unpark(Arc<OnceLock<Thread>>);

impl Bell for Unpark {
    fn ring(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

struct Belled {
    queue: Completions,
    bell: Arc<Doorbell>,
    thread: Unpark,
    idle: Idle,
}

impl Pop for Belled {
    fn pop(&mut self) -> Option<(usize, u64)> {
        if let Some((queue, item)) = self.queue.pop() {
            return Some((queue as usize, item));
        }
        if self.idle == Idle::Sleeps {
            self.thread.0.get_or_init(std::thread::current);
            self.bell.lie_down();
            if self.queue.is_empty() {
                std::thread::park_timeout(SLEEP);
            }
            self.bell.get_up();
        }
        None
    }
}

struct InSet {
    queue: Completions,
    waiter: Waiter,
    idle: Idle,
    /// The queue was handed out, and was not found empty since.
    visiting: bool,
}

impl Pop for InSet {
    fn pop(&mut self) -> Option<(usize, u64)> {
        loop {
            if self.visiting
                && let Some((queue, item)) = self.queue.pop()
            {
                return Some((queue as usize, item));
            }
            let next = match self.idle {
                Idle::Sleeps => self.waiter.wait_for(SLEEP),
                Idle::Spins => self.waiter.take(),
            };
            self.visiting = next.is_some();
            next?;
        }
    }
}
