//! One more queue, with the number of each item's queue: nothing is found, since the consumer is told. What is left is the
//! queues themselves, so that it shows what finding costs. It serves one producer, and chooses nothing.

use super::{Pop, Push};
use crate::queue::Queues;

pub(super) fn ends(count: usize) -> (impl Push, impl Pop) {
    let (queues, numbers) = (Queues::new(count), Queues::new(1));
    let producer = Producer { queues: queues.clone(), numbers: numbers.clone() };
    (producer, Consumer { queues, popped: vec![0; count], numbers, read: 0 })
}

struct Producer {
    queues: Queues,
    numbers: Queues,
}

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        self.queues.push(queue, item);
        self.numbers.push(0, queue as u64);
    }
}

struct Consumer {
    queues: Queues,
    popped: Vec<u64>,
    numbers: Queues,
    read: u64,
}

impl Pop for Consumer {
    fn pop(&mut self) -> Option<(usize, u64)> {
        let (queue, _) = self.numbers.pop(0, &mut self.read)?;
        let queue = queue as usize;
        let (item, _) = self.queues.pop(queue, &mut self.popped[queue])?;
        Some((queue, item))
    }
}
