//! What happened in a ready set, counted by each consumer for itself and told from time to time.

use crate::primitive::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Hand-outs between two times that a busy consumer tells its counts. Before that many it tells each.
pub(super) const EVERY: u64 = 256;

/// What happened in a ready set since it was made, of all consumers together. A busy consumer's part is up to
/// 256 visits old, once it has made that many. How often producers rang is not counted: that would cost each ring a shared cache line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Rings that found their bell silent, as far as consumers have taken the bells.
    pub taken: u64,
    /// Queues handed out for a visit.
    pub visits: u64,
    /// Visits that ended by [`super::Waiter::again`]: something was left in the queue.
    pub kept: u64,
    /// Times that a consumer found nothing ready and lay down to sleep.
    pub sleeps: u64,
    /// Consumers that producers woke.
    pub wakes: u64,
}

/// What one consumer has told.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Told {
    taken: AtomicU64,
    visits: AtomicU64,
    kept: AtomicU64,
    sleeps: AtomicU64,
}

impl Told {
    pub(super) fn tell(&self, own: &Stats) {
        // Counts for people: nothing is ordered by them, and each has one writer.
        self.taken.store(own.taken, Relaxed);
        self.visits.store(own.visits, Relaxed);
        self.kept.store(own.kept, Relaxed);
        self.sleeps.store(own.sleeps, Relaxed);
    }

    pub(super) fn add_to(&self, all: &mut Stats) {
        // As above.
        all.taken += self.taken.load(Relaxed);
        all.visits += self.visits.load(Relaxed);
        all.kept += self.kept.load(Relaxed);
        all.sleeps += self.sleeps.load(Relaxed);
    }
}
