//! Level-triggered epoll for sockets, with a bell that other threads can ring.

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
    /// The instance of which this is a part.
    whole: Option<OwnedFd>,
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
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, whole: None })
    }

    /// An instance for some of what this one watches: what is added to the part is watched here as well, under
    /// the same key, and the part's own wait tells of nothing else.
    ///
    /// # Errors
    /// As [`Poller::new`].
    pub(crate) fn part(&self) -> Result<Self, Errno> {
        let whole = rustix::io::fcntl_dupfd_cloexec(&self.epoll, 0)?;
        Ok(Self { whole: Some(whole), ..Self::new()? })
    }

    /// Begins to watch.
    ///
    /// # Errors
    /// When the kernel refuses: out of memory, or over the user's limit of watches.
    pub fn add(&self, source: impl AsFd, key: u64, interest: Interest) -> Result<(), Errno> {
        let (source, key, flags) = (source.as_fd(), EventData::new_u64(key), interest.flags());
        epoll::add(&self.epoll, source, key, flags)?;
        let Some(whole) = &self.whole else { return Ok(()) };
        epoll::add(whole, source, key, flags).inspect_err(|_| {
            // It was added a moment ago.
            let _ = epoll::delete(&self.epoll, source);
        })
    }

    /// Begins to watch a bell. Each ring is told once and need not be silenced, which spares a system call for each: the
    /// kernel tells of every write to the file (`EPOLLET`), read or not. A ring that nobody waits for is told by the next
    /// wait. Not for a part, whose whole would tell of the ring once more.
    ///
    /// # Errors
    /// As [`Poller::add`].
    pub(crate) fn add_bell(&self, bell: &EventBell, key: u64) -> Result<(), Errno> {
        debug_assert!(self.whole.is_none(), "a part's bell is silenced");
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&self.epoll, bell, EventData::new_u64(key), flags)
    }

    /// Changes what is watched for.
    ///
    /// # Errors
    /// When the descriptor is not watched.
    pub fn modify(&self, source: impl AsFd, key: u64, interest: Interest) -> Result<(), Errno> {
        let (source, key, flags) = (source.as_fd(), EventData::new_u64(key), interest.flags());
        epoll::modify(&self.epoll, source, key, flags)?;
        self.whole.as_ref().map_or(Ok(()), |whole| epoll::modify(whole, source, key, flags))
    }

    /// Watches no longer. Dropping a descriptor that has no duplicate does the same.
    ///
    /// # Errors
    /// When the descriptor is not watched.
    pub fn remove(&self, source: impl AsFd) -> Result<(), Errno> {
        let source = source.as_fd();
        epoll::delete(&self.epoll, source)?;
        self.whole.as_ref().map_or(Ok(()), |whole| epoll::delete(whole, source))
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

/// An eventfd: readable after it was rung. Where it is never silenced it counts up to 2^64 rings.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn keys(poller: &Poller) -> Vec<u64> {
        let mut ready = Vec::new();
        poller.wait(Some(Duration::ZERO), &mut ready);
        ready.iter().map(|readiness| readiness.key).collect()
    }

    #[test]
    fn a_part_tells_of_its_own_and_the_whole_of_all() {
        let whole = Poller::new().unwrap();
        let part = whole.part().unwrap();
        let [of_whole, of_part] = [(); 2].map(|()| EventBell::new().unwrap());
        whole.add(&of_whole, 1, Interest::READ).unwrap();
        part.add(&of_part, 2, Interest::READ).unwrap();
        assert_eq!(part.add(&of_whole, 3, Interest::READ), Err(Errno::EXIST), "taken in the whole");
        of_whole.ring();
        of_part.ring();
        assert_eq!((keys(&part), keys(&whole).len()), (vec![2], 2));
        part.modify(&of_part, 4, Interest::default()).unwrap();
        assert_eq!((keys(&part), keys(&whole)), (vec![], vec![1]));
        part.modify(&of_part, 4, Interest::READ).unwrap();
        assert_eq!(keys(&part), [4]);
        part.remove(&of_part).unwrap();
        assert_eq!((keys(&part), keys(&whole)), (vec![], vec![1]));
    }

    #[test]
    fn a_bell_that_is_not_silenced_ends_one_wait_for_each_ring_or_all_of_them_together() {
        let poller = Poller::new().unwrap();
        let bell = EventBell::new().unwrap();
        poller.add_bell(&bell, 7).unwrap();
        assert!(keys(&poller).is_empty(), "nobody has rung");
        for _ in 0..3 {
            bell.ring();
            assert_eq!((keys(&poller), keys(&poller)), (vec![7], vec![]));
        }
        (0..3).for_each(|_| bell.ring());
        assert_eq!(
            (keys(&poller), keys(&poller)),
            (vec![7], vec![]),
            "nobody waited for the first two"
        );
    }
}
