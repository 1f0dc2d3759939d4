//! Level-triggered epoll, with a bell that other threads can ring.

use crate::bell::Bell;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

/// What a file descriptor is watched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interest {
    /// Something can be read, or the peer closed.
    pub readable: bool,
    /// Something can be written.
    pub writable: bool,
}

impl Interest {
    /// Reading only.
    pub const READ: Self = Self { readable: true, writable: false };
    /// Writing only.
    pub const WRITE: Self = Self { readable: false, writable: true };

    fn flags(self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.readable);
        flags.set(EventFlags::OUT, self.writable);
        flags
    }
}

/// Something that can be done.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// The key it was registered with.
    pub key: u64,
    /// Reading will not block: data, end of stream, or an error to be fetched.
    pub readable: bool,
    /// Writing will not block, or fails at once.
    pub writable: bool,
    /// The connection is broken. Told whatever is watched for.
    pub broken: bool,
}

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

/// Events taken from the kernel at once: few enough that the last is not stale, enough that the
/// call is amortised.
pub const BATCH: usize = 64;

impl Poller {
    /// A new instance.
    ///
    /// # Errors
    /// When the process or the system is out of descriptors.
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Begins to watch.
    ///
    /// # Errors
    /// When the kernel refuses: out of memory, or over the user's limit of watches.
    pub fn add(&self, source: impl AsFd, key: u64, interest: Interest) -> Result<(), Errno> {
        epoll::add(&self.epoll, source, EventData::new_u64(key), interest.flags())
    }

    /// Changes what is watched for.
    ///
    /// # Errors
    /// When the descriptor is not watched.
    pub fn modify(&self, source: impl AsFd, key: u64, interest: Interest) -> Result<(), Errno> {
        epoll::modify(&self.epoll, source, EventData::new_u64(key), interest.flags())
    }

    /// Watches no longer. Dropping a descriptor that has no duplicate does the same.
    ///
    /// # Errors
    /// When the descriptor is not watched.
    pub fn remove(&self, source: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.epoll, source)
    }

    /// Waits for at most `timeout` (`None`: for ever) and appends what can be done to `ready`, at
    /// most [`BATCH`] items; as many say that there may be more.
    pub fn wait(&self, timeout: Option<Duration>, ready: &mut Vec<Readiness>) {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        });
        let mut space = [const { MaybeUninit::uninit() }; BATCH];
        // Interrupted: nothing is ready, and the caller comes again anyway.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut space, timeout.as_ref()) else {
            return;
        };
        ready.extend(events.iter().map(|event| {
            let flags = event.flags;
            let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            Readiness {
                key: event.data.u64(),
                readable: broken || flags.contains(EventFlags::IN),
                writable: broken || flags.contains(EventFlags::OUT),
                broken,
            }
        }));
    }
}

/// An eventfd: readable after it was rung.
#[derive(Clone, Debug)]
pub(crate) struct EventBell(Arc<OwnedFd>);

impl EventBell {
    pub(crate) fn new() -> Result<Self, Errno> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(Arc::new(rustix::event::eventfd(0, flags)?)))
    }

    /// Makes it silent again.
    pub(crate) fn hush(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for EventBell {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bell for EventBell {
    fn ring(&self) {
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}
