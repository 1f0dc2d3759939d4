//! The one protocol under every lock here: a count of permits and a queue.
//!
//! A mutex has one permit, a semaphore some, a rwlock very many, of which a reader takes one and a
//! writer all.
//!
//! # The protocol
//!
//! `state` is `permits × 8 + POKED × 4 + BARRED × 2 + QUEUED × 1`.
//!
//! 1. *Taking* n permits is one compare-and-swap (acquire) that subtracts them. A caller outside
//!    the queue takes only while BARRED is clear.
//! 2. *Releasing* n is one addition (release). If it found QUEUED set and POKED clear, the releaser then
//!    locks the queue and *serves* it.
//! 3. QUEUED is set if and only if the list is not empty. The flags change under the queue's mutex only.
//! 4. A waiter joins the list, sets QUEUED, and only then tries once more to take. Changes of `state`
//!    have one order: a release before that is seen by this try, a release after it finds QUEUED. So no
//!    wake-up is lost.
//! 5. *Serving*, under the queue's mutex: while BARRED is set, permits are taken in the name of the
//!    first waiter, which is taken off the list as *granted* (hand-over). While it is clear, as many of
//!    the first as the permits suffice for are woken to take for themselves, each once; POKED says that
//!    one of them has still to look. Releases need not serve meanwhile: a waiter that looks clears
//!    POKED, and only then tries to take, so that it sees their permits. POKED and BARRED never stand
//!    together when the queue is unlocked.
//! 6. A waiter leaves only under the queue's mutex: granted, having taken for itself, or giving up. One
//!    that gave up and was granted meanwhile releases again. After a waiter has left, the list is served,
//!    so a wake-up that went to it passes on.
//! 7. In a *strict* gate (tasks) BARRED is set whenever QUEUED is: first in, first out. In one for
//!    threads it is set once the first waiter has been passed over for [`BARGE_NS`], and cleared when
//!    that one leaves.
//!
//! What a lock protects is touched only between taking and releasing. The release of one holder happens
//! before the taking of the next: by the compare-and-swap, or, after a hand-over, by that of the
//! releaser and then the queue's mutex.
//!
//! Every change of `state` is a read-modify-write. So each goes on with the release sequences of all
//! releases before it, and a taking sees those whichever change it reads from. Therefore changes of flags
//! are relaxed.

mod queue;
mod task;
mod thread;

use crate::order::Tag;
use crate::primitive::{AtomicU64, AtomicUsize, Mutex, Ordering, constructor, hold};
use crate::stats::Stats;
use crate::{Refused, budget, clock};
pub(crate) use queue::{Key, Queue, Waiter, Wakes, Wakeup, drop_waker};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};
pub(crate) use task::Acquire;

const QUEUED: usize = 1;
const BARRED: usize = 2;
const POKED: usize = 4;
const ONE: usize = 8;
/// The most permits a gate can have.
pub(crate) const PERMITS_MAX: usize = usize::MAX >> 4;

/// How long the first waiter of a gate for threads may be passed over by threads that happen to run. Counted from
/// when it could first have had it. A hand-over leaves the lock idle for a wake-up, 16 to 40 µs. One in 100 µs keeps
/// that a small part; one for each holder would be a convoy.
#[cfg(not(loom))]
const BARGE_NS: u64 = 100_000;
/// The second time, so that models see both.
#[cfg(loom)]
const BARGE_NS: u64 = 0;
/// Stands for the age of an empty queue.
pub(crate) const NOBODY: u64 = u64::MAX;

/// Whether who comes later may be served first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// Never: for tasks, whose wake-up is a push to a queue.
    Strict,
    /// For a bounded time: for threads.
    Barging,
}

/// Whether the wait may be refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    ForEver,
    WithinBudget,
}

pub(crate) struct Gate {
    state: AtomicUsize,
    /// When the first in the list joined it, or [`NOBODY`]. A refusal reads this and nothing else.
    oldest_ns: AtomicU64,
    queue: Mutex<Queue>,
    hand_over: HandOver,
    stats: Option<&'static Stats>,
    pub(crate) tag: Tag,
}

/// How a waiter stands after it looked.
enum Step {
    Acquired,
    GaveUp,
    /// It stays. True where another waker than before is to wake it.
    Wait(bool),
}

impl Gate {
    constructor! {
        pub(crate) fn new(permits: usize, hand_over: HandOver, stats: Option<&'static Stats>) -> Self {
            assert!(permits <= PERMITS_MAX, "a gate has at most usize::MAX / 16 permits");
            Self {
                state: AtomicUsize::new(permits * ONE),
                oldest_ns: AtomicU64::new(NOBODY),
                queue: Mutex::new(Queue::new()),
                hand_over,
                stats,
                tag: Tag::new(stats),
            }
        }
    }

    /// Takes the only permit there is, if it is there and nobody waits: a mutex's fast path.
    #[inline]
    pub(crate) fn try_take_only(&self) -> bool {
        // Acquire: pairs with `release`. Relaxed on failure: nothing is read because of it.
        self.state.compare_exchange(ONE, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes so many permits if they are there and nobody must be served first.
    #[inline]
    pub(crate) fn try_take(&self, need: usize) -> bool {
        self.take_unless(BARRED, need)
    }

    /// Gives permits back.
    ///
    /// # Panics
    ///
    /// In debug builds, if there would be more than [`PERMITS_MAX`]: more were given back than taken.
    #[inline]
    pub(crate) fn release(&self, permits: usize) {
        // Release: what the holder did comes before the next taking.
        let before = self.state.fetch_add(permits * ONE, Ordering::Release);
        debug_assert!(before / ONE + permits <= PERMITS_MAX, "more permits than a gate can hold");
        if before & (QUEUED | POKED) == QUEUED {
            self.serve_queue();
        }
    }

    pub(crate) fn permits(&self) -> usize {
        // Relaxed: a number for display, and past as soon as it is read.
        self.state.load(Ordering::Relaxed) / ONE
    }

    /// No thread or task waits, as far as one can know.
    pub(crate) fn is_quiet(&self) -> bool {
        // Relaxed: past as soon as it is read.
        self.state.load(Ordering::Relaxed) & QUEUED == 0
    }

    /// Rule 1, and for those in the queue the same without regard to `bar`.
    #[inline]
    fn take_unless(&self, bar: usize, need: usize) -> bool {
        // Relaxed: a guess, which the exchange checks.
        let mut state = self.state.load(Ordering::Relaxed);
        while state & bar == 0 && state / ONE >= need {
            let next = state - need * ONE;
            // Acquire: pairs with `release`. Relaxed on failure: what is seen then is the next guess.
            match self.state.compare_exchange_weak(
                state,
                next,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(seen) => state = seen,
            }
        }
        false
    }

    #[cold]
    fn serve_queue(&self) {
        let mut queue = hold(&self.queue);
        let wakes = self.serve(&mut queue);
        drop(queue);
        wakes.give();
    }

    /// Asks the budget, on entry to a gate that is taken.
    fn ask(&self, wait: Wait, now: Instant) -> Result<Option<Duration>, Refused> {
        if wait == Wait::ForEver {
            return Ok(None);
        }
        budget_at_queue(&self.oldest_ns, self.stats, now)
    }

    /// Rule 4. `None` if it was the turn of this waiter after all.
    fn join(&self, need: usize, now: Instant, wakeup: Wakeup) -> Option<Key> {
        let mut queue = hold(&self.queue);
        let key = queue.join(Waiter::new(need, now.as_nanos(), wakeup));
        let is_first = queue.first() == Some(key);
        if is_first {
            // Relaxed: an age, by which a budget is asked; nothing else is read because of it.
            self.oldest_ns.store(now.as_nanos(), Ordering::Relaxed);
        }
        let bits = if self.hand_over == HandOver::Strict { QUEUED | BARRED } else { QUEUED };
        // Relaxed: rule 4 needs the order of changes of `state` alone, which every ordering has.
        self.state.fetch_or(bits, Ordering::Relaxed);
        let bar = if is_first { 0 } else { BARRED };
        if !self.take_unless(bar, need) {
            return Some(key);
        }
        let wakes = self.leave(&mut queue, key);
        drop(queue);
        wakes.give();
        None
    }

    /// A waiter looks how it stands: whether it was granted or can take for itself, or else leaves if it
    /// is `over`. One that stays is to be woken by `wakeup` from now on, where one is given.
    fn look(&self, key: Key, over: bool, mut wakeup: Option<Wakeup>) -> Step {
        let mut queue = hold(&self.queue);
        if queue.get(key).granted {
            let retired = queue.free(key);
            drop(queue);
            drop_waker(retired);
            drop_waker(wakeup);
            return Step::Acquired;
        }
        self.unpoke();
        let need = queue.get(key).need;
        let is_first = queue.first() == Some(key);
        let took = self.take_unless(if is_first { 0 } else { BARRED }, need)
            || (is_first && self.bar_if_overdue(&mut queue, key) && self.take_unless(0, need));
        if !took && !over {
            let waiter = queue.get_mut(key);
            waiter.woken = false;
            let mut moved = false;
            if let Some(new) = &mut wakeup {
                moved = !waiter.wakeup.will_wake(new);
                std::mem::swap(&mut waiter.wakeup, new);
            }
            drop(queue);
            // The old one.
            drop_waker(wakeup);
            return Step::Wait(moved);
        }
        let wakes = self.leave(&mut queue, key);
        drop(queue);
        wakes.give();
        drop_waker(wakeup);
        if took { Step::Acquired } else { Step::GaveUp }
    }

    /// A waiter goes away, whatever it got: rule 6.
    fn cancel(&self, key: Key) {
        let mut queue = hold(&self.queue);
        let (granted, need) = (queue.get(key).granted, queue.get(key).need);
        if granted {
            let retired = queue.free(key);
            drop(queue);
            drop_waker(retired);
            self.release(need);
            return;
        }
        self.unpoke();
        let wakes = self.leave(&mut queue, key);
        drop(queue);
        wakes.give();
    }

    /// Rule 5: from here on releases serve again. Tasks are granted, never poked.
    fn unpoke(&self) {
        if self.hand_over == HandOver::Barging {
            // Relaxed: only the order of changes of `state` counts. A release before this is seen by the try
            // that follows, one after it finds POKED clear.
            self.state.fetch_and(!POKED, Ordering::Relaxed);
        }
    }

    fn leave(&self, queue: &mut Queue, key: Key) -> Wakes {
        let was_first = queue.first() == Some(key);
        queue.unlink(key);
        let retired = queue.free(key);
        if was_first {
            self.first_changed(queue);
        }
        let mut wakes = self.serve(queue);
        wakes.retire(retired);
        wakes
    }

    /// Rules 3 and 7, after the first has left the list.
    fn first_changed(&self, queue: &mut Queue) {
        let oldest_ns = queue.first().map_or(NOBODY, |key| queue.get(key).since_ns);
        // Relaxed: as in `join`. Flags are relaxed since they change under the mutex of the queue alone.
        self.oldest_ns.store(oldest_ns, Ordering::Relaxed);
        if oldest_ns == NOBODY {
            // A release that found QUEUED before waits for the mutex, and then finds an empty list.
            self.state.fetch_and(!(QUEUED | BARRED | POKED), Ordering::Relaxed);
        } else if queue.barred {
            // Those that spin may take from here on.
            self.state.fetch_and(!BARRED, Ordering::Relaxed);
        }
        queue.barred = false;
    }

    /// Rule 5.
    fn serve(&self, queue: &mut Queue) -> Wakes {
        let mut wakes = Wakes::default();
        while let Some(first) = queue.first() {
            // Set again below if somebody has still to look. One that is granted never will.
            self.unpoke();
            let hands_over = self.hand_over == HandOver::Strict || queue.barred;
            if !hands_over {
                // Relaxed: a release that this misses comes after `unpoke`, finds POKED clear, and serves.
                let state = self.state.load(Ordering::Relaxed);
                if Self::wake_as_many_as(state / ONE, queue, &mut wakes) {
                    // Relaxed: under the mutex of the queue. A release before this has served or will.
                    self.state.fetch_or(POKED, Ordering::Relaxed);
                }
                if !self.bar_if_overdue(queue, first) {
                    break;
                }
            } else if self.take_unless(0, queue.get(first).need) {
                wakes.push(queue.grant(first));
                self.first_changed(queue);
            } else {
                break;
            }
        }
        wakes
    }

    /// True if one of them has still to look.
    fn wake_as_many_as(permits: usize, queue: &mut Queue, wakes: &mut Wakes) -> bool {
        let (mut left, mut next) = (permits, queue.first());
        while let Some(key) = next
            && queue.get(key).need <= left
        {
            next = queue.after(key);
            let waiter = queue.get_mut(key);
            left -= waiter.need;
            if !waiter.woken {
                waiter.woken = true;
                // A thread's, so no foreign code runs here; tasks are granted what they need.
                wakes.push(waiter.wakeup.clone());
            }
        }
        left < permits
    }

    /// Rule 7, for threads. True if nobody may pass the first from now on.
    fn bar_if_overdue(&self, queue: &mut Queue, first: Key) -> bool {
        if self.hand_over == HandOver::Strict || queue.barred {
            return false;
        }
        let now_ns = clock::now().as_nanos();
        let waiter = queue.get_mut(first);
        let since = waiter.passed_over_ns.replace(waiter.passed_over_ns.unwrap_or(now_ns));
        if since.is_none_or(|since| now_ns.saturating_sub(since) < BARGE_NS) {
            return false;
        }
        queue.barred = true;
        // Relaxed: under the mutex of the queue. A thread that takes before this has passed once more.
        self.state.fetch_or(BARRED, Ordering::Relaxed);
        true
    }

    /// What every wait ends with, however it ended. `elsewhere` is what the request had waited elsewhere
    /// when it began.
    fn account(
        &self,
        since: Instant,
        now: Instant,
        elsewhere: Duration,
        wait: Wait,
        acquired: bool,
    ) -> Duration {
        let waited = now.since(since);
        budget::deduct_wait(waited, elsewhere, wait == Wait::WithinBudget);
        if let Some(stats) = self.stats {
            stats.waited(waited.nanos(), acquired);
        }
        waited
    }
}

/// Asks the budget about a queue whose oldest joined then: how long to wait, or `None` for ever.
pub(crate) fn budget_at_queue(
    oldest_ns: &AtomicU64,
    stats: Option<&'static Stats>,
    now: Instant,
) -> Result<Option<Duration>, Refused> {
    // Relaxed: an age, which may be a moment old; nothing else is read because of it.
    let oldest_ns = oldest_ns.load(Ordering::Relaxed);
    let waits = oldest_ns != NOBODY;
    let oldest_wait =
        if waits { now.since(Instant::from_nanos(oldest_ns)) } else { Duration::ZERO };
    let answer = budget::ask(oldest_wait);
    if let (Err(_), Some(stats)) = (&answer, stats) {
        stats.refused();
    }
    answer
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::task::Waker;

    /// Serving woke the first, found it passed over for too long and granted it all in one go; POKED
    /// stayed set, with nobody left to clear it, and the second slept for ever.
    #[test]
    fn granting_one_that_was_woken_leaves_the_next_to_be_served() {
        let gate = Gate::new(1, HandOver::Barging, None);
        assert!(gate.try_take_only());
        let join = || gate.join(1, clock::now(), Wakeup::Task(Waker::noop().clone())).unwrap();
        let (first, second) = (join(), join());
        while clock::now().as_nanos() <= BARGE_NS {}
        hold(&gate.queue).get_mut(first).passed_over_ns = Some(0);
        gate.release(1);
        assert!(hold(&gate.queue).get(first).granted);
        assert!(matches!(gate.look(first, false, None), Step::Acquired));
        gate.release(1);
        assert!(hold(&gate.queue).get(second).woken);
        assert!(matches!(gate.look(second, false, None), Step::Acquired));
        assert_eq!((gate.is_quiet(), gate.permits()), (true, 0));
    }
}
