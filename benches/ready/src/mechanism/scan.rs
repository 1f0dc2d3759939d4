//! Looks at one queue after another, for one item each.

use super::{Pop, Push};
use crate::queue::Queues;

pub(super) fn ends(count: usize) -> (impl Push, impl Pop) {
    let queues = Queues::new(count);
    (Producer(queues.clone()), Consumer { popped: vec![0; count], next: 0, queues })
}

struct Producer(Queues);

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        self.0.push(queue, item);
    }
}

struct Consumer {
    queues: Queues,
    popped: Vec<u64>,
    next: usize,
}

impl Pop for Consumer {
    fn pop(&mut self) -> Option<(usize, u64)> {
        for _ in 0..self.queues.len() {
            let queue = self.next;
            self.next = if queue + 1 == self.queues.len() { 0 } else { queue + 1 };
            if let Some((item, _)) = self.queues.pop(queue, &mut self.popped[queue]) {
                return Some((queue, item));
            }
        }
        None
    }
}
