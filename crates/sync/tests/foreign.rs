//! Wakers and alarms are other people's code: what locks do when that panics.

#![cfg(not(loom))]

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;
use tailwater_sync::budget::{self, Alarm, AlarmKey, Budget, TaskBudget};
use tailwater_sync::ready::{ReadySet, VisitPolicy};
use tailwater_sync::task::{Mutex, RwLock};

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Panics when woken and when dropped.
struct Trap;

impl Wake for Trap {
    fn wake(self: Arc<Self>) {
        panic!("a test wants this panic in a waker");
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a test wants this panic in a waker's drop");
    }
}

fn trap() -> Waker {
    Waker::from(Arc::new(Trap))
}

/// What a waker made by hand does, and that it was woken.
#[derive(Default)]
struct Brittle {
    clones_panic: AtomicBool,
    drops_panic: AtomicBool,
    woken: AtomicUsize,
}

impl Brittle {
    fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Its own drop is left out: it is the caller's, not the lock's.
    fn waker(&'static self) -> ManuallyDrop<Waker> {
        // SAFETY: the functions of the table read what lives for ever, and it may be shared.
        ManuallyDrop::new(unsafe { Waker::from_raw(self.raw()) })
    }

    fn raw(&'static self) -> RawWaker {
        RawWaker::new(std::ptr::from_ref(self).cast(), &BRITTLE)
    }

    /// # Safety
    ///
    /// `raw` has made the pointer.
    unsafe fn of(pointer: *const ()) -> &'static Self {
        // SAFETY: our caller's promise; it lives for ever.
        unsafe { &*pointer.cast::<Self>() }
    }
}

static BRITTLE: RawWakerVTable = RawWakerVTable::new(
    |pointer| {
        // SAFETY: `raw` alone has this table.
        let it = unsafe { Brittle::of(pointer) };
        let panics = it.clones_panic.load(Ordering::SeqCst);
        assert!(!panics, "a test wants this panic in a waker's clone");
        it.raw()
    },
    // SAFETY: as above.
    |pointer| count_wake(unsafe { Brittle::of(pointer) }),
    // SAFETY: as above.
    |pointer| count_wake(unsafe { Brittle::of(pointer) }),
    |pointer| {
        // SAFETY: as above.
        let panics = unsafe { Brittle::of(pointer) }.drops_panic.load(Ordering::SeqCst);
        assert!(!panics || std::thread::panicking(), "a test wants this panic in a waker's drop");
    },
);

fn count_wake(it: &Brittle) {
    it.woken.fetch_add(1, Ordering::SeqCst);
}

fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Panics where it says.
struct Faulty {
    sets: bool,
    cancels: bool,
}

impl Alarm for Faulty {
    fn wake_after(&self, _: Duration, _: &Waker) -> Option<AlarmKey> {
        assert!(self.sets, "a test wants this panic where an alarm is set");
        Some([0, 0])
    }

    fn cancel(&self, _: AlarmKey) {
        assert!(self.cancels, "a test wants this panic where an alarm is cancelled");
    }
}

fn with_alarm(alarm: &'static dyn Alarm) -> TaskBudget {
    TaskBudget::new(Budget::new(Duration::from_secs(3_600))).alarm(alarm)
}

/// Defect A21: the waiter had joined the queue and did not know it; the lock was never free again.
#[test]
fn ghost_waiter() {
    static FAULTY: Faulty = Faulty { sets: false, cancels: true };
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    {
        let mut waiting = pin!(mutex.lock_within_budget());
        let mut task = with_alarm(&FAULTY);
        let _entered = budget::enter(&mut task);
        let polled = catch_unwind(AssertUnwindSafe(|| poll(waiting.as_mut(), Waker::noop())));
        assert!(polled.is_err(), "it panics in the poll of the task that it belongs to");
    }
    drop(held);
    assert!(mutex.try_lock().is_some(), "nobody waits");
}

/// The same at the wait's end, which is its task's drop or the poll that gets the lock.
#[test]
fn an_alarm_that_panics_when_cancelled_keeps_no_lock() {
    static FAULTY: Faulty = Faulty { sets: true, cancels: false };
    let mutex = Mutex::new(());
    for served in [false, true] {
        let held = mutex.try_lock().unwrap();
        let mut task = with_alarm(&FAULTY);
        let _entered = budget::enter(&mut task);
        let mut waiting = Box::pin(mutex.lock_within_budget());
        assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
        if served {
            drop(held);
            assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
        } else {
            drop(waiting);
            drop(held);
        }
        assert!(mutex.try_lock().is_some(), "served: {served}");
    }
}

/// A writer's end grants two readers; the first one's waker panics.
#[test]
fn a_waker_that_panics_keeps_no_wake_up_from_those_behind_it() {
    let rwlock = RwLock::new(());
    let Poll::Ready(writing) = poll(pin!(rwlock.write()), Waker::noop()) else {
        panic!("it is free");
    };
    let bell = Arc::new(Bell::default());
    let (mut first, mut second) = (pin!(rwlock.read()), pin!(rwlock.read()));
    assert!(poll(first.as_mut(), &trap()).is_pending());
    assert!(poll(second.as_mut(), &Waker::from(bell.clone())).is_pending());
    drop(writing);
    assert_eq!(bell.0.load(Ordering::SeqCst), 1, "the second is woken");
    assert!(poll(second.as_mut(), Waker::noop()).is_ready());
    assert!(poll(first.as_mut(), Waker::noop()).is_ready());
}

/// A waiter that leaves in the middle passes the lock on by a waker that panics: the leaving ends well.
#[test]
fn leaving_by_a_waker_that_panics_leaves_the_queue_whole() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let mut first = Box::pin(mutex.lock());
    let mut second = pin!(mutex.lock());
    assert!(poll(first.as_mut(), &trap()).is_pending());
    assert!(poll(second.as_mut(), &trap()).is_pending());
    drop(held);
    drop(first);
    assert!(poll(second.as_mut(), Waker::noop()).is_ready());
    assert!(mutex.try_lock().is_some());
}

/// A hand-over cloned the waker while the queue was locked: its panic lost the lock, and who held it unwound.
#[test]
fn handing_over_clones_no_waker() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let brittle = Brittle::leaked();
    let mut waiting = pin!(mutex.lock());
    assert!(poll(waiting.as_mut(), &brittle.waker()).is_pending());
    brittle.clones_panic.store(true, Ordering::SeqCst);
    drop(held);
    assert_eq!(brittle.woken.load(Ordering::SeqCst), 1);
    assert!(poll(waiting.as_mut(), Waker::noop()).is_ready());
    assert!(mutex.try_lock().is_some(), "nobody waits");
}

/// The clone that a poll made for the queue was not needed any more, and its drop took the lock away with it.
#[test]
fn a_waker_that_panics_when_dropped_keeps_no_lock_from_the_poll_that_gets_it() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let brittle = Brittle::leaked();
    let mut waiting = pin!(mutex.lock());
    assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
    drop(held);
    brittle.drops_panic.store(true, Ordering::SeqCst);
    assert!(poll(waiting.as_mut(), &brittle.waker()).is_ready());
    assert!(mutex.try_lock().is_some(), "nobody waits");
}

/// The drop of a former task's waker unwound between the two places that know whom to wake. They knew different tasks from
/// then on, and a ring woke the wrong one.
#[test]
fn a_consumers_former_waker_that_panics_when_dropped_misleads_no_ring() {
    let (set, mut waiter) = ReadySet::new(1, VisitPolicy::RoundRobin).unwrap();
    let (former, bell) = (Brittle::leaked(), Arc::new(Bell::default()));
    let latter = Waker::from(bell.clone());
    assert!(poll(pin!(waiter.ready()), &former.waker()).is_pending());
    former.drops_panic.store(true, Ordering::SeqCst);
    let mut waiting = pin!(waiter.ready());
    assert!(poll(waiting.as_mut(), &latter).is_pending());
    assert!(set.doorbell(0).unwrap().ring());
    assert_eq!((former.woken.load(Ordering::SeqCst), bell.0.load(Ordering::SeqCst)), (0, 1));
    assert!(poll(waiting.as_mut(), &latter).is_ready());
}
