//! The one place where the store meets its locks.
//!
//! The store is written once, as `async fn`s over [`Locks`]. With [`Tasks`] a wait suspends the handler
//! of the runtime; with [`Threads`] and [`Plain`] it blocks, so that every future is ready when it is
//! first polled, and [`at_once`] runs it without an executor.

use std::future::Future;
use std::ops::DerefMut;
use std::pin::pin;
use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tailwater_sync::{Refused, task};

/// A family of mutexes.
pub trait Locks: Send + Sync + 'static {
    /// Its mutex.
    type Mutex<T: Send + 'static>: Lock<T>;

    /// Lets time pass while a lock is held. For experiments on machines with too few cores to fill a
    /// lock by computing; the thread-like families compute, [`Tasks`] waits for its loop's timer.
    fn hold(time: Duration) -> impl Future<Output = ()>;
}

/// A mutex of such a family.
pub trait Lock<T>: Send + Sync + 'static {
    /// Unlocks when dropped.
    type Guard<'a>: DerefMut<Target = T>;

    /// With the name under which its waits are reported.
    fn named(name: &str, value: T) -> Self;

    /// Waits for as long as it takes.
    fn lock(&self) -> impl Future<Output = Self::Guard<'_>>;

    /// Waits no longer than the request's budget allows.
    fn lock_within_budget(&self) -> impl Future<Output = Result<Self::Guard<'_>, Refused>>;

    /// Takes it if it is free.
    fn try_lock(&self) -> Option<Self::Guard<'_>>;
}

/// Families that block instead of suspending.
pub trait Blocking: Locks {}

/// Budgeted locks for threads.
#[derive(Debug)]
pub enum Threads {}

/// Budgeted locks for handlers of the runtime. Without a budget they wait for ever, as plain ones do.
#[derive(Debug)]
pub enum Tasks {}

/// The standard library's locks, which know of no budget and refuse nobody: to compare with.
#[derive(Debug)]
pub enum Plain {}

impl Blocking for Threads {}
impl Blocking for Plain {}

/// Runs what a store with [`Blocking`] locks returns, or one of any kind that nobody else uses.
///
/// # Panics
/// When `work` has to wait after all.
pub fn at_once<F: Future>(work: F) -> F::Output {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("work that may suspend needs an executor"),
    }
}

impl Locks for Threads {
    type Mutex<T: Send + 'static> = tailwater_sync::Mutex<T>;

    async fn hold(time: Duration) {
        compute_for(time);
    }
}

impl<T: Send + 'static> Lock<T> for tailwater_sync::Mutex<T> {
    type Guard<'a> = tailwater_sync::MutexGuard<'a, T>;

    fn named(name: &str, value: T) -> Self {
        Self::named(name, value)
    }

    async fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }

    async fn lock_within_budget(&self) -> Result<Self::Guard<'_>, Refused> {
        self.lock_within_budget()
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.try_lock()
    }
}

impl Locks for Tasks {
    type Mutex<T: Send + 'static> = task::Mutex<T>;

    async fn hold(time: Duration) {
        tailwater_rt::time::sleep(time).await;
    }
}

impl<T: Send + 'static> Lock<T> for task::Mutex<T> {
    type Guard<'a> = task::MutexGuard<'a, T>;

    fn named(name: &str, value: T) -> Self {
        Self::named(name, value)
    }

    fn lock(&self) -> impl Future<Output = Self::Guard<'_>> {
        self.lock()
    }

    fn lock_within_budget(&self) -> impl Future<Output = Result<Self::Guard<'_>, Refused>> {
        self.lock_within_budget()
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        self.try_lock()
    }
}

impl Locks for Plain {
    type Mutex<T: Send + 'static> = std::sync::Mutex<T>;

    async fn hold(time: Duration) {
        compute_for(time);
    }
}

impl<T: Send + 'static> Lock<T> for std::sync::Mutex<T> {
    type Guard<'a> = MutexGuard<'a, T>;

    fn named(_name: &str, value: T) -> Self {
        Self::new(value)
    }

    async fn lock(&self) -> Self::Guard<'_> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn lock_within_budget(&self) -> Result<Self::Guard<'_>, Refused> {
        Ok(self.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn try_lock(&self) -> Option<Self::Guard<'_>> {
        match self.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Sleeping is too coarse for the microseconds that this is for.
fn compute_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
