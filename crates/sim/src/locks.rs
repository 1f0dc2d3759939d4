//! The locks of a node: who holds them, who waits, and what was seen of them.

use crate::paths::Paths;
use crate::slab::Key;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::asqm::{Budget, Entry, Found, Policy};
use tailwater_core::{Instant, Nanos};
use tailwater_stats::result::LockReading;

/// All locks of a node. First come, first served: who releases hands over.
pub(crate) struct Locks {
    locks: Vec<Lock>,
    /// By set of locks, and the set of each lock's number: sets are in order of their first.
    reports: Vec<(u32, LockReport)>,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    holder: Option<Key>,
    since: Instant,
    /// Bounded by the requests in the node, each of which waits for one lock at most.
    queue: VecDeque<Waiter>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    key: Key,
    since: Instant,
    give_up_at: Option<Instant>,
}

/// What comes of a release.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    /// The request that holds the lock now.
    pub(crate) to: Option<Key>,
    /// How long it has waited, and when it should have given up.
    pub(crate) waited: Duration,
    pub(crate) give_up_at: Option<Instant>,
}

/// What was seen of a lock, or of a set under one name, from the beginning of the run to its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LockReport {
    /// The tier's name; empty for the front.
    pub tier: String,
    /// The lock's name.
    pub lock: String,
    /// How many of them there are.
    pub among: u32,
    /// How often one was taken.
    pub taken: u64,
    /// How often one had to be waited for.
    pub contended: u64,
    /// How often a request was refused on entry.
    pub refused: u64,
    /// How often a waiter gave up.
    pub gave_up: u64,
    /// For how long they were held, added up.
    pub held: Duration,
    /// For how long they were waited for, added up.
    pub waited: Duration,
    /// The longest that a request waited that got the lock.
    pub longest_wait: Duration,
}

impl LockReport {
    /// As results tell it.
    pub(crate) fn reading(&self) -> LockReading {
        LockReading {
            tier: self.tier.clone(),
            lock: self.lock.clone(),
            contended: self.contended,
            refused: self.refused,
            gave_up: self.gave_up,
            waited_us: self.waited.nanos() as f64 / 1e3,
            longest_wait_us: self.longest_wait.nanos() as f64 / 1e3,
        }
    }
}

impl Locks {
    pub(crate) fn new(paths: &Paths, tier: &str) -> Self {
        let report = |set: &tailwater_workload::ways::LockSet| {
            let (tier, lock, among) = (tier.to_owned(), set.name.clone(), set.among);
            (set.first, LockReport { tier, lock, among, ..LockReport::default() })
        };
        Self {
            locks: vec![Lock::default(); paths.ways.locks() as usize],
            reports: paths.ways.sets.iter().map(report).collect(),
        }
    }

    /// A request comes to a lock and does what `policy` says: holds it, stands in its queue, or
    /// neither.
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        lock: u32,
        key: Key,
        policy: Policy,
        budget: Option<&Budget>,
    ) -> Entry {
        let place = &mut self.locks[lock as usize];
        let found = match (place.holder, place.queue.front()) {
            (None, _) => Found::Free,
            (Some(_), None) => Found::Taken { oldest_wait: Duration::ZERO },
            (Some(_), Some(oldest)) => Found::Taken { oldest_wait: now.since(oldest.since) },
        };
        let entry = policy.enter(budget, found);
        match entry {
            Entry::Take => (place.holder, place.since) = (Some(key), now),
            Entry::Join { give_up_after } => {
                let give_up_at = give_up_after.map(|after| now + after);
                place.queue.push_back(Waiter { key, since: now, give_up_at });
            }
            Entry::Refuse => {}
        }
        let report = self.report(lock);
        match entry {
            Entry::Take => report.taken += 1,
            Entry::Join { .. } => report.contended += 1,
            Entry::Refuse => report.refused += 1,
        }
        entry
    }

    /// Its holder lets go; the next in the queue holds it from now on.
    ///
    /// # Errors
    /// When another held it.
    pub(crate) fn release(&mut self, now: Instant, lock: u32, key: Key) -> Result<Handed, String> {
        let place = &mut self.locks[lock as usize];
        if place.holder != Some(key) {
            return Err(format!("lock {lock} was released by who does not hold it"));
        }
        let held = now.since(place.since);
        let next = place.queue.pop_front();
        (place.holder, place.since) = (next.map(|next| next.key), now);
        let report = self.report(lock);
        report.held += held;
        let Some(next) = next else {
            return Ok(Handed::default());
        };
        let waited = now.since(next.since);
        report.taken += 1;
        report.waited += waited;
        report.longest_wait = report.longest_wait.max(waited);
        Ok(Handed { to: Some(next.key), waited, give_up_at: next.give_up_at })
    }

    /// No request holds or waits any more; what was seen stays.
    pub(crate) fn restart(&mut self, now: Instant) {
        for number in 0..self.locks.len() as u32 {
            let Lock { holder, since, queue } = std::mem::take(&mut self.locks[number as usize]);
            let report = self.report(number);
            report.held += holder.map_or(Duration::ZERO, |_| now.since(since));
            report.waited += queue.iter().map(|waiter| now.since(waiter.since)).sum::<Duration>();
        }
    }

    /// A waiter leaves the queue without the lock. Those who give up stand near its front: they came
    /// early, or the queue is short because budgets are.
    pub(crate) fn give_up(&mut self, now: Instant, lock: u32, key: Key) {
        let queue = &mut self.locks[lock as usize].queue;
        let Some(index) = queue.iter().position(|waiter| waiter.key == key) else {
            return;
        };
        let waited = queue.remove(index).map_or(Duration::ZERO, |waiter| now.since(waiter.since));
        let report = self.report(lock);
        report.gave_up += 1;
        report.waited += waited;
    }

    /// Locks that are held, with their holders, and waiters with theirs; `None` as the holder of a
    /// lock that is waited for although nobody holds it.
    pub(crate) fn audit(&self) -> impl Iterator<Item = (u32, Option<Key>, Vec<Key>)> {
        let busy = (0..).zip(&self.locks);
        let busy =
            busy.filter(|(_, lock): &(u32, &Lock)| lock.holder.is_some() || !lock.queue.is_empty());
        busy.map(|(number, lock)| {
            (number, lock.holder, lock.queue.iter().map(|waiter| waiter.key).collect())
        })
    }

    /// What was seen, by set; what is held at `now` counts up to it.
    pub(crate) fn reports(mut self, now: Instant) -> Vec<LockReport> {
        for number in 0..self.locks.len() as u32 {
            let lock = &self.locks[number as usize];
            if lock.holder.is_some() {
                let held = now.since(lock.since);
                self.report(number).held += held;
            }
        }
        self.reports.into_iter().map(|(_, report)| report).collect()
    }

    fn report(&mut self, lock: u32) -> &mut LockReport {
        let set = self.reports.partition_point(|(first, _)| *first <= lock) - 1;
        &mut self.reports[set].1
    }
}
