//! A ready set: which of up to 262,144 queues have work, found in nearly constant time.
//!
//! A thread that serves thousands of queues must not look at each of them to find the few with work. Here
//! each queue has a [`Doorbell`]. A producer pushes an item and rings it; the consumer's [`Waiter`] hands out
//! the numbers of the queues whose bells rang, by a [`VisitPolicy`]. It spins, sleeps, or waits as a future or as a
//! file descriptor where nothing is ready. This is µNotify (Sriraman, *Enabling Hyperscale Web Services*,
//! chapter V) in software: the producer sets the bit that the thesis' hardware would.
//!
//! The queues are yours, of any kind: the set knows their numbers only. For users of the crate `tailwater` the path of
//! all this is `tailwater::ready`.
//!
//! ```
//! use std::sync::mpsc;
//! use tailwater_sync::ready::{ReadySet, VisitPolicy};
//!
//! let (set, mut waiter) = ReadySet::new(1_000, VisitPolicy::RoundRobin)?;
//! let (senders, receivers): (Vec<_>, Vec<_>) = (0..1_000).map(|_| mpsc::channel()).unzip();
//!
//! // A producer: push, then ring.
//! let bell = set.doorbell(7)?;
//! let sender = senders[7].clone();
//! let producer = std::thread::spawn(move || {
//!     sender.send("hello").expect("the receiver is there");
//!     bell.ring();
//! });
//!
//! // The consumer: take a number, empty its queue.
//! let queue = waiter.wait();
//! assert_eq!(queue.index(), 7);
//! assert_eq!(receivers[queue.index()].try_iter().collect::<Vec<_>>(), ["hello"]);
//! # producer.join().unwrap();
//! # Ok::<(), tailwater_sync::ready::Error>(())
//! ```
//!
//! # The two rules
//!
//! 1. **Push, then ring.** The bell rings after the item is in the queue, never before.
//! 2. **Visit until it is empty, or say so.** After a number was handed out its queue is looked at until it is
//!    empty. A visit that leaves items behind ends with [`Waiter::again`].
//!
//! A number is a hint: a queue may turn out to be empty, at most once for each ring. By these rules no item is
//! missed, whatever the interleaving; `board.rs` has the protocol and why, and loom has tried it.
//!
//! [`Doorbell::with`] keeps the first rule for senders of the standard library and, behind features of their names,
//! of crossbeam-channel, flume and rtrb. `crates/tailwater/examples/select.rs` waits for ten thousand channels.
//!
//! # Ways to wait
//!
//! | call | where nothing is ready |
//! |---|---|
//! | [`Waiter::take`] | answers `None` at once |
//! | [`Waiter::spin`] | looks on, with a core of its own |
//! | [`Waiter::wait`], [`Waiter::wait_for`] | looks on for some microseconds, then sleeps |
//! | [`Waiter::ready`] | is a future, on any executor |
//! | [`Waiter::arm`] and `event_fd` | is a file descriptor, for loops around epoll |
//!
//! # What it costs
//!
//! A ring is a fence and three to five loads where the bell is set already, as a busy queue's is. Otherwise it is one
//! to three read-modify-writes and two to four loads, and a wake-up if a consumer sleeps: a short mutex and a system
//! call. The more levels the more of each: one up to 64 queues, two up to 4,096, three beyond.
//!
//! Memory for each 64 queues: 64 bytes, or 8 with [`Layout::Packed`], 8 for which queues exist, and 8 for each consumer.
//! Marks add a sixty-fourth. [`VisitPolicy::Deficit`] has 8 bytes more for each queue of each consumer.
//!
//! # Several consumers
//!
//! [`Builder::build_for`] makes a set with up to 64 consumers. A ready queue is handed to one that asks, and a ring
//! wakes one that sleeps. Each applies the policy with turns of its own. A queue that rings again while one consumer
//! is at it may be handed to another. So its receiving end must be for several consumers, or behind a mutex that a
//! visitor *waits* for: a visitor that gave up at a busy mutex would miss the item. For queues of one consumer each,
//! make a set for each consumer.
//!
//! A ring wakes one of those that sleep, and counts on it to look. So a consumer that prepared a sleep by
//! [`Waiter::arm`] or [`Waiter::poll_ready`] takes again, or says by [`Waiter::disarm`] that it does not.
//!
//! # Several processes
//!
//! [`SharedSet`] lies in memory that processes share. Either side may be killed at any moment: what a ring announced is
//! visited, by the consumer or by its successor.
//!
//! `include/tailwater/ready.h` is the same for C and C++.

#[cfg(not(loom))]
mod across;
mod board;
#[cfg(not(loom))]
pub mod c;
mod doorbell;
mod error;
#[cfg(not(loom))]
mod event_file;
#[cfg(not(loom))]
mod fd;
mod geometry;
mod local;
#[cfg(not(loom))]
mod mapping;
mod members;
mod memory;
mod order;
mod sender;
#[cfg(not(loom))]
mod share_error;
mod sleeper;
mod stats;
mod task;
mod view;
mod waiter;

#[cfg(not(loom))]
pub use across::{SharedSet, SharedWaiter};
pub use doorbell::Doorbell;
pub use error::Error;
pub use geometry::Layout;
pub use order::VisitPolicy;
pub use sender::Ringing;
#[cfg(not(loom))]
pub use share_error::ShareError;
pub use stats::Stats;
pub use task::Ready;
pub use waiter::Waiter;

use board::Board;
use geometry::LEVELS_MAX;
use members::Members;
use stats::Told;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most queues that a set can have: three levels of 64.
pub const QUEUES_MAX: usize = 1 << (crate::primitive::WORD_SHIFT * LEVELS_MAX);
/// The most consumers that a set can have: each has a bit of one word.
pub const CONSUMERS_MAX: usize = 64;

/// The number of a queue in its set, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u32);

impl QueueId {
    /// The number as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {}", self.0)
    }
}

/// A set of queues of which some are ready. A clone is the same set.
#[derive(Clone)]
pub struct ReadySet {
    shared: Arc<Shared>,
}

/// What producers and consumers share.
struct Shared {
    board: Board,
    members: Members,
    told: Box<[Told]>,
}

impl ReadySet {
    /// A set of so many queues, and its one consumer.
    ///
    /// # Errors
    /// Where the number of queues is 0 or above [`QUEUES_MAX`], or the policy does not fit it.
    pub fn new(queues: usize, policy: VisitPolicy) -> Result<(Self, Waiter), Error> {
        Self::builder(queues).policy(policy).build()
    }

    /// A set with other settings.
    pub fn builder(queues: usize) -> Builder {
        Builder {
            queues,
            policy: VisitPolicy::default(),
            layout: Layout::default(),
            spin: Duration::from_micros(5),
            empty: false,
        }
    }

    /// The bell of a queue. Any number of producers may have one.
    ///
    /// # Errors
    /// Where there is no such queue.
    pub fn doorbell(&self, queue: usize) -> Result<Doorbell, Error> {
        if !self.shared.members.has(queue) {
            return Err(Error::NoSuchQueue { queue, room: self.shared.members.room() });
        }
        Ok(Doorbell::new(self.shared.clone(), queue))
    }

    /// Adds a queue. A number that was removed may come again. Its bell may then still be set for its predecessor, so that
    /// the first visit finds nothing; and under [`VisitPolicy::Deficit`] it inherits what its predecessor owed.
    ///
    /// # Errors
    /// Where as many queues exist as the set was made for.
    pub fn add(&self) -> Result<Doorbell, Error> {
        let room = self.shared.members.room();
        let queue = self.shared.members.add().ok_or(Error::Full { room })?;
        Ok(Doorbell::new(self.shared.clone(), queue.index()))
    }

    /// Removes a queue: its number is not handed out any more. Call it where its visits end, so that none is under way.
    ///
    /// A bell of the removed queue may still ring. Once the number belongs to another queue, that is a hint
    /// for this one, and its visit finds nothing.
    ///
    /// # Errors
    /// Where there is no such queue.
    pub fn remove(&self, queue: QueueId) -> Result<(), Error> {
        let members = &self.shared.members;
        let no_such = Error::NoSuchQueue { queue: queue.index(), room: members.room() };
        if members.remove(queue.index()) { Ok(()) } else { Err(no_such) }
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut all = Stats { wakes: self.shared.board.wakes(), ..Stats::default() };
        self.shared.told.iter().for_each(|told| told.add_to(&mut all));
        all
    }
}

impl fmt::Debug for ReadySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let room = self.shared.members.room();
        f.debug_struct("ReadySet").field("room", &room).finish_non_exhaustive()
    }
}

/// The settings of a [`ReadySet`].
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it builds"]
pub struct Builder {
    queues: usize,
    policy: VisitPolicy,
    layout: Layout,
    spin: Duration,
    empty: bool,
}

impl Builder {
    /// Which ready queue is next. Round-robin unless this says more.
    pub fn policy(mut self, policy: VisitPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// How the bells lie in memory. [`Layout::Padded`] unless this says more.
    pub const fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// How long a consumer looks on before it sleeps; 5 µs unless this says more. A sleep costs the consumer some
    /// tens of microseconds, and the producer that ends it some. Zero suits a machine whose cores all have work.
    pub const fn spin(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Begins without queues: [`ReadySet::add`] adds them, up to the number that the builder was made with.
    pub const fn empty(mut self) -> Self {
        self.empty = true;
        self
    }

    /// The set and its one consumer.
    ///
    /// # Errors
    /// As [`ReadySet::new`].
    pub fn build(self) -> Result<(ReadySet, Waiter), Error> {
        let (set, mut waiters) = self.build_for(1)?;
        let waiter = waiters.pop().expect("one was asked for");
        Ok((set, waiter))
    }

    /// The set and its consumers.
    ///
    /// # Errors
    /// As [`ReadySet::new`]; where `consumers` is 0 or above [`CONSUMERS_MAX`].
    pub fn build_for(self, consumers: usize) -> Result<(ReadySet, Vec<Waiter>), Error> {
        self.check(consumers)?;
        let shared = Arc::new(Shared {
            board: Board::new(self.queues, self.layout, consumers),
            members: Members::new(self.queues, !self.empty),
            told: (0..consumers).map(|_| Told::default()).collect(),
        });
        let waiter = |index| {
            let first = self.queues * index / consumers;
            Waiter::new(shared.clone(), &self, (index, consumers), first)
        };
        let waiters = (0..consumers).map(waiter).collect();
        Ok((ReadySet { shared }, waiters))
    }

    fn check(&self, consumers: usize) -> Result<(), Error> {
        if !(1..=QUEUES_MAX).contains(&self.queues) {
            return Err(Error::Queues { found: self.queues });
        }
        if !(1..=CONSUMERS_MAX).contains(&consumers) {
            return Err(Error::Consumers { found: consumers });
        }
        let (count, zero) = match &self.policy {
            VisitPolicy::Weighted(weights) => {
                (weights.len(), weights.iter().position(|it| *it == 0))
            }
            VisitPolicy::Deficit(quanta) => (quanta.len(), quanta.iter().position(|it| *it == 0)),
            VisitPolicy::RoundRobin | VisitPolicy::Strict | VisitPolicy::Aged { .. } => {
                (self.queues, None)
            }
        };
        if count != self.queues {
            return Err(Error::Shares { found: count, queues: self.queues });
        }
        zero.map_or(Ok(()), |queue| Err(Error::NoShare { queue }))
    }
}
