//! A hand-over without a server: what two threads do that pass one item to each other, as a loop and a worker do.

use crate::front::Failure;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::time::Instant;

/// Where one thread leaves items for another, which sleeps in its poller until its bell is rung.
struct Desk {
    items: Mutex<VecDeque<u64>>,
    bell: OwnedFd,
    poller: OwnedFd,
}

impl Desk {
    fn new() -> Result<Self, Errno> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Each ring is told once, so that the bell need not be read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poller, &bell, epoll::EventData::new_u64(0), flags)?;
        Ok(Self { items: Mutex::default(), bell, poller })
    }

    fn leave(&self, item: u64) -> Result<(), Errno> {
        self.items.lock().expect("nothing panics under it").push_back(item);
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).map(|_| ())
    }

    /// As a loop does: it sleeps in the poller, and looks at the queue.
    fn take(&self) -> Result<u64, Errno> {
        loop {
            let mut space = [const { MaybeUninit::uninit() }; 8];
            epoll::wait(&self.poller, &mut space, None)?;
            if let Some(item) = self.items.lock().expect("nothing panics under it").pop_front() {
                return Ok(item);
            }
        }
    }
}

/// Half the time of each round trip of an item, in nanoseconds.
pub(crate) fn hand_overs(trips: usize) -> Result<Vec<u64>, Failure> {
    let (there, back) = (Desk::new()?, Desk::new()?);
    let mut found = Vec::with_capacity(trips);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..trips).for_each(|_| there.take().and_then(|item| back.leave(item)).unwrap_or(()));
        });
        for number in 0..trips as u64 {
            let began = Instant::now();
            there.leave(number)?;
            let item = back.take()?;
            found.push(began.elapsed().as_nanos() as u64 / 2);
            if item != number {
                return Err(format!("item {item} came back, {number} was left").into());
            }
        }
        Ok(found)
    })
}
