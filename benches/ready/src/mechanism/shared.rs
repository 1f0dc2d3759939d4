//! One queue for all: nothing to find, and nothing to choose either.

use super::{Pop, Push};
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;

/// More than are ever outstanding.
const ROOM: usize = 1_024;

pub(super) fn ends() -> (impl Push, impl Pop) {
    let queue = Arc::new(ArrayQueue::new(ROOM));
    (End(queue.clone()), End(queue))
}

struct End(Arc<ArrayQueue<(u32, u64)>>);

impl Push for End {
    fn push(&mut self, queue: usize, item: u64) {
        self.0.push((queue as u32, item)).expect("it has room for all that are outstanding");
    }
}

impl Pop for End {
    fn pop(&mut self) -> Option<(usize, u64)> {
        self.0.pop().map(|(queue, item)| (queue as usize, item))
    }
}
