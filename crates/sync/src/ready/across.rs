//! A ready set in memory that processes share, of which any may die at any time.
//!
//! `board.rs` has the protocol, `mapping.rs` what is in the file and why no bytes in it do harm.

use super::board::{Beds, Board};
use super::mapping::{self, Mapped};
use super::members::Members;
use super::share_error::ShareError;
use super::stats::Told;
use super::{
    Doorbell, Error, Layout, QUEUES_MAX, QueueId, ReadySet, Shared, Stats, VisitPolicy, Waiter,
};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// A set of queues whose producers and consumer are processes. It lies in a nameless file, of which the processes
/// pass each other the descriptor: by inheritance, or over a Unix socket.
///
/// Any number of processes ring. One at a time consumes; it is the one that has the [`SharedWaiter`].
///
/// ```
/// use std::os::fd::AsFd;
/// use std::time::Duration;
/// use tailwater_sync::ready::{SharedSet, VisitPolicy};
///
/// let set = SharedSet::create(1_000)?;
/// let passed_on = set.as_fd().try_clone_to_owned()?;
///
/// // In the consumer's process. It visits every queue once, for what its forerunner left.
/// let mut waiter = set.waiter(VisitPolicy::RoundRobin, Duration::ZERO)?;
/// assert_eq!((0..1_000).filter(|_| waiter.take().is_some()).count(), 1_000);
///
/// // In a producer's process: push, then ring.
/// let producer = SharedSet::open(passed_on)?;
/// producer.doorbell(7)?.ring();
///
/// assert_eq!(waiter.wait().index(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Who may die
///
/// *A producer*, at any time. An item counts as announced once [`Doorbell::ring`] has returned; it is visited then,
/// whoever dies. An item that was pushed and not rung for is found by the queue's next ring. So whoever takes a dead
/// producer's queues over rings each of them once.
///
/// *The consumer*, at any time. The next one takes its place by [`SharedSet::waiter`], and visits each queue once at
/// first. Items that the dead one had popped are the queue's affair.
///
/// *The consumer, again and again.* A bound of [`VisitPolicy`] on the visits before a queue's counts from the take-over. It
/// holds for a successor that lives for a full round. Turns begin at a random queue each time. So where an item ends
/// every consumer that visits it, the other queues are still visited, by one successor or another. Not so by
/// [`VisitPolicy::Strict`] and [`VisitPolicy::Aged`], which begin at the lowest number: there, such an item starves the higher ones.
///
/// # Whom to trust
///
/// Each process with the file can write all of it. What it writes does no harm to memory and makes nothing panic: a
/// number that is handed out is one of the set's, and a queue's visit shows whether it is ready. But a hostile process
/// can ring for nothing, hide rings of others, and keep the consumer from sleeping, or asleep. Against the last two,
/// [`SharedWaiter::wait_for`] has an end. Give producers that do not trust each other a set each.
#[derive(Clone)]
pub struct SharedSet {
    file: Arc<OwnedFd>,
    shared: Arc<Shared>,
}

impl SharedSet {
    /// A new set of so many queues, whose bells are silent. Nothing consumes it yet.
    ///
    /// # Errors
    /// Where the number of queues is 0 or above [`QUEUES_MAX`], or the process has no room for a descriptor or memory.
    pub fn create(queues: usize) -> Result<Self, ShareError> {
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(Error::Queues { found: queues }.into());
        }
        // Padded: producers of other processes are on other cores.
        Self::open(mapping::create(queues, Layout::Padded)?)
    }

    /// The set that another process made.
    ///
    /// # Errors
    /// Where the file is no ready set, one of another version, or damaged; or as [`SharedSet::create`].
    pub fn open(file: OwnedFd) -> Result<Self, ShareError> {
        let Mapped { queues, geometry, lines } = mapping::open(file.as_fd())?;
        let shared = Arc::new(Shared {
            board: Board::over(lines, geometry, Beds::across()),
            members: Members::new(queues, true),
            told: Box::new([Told::default()]),
        });
        Ok(Self { file: Arc::new(file), shared })
    }

    /// How many queues it has.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.shared.members.room()
    }

    /// The bell of a queue. If another process rang it before and died, ring it once.
    ///
    /// # Errors
    /// Where there is no such queue.
    pub fn doorbell(&self, queue: usize) -> Result<Doorbell, Error> {
        if queue >= self.queues() {
            return Err(Error::NoSuchQueue { queue, room: self.queues() });
        }
        Ok(Doorbell::new(self.shared.clone(), queue))
    }

    /// Rings a bell that exists.
    pub(super) fn ring(&self, queue: usize) -> bool {
        self.shared.board.ring(queue)
    }

    /// Makes this process the consumer, until the waiter is dropped or the process ends. Before it sleeps it looks on for
    /// `spin`, as [`super::Builder::spin`] says. All queues are ready at first. A child by `fork` that does not `exec` keeps
    /// the place until it ends, too.
    ///
    /// # Errors
    /// [`ShareError::Consumed`] while there is another consumer, in whatever process; where the policy does not fit the
    /// set; where the process has no room for another descriptor, or no `/proc`.
    pub fn waiter(&self, policy: VisitPolicy, spin: Duration) -> Result<SharedWaiter, ShareError> {
        let settings = ReadySet::builder(self.queues()).policy(policy).spin(spin);
        settings.check(1)?;
        let lease = self.lease()?;
        self.shared.board.take_over();
        let mut waiter = Waiter::new(self.shared.clone(), &settings, (0, 1), self.any_queue());
        waiter.take_all();
        Ok(SharedWaiter { waiter, _lease: lease })
    }

    /// A queue by chance. Were it always the same one, an item that ends each consumer would starve all behind it.
    fn any_queue(&self) -> usize {
        // Its keys are the system's random numbers, other ones each time.
        let number = RandomState::new().hash_one(()) % self.queues() as u64;
        number as usize
    }

    /// The right to consume. The kernel takes it back when the process ends, however it ends.
    fn lease(&self) -> Result<OwnedFd, ShareError> {
        // Another opening of the file: a lock belongs to the opening, and ours may have been passed on.
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let lease = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        match flock(&lease, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(ShareError::Consumed),
            other => Ok(other.map(|()| lease)?),
        }
    }
}

impl AsFd for SharedSet {
    /// The file, to pass on. It closes on `exec`; a copy made by `dup` does not.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl fmt::Debug for SharedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSet").field("queues", &self.queues()).finish_non_exhaustive()
    }
}

/// The consumer of a [`SharedSet`]. Its methods are those of [`Waiter`], without the ways to wait by which another
/// process cannot wake: futures and file descriptors.
#[derive(Debug)]
pub struct SharedWaiter {
    // Dropped before the lease: what it had taken is rung for the next consumer.
    waiter: Waiter,
    _lease: OwnedFd,
}

impl SharedWaiter {
    /// As [`Waiter::take`].
    #[inline]
    pub fn take(&mut self) -> Option<QueueId> {
        self.waiter.take()
    }

    /// As [`Waiter::again`].
    ///
    /// # Panics
    /// Where the queue is not of this set.
    #[inline]
    pub fn again(&mut self, queue: QueueId) {
        self.waiter.again(queue);
    }

    /// As [`Waiter::charge`].
    ///
    /// # Panics
    /// Where the queue is not of this set.
    pub fn charge(&mut self, queue: QueueId, cost: u32) {
        self.waiter.charge(queue, cost);
    }

    /// As [`Waiter::spin`].
    pub fn spin(&mut self) -> QueueId {
        self.waiter.spin()
    }

    /// As [`Waiter::wait`].
    pub fn wait(&mut self) -> QueueId {
        self.waiter.wait()
    }

    /// As [`Waiter::wait_for`].
    pub fn wait_for(&mut self, at_most: Duration) -> Option<QueueId> {
        self.waiter.wait_for(at_most)
    }

    /// What this consumer has counted. `wakes` has those of this process only.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.waiter.stats()
    }
}
