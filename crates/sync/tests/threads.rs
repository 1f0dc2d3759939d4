//! Locks for threads: exclusion under stress, budgets, and what happens to those who misuse them.

#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_sync::budget::{self, Asqm, Budget, Policy, TaskBudget};
use tailwater_sync::{Condvar, Mutex, Refused, RwLock, Semaphore, report};

const MICRO: Duration = Duration::from_micros(1);
const LONG: Duration = Duration::from_secs(3_600);

/// Runs `work` on so many threads with small stacks and waits for them.
fn crowd(threads: usize, work: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for index in 0..threads {
            let work = &work;
            let builder = thread::Builder::new().stack_size(64 * 1024);
            builder.spawn_scoped(scope, move || work(index)).unwrap();
        }
    });
}

#[test]
fn nothing_is_lost_when_many_threads_count() {
    let (plain, refused) = (Mutex::new(0), AtomicUsize::new(0));
    crowd(8, |index| {
        for _ in 0..2_000 {
            if index % 2 == 0 {
                *plain.lock() += 1;
                continue;
            }
            match budget::scope(Budget::new(MICRO), || {
                plain.lock_within_budget().map(|mut n| *n += 1)
            }) {
                Ok(()) => {}
                Err(_) => drop(refused.fetch_add(1, Ordering::Relaxed)),
            }
        }
    });
    assert_eq!(plain.into_inner() + refused.into_inner(), 16_000);
}

#[test]
fn thousands_of_threads_get_their_turn() {
    let (mutex, held) = (Mutex::named("crowd", 0), AtomicUsize::new(0));
    let first = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            crowd(2_000, |_| {
                held.fetch_add(1, Ordering::Relaxed);
                *mutex.lock() += 1;
            });
        });
        while held.load(Ordering::Relaxed) < 2_000 {
            thread::yield_now();
        }
        drop(first);
    });
    assert_eq!(mutex.into_inner(), 2_000);
    let stats = report().into_iter().find(|stats| stats.name == "crowd").unwrap();
    assert!(stats.contended > 0 && stats.gave_up == 0 && stats.refused == 0, "{stats:?}");
    assert!(stats.wait_p50 <= stats.wait_p99 && stats.wait_p99 <= stats.wait_max, "{stats:?}");
}

#[test]
fn a_free_lock_never_looks_at_a_budget() {
    let (mutex, rwlock, semaphore) = (Mutex::new(()), RwLock::new(()), Semaphore::new(1));
    budget::scope(Budget::new(Duration::ZERO), || {
        drop(mutex.lock_within_budget().unwrap());
        drop(rwlock.read_within_budget().unwrap());
        drop(rwlock.write_within_budget().unwrap());
        drop(semaphore.acquire_within_budget().unwrap());
    });
}

#[test]
fn a_budget_of_zero_is_refused_at_every_taken_lock() {
    let (mutex, rwlock) = (Mutex::named("zero", ()), RwLock::new(()));
    let (semaphore, condvar) = (Semaphore::new(1), Condvar::new());
    let _held = (mutex.lock(), rwlock.write(), semaphore.acquire());
    let no = Refused::OnEntry { oldest_wait: Duration::ZERO, left: Duration::ZERO };
    thread::scope(|scope| {
        scope.spawn(|| {
            budget::scope(Budget::new(Duration::ZERO), || {
                assert_eq!(mutex.lock_within_budget().unwrap_err(), no);
                assert_eq!(rwlock.read_within_budget().unwrap_err(), no);
                assert_eq!(rwlock.write_within_budget().unwrap_err(), no);
                assert_eq!(semaphore.acquire_within_budget().unwrap_err(), no);
                let own = Mutex::new(7);
                let mut guard = own.lock();
                assert_eq!(condvar.wait_within_budget(&mut guard), Err(no));
                assert_eq!(*guard, 7);
            });
        });
    });
    assert_eq!(no.reason(), Reason::Lock);
    assert_eq!(report().into_iter().find(|stats| stats.name == "zero").unwrap().refused, 1);
}

#[test]
fn who_is_queued_gives_up_when_his_budget_ends_and_pays_for_it() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            budget::scope(Budget::new(MICRO), || {
                let Err(Refused::GaveUp { waited }) = mutex.lock_within_budget() else {
                    panic!("nobody else waits, so it joins; the holder waits for it to give up")
                };
                assert!(waited >= MICRO);
                assert_eq!(budget::current().unwrap().waited(), waited);
            });
        });
    });
    drop(held);
    drop(mutex.try_lock().expect("who gave up left nothing behind"));
}

#[test]
fn a_queue_older_than_what_is_left_refuses_on_entry() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| drop(mutex.lock()));
        let asking = scope.spawn(|| {
            // Gives up until the other thread has joined and grown old enough.
            loop {
                let ask = || mutex.lock_within_budget().map(drop);
                if let Err(Refused::OnEntry { oldest_wait, left }) =
                    budget::scope(Budget::new(MICRO), ask)
                {
                    break (oldest_wait, left);
                }
            }
        });
        let (oldest, left) = asking.join().unwrap();
        assert!(oldest > left && left == MICRO, "{oldest:?}, {left:?}");
        drop(held);
    });
}

#[test]
fn without_a_budget_nothing_is_refused() {
    let mutex = Mutex::new(0);
    let held = mutex.lock();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| mutex.lock_within_budget().map(|mut n| *n += 1));
        drop(held);
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
}

#[test]
fn budgets_nest_are_not_inherited_and_survive_a_panic() {
    let left = || budget::current().map(|budget| budget.left());
    let mut task = TaskBudget::new(Budget::new(LONG)).policy(Policy::Asqm(Asqm::PAPER));
    {
        let _entered = budget::enter(&mut task);
        budget::deduct(MICRO);
        thread::scope(|scope| assert_eq!(scope.spawn(left).join().unwrap(), None));
        budget::exempt(|| assert_eq!(left(), None));
        budget::scope(Budget::new(MICRO), || assert_eq!(left(), Some(MICRO)));
        let work = || budget::scope(Budget::new(MICRO), || panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe::<fn()>(work)).is_err());
        assert_eq!(left(), Some(LONG - MICRO));
    }
    assert_eq!((left(), task.budget().waited()), (None, MICRO));
}

#[test]
fn a_panic_unlocks_and_poisons_nothing() {
    let (mutex, rwlock) = (Mutex::new(1), RwLock::new(1));
    let work = AssertUnwindSafe(|| {
        let _held = (mutex.lock(), rwlock.write());
        panic!("on purpose");
    });
    assert!(catch_unwind(work).is_err());
    assert_eq!((*mutex.lock(), *rwlock.read()), (1, 1));
}

#[test]
fn readers_share_and_writers_do_not() {
    let rwlock = RwLock::named("stress-rwlock", [0_u64; 4]);
    crowd(8, |index| {
        for _ in 0..500 {
            if index < 2 {
                rwlock.write().iter_mut().for_each(|n| *n += 1);
            } else {
                let seen = rwlock.read();
                assert!(seen.iter().all(|n| *n == seen[0]), "torn: {seen:?}");
            }
        }
    });
    assert_eq!(rwlock.into_inner(), [1_000; 4]);
}

#[test]
fn a_semaphore_never_lets_in_more_than_its_permits() {
    let (semaphore, inside) = (Semaphore::new(3), AtomicUsize::new(0));
    crowd(16, |_| {
        for _ in 0..200 {
            let _permit = semaphore.acquire();
            assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
            thread::yield_now();
            inside.fetch_sub(1, Ordering::SeqCst);
        }
    });
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn every_notification_finds_its_waiter() {
    let (mutex, condvar) = (Mutex::new(0_usize), Condvar::named("items"));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut items = mutex.lock();
                    while *items == 0 {
                        // Some give up; a notification that reached them was not for nothing.
                        let _ = budget::scope(Budget::new(MICRO), || {
                            condvar.wait_within_budget(&mut items)
                        });
                        if *items == 0 {
                            condvar.wait(&mut items);
                        }
                    }
                    *items -= 1;
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..2_000 {
                *mutex.lock() += 1;
                condvar.notify_one();
            }
        });
    });
    assert_eq!(mutex.into_inner(), 0);
}

#[cfg(debug_assertions)]
mod in_debug_builds {
    use super::*;

    fn message(work: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn locking_twice_is_named() {
        let mutex = Mutex::named("index", ());
        let twice = message(|| {
            let _first = mutex.lock();
            let _second = mutex.lock();
        });
        assert!(twice.contains("`index` is wanted again"), "{twice}");
        drop(mutex.lock());
    }

    #[test]
    fn two_orders_are_named_even_without_a_deadlock() {
        let (items, slabs) = (Mutex::named("items", ()), RwLock::named("slabs", ()));
        let between = Mutex::new(());
        {
            let _first = items.lock();
            let _second = between.lock();
        }
        {
            let _first = between.lock();
            let _second = slabs.read();
        }
        let reverse = message(|| {
            let _first = slabs.write();
            let _second = items.lock();
        });
        assert!(reverse.contains("`items`") && reverse.contains("`slabs`"), "{reverse}");
    }
}
