//! An event file for each queue, whatever tells of them. The producer writes where the queue was empty, so a busy queue
//! costs no system call; the consumer takes the events that there are and empties each queue, or takes one item for each.

use super::{Pop, Push};
use crate::queue::Queues;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Tells of the files that were written to.
pub(super) trait Events: Send {
    /// Adds the queues whose events came, if some do soon.
    fn wait(&mut self, ready: &mut Vec<usize>);

    /// How much of a queue is taken for an event.
    fn visit(&self) -> Visit {
        Visit::All
    }

    /// Takes back what tells of a queue. Only for [`Visit::One`].
    fn take_back(&mut self, _queue: usize) {}
}

/// What is taken of a queue for an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Visit {
    All,
    /// The event comes again until the queue was found empty.
    One,
}

/// The files, in the order of their queues.
pub(super) type Files = Arc<Vec<OwnedFd>>;

/// Both ends, with what the files of the queues make.
pub(super) fn ends<E: Events>(
    count: usize,
    events: impl FnOnce(&Files) -> io::Result<E>,
) -> io::Result<(Producer, Consumer<E>)> {
    let file = |_| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    let files: Files = Arc::new((0..count).map(file).collect::<io::Result<Vec<OwnedFd>>>()?);
    let (queues, events) = (Queues::new(count), events(&files)?);
    let producer = Producer { queues: queues.clone(), files };
    Ok((
        producer,
        Consumer { queues, popped: vec![0; count], events, ready: Vec::new(), empties: false },
    ))
}

pub(super) struct Producer {
    queues: Queues,
    files: Files,
}

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        let before = self.queues.push(queue, item);
        // Pairs with the fence in `pop`: either it sees the item or we see that it is done.
        fence(Ordering::SeqCst);
        if self.queues.told(queue) == before {
            io::write(&self.files[queue], &1_u64.to_ne_bytes()).expect("the counter is not full");
        }
    }
}

pub(super) struct Consumer<E> {
    queues: Queues,
    popped: Vec<u64>,
    events: E,
    /// Queues whose events were taken.
    ready: Vec<usize>,
    /// The event of the last of them was taken back, so that all of that queue is taken.
    empties: bool,
}

impl<E: Events> Pop for Consumer<E> {
    fn pop(&mut self) -> Option<(usize, u64)> {
        loop {
            let Some(&queue) = self.ready.last() else {
                self.events.wait(&mut self.ready);
                self.ready.last()?;
                continue;
            };
            if let Some((item, _)) = self.queues.pop(queue, &mut self.popped[queue]) {
                self.queues.tell(queue, self.popped[queue]);
                // Pairs with the fence in `push`; the next look is at the queue.
                fence(Ordering::SeqCst);
                if self.events.visit() == Visit::One && !self.empties {
                    self.ready.pop();
                }
                return Some((queue, item));
            }
            // Taken back, the event does not come again for what was pushed meanwhile: that is looked for once more.
            self.empties = self.events.visit() == Visit::One && !self.empties;
            if self.empties {
                self.events.take_back(queue);
            } else {
                self.ready.pop();
            }
        }
    }
}
