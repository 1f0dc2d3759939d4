//! A condition variable for threads.
//!
//! A waiter joins the list before it unlocks the mutex, so a notification under the mutex, or after
//! it, finds it. It leaves under the queue's own mutex: notified, or giving up; who was notified first
//! has not given up, so no notification is lost.

use crate::gate::{Key, NOBODY, Queue, Waiter, Wakes, Wakeup, budget_at_queue};
use crate::primitive::{AtomicU64, Mutex, Ordering, constructor, current, hold, park};
use crate::raw::RawMutex;
use crate::stats::Stats;
use crate::{MutexGuard, Refused, budget, clock};
use std::fmt;
use tailwater_core::{Instant, Nanos};

/// Lets threads wait for a condition on what a [`crate::Mutex`] protects; first come, first notified.
///
/// Wait in a loop that tests the condition. Wakes for no reason do not happen, but between a
/// notification and the return another thread may have had the mutex.
pub struct Condvar {
    oldest_ns: AtomicU64,
    queue: Mutex<Queue>,
    stats: Option<&'static Stats>,
}

impl Condvar {
    constructor! {
        /// Without a name, hence not in the [`crate::report`].
        pub fn new() -> Self {
            Self {
                oldest_ns: AtomicU64::new(NOBODY),
                queue: Mutex::new(Queue::new()),
                stats: None,
            }
        }
    }

    /// With a name for the [`crate::report`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { stats: Some(Stats::named(name)), ..Self::new() }
    }

    /// Unlocks, waits for a notification for as long as it takes, and locks again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        // A wait for ever is not refused.
        let _ = self.wait_at(guard.raw(), false);
    }

    /// Waits no longer than the request's budget allows.
    ///
    /// # Errors
    ///
    /// [`Refused`]: on entry without having unlocked, or when the budget ended. In both cases the guard
    /// holds the mutex again; getting it back is not refused, so it may take longer than the budget.
    pub fn wait_within_budget<T>(&self, guard: &mut MutexGuard<'_, T>) -> Result<(), Refused> {
        self.wait_at(guard.raw(), true)
    }

    /// Wakes the one that has waited longest, if any waits.
    pub fn notify_one(&self) {
        self.notify(1);
    }

    /// Wakes all that wait.
    pub fn notify_all(&self) {
        self.notify(usize::MAX);
    }

    fn notify(&self, most: usize) {
        // A waiter joined under the mutex that the notifier held since: it is seen here.
        if !self.is_waited_at() {
            return;
        }
        let mut queue = hold(&self.queue);
        let mut wakes = Wakes::default();
        for _ in 0..most {
            let Some(first) = queue.first() else { break };
            wakes.push(queue.grant(first));
        }
        self.first_changed(&queue);
        drop(queue);
        wakes.give();
    }

    pub(crate) fn is_waited_at(&self) -> bool {
        // Relaxed: `notify` says what orders this behind the store of a waiter that must be seen.
        self.oldest_ns.load(Ordering::Relaxed) != NOBODY
    }

    pub(crate) fn wait_at(&self, mutex: &RawMutex, within_budget: bool) -> Result<(), Refused> {
        let since = clock::now();
        let mut give_up_at = None;
        if within_budget {
            let after = budget_at_queue(&self.oldest_ns, self.stats, since)?;
            give_up_at = after.map(|after| since + after);
        }
        let key = self.join(since);
        mutex.unlock();
        let notified = loop {
            let over = park(give_up_at);
            if let Some(notified) = self.look(key, over) {
                break notified;
            }
        };
        let waited = clock::now().since(since);
        budget::deduct(waited);
        if let Some(stats) = self.stats {
            stats.waited(waited.nanos(), notified);
        }
        mutex.relock();
        if notified { Ok(()) } else { Err(Refused::GaveUp { waited }) }
    }

    fn join(&self, since: Instant) -> Key {
        let mut queue = hold(&self.queue);
        let key = queue.join(Waiter::new(0, since.as_nanos(), Wakeup::Thread(current())));
        self.first_changed(&queue);
        key
    }

    /// Whether it was notified, once its wait is over.
    fn look(&self, key: Key, over: bool) -> Option<bool> {
        let mut queue = hold(&self.queue);
        let notified = queue.get(key).granted;
        if !notified {
            if !over {
                return None;
            }
            queue.unlink(key);
            self.first_changed(&queue);
        }
        let retired = queue.free(key);
        drop(queue);
        drop(retired);
        Some(notified)
    }

    fn first_changed(&self, queue: &Queue) {
        let oldest_ns = queue.first().map_or(NOBODY, |key| queue.get(key).since_ns);
        // Relaxed: written under the mutex of the queue alone. A waiter writes it before it unlocks the mutex of the
        // condition. That orders it before the look of a notifier that has locked that mutex since.
        self.oldest_ns.store(oldest_ns, Ordering::Relaxed);
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").field("is_waited_at", &self.is_waited_at()).finish()
    }
}
