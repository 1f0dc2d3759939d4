//! Each lock in each case. A case returns nanoseconds per acquisition and panics if a count is wrong.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tailwater_sync::budget::{self, Budget};
use tailwater_sync::{Mutex, RwLock, Semaphore, task};

/// One lock in one situation.
pub(crate) struct Case {
    pub(crate) case: &'static str,
    pub(crate) lock: &'static str,
    /// The lock of the same case that it is compared with.
    pub(crate) twin: &'static str,
    pub(crate) run: fn(u32) -> f64,
}

const fn case(
    case: &'static str,
    lock: &'static str,
    twin: &'static str,
    run: fn(u32) -> f64,
) -> Case {
    Case { case, lock, twin, run }
}

/// Nanoseconds per call of `$step`, which takes `$lock`; `$made` is checked to count the calls.
macro_rules! alone {
    ($made:expr, |$lock:ident| $step:expr) => {
        |times| {
            let $lock = $made;
            let start = Instant::now();
            for _ in 0..times {
                black_box($step);
            }
            per_call(start, times)
        }
    };
}

/// The same with two threads; `$read` yields the count, which must be right.
macro_rules! two {
    ($made:expr, |$lock:ident| $step:expr, $read:expr) => {
        |times| {
            let $lock = $made;
            let barrier = Barrier::new(2);
            let work = || {
                barrier.wait();
                (0..times).for_each(|_| $step);
            };
            let start = Instant::now();
            std::thread::scope(|scope| {
                scope.spawn(work);
                work();
            });
            let ns = per_call(start, 2 * times);
            assert_eq!($read, 2 * times, "a count was lost");
            ns
        }
    };
}

pub(crate) const CASES: &[Case] = &[
    case(
        "uncontended",
        "tailwater mutex",
        "parking_lot mutex",
        alone!(black_box(Mutex::new(0_u32)), |lock| *lock.lock() += 1),
    ),
    case("uncontended", "tailwater mutex, budget", "parking_lot mutex", within),
    case(
        "uncontended",
        "parking_lot mutex",
        "",
        alone!(black_box(parking_lot::Mutex::new(0_u32)), |lock| *lock.lock() += 1),
    ),
    case(
        "uncontended",
        "std mutex",
        "parking_lot mutex",
        alone!(black_box(std::sync::Mutex::new(0_u32)), |lock| *lock.lock().unwrap() += 1),
    ),
    case(
        "uncontended",
        "tailwater read",
        "parking_lot read",
        alone!(black_box(RwLock::new(0_u32)), |lock| *lock.read()),
    ),
    case(
        "uncontended",
        "parking_lot read",
        "",
        alone!(black_box(parking_lot::RwLock::new(0_u32)), |lock| *lock.read()),
    ),
    case(
        "uncontended",
        "tailwater write",
        "parking_lot write",
        alone!(black_box(RwLock::new(0_u32)), |lock| *lock.write() += 1),
    ),
    case(
        "uncontended",
        "parking_lot write",
        "",
        alone!(black_box(parking_lot::RwLock::new(0_u32)), |lock| *lock.write() += 1),
    ),
    case(
        "uncontended",
        "tailwater semaphore",
        "tokio try_acquire",
        alone!(black_box(Semaphore::new(1)), |lock| drop(lock.acquire())),
    ),
    case(
        "uncontended",
        "tokio try_acquire",
        "",
        alone!(black_box(tokio::sync::Semaphore::new(1)), |lock| drop(lock.try_acquire().unwrap())),
    ),
    case(
        "uncontended",
        "tailwater task mutex",
        "tokio mutex",
        alone!(black_box(task::Mutex::new(0_u32)), |lock| *now(lock.lock()) += 1),
    ),
    case(
        "uncontended",
        "tokio mutex",
        "",
        alone!(black_box(tokio::sync::Mutex::new(0_u32)), |lock| *now(lock.lock()) += 1),
    ),
    case(
        "uncontended",
        "tailwater task read",
        "tokio read",
        alone!(black_box(task::RwLock::new(0_u32)), |lock| *now(lock.read())),
    ),
    case(
        "uncontended",
        "tokio read",
        "",
        alone!(black_box(tokio::sync::RwLock::new(0_u32)), |lock| *now(lock.read())),
    ),
    case(
        "contended",
        "tailwater mutex",
        "parking_lot mutex",
        two!(Mutex::new(0_u32), |lock| *lock.lock() += 1, *lock.lock()),
    ),
    case(
        "contended",
        "parking_lot mutex",
        "",
        two!(parking_lot::Mutex::new(0_u32), |lock| *lock.lock() += 1, *lock.lock()),
    ),
    case(
        "contended",
        "std mutex",
        "parking_lot mutex",
        two!(
            std::sync::Mutex::new(0_u32),
            |lock| *lock.lock().unwrap() += 1,
            *lock.lock().unwrap()
        ),
    ),
    case("refused", "tailwater mutex, budget", "parking_lot try_lock", refused),
    case("refused", "parking_lot try_lock", "", failed_try),
];

fn within(times: u32) -> f64 {
    let lock = black_box(Mutex::new(0_u32));
    budget::scope(Budget::new(Duration::from_secs(1)), || {
        let start = Instant::now();
        for _ in 0..times {
            *lock.lock_within_budget().expect("it is free") += 1;
        }
        per_call(start, times)
    })
}

fn refused(times: u32) -> f64 {
    let lock = Mutex::new(());
    let _held = lock.try_lock();
    // In another thread, as in life: a thread does not ask for what it holds.
    let ask = || {
        budget::scope(Budget::new(Duration::ZERO), || {
            let start = Instant::now();
            for _ in 0..times {
                assert!(black_box(lock.lock_within_budget()).is_err());
            }
            per_call(start, times)
        })
    };
    std::thread::scope(|scope| scope.spawn(ask).join().expect("every call is refused"))
}

fn failed_try(times: u32) -> f64 {
    let lock = parking_lot::Mutex::new(());
    let _held = lock.lock();
    let start = Instant::now();
    for _ in 0..times {
        assert!(black_box(lock.try_lock()).is_none());
    }
    per_call(start, times)
}

/// The output of a future that need not wait.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the lock is free"),
    }
}

fn per_call(start: Instant, times: u32) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}
