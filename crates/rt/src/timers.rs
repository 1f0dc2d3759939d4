//! Timers of the threads that run handlers: for sleeping, and for giving up in the queue of a lock.

use crate::clock::now;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _, caught};
use tailwater_sync::budget::{Alarm, AlarmKey};

/// Timers of one thread, by when they are due and then in the order in which they were set. One for each
/// sleep that has begun and each wait for a lock within a budget; whoever ends one cancels it, except on
/// another thread than this: then it stays until it is due.
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
        // Relaxed: an addition gives each thread a number of its own, in whatever order.
        let first = THREADS.fetch_add(1, Relaxed) << 40;
        Self { waiting: RefCell::default(), next_number: Cell::new(first) }
    }
}

impl Timers {
    pub(crate) fn add(&self, at: Instant, waker: Waker) -> Timer {
        let timer = (at, self.next_number.get());
        self.next_number.set(timer.1.wrapping_add(1));
        self.put(timer, waker);
        timer
    }

    /// Gives a timer that is set another waker; sets it if it has fired, or belongs to another thread.
    pub(crate) fn put(&self, timer: Timer, waker: Waker) {
        let former = self.waiting.borrow_mut().insert(timer, waker);
        // Whatever this drops may set or cancel timers.
        drop(former);
    }

    /// Does nothing if it has fired, or belongs to another thread.
    fn cancel(&self, timer: Timer) {
        let waker = self.waiting.borrow_mut().remove(&timer);
        // As above.
        drop(waker);
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.waiting.borrow().first_key_value().map(|(&(at, _), _)| at)
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Wakes everything that is due. A handler may have set timers with wakers of its own; if one of them
    /// panics, the others are woken nevertheless, and the loop goes on.
    pub(crate) fn fire(&self, now: Instant) {
        while self.next().is_some_and(|at| at <= now) {
            let timer = self.waiting.borrow_mut().pop_first();
            if let Some((_, waker)) = timer {
                let _ = caught(|| waker.wake());
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

/// Does nothing if it has fired, or belongs to another thread than the present one.
pub(crate) fn cancel_timer(timer: Timer) {
    // A thread that ends has no timers any more.
    let _ = TIMERS.try_with(|slot| {
        if let Some(timers) = slot.borrow().as_deref() {
            timers.cancel(timer);
        }
    });
}

/// Lets a task that queues for a lock give up in time: wakes it by the timers of the thread that polls it.
pub(crate) static LOCK_ALARM: LockAlarm = LockAlarm;

pub(crate) struct LockAlarm;

impl Alarm for LockAlarm {
    fn wake_after(&self, after: Duration, waker: &Waker) -> Option<AlarmKey> {
        let at = Instant::from_nanos(now().as_nanos().saturating_add(after.nanos()));
        // Other executors' threads have no timers of ours, and a thread that ends has none any more.
        let timer = TIMERS.try_with(|slot| Some(slot.borrow().as_deref()?.add(at, waker.clone())));
        timer.ok().flatten().map(|(at, number)| [at.as_nanos(), number])
    }

    fn cancel(&self, [at, number]: AlarmKey) {
        cancel_timer((Instant::from_nanos(at), number));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A request's budget may be handed to a task of another runtime, with this alarm in it.
    #[test]
    fn a_lock_alarm_does_nothing_where_there_are_no_timers() {
        let set = || LOCK_ALARM.wake_after(Duration::ZERO, Waker::noop());
        assert_eq!(std::thread::spawn(set).join().expect("it does not panic"), None);
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
    fn a_timer_is_put_again_and_not_twice() {
        let (here, elsewhere) = (Timers::default(), Timers::default());
        let at = Instant::from_nanos(10);
        let timer = here.add(at, Waker::noop().clone());
        here.put(timer, Waker::noop().clone());
        elsewhere.put(timer, Waker::noop().clone());
        assert_eq!((here.len(), elsewhere.len()), (1, 1));
        here.cancel(timer);
        assert_eq!((here.len(), elsewhere.len()), (0, 1));
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_from_firing() {
        struct Panics;
        impl std::task::Wake for Panics {
            fn wake(self: std::sync::Arc<Self>) {
                panic!("a test wants this panic in a waker");
            }
        }
        let timers = Timers::default();
        let at = Instant::from_nanos(10);
        timers.add(at, std::sync::Arc::new(Panics).into());
        timers.add(at, Waker::noop().clone());
        timers.fire(at);
        assert_eq!(timers.next(), None);
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
