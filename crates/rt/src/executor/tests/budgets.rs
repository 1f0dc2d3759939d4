//! What tasks are charged for waiting, and the alarms and timers of their waits.

use super::*;
use crate::time::now;
use crate::timers::{LOCK_ALARM, install_timers};
use std::cell::Cell;
use tailwater_core::Instant;

/// Ten tasks, each of which deducts some seconds, on one thread whose own context has no budget.
#[test]
fn each_task_has_the_budget_it_came_with_at_every_poll() {
    let second = Duration::from_secs(1);
    // Without stamps: what they wait for their turns is not deducted, so that the sums are exact.
    let (mut executor, _, _) = executor_with(10, false);
    let spend = async |seconds: u32| {
        for _ in 0..seconds {
            budget::deduct(second);
            crate::time::yield_now().await;
        }
        budget::current().map(|budget| budget.left())
    };
    for seconds in 0..10 {
        let budget = TaskBudget::new(budget::Budget::new(100 * second));
        let _ = executor.start(budget, || spend(seconds));
    }
    let ended = run(&mut executor);
    for (seconds, (meta, output)) in (1..).zip(&ended) {
        assert_eq!(meta.budget().waited(), seconds * second);
        assert_eq!(*output, Ok(Some(meta.budget().left())));
    }
    assert_eq!((ended.len(), budget::current()), (9, None));
}

/// Spins until the clock has moved on, then says when it stopped.
fn compute() -> Instant {
    let begun = now();
    while now().nanos_since(begun) < 1_000_000 {}
    now()
}

/// The slot's waker, as an alarm of a former task or another thread has it, rings while a task computes:
/// before its first poll, or within it.
#[test]
fn computing_is_not_charged_whatever_rings_meanwhile() {
    for within in [false, true] {
        let budget = TaskBudget::new(budget::Budget::new(Duration::from_secs(1_000_000)));
        let computed = Cell::new(None);
        let mut executor = executor(1);
        let make = || {
            poll_fn(|context: &mut Context<'_>| {
                if computed.get().is_some() {
                    return Poll::Ready(());
                }
                if within {
                    context.waker().wake_by_ref();
                }
                computed.set(Some(compute()));
                Poll::Pending
            })
        };
        if !within {
            let slot = executor.add_slot();
            executor.free.push(slot);
            executor.slots[slot as usize].waker.wake_by_ref();
        }
        start(&mut executor, budget, make);
        let (meta, output) = executor.poll_next().unwrap().expect("it ends at its second poll");
        assert_eq!(output, Ok(()));
        // No limit of time: it was in the queue between these two instants, however far apart.
        let most = now().since(computed.get().expect("it computed"));
        let waited = meta.budget().waited();
        assert!(waited <= most, "{waited:?} charged of {most:?} after it had computed");
    }
}

/// A hundred tasks queue for a lock within an hour each, and get it, or are dropped.
#[test]
fn no_alarm_outlives_its_wait() {
    let timers = install_timers();
    let lock = tailwater_sync::task::Mutex::new(());
    let mut executor = executor(101);
    let held = lock.try_lock().expect("it is free");
    let hour = TaskBudget::new(budget::Budget::new(Duration::from_secs(3_600)));
    for _ in 0..100 {
        let make = || async { lock.lock_within_budget().await.map(drop) };
        start(&mut executor, hour.alarm(&LOCK_ALARM), make);
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
    let mut executor = executor(100);
    let select = async |twice: bool| {
        let _first = if twice { lock.try_lock() } else { None };
        let mut hour = std::pin::pin!(crate::time::sleep(Duration::from_secs(3_600)));
        let mut locked = std::pin::pin!(lock.lock());
        poll_fn(|context| match locked.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending if twice => Poll::Pending,
            Poll::Pending => hour.as_mut().poll(context),
        })
        .await;
    };
    let held = lock.try_lock().expect("it is free");
    for id in 0..100_u32 {
        start(&mut executor, id, || select(false));
    }
    for slot in &executor.slots {
        slot.waker.wake_by_ref();
    }
    assert_eq!(run(&mut executor), []);
    assert_eq!(timers.len(), 100, "each was polled twice");
    drop(held);
    for left in (0..100).rev() {
        let (_, output) = executor.poll_next().unwrap().expect("it has the lock");
        assert_eq!((output, timers.len()), (Ok(()), left));
    }
    if cfg!(debug_assertions) {
        let ended = executor.start(100, || select(true));
        assert_eq!(ended, Started::Finished(100, Err(Panicked)));
    }
}
