//! Locks for tasks, polled by hand: order, dropping at any time, budgets without a timer and with one.

#![cfg(not(loom))]

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater_core::Rng;
use tailwater_sync::Refused;
use tailwater_sync::budget::{self, Alarm, AlarmKey, Budget, TaskBudget};
use tailwater_sync::task::{Mutex, RwLock, Semaphore, Watch};

const MICRO: Duration = Duration::from_micros(1);

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll(future, Waker::noop())
}

#[test]
fn first_come_first_served_and_nobody_barges() {
    let mutex = Mutex::new(Vec::new());
    let held = mutex.try_lock().unwrap();
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    let (mut one, mut two) = (pin!(mutex.lock()), pin!(mutex.lock()));
    assert!(poll(one.as_mut(), &waker).is_pending());
    assert!(poll_once(two.as_mut()).is_pending());
    drop(held);
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert!(mutex.try_lock().is_none(), "it belongs to the first");
    assert!(poll_once(two.as_mut()).is_pending());
    let Poll::Ready(mut first) = poll_once(one.as_mut()) else { panic!("handed over") };
    first.push(1);
    drop(first);
    assert!(poll_once(two.as_mut()).is_ready());
}

#[test]
fn a_dropped_waiter_passes_on_what_it_was_given() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let bell = Arc::new(Bell::default());
    let mut next = pin!(mutex.lock());
    {
        let mut dropped = pin!(mutex.lock());
        assert!(poll_once(dropped.as_mut()).is_pending());
        assert!(poll(next.as_mut(), &Waker::from(bell.clone())).is_pending());
        drop(held);
        // It has been granted, and is dropped without having noticed.
    }
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert!(poll_once(next.as_mut()).is_ready());
    assert!(mutex.try_lock().is_some());
}

#[test]
fn a_writer_that_leaves_lets_the_readers_behind_it_in() {
    let rwlock = RwLock::new(());
    let mut reading = pin!(rwlock.read());
    let Poll::Ready(reader) = poll_once(reading.as_mut()) else { panic!("it is free") };
    let mut writing = Box::pin(rwlock.write());
    let mut behind = pin!(rwlock.read());
    assert!(poll_once(writing.as_mut()).is_pending());
    assert!(poll_once(behind.as_mut()).is_pending(), "no reader passes a writer");
    drop(writing);
    assert!(poll_once(behind.as_mut()).is_ready());
    drop(reader);
}

#[test]
fn ten_thousand_waiters_in_any_order_of_leaving() {
    let (semaphore, mut rng) = (Semaphore::named("ten-thousand", 2), Rng::from_seed(11));
    let held = [semaphore.try_acquire().unwrap(), semaphore.try_acquire().unwrap()];
    let mut waiting: Vec<_> = (0..10_000).map(|_| Box::pin(semaphore.acquire())).collect();
    for future in &mut waiting {
        assert!(poll_once(future.as_mut()).is_pending());
    }
    waiting.retain(|_| rng.chance(0.5));
    drop(held);
    let all = waiting.len();
    let mut served = 0;
    for mut future in waiting {
        // Every other is dropped although it was granted.
        if rng.chance(0.5) {
            assert!(poll_once(future.as_mut()).is_ready());
            served += 1;
        }
    }
    assert!(served > all / 4);
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_zero_budget_is_refused_and_none_waits() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let mut free = pin!(mutex.lock_within_budget());
    assert!(poll_once(free.as_mut()).is_pending());
    assert_eq!(free.give_up_after(), None);
    let zero = TaskBudget::new(Budget::new(Duration::ZERO));
    let mut refused =
        pin!(budget::follow(zero, async { mutex.lock_within_budget().await.map(drop) }));
    let answer = poll_once(refused.as_mut());
    assert!(matches!(answer, Poll::Ready(Err(Refused::OnEntry { .. }))), "{answer:?}");
    drop(held);
    assert!(matches!(poll_once(free.as_mut()), Poll::Ready(Ok(_))));
}

/// What was asked for, to be rung by the test, and what was cancelled.
#[derive(Default)]
struct Asked {
    asked: StdMutex<Vec<(Duration, Waker)>>,
    cancelled: StdMutex<Vec<AlarmKey>>,
}

impl Alarm for Asked {
    fn wake_after(&self, after: Duration, waker: &Waker) -> Option<AlarmKey> {
        let mut asked = self.asked.lock().unwrap();
        asked.push((after, waker.clone()));
        Some([asked.len() as u64; 2])
    }

    fn cancel(&self, key: AlarmKey) {
        self.cancelled.lock().unwrap().push(key);
    }
}

fn asked() -> &'static Asked {
    Box::leak(Box::default())
}

#[test]
fn an_alarm_is_set_once_and_the_waiter_gives_up_and_pays() {
    let alarm = asked();
    let mutex = Mutex::named("alarmed", ());
    let held = mutex.try_lock().unwrap();
    let mut task = TaskBudget::new(Budget::new(MICRO)).alarm(alarm);
    let mut waiting = pin!(mutex.lock_within_budget());
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    let refused = loop {
        let _entered = budget::enter(&mut task);
        if let Poll::Ready(answer) = poll(waiting.as_mut(), &waker) {
            break answer.unwrap_err();
        }
    };
    let Refused::GaveUp { waited } = refused else { panic!("{refused}") };
    assert_eq!(task.budget().waited(), waited);
    assert!(waited >= MICRO && task.budget().left().is_zero());
    let asked = std::mem::take(&mut *alarm.asked.lock().unwrap());
    assert_eq!(asked.iter().map(|one| one.0).collect::<Vec<_>>(), [MICRO]);
    asked.into_iter().for_each(|(_, waker)| waker.wake());
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    drop(held);
    assert!(mutex.try_lock().is_some());
}

/// However the wait ends: served, given up or dropped; and never before.
#[test]
fn an_alarm_is_cancelled_with_its_wait() {
    let (mutex, alarm) = (Mutex::new(()), asked());
    let cancelled = || alarm.cancelled.lock().unwrap().len();
    let held = mutex.try_lock().unwrap();
    let task = |left| TaskBudget::new(Budget::new(left)).alarm(alarm);
    let lock = || async { mutex.lock_within_budget().await.map(drop) };
    let mut gives_up = pin!(budget::follow(task(MICRO), lock()));
    while poll_once(gives_up.as_mut()).is_pending() {
        assert_eq!(cancelled(), 0);
    }
    assert_eq!(cancelled(), 1);
    let hour = Duration::from_secs(3_600);
    let mut served = pin!(budget::follow(task(hour), lock()));
    let mut dropped = Box::pin(budget::follow(task(hour), lock()));
    assert!(poll_once(served.as_mut()).is_pending() && poll_once(dropped.as_mut()).is_pending());
    assert_eq!(cancelled(), 1);
    drop(dropped);
    assert_eq!(cancelled(), 2);
    drop(held);
    assert_eq!(poll_once(served.as_mut()), Poll::Ready(Ok(())));
    assert_eq!(*alarm.cancelled.lock().unwrap(), [[1; 2], [3; 2], [2; 2]]);
    assert_eq!(poll_once(pin!(budget::follow(task(hour), lock()))), Poll::Ready(Ok(())));
    assert_eq!(alarm.asked.lock().unwrap().len(), 3, "a free lock sets none");
}

/// The alarm woke the task of the first poll for ever, and the task that waited gave up when it was polled by chance.
#[test]
fn an_alarm_goes_with_its_wait_to_another_task() {
    let (mutex, alarm) = (Mutex::new(()), asked());
    let held = mutex.try_lock().unwrap();
    let hour = Duration::from_secs(3_600);
    let task = TaskBudget::new(Budget::new(hour)).alarm(alarm);
    let lock = async { mutex.lock_within_budget().await.map(drop) };
    let mut waiting = pin!(budget::follow(task, lock));
    let bells = [Arc::new(Bell::default()), Arc::new(Bell::default())];
    for at in [0, 0, 1, 1] {
        assert!(poll(waiting.as_mut(), &Waker::from(bells[at].clone())).is_pending());
    }
    assert_eq!(*alarm.cancelled.lock().unwrap(), [[1; 2]]);
    let asked = std::mem::take(&mut *alarm.asked.lock().unwrap());
    assert!(asked.len() == 2 && asked[1].0 <= asked[0].0, "what is left of the hour");
    asked.into_iter().for_each(|(_, waker)| waker.wake());
    assert_eq!(bells.map(|bell| bell.0.load(Ordering::SeqCst)), [1, 1]);
    drop(held);
    assert_eq!(poll_once(waiting.as_mut()), Poll::Ready(Ok(())));
}

#[test]
fn a_panic_of_a_task_unlocks_and_poisons_nothing() {
    let (mutex, rwlock, semaphore) = (Mutex::new(1), RwLock::new(1), Semaphore::new(1));
    let mut task = Box::pin(async {
        let _held = (mutex.lock().await, rwlock.write().await, semaphore.acquire().await);
        std::future::ready(()).await;
        panic!("on purpose");
    });
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(task.as_mut())));
    assert!(polled.is_err());
    assert_eq!(*mutex.try_lock().unwrap(), 1);
    assert!(matches!(poll_once(pin!(rwlock.read())), Poll::Ready(value) if *value == 1));
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn a_budget_follows_its_task_and_no_other() {
    let left = || budget::current().map(|budget| budget.left());
    let task = TaskBudget::new(Budget::new(3 * MICRO));
    let mut work = pin!(budget::follow(task, async {
        budget::deduct(MICRO);
        let mut polled = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        left()
    }));
    assert!(poll_once(work.as_mut()).is_pending());
    assert_eq!(left(), None);
    assert_eq!(poll_once(work.as_mut()), Poll::Ready(Some(2 * MICRO)));
}

/// An executor deducts what a woken task waited for its turn; its wait for the lock spans that time.
#[test]
fn a_wait_in_the_run_queue_is_not_charged_to_the_lock_again() {
    let mutex = Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let mut task = TaskBudget::new(Budget::new(Duration::from_secs(3600)));
    let mut waiting = pin!(mutex.lock_within_budget());
    {
        let _entered = budget::enter(&mut task);
        assert!(poll_once(waiting.as_mut()).is_pending());
    }
    drop(held);
    let queued = Duration::from_secs(60);
    {
        let _entered = budget::enter(&mut task);
        budget::deduct(queued);
        assert!(poll_once(waiting.as_mut()).is_ready());
    }
    // The wait itself took less than the minute that is said to have been in the run queue.
    assert_eq!(task.budget().waited(), queued);
}

#[test]
fn threads_that_poll_tasks_lose_no_wake_up() {
    let (mutex, semaphore) = (Mutex::new(0), Semaphore::new(2));
    std::thread::scope(|scope| {
        for seed in 0..6 {
            let (mutex, semaphore) = (&mutex, &semaphore);
            scope.spawn(move || {
                let mut rng = Rng::from_seed(seed);
                for _ in 0..1_000 {
                    if rng.chance(0.3) {
                        // Joins the queue, perhaps, and goes away.
                        drop(poll_once(pin!(mutex.lock())));
                        continue;
                    }
                    block_on(async {
                        let _permit = semaphore.acquire().await;
                        *mutex.lock().await += 1;
                    });
                }
            });
        }
    });
    assert_eq!(semaphore.available(), 2);
    assert!(*mutex.try_lock().unwrap() > 3_000);
}

/// What a thread cleans up when it ends.
struct CleanUp {
    taken: Arc<Mutex<()>>,
    went: Sender<std::thread::Result<()>>,
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        let work = || {
            let free = Mutex::new(());
            assert!(poll_once(pin!(free.lock())).is_ready());
            assert!(poll_once(pin!(self.taken.lock())).is_pending());
            drop(tailwater_sync::Mutex::new(()).lock());
        };
        let all = || {
            budget::exempt(work);
            let _watching = Watch::new().enter(Waker::noop());
            work();
        };
        self.went.send(catch_unwind(AssertUnwindSafe(all))).unwrap();
    }
}

thread_local! {
    static CLEAN_UP: RefCell<Option<CleanUp>> = const { RefCell::new(None) };
}

#[test]
fn clean_up_at_a_threads_end_takes_locks() {
    let taken = Arc::new(Mutex::new(()));
    let _held = taken.try_lock();
    let (went, outcome) = channel();
    let clean_up = CleanUp { taken: taken.clone(), went };
    std::thread::spawn(|| {
        // What a thread has first it drops last: the locks' own locals are gone by then.
        CLEAN_UP.set(Some(clean_up));
        budget::exempt(|| drop(Mutex::new(()).try_lock()));
    });
    outcome.recv().expect("it was dropped").expect("nothing panicked");
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut(), &waker) {
            return output;
        }
        std::thread::park();
    }
}
