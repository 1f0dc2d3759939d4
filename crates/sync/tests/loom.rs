//! Every interleaving, up to three preemptions, of the protocols in `src/gate.rs` and `src/ready/board.rs`:
//! `RUSTFLAGS="--cfg loom" cargo test -p tailwater-sync --release --test loom`.

#![cfg(loom)]

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
#[path = "loom/ready.rs"]
mod ready;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;
use tailwater_sync::budget::{self, Budget};
use tailwater_sync::{Condvar, Mutex, RwLock, Semaphore, task};

fn model(preemptions: usize, work: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 4_000;
    builder.check(work);
}

/// Joins the queue, if it must, and leaves it.
fn poll_and_drop(future: impl Future) {
    let _ = pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn three_threads_at_a_mutex() {
    model(3, || {
        let mutex = Arc::new(Mutex::new(0));
        let threads = [(); 2].map(|()| {
            let mutex = mutex.clone();
            thread::spawn(move || *mutex.lock() += 1)
        });
        *mutex.lock() += 1;
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*mutex.lock(), 3);
    });
}

/// One comes back while the others still queue: it passes them, and the lock is handed over.
#[test]
fn barging_and_handing_over_forget_nobody() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let threads = [(); 2].map(|()| {
            let semaphore = semaphore.clone();
            thread::spawn(move || drop(semaphore.acquire()))
        });
        (0..2).for_each(|_| drop(semaphore.acquire()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(semaphore.available(), 1);
    });
}

/// One waiter gives up while the lock may just be coming to it; the other must get it.
#[test]
fn giving_up_loses_no_wake_up() {
    model(3, || {
        let mutex = Arc::new(Mutex::new(0));
        let impatient = {
            let mutex = mutex.clone();
            thread::spawn(move || {
                budget::scope(Budget::new(Duration::from_nanos(1)), || {
                    mutex.lock_within_budget().map(|mut n| *n += 1).is_ok()
                })
            })
        };
        let patient = {
            let mutex = mutex.clone();
            thread::spawn(move || *mutex.lock() += 1)
        };
        *mutex.lock() += 1;
        patient.join().unwrap();
        let served = usize::from(impatient.join().unwrap());
        assert_eq!(*mutex.lock(), 2 + served);
    });
}

#[test]
fn readers_and_a_writer() {
    model(3, || {
        let rwlock = Arc::new(RwLock::new((0, 0)));
        let writer = {
            let rwlock = rwlock.clone();
            thread::spawn(move || {
                let mut pair = rwlock.write();
                pair.0 += 1;
                pair.1 += 1;
            })
        };
        let reader = {
            let rwlock = rwlock.clone();
            thread::spawn(move || {
                let pair = rwlock.read();
                assert_eq!(pair.0, pair.1);
            })
        };
        let pair = rwlock.read();
        assert_eq!(pair.0, pair.1);
        drop(pair);
        writer.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn two_permits_for_three() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(2));
        let threads = [(); 2].map(|()| {
            let semaphore = semaphore.clone();
            thread::spawn(move || drop(semaphore.acquire()))
        });
        drop(semaphore.acquire());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn a_notification_wakes_its_waiter() {
    model(3, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let notifier = {
            let pair = pair.clone();
            thread::spawn(move || {
                *pair.0.lock() = true;
                pair.1.notify_one();
            })
        };
        let mut is_set = pair.0.lock();
        while !*is_set {
            pair.1.wait(&mut is_set);
        }
        drop(is_set);
        notifier.join().unwrap();
    });
}

#[test]
fn a_dropped_task_passes_the_mutex_on() {
    model(3, || {
        let mutex = Arc::new(task::Mutex::new(0));
        let dropped = {
            let mutex = mutex.clone();
            thread::spawn(move || poll_and_drop(mutex.lock()))
        };
        let waiting = {
            let mutex = mutex.clone();
            thread::spawn(move || block_on(async { *mutex.lock().await += 1 }))
        };
        block_on(async { *mutex.lock().await += 1 });
        dropped.join().unwrap();
        waiting.join().unwrap();
        assert_eq!(*mutex.try_lock().unwrap(), 2);
    });
}

#[test]
fn a_dropped_writer_passes_the_rwlock_on() {
    model(3, || {
        let rwlock = Arc::new(task::RwLock::new(0));
        let dropped = {
            let rwlock = rwlock.clone();
            thread::spawn(move || poll_and_drop(rwlock.write()))
        };
        let reader = {
            let rwlock = rwlock.clone();
            thread::spawn(move || block_on(async { *rwlock.read().await }))
        };
        block_on(async { *rwlock.write().await += 1 });
        dropped.join().unwrap();
        assert!(reader.join().unwrap() <= 1);
    });
}
