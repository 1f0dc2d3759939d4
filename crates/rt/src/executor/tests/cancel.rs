//! Tasks that are cancelled while they wait.

use super::*;
use crate::timers::{LOCK_ALARM, install_timers};
use std::cell::Cell;
use std::future::pending;

fn hour() -> TaskBudget {
    TaskBudget::new(budget::Budget::new(Duration::from_secs(3_600)))
}

#[test]
fn a_cancelled_task_is_dropped_and_its_slot_free() {
    let mut executor = executor(1);
    let held = std::rc::Rc::new(());
    let key = start(&mut executor, 7_u32, || {
        let held = held.clone();
        async move {
            let _held = held;
            pending::<u32>().await
        }
    });
    assert!(!executor.has_room());
    assert_eq!(executor.cancel(key), Some(7));
    assert_eq!((executor.live(), std::rc::Rc::strong_count(&held)), (0, 1));
}

#[test]
fn a_key_of_a_task_that_has_ended_cancels_nothing() {
    let mut executor = executor(2);
    let first = start(&mut executor, 1_u32, || rounds(1));
    assert_eq!(run(&mut executor), [(1, Ok(1))]);
    assert_eq!(executor.cancel(first), None, "the slot is free");
    let second = start(&mut executor, 2, || rounds(1));
    assert_eq!(second.slot, first.slot);
    assert_eq!(executor.cancel(first), None, "it is another's slot");
    assert_eq!(executor.cancel(second), Some(2));
    assert_eq!(executor.cancel(second), None);
    assert_eq!((run(&mut executor), executor.live()), (vec![], 0));
}

/// A clone of the cancelled task's waker wakes a free slot, and then the slot's next task once too often.
#[test]
fn waking_a_cancelled_task_does_no_harm() {
    let handed = std::cell::RefCell::new(None);
    let polls = Cell::new(0);
    let mut executor = executor(1);
    let make = || {
        poll_fn(|context: &mut Context<'_>| {
            handed.borrow_mut().get_or_insert_with(|| context.waker().clone());
            polls.set(polls.get() + 1);
            if polls.get() < 4 { Poll::Pending } else { Poll::Ready(()) }
        })
    };
    let key = start(&mut executor, 1_u32, make);
    let stale: Waker = handed.borrow().clone().expect("the first poll handed it out");
    stale.wake_by_ref();
    assert_eq!(executor.cancel(key), Some(1));
    stale.wake_by_ref();
    assert_eq!(executor.poll_next(), Some(None), "the slot is free");
    assert_eq!(executor.poll_next(), None);
    start(&mut executor, 2, make);
    stale.wake_by_ref();
    assert_eq!((executor.poll_next(), polls.get()), (Some(None), 3));
    stale.wake();
    assert_eq!(run(&mut executor), [(2, Ok(()))]);
}

/// Two tasks queue for a lock: one that is cancelled leaves the queue with its alarm; one that has been
/// granted the lock and is cancelled before it notices passes it on.
#[test]
fn a_cancelled_wait_for_a_lock_leaves_its_queue() {
    let timers = install_timers();
    let lock = tailwater_sync::task::Mutex::new(());
    let mut executor = executor(3);
    let held = lock.try_lock().expect("it is free");
    let make = || async { lock.lock_within_budget().await.map(drop) };
    let mut wait = || start(&mut executor, hour().alarm(&LOCK_ALARM), make);
    let (first, second, _third) = (wait(), wait(), wait());
    assert_eq!(timers.len(), 3);
    assert!(executor.cancel(first).is_some());
    drop(held);
    assert!(executor.cancel(second).is_some(), "it was granted and has not noticed");
    let ended = run(&mut executor);
    assert_eq!((ended.len(), ended[0].1), (1, Ok(Ok(()))));
    assert_eq!((timers.len(), lock.try_lock().is_some()), (0, true));
}

/// Says, when dropped, what is left of the present budget.
struct Farewell<'a>(&'a Cell<Option<Duration>>);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        budget::deduct(Duration::from_secs(600));
        self.0.set(budget::current().map(|budget| budget.left()));
    }
}

/// However a task ends, its destructors run within its own budget, and what they spend is told.
#[test]
fn destructors_spend_the_budget_of_their_task() {
    let left = Cell::new(None);
    let (mut executor, _, _) = executor_with(1, false);
    let make = |ends: bool| {
        let farewell = Farewell(&left);
        poll_fn(move |_| {
            let _ = &farewell;
            if ends { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    let Started::Finished(ended, Ok(())) = executor.start(hour(), || make(true)) else {
        panic!("it never waits");
    };
    let key = start(&mut executor, hour(), || make(false));
    let cancelled = executor.cancel(key).expect("it waits");
    for meta in [ended, cancelled] {
        assert_eq!(meta.budget().left(), Duration::from_secs(3_000));
    }
    assert_eq!((left.get(), budget::current()), (Some(Duration::from_secs(3_000)), None));
}
