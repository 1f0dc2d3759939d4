//! Timers of the threads that run handlers: for sleeping, and for giving up in the queue of a lock.

use crate::time::now;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _};
use tailwater_sync::budget::{Alarm, AlarmKey};

/// Timers of one thread, by when they are due and then in the order in which they were set. One for each
/// task that sleeps or queues for a lock within its budget; who stops queueing cancels its own, a sleep
/// that is dropped leaves it until it is due.
pub(crate) struct Timers {
    waiting: RefCell<BTreeMap<Timer, Waker>>,
    next_number: Cell<u64>,
}

/// A timer by its due time and a number that no other of this process has.
pub(crate) type Timer = (Instant, u64);

impl Default for Timers {
    fn default() -> Self {
        // Each thread has numbers of its own: 2^40 timers take a million a second twelve days, and then
        // must meet another thread's of the same nanosecond.
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let first = THREADS.fetch_add(1, Relaxed) << 40;
        Self { waiting: RefCell::default(), next_number: Cell::new(first) }
    }
}

impl Timers {
    pub(crate) fn add(&self, at: Instant, waker: Waker) -> Timer {
        let timer = (at, self.next_number.get());
        self.next_number.set(timer.1.wrapping_add(1));
        self.waiting.borrow_mut().insert(timer, waker);
        timer
    }

    /// Does nothing if it has fired, or belongs to another thread.
    fn cancel(&self, timer: Timer) {
        let waker = self.waiting.borrow_mut().remove(&timer);
        // Whatever this drops may set or cancel timers.
        drop(waker);
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.waiting.borrow().first_key_value().map(|(&(at, _), _)| at)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Wakes everything that is due.
    pub(crate) fn fire(&self, now: Instant) {
        while self.next().is_some_and(|at| at <= now) {
            let timer = self.waiting.borrow_mut().pop_first();
            if let Some((_, waker)) = timer {
                waker.wake();
            }
        }
    }
}

thread_local! {
    static TIMERS: RefCell<Option<std::rc::Rc<Timers>>> = const { RefCell::new(None) };
}

/// Makes a fresh set of timers the thread's own; called once by loops and workers.
pub(crate) fn install_timers() -> std::rc::Rc<Timers> {
    let timers = std::rc::Rc::new(Timers::default());
    TIMERS.with(|slot| *slot.borrow_mut() = Some(timers.clone()));
    timers
}

pub(crate) fn current_timers(add: impl FnOnce(&Timers)) {
    TIMERS.with(|slot| {
        add(slot.borrow().as_deref().expect("time::sleep awaits only inside a tailwater handler"));
    });
}

/// Lets a task that queues for a lock give up in time: wakes it by the timers of the thread that polls it.
pub(crate) static LOCK_ALARM: LockAlarm = LockAlarm;

pub(crate) struct LockAlarm;

impl Alarm for LockAlarm {
    fn wake_after(&self, after: Duration, waker: &Waker) -> AlarmKey {
        let at = Instant::from_nanos(now().as_nanos().saturating_add(after.nanos()));
        // Other executors' threads have no timers of ours, and the wait goes on without.
        let timer = TIMERS
            .with(|slot| slot.borrow().as_deref().map(|timers| timers.add(at, waker.clone())));
        timer.map_or([0, u64::MAX], |(at, number)| [at.as_nanos(), number])
    }

    fn cancel(&self, [at, number]: AlarmKey) {
        // A thread that ends has no timers any more.
        let _ = TIMERS.try_with(|slot| {
            if let Some(timers) = slot.borrow().as_deref() {
                timers.cancel((Instant::from_nanos(at), number));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request's budget may be handed to a task of another runtime, with this alarm in it.
    #[test]
    fn a_lock_alarm_does_nothing_where_there_are_no_timers() {
        let set = || LOCK_ALARM.wake_after(Duration::ZERO, Waker::noop());
        std::thread::spawn(set).join().expect("it does not panic");
    }

    #[test]
    fn cancelling_what_has_fired_or_another_threads_timer_does_nothing() {
        let (own, others) = (Timers::default(), Timers::default());
        let at = Instant::from_nanos(10);
        let [gone, stays] = [(); 2].map(|()| own.add(at, Waker::noop().clone()));
        let foreign = others.add(at, Waker::noop().clone());
        own.cancel(foreign);
        assert_eq!(own.waiting.borrow().len(), 2);
        own.cancel(gone);
        own.cancel(gone);
        assert_eq!(own.waiting.borrow().keys().copied().collect::<Vec<_>>(), [stays]);
        own.fire(at);
        own.cancel(stays);
        assert_eq!((own.next(), others.next()), (None, Some(at)));
    }

    #[test]
    fn timers_fire_in_order_and_not_early() {
        let timers = Timers::default();
        let at = Instant::from_nanos;
        timers.add(at(20), Waker::noop().clone());
        timers.add(at(10), Waker::noop().clone());
        assert_eq!(timers.next(), Some(at(10)));
        timers.fire(at(9));
        assert_eq!(timers.next(), Some(at(10)));
        timers.fire(at(15));
        assert_eq!(timers.next(), Some(at(20)));
        timers.fire(at(20));
        assert_eq!(timers.next(), None);
    }
}
