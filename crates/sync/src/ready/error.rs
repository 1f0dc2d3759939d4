//! What was asked of a ready set and cannot be.

use super::{CONSUMERS_MAX, QUEUES_MAX};
use std::fmt;

/// Why a set could not be made, or a queue not be found in it. The caller's to mend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// A set of this many queues cannot be.
    Queues {
        /// As asked for.
        found: usize,
    },
    /// A set of this many consumers cannot be.
    Consumers {
        /// As asked for.
        found: usize,
    },
    /// The policy has weights or quanta for another number of queues.
    Shares {
        /// Weights or quanta.
        found: usize,
        /// As many as are needed.
        queues: usize,
    },
    /// A queue with weight or quantum 0 would never be visited.
    NoShare {
        /// The first such queue.
        queue: usize,
    },
    /// No queue has this number.
    NoSuchQueue {
        /// As asked for.
        queue: usize,
        /// Numbers are below this.
        room: usize,
    },
    /// As many queues exist as the set was made for.
    Full {
        /// So many.
        room: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Queues { found } => {
                write!(f, "found {found} queues for a ready set; it takes 1 to {QUEUES_MAX}")
            }
            Self::Consumers { found } => {
                write!(f, "found {found} consumers for a ready set; it takes 1 to {CONSUMERS_MAX}")
            }
            Self::Shares { found, queues } => {
                write!(f, "found {found} weights or quanta for {queues} queues; give one for each")
            }
            Self::NoShare { queue } => {
                write!(f, "found weight or quantum 0 for queue {queue}; give it 1 or more")
            }
            Self::NoSuchQueue { queue, room } => write!(
                f,
                "found no queue {queue} in a ready set for {room}; add it, or ask for one that was not removed"
            ),
            Self::Full { room } => write!(
                f,
                "found no room for another queue beside {room}; make the ready set for more, or remove one"
            ),
        }
    }
}

impl std::error::Error for Error {}
