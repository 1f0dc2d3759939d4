//! An eventfd for each queue and epoll, 64 events at a time.
//!
//! Level-triggered, an event is read off its file, or it comes again; edge-triggered, each write is an event of its own
//! and nothing is read. Spinning, the consumer asks again at once where there is none. With one item for each event, the
//! event is left to come again until the queue is empty.

use super::events::{self, Events, Files, Visit};
use super::{Pop, Push};
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io;
use std::mem::MaybeUninit;

const EVENTS: usize = 64;
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(super) fn sleeping(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN, SLEEP, Visit::All)
}

pub(super) fn edge(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN | epoll::EventFlags::ET, SLEEP, Visit::All)
}

pub(super) fn spinning(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN | epoll::EventFlags::ET, AT_ONCE, Visit::All)
}

pub(super) fn one_by_one(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, epoll::EventFlags::IN, AT_ONCE, Visit::One)
}

fn ends(
    count: usize,
    flags: epoll::EventFlags,
    at_most: Timespec,
    visit: Visit,
) -> Result<(impl Push, impl Pop), String> {
    let watched = |files: &Files| {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (queue, file) in files.iter().enumerate() {
            epoll::add(&poll, file, epoll::EventData::new_u64(queue as u64), flags)?;
        }
        // Those of a level are read.
        let read = (!flags.contains(epoll::EventFlags::ET)).then(|| files.clone());
        Ok(Epoll { poll, read, at_most, visit })
    };
    events::ends(count, watched).map_err(|error| format!("epoll: {error}"))
}

struct Epoll {
    poll: OwnedFd,
    /// Each event is read off its file here.
    read: Option<Files>,
    at_most: Timespec,
    visit: Visit,
}

impl Epoll {
    fn read(&self, queue: usize) {
        if let Some(files) = &self.read {
            io::read(&files[queue], &mut [0; 8]).expect("it was readable");
        }
    }
}

impl Events for Epoll {
    fn visit(&self) -> Visit {
        self.visit
    }

    fn take_back(&mut self, queue: usize) {
        self.read(queue);
    }

    fn wait(&mut self, ready: &mut Vec<usize>) {
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        // An interruption brings no events.
        let Ok((events, _)) = epoll::wait(&self.poll, &mut room, Some(&self.at_most)) else {
            return;
        };
        for event in events {
            let queue = event.data.u64() as usize;
            if self.visit == Visit::All {
                self.read(queue);
            }
            ready.push(queue);
        }
    }
}
