//! tailwater's ready set: one item for each visit, and `again` where the queue has more; or visits that empty the queue.

use super::{Pop, Push};
use crate::queue::Queues;
use std::time::Duration;
use tailwater_sync::ready::{Doorbell, QueueId, ReadySet, VisitPolicy, Waiter};

pub(super) fn spinning(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, Waiter::take)
}

pub(super) fn sleeping(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, |waiter| waiter.wait_for(Duration::from_millis(1)))
}

/// Spins, and empties each queue that it visits, as the consumers of epoll do.
pub(super) fn emptying(count: usize) -> Result<(impl Push, impl Pop), String> {
    let (producer, one_by_one) = ends(count, Waiter::take)?;
    Ok((producer, Emptying { one_by_one, current: None }))
}

type Next = fn(&mut Waiter) -> Option<QueueId>;

fn ends(count: usize, next: Next) -> Result<(Producer, Consumer), String> {
    let made = ReadySet::new(count, VisitPolicy::RoundRobin).and_then(|(set, waiter)| {
        let bells: Result<Vec<_>, _> = (0..count).map(|queue| set.doorbell(queue)).collect();
        Ok((bells?, waiter))
    });
    let (bells, waiter) = made.map_err(|error| error.to_string())?;
    let queues = Queues::new(count);
    let producer = Producer { queues: queues.clone(), bells };
    Ok((producer, Consumer { queues, popped: vec![0; count], waiter, next }))
}

struct Producer {
    queues: Queues,
    bells: Vec<Doorbell>,
}

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        self.queues.push(queue, item);
        self.bells[queue].ring();
    }
}

struct Consumer {
    queues: Queues,
    popped: Vec<u64>,
    waiter: Waiter,
    next: Next,
}

impl Pop for Consumer {
    fn pop(&mut self) -> Option<(usize, u64)> {
        loop {
            let id = (self.next)(&mut self.waiter)?;
            let queue = id.index();
            if let Some((item, more)) = self.queues.pop(queue, &mut self.popped[queue]) {
                if more {
                    self.waiter.again(id);
                }
                return Some((queue, item));
            }
        }
    }
}

struct Emptying {
    one_by_one: Consumer,
    /// The queue that is being emptied.
    current: Option<usize>,
}

impl Pop for Emptying {
    fn pop(&mut self) -> Option<(usize, u64)> {
        let Consumer { queues, popped, waiter, .. } = &mut self.one_by_one;
        loop {
            let queue = match self.current {
                Some(queue) => queue,
                None => waiter.take()?.index(),
            };
            self.current = Some(queue);
            if let Some((item, _)) = queues.pop(queue, &mut popped[queue]) {
                return Some((queue, item));
            }
            self.current = None;
        }
    }
}
