//! A single-threaded executor that neither allocates nor locks for a handler that never waits (in debug
//! builds it allocates, to follow locks).
//!
//! A task lives in a slot: a pinned box that is reused, and a waker made once. A stale wake-up from
//! an earlier task of the slot only polls the present one once too often, which futures permit, so
//! wakers carry no generation. Its stamp does no harm: a task waits for its turn since its last poll
//! at the earliest. Wakes may come from any thread: they mark the slot and, if its
//! owner sleeps, ring its bell.

use crate::time::now;
use crossbeam_queue::SegQueue;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater_sync::budget::{self, TaskBudget};
use tailwater_sync::task::Watch;

/// Ends a thread's sleep.
pub(crate) trait Bell: Send + Sync {
    fn ring(&self);
}

/// Says whether a thread sleeps, and wakes it if so.
///
/// Protocol: the sleeper sets the flag, then looks for work once more, then sleeps; a waker makes
/// work visible, then takes the flag, and rings only if it was set. Both sides use sequential
/// consistency, so one of them sees the other: no wake-up is lost, and none is rung needlessly.
pub(crate) struct Doorbell {
    asleep: AtomicBool,
    bell: Box<dyn Bell>,
}

impl Doorbell {
    pub(crate) fn new(bell: Box<dyn Bell>) -> Self {
        Self { asleep: AtomicBool::new(false), bell }
    }

    /// Work was made visible. True if the thread slept and was woken.
    pub(crate) fn notify(&self) -> bool {
        let slept = self.asleep.load(SeqCst) && self.asleep.swap(false, SeqCst);
        if slept {
            self.bell.ring();
        }
        slept
    }

    /// The thread is about to sleep; it must look for work after this.
    pub(crate) fn lie_down(&self) {
        self.asleep.store(true, SeqCst);
    }

    /// The thread is up, whoever woke it.
    pub(crate) fn get_up(&self) {
        self.asleep.store(false, SeqCst);
    }
}

/// Slots with a task that wants to be polled.
pub(crate) struct Ready {
    slots: SegQueue<u32>,
    doorbell: Arc<Doorbell>,
    /// Wake-ups are stamped, so that what a woken task waits for its turn can be deducted.
    stamps: bool,
}

struct SlotWaker {
    slot: u32,
    queued: AtomicBool,
    /// When it was woken, or last polled if that was later, in nanoseconds; kept only where wake-ups are stamped.
    woken_ns: AtomicU64,
    ready: Arc<Ready>,
}

impl SlotWaker {
    /// How many clones there are of a slot's waker beside the two references that the slot keeps, or
    /// `None` if it was woken. Whoever used one up since was seen by the first or is by the second.
    fn clones(self: &Arc<Self>) -> Option<usize> {
        let clones = Arc::strong_count(self) - 2;
        fence(Acquire);
        (!self.queued.load(Acquire)).then_some(clones)
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, AcqRel) {
            if self.ready.stamps {
                self.woken_ns.fetch_max(now().as_nanos(), Relaxed);
            }
            self.ready.slots.push(self.slot);
            self.ready.doorbell.notify();
        }
    }
}

struct Slot<F, M> {
    future: Pin<Box<Option<F>>>,
    meta: Option<M>,
    waker: Waker,
    wake: Arc<SlotWaker>,
    watch: Watch,
}

/// The handler panicked; the panic hook has said where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Panicked;

/// A task's end, or `None` while it waits.
pub(crate) type Finished<M, F> = Option<(M, Result<<F as Future>::Output, Panicked>)>;

/// What travels with a task and may hold its budget.
pub(crate) trait Meta {
    /// The budget that is set while the task is polled.
    fn budget(&mut self) -> Option<&mut TaskBudget>;
}

/// Tasks of one thread. `M` travels with each task and comes back with its output.
pub(crate) struct Executor<F, M> {
    slots: Vec<Slot<F, M>>,
    free: Vec<u32>,
    ready: Arc<Ready>,
    max: usize,
}

impl<F: Future, M: Meta> Executor<F, M> {
    /// At most `max` tasks at a time; the caller asks [`Executor::has_room`] first. `budgets`: tasks
    /// may have them, so that wake-ups are stamped.
    pub(crate) fn new(doorbell: Arc<Doorbell>, max: usize, budgets: bool) -> Self {
        let ready = Arc::new(Ready { slots: SegQueue::new(), doorbell, stamps: budgets });
        Self { slots: Vec::new(), free: Vec::new(), ready, max }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.live() < self.max
    }

    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Makes a task and polls it once. `Some` when it finished at once.
    pub(crate) fn start(&mut self, mut meta: M, make: impl FnOnce() -> F) -> Finished<M, F> {
        let made = {
            let _entered = meta.budget().map(budget::enter);
            catch_unwind(AssertUnwindSafe(make))
        };
        let Ok(future) = made else {
            return Some((meta, Err(Panicked)));
        };
        let index = self.free.pop().unwrap_or_else(|| self.add_slot());
        let slot = &mut self.slots[index as usize];
        slot.future.as_mut().set(Some(future));
        slot.meta = Some(meta);
        slot.watch = Watch::new();
        self.poll(index, Duration::ZERO)
    }

    /// Whether a woken task waits.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.slots.is_empty()
    }

    /// Polls the next woken task. Outer `None`: none is woken; inner: it still waits.
    pub(crate) fn poll_next(&mut self) -> Option<Finished<M, F>> {
        let index = self.ready.slots.pop()?;
        let slot = &self.slots[index as usize];
        let woken_ns = slot.wake.woken_ns.load(Relaxed);
        // Cleared before the poll, so that a wake-up during it queues the slot again.
        slot.wake.queued.store(false, Release);
        if slot.meta.is_none() {
            return Some(None);
        }
        let stamps = self.ready.stamps;
        let waited = if stamps { now().as_nanos().saturating_sub(woken_ns) } else { 0 };
        Some(self.poll(index, Duration::from_nanos(waited)))
    }

    /// A panic ends the task that panicked and no other. `waited` it has in the run queue since it was
    /// woken.
    fn poll(&mut self, index: u32, waited: Duration) -> Finished<M, F> {
        let stamps = self.ready.stamps;
        let Slot { future, meta, waker, wake, watch } = &mut self.slots[index as usize];
        let entered = meta.as_mut().and_then(M::budget).map(budget::enter);
        if entered.is_some() && !waited.is_zero() {
            budget::deduct(waited);
        }
        let watching = watch.enter(waker);
        let mut context = Context::from_waker(waker);
        let mut running = future.as_mut().as_pin_mut()?;
        let mut poll = || catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut context)));
        let mut polled = poll();
        if matches!(polled, Ok(Poll::Pending)) && watch.waits_in_vain(|| wake.clones()) {
            // It panics where it waits, in debug builds.
            polled = poll();
        }
        let output = match polled {
            Ok(Poll::Pending) => {
                // It computed until now, whoever woke the slot meanwhile or before it was this task's.
                if stamps {
                    wake.woken_ns.fetch_max(now().as_nanos(), Relaxed);
                }
                return None;
            }
            Ok(Poll::Ready(output)) => Ok(output),
            Err(_) => Err(Panicked),
        };
        drop((watching, entered));
        let slot = &mut self.slots[index as usize];
        slot.future.as_mut().set(None);
        let meta = slot.meta.take()?;
        self.free.push(index);
        Some((meta, output))
    }

    fn add_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("bounded by max");
        let wake = Arc::new(SlotWaker {
            slot,
            queued: AtomicBool::new(false),
            woken_ns: AtomicU64::new(0),
            ready: self.ready.clone(),
        });
        let waker = Waker::from(wake.clone());
        let future = Box::pin(None);
        self.slots.push(Slot { future, meta: None, waker, wake, watch: Watch::new() });
        slot
    }
}

impl Ready {
    #[cfg(test)]
    fn is_marked(&self) -> bool {
        !self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::{LOCK_ALARM, install_timers};
    use std::sync::atomic::AtomicU32;

    impl Meta for u32 {
        fn budget(&mut self) -> Option<&mut TaskBudget> {
            None
        }
    }

    impl Meta for TaskBudget {
        fn budget(&mut self) -> Option<&mut TaskBudget> {
            Some(self)
        }
    }

    struct Count(Arc<AtomicU32>);
    impl Bell for Count {
        fn ring(&self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn executor<F: Future, M: Meta>(max: usize) -> (Executor<F, M>, Arc<Doorbell>, Arc<AtomicU32>) {
        let rung = Arc::new(AtomicU32::new(0));
        let doorbell = Arc::new(Doorbell::new(Box::new(Count(rung.clone()))));
        (Executor::new(doorbell.clone(), max, true), doorbell, rung)
    }

    /// Waits until `rounds` polls have passed, waking itself each time.
    async fn rounds(count: u32) -> u32 {
        for _ in 0..count {
            crate::time::yield_now().await;
        }
        count
    }

    #[test]
    fn a_task_that_never_waits_finishes_at_once_and_its_slot_is_reused() {
        let (mut executor, _, _) = executor(4);
        for id in 0..100_u32 {
            assert_eq!(executor.start(id, || rounds(0)), Some((id, Ok(0))));
        }
        assert_eq!(executor.slots.len(), 1);
        assert_eq!(executor.live(), 0);
    }

    #[test]
    fn waiting_tasks_finish_in_turn_and_keep_their_meta() {
        let (mut executor, _, _) = executor(4);
        assert_eq!(executor.start(1_u32, || rounds(2)), None);
        assert_eq!(executor.start(2, || rounds(1)), None);
        assert_eq!(executor.live(), 2);
        let mut done = Vec::new();
        while let Some(polled) = executor.poll_next() {
            done.extend(polled);
        }
        assert_eq!(done, [(2, Ok(1)), (1, Ok(2))]);
    }

    #[test]
    fn a_panic_ends_one_task_only() {
        let (mut executor, _, _) = executor(4);
        let task = async |panics: bool| {
            crate::time::yield_now().await;
            assert!(!panics, "a test wants this panic");
        };
        executor.start(1_u32, || task(true));
        executor.start(2, || task(false));
        assert_eq!(executor.poll_next(), Some(Some((1, Err(Panicked)))));
        assert_eq!(executor.poll_next(), Some(Some((2, Ok(())))));
        assert_eq!(executor.live(), 0);
    }

    /// Ten tasks, each of which deducts a second, on one thread whose own context has no budget.
    #[test]
    fn each_task_has_the_budget_it_came_with_at_every_poll() {
        let (mut executor, _, _) = executor(10);
        let second = Duration::from_secs(1);
        let spend = async |seconds: u32| {
            for _ in 0..seconds {
                budget::deduct(second);
                crate::time::yield_now().await;
            }
            budget::current().map(|budget| budget.left())
        };
        for seconds in 0..10 {
            let budget = TaskBudget::new(budget::Budget::new(100 * second));
            executor.start(budget, || spend(seconds));
        }
        let mut finished = 0;
        while let Some(polled) = executor.poll_next() {
            if let Some((meta, output)) = polled {
                finished += 1;
                assert_eq!(output, Ok(Some(meta.budget().left())));
                // What it waited for its turns is deducted too, and is no second here.
                let spent = meta.budget().waited().as_secs();
                assert_eq!(spent, finished, "seconds");
            }
        }
        assert_eq!((finished, budget::current()), (9, None));
    }

    /// The slot's waker, as an alarm of a former task or another thread has it, rings while a task
    /// computes for 5 ms: before its first poll, or within it.
    #[test]
    fn computing_is_not_charged_whoever_rings_meanwhile() {
        for within in [false, true] {
            let (mut executor, _, _) = executor(1);
            let budget = TaskBudget::new(budget::Budget::new(Duration::from_secs(100)));
            let begun = now();
            let first = std::cell::Cell::new(true);
            let computed = std::cell::Cell::new(Duration::ZERO);
            let make = || {
                std::future::poll_fn(|context: &mut Context<'_>| {
                    if !first.replace(false) {
                        return Poll::Ready(());
                    }
                    if within {
                        context.waker().wake_by_ref();
                    }
                    while now().since(begun) < Duration::from_millis(5) {}
                    computed.set(now().since(begun));
                    Poll::Pending
                })
            };
            if !within {
                let slot = executor.add_slot();
                executor.free.push(slot);
                executor.slots[slot as usize].waker.wake_by_ref();
            }
            assert!(executor.start(budget, make).is_none());
            let (meta, output) = executor.poll_next().unwrap().expect("it ends at its second poll");
            assert_eq!(output, Ok(()));
            let after = now().since(begun).saturating_sub(computed.get());
            let waited = meta.budget().waited();
            assert!(waited <= after, "{waited:?} charged of {after:?} after it had computed");
        }
    }

    #[test]
    fn room_is_bounded() {
        let (mut executor, _, _) = executor(2);
        executor.start(1_u32, || rounds(1));
        assert!(executor.has_room());
        executor.start(2, || rounds(1));
        assert!(!executor.has_room());
    }

    #[test]
    fn a_wake_from_another_thread_rings_only_a_sleeper_and_only_once() {
        let (mut executor, doorbell, rung) = executor(2);
        let (send, receive) = std::sync::mpsc::channel::<Waker>();
        let mut first = true;
        let hand_out = std::future::poll_fn(move |context| {
            if std::mem::replace(&mut first, false) {
                send.send(context.waker().clone()).unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        });
        assert_eq!(executor.start(7_u32, || hand_out), None);
        let waker = receive.recv().unwrap();
        doorbell.lie_down();
        std::thread::spawn(move || {
            waker.wake_by_ref();
            waker.wake_by_ref();
        })
        .join()
        .unwrap();
        assert_eq!(rung.load(SeqCst), 1);
        assert!(executor.ready.is_marked());
        assert_eq!(executor.poll_next(), Some(Some((7, Ok(())))));
        assert_eq!(executor.poll_next(), None);
    }

    /// A hundred tasks queue for a lock within an hour each, and get it, or are dropped.
    #[test]
    fn no_alarm_outlives_its_wait() {
        let timers = install_timers();
        let lock = tailwater_sync::task::Mutex::new(());
        let (mut executor, _, _) = executor(101);
        let held = lock.try_lock().expect("it is free");
        let hour = TaskBudget::new(budget::Budget::new(Duration::from_secs(3_600)));
        for _ in 0..100 {
            let make = || async { lock.lock_within_budget().await.map(drop) };
            assert!(executor.start(hour.alarm(&LOCK_ALARM), make).is_none());
        }
        assert_eq!(timers.len(), 100);
        drop(held);
        for left in (50..100).rev() {
            let (_, output) = executor.poll_next().unwrap().expect("it has the lock");
            assert_eq!((output, timers.len()), (Ok(Ok(())), left));
        }
        drop(executor);
        assert_eq!(timers.next(), None);
    }

    /// Tasks that wait for a lock or an hour at most, whichever is first, get the lock; then one of the same
    /// slots wants a lock that it holds, which is seen if no clone of the slot's waker was left.
    #[test]
    fn no_timer_outlives_its_sleep() {
        let timers = install_timers();
        let lock = tailwater_sync::task::Mutex::new(());
        let (mut executor, _, _) = executor(100);
        let select = async |twice: bool| {
            let _first = if twice { lock.try_lock() } else { None };
            let mut hour = std::pin::pin!(crate::time::sleep(Duration::from_secs(3_600)));
            let mut locked = std::pin::pin!(lock.lock());
            std::future::poll_fn(|context| match locked.as_mut().poll(context) {
                Poll::Ready(_) => Poll::Ready(()),
                Poll::Pending if twice => Poll::Pending,
                Poll::Pending => hour.as_mut().poll(context),
            })
            .await;
        };
        let held = lock.try_lock().expect("it is free");
        for id in 0..100_u32 {
            assert_eq!(executor.start(id, || select(false)), None);
        }
        for slot in &executor.slots {
            slot.waker.wake_by_ref();
        }
        while let Some(polled) = executor.poll_next() {
            assert_eq!(polled, None);
        }
        assert_eq!(timers.len(), 100, "each was polled twice");
        drop(held);
        for left in (0..100).rev() {
            let (_, output) = executor.poll_next().unwrap().expect("it has the lock");
            assert_eq!((output, timers.len()), (Ok(()), left));
        }
        if cfg!(debug_assertions) {
            assert_eq!(executor.start(100, || select(true)), Some((100, Err(Panicked))));
        }
    }
}
