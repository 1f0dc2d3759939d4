//! Which queues exist.

use super::QueueId;
use crate::primitive::{AtomicU64, Mutex, hold};
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Bits of a word here, whatever a word of bells has.
const BITS: usize = 64;

pub(super) struct Members {
    alive: Box<[AtomicU64]>,
    /// Numbers that were given back or never given out. Not on the path of an event.
    free: Mutex<Vec<u32>>,
    room: usize,
}

impl Members {
    /// The numbers below `room`, all or none of which exist.
    pub(super) fn new(room: usize, exist: bool) -> Self {
        let alive = (0..room.div_ceil(BITS)).map(|index| {
            let count = (room - index * BITS).min(BITS);
            let bits = if exist { u64::MAX >> (BITS - count) } else { 0 };
            AtomicU64::new(bits)
        });
        // The last is given out first.
        let free = (0..room as u32).rev().filter(|_| !exist).collect();
        Self { alive: alive.collect(), free: Mutex::new(free), room }
    }

    pub(super) const fn room(&self) -> usize {
        self.room
    }

    #[inline]
    pub(super) fn has(&self, queue: usize) -> bool {
        // Acquire: pairs with `remove`, which gives the number back after its owner is done with it.
        let word = self.alive.get(queue / BITS).map_or(0, |word| word.load(Acquire));
        word & (1 << (queue % BITS)) != 0
    }

    /// A number that no queue has. None where all are taken.
    pub(super) fn add(&self) -> Option<QueueId> {
        let queue = hold(&self.free).pop()?;
        let (index, bit) = (queue as usize / BITS, 1 << (queue as usize % BITS));
        // Pairs with the load in `has`.
        self.alive[index].fetch_or(bit, AcqRel);
        Some(QueueId(queue))
    }

    /// False if there was no such queue.
    pub(super) fn remove(&self, queue: usize) -> bool {
        let Some(word) = self.alive.get(queue / BITS) else { return false };
        let bit = 1 << (queue % BITS);
        // Pairs with the load in `has`. Of two that remove one queue one finds it.
        let existed = word.fetch_and(!bit, AcqRel) & bit != 0;
        if existed {
            hold(&self.free).push(queue as u32);
        }
        existed
    }
}
