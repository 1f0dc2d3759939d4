//! An eventfd for each queue and epoll. The producer writes where the queue was empty, so a busy queue costs
//! no system call; the consumer takes up to 64 events at a time and empties each queue.
//!
//! Level-triggered, an event is read off its file, or it comes again; edge-triggered, each write is an event of its own
//! and nothing is read. Spinning, the consumer asks again at once where there is none.

use super::{Pop, Push};
use crate::queue::Queues;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

const EVENTS: usize = 64;
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(super) fn sleeping(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN, SLEEP).map_err(told)
}

pub(super) fn edge(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN | epoll::EventFlags::ET, SLEEP).map_err(told)
}

pub(super) fn spinning(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN | epoll::EventFlags::ET, AT_ONCE).map_err(told)
}

fn told(error: io::Errno) -> String {
    format!("epoll: {error}")
}

fn ends(
    count: usize,
    flags: epoll::EventFlags,
    at_most: Timespec,
) -> io::Result<(Producer, Consumer)> {
    let queues = Queues::new(count);
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let files: io::Result<Vec<OwnedFd>> = (0..count as u64)
        .map(|queue| {
            let file = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(&poll, &file, epoll::EventData::new_u64(queue), flags)?;
            Ok(file)
        })
        .collect();
    let files = Arc::new(files?);
    let producer = Producer { queues: queues.clone(), files: files.clone() };
    let ready = Vec::with_capacity(EVENTS);
    let reads = !flags.contains(epoll::EventFlags::ET);
    let popped = vec![0; count];
    Ok((producer, Consumer { queues, files, popped, poll, ready, reads, at_most }))
}

struct Producer {
    queues: Queues,
    files: Arc<Vec<OwnedFd>>,
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

struct Consumer {
    queues: Queues,
    files: Arc<Vec<OwnedFd>>,
    popped: Vec<u64>,
    poll: OwnedFd,
    /// Queues whose events were taken.
    ready: Vec<usize>,
    /// Each event is read off its file.
    reads: bool,
    at_most: Timespec,
}

impl Pop for Consumer {
    fn pop(&mut self) -> Option<(usize, u64)> {
        loop {
            let Some(&queue) = self.ready.last() else {
                self.wait()?;
                continue;
            };
            if let Some((item, _)) = self.queues.pop(queue, &mut self.popped[queue]) {
                self.queues.tell(queue, self.popped[queue]);
                // Pairs with the fence in `push`; the next look is at the queue.
                fence(Ordering::SeqCst);
                return Some((queue, item));
            }
            self.ready.pop();
        }
    }
}

impl Consumer {
    /// Takes the next events. `None` if there are none for a while.
    fn wait(&mut self) -> Option<()> {
        let mut events = Vec::with_capacity(EVENTS);
        epoll::wait(&self.poll, spare_capacity(&mut events), Some(&self.at_most)).ok()?;
        for event in &events {
            let queue = event.data.u64() as usize;
            if self.reads {
                io::read(&self.files[queue], &mut [0; 8]).expect("it was readable");
            }
            self.ready.push(queue);
        }
        (!events.is_empty()).then_some(())
    }
}
