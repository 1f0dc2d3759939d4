//! A queue of one producer and one consumer, such as one would scan: its state is on one cache line, its
//! items on the next ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// More than are ever outstanding, so that no queue is full.
const ROOM: usize = 64;

#[repr(align(64))]
#[derive(Default)]
struct Count(AtomicU64);

struct Queue {
    pushed: Count,
    /// How far the consumer has told that it is.
    popped: Count,
    items: [AtomicU64; ROOM],
}

/// All queues of a run.
#[derive(Clone)]
pub(crate) struct Queues(Arc<[Queue]>);

impl Queues {
    pub(crate) fn new(count: usize) -> Self {
        let queue = |_| Queue {
            pushed: Count::default(),
            popped: Count::default(),
            items: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        Self((0..count).map(queue).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Pushes; says how many were pushed before. At most [`ROOM`] may be in the queue.
    pub(crate) fn push(&self, queue: usize, item: u64) -> u64 {
        let queue = &self.0[queue];
        // One producer: its own count.
        let pushed = queue.pushed.0.load(Ordering::Relaxed);
        queue.items[pushed as usize % ROOM].store(item, Ordering::Relaxed);
        // Pairs with the load in `pop`.
        queue.pushed.0.store(pushed + 1, Ordering::Release);
        pushed
    }

    /// Pops one item; the flag says whether more are there.
    pub(crate) fn pop(&self, queue: usize, popped: &mut u64) -> Option<(u64, bool)> {
        let queue = &self.0[queue];
        // Pairs with the store in `push`.
        let pushed = queue.pushed.0.load(Ordering::Acquire);
        if pushed == *popped {
            return None;
        }
        let item = queue.items[*popped as usize % ROOM].load(Ordering::Relaxed);
        *popped += 1;
        Some((item, pushed != *popped))
    }

    /// Tells the producer how far the consumer is.
    pub(crate) fn tell(&self, queue: usize, popped: u64) {
        self.0[queue].popped.0.store(popped, Ordering::SeqCst);
    }

    /// How far the consumer has told that it is.
    pub(crate) fn told(&self, queue: usize) -> u64 {
        self.0[queue].popped.0.load(Ordering::SeqCst)
    }
}
