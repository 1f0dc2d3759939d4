//! A mutex for threads.

use crate::Refused;
use crate::primitive::{UnsafeCell, constructor};
use crate::raw::RawMutex;
use crate::stats::Stats;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A mutex for threads that can be refused within a [`crate::budget`].
///
/// A waiter spins for a microsecond, then queues. Threads that happen to run may pass it for about
/// 100 µs, then the lock is handed to it. A panic unlocks and poisons nothing: a request that fails
/// must not fail all that follow, so leave data in order before what may panic, as before every `?`.
///
/// In debug builds, locking twice or in two orders panics with the names of the locks.
pub struct Mutex<T> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves to the thread that drops or unwraps the mutex; nothing else is tied to one.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: the value is touched through a guard only, and there is one guard at a time (the gate's one permit). So
// sharing the mutex sends the value to and fro but never shares it.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    constructor! {
        /// Without a name, hence not in the [`crate::report`].
        pub fn new(value: T) -> Self {
            Self { raw: RawMutex::new(None), value: UnsafeCell::new(value) }
        }
    }

    /// With a name for the [`crate::report`] and for debug builds. Locks of one name are counted as
    /// one.
    #[must_use]
    pub fn named(name: &str, value: T) -> Self {
        Self { raw: RawMutex::new(Some(Stats::named(name))), value: UnsafeCell::new(value) }
    }

    /// Waits for as long as it takes: for work that must not be dropped, such as freeing what a refused
    /// request had allocated. The wait is deducted from a budget all the same.
    ///
    /// # Panics
    ///
    /// In debug builds, if the thread holds it already or takes locks in two orders. (In release
    /// builds it waits for ever.)
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        MutexGuard { mutex: self, _thread: PhantomData }
    }

    /// Waits no longer than the request's budget allows; without one, as [`Mutex::lock`] does.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to answer.
    ///
    /// # Panics
    ///
    /// As [`Mutex::lock`].
    #[inline]
    pub fn lock_within_budget(&self) -> Result<MutexGuard<'_, T>, Refused> {
        self.raw.lock_within_budget()?;
        Ok(MutexGuard { mutex: self, _thread: PhantomData })
    }

    /// Takes it if it is free, without waiting and without asking a budget.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| MutexGuard { mutex: self, _thread: PhantomData })
    }

    /// The value, with no guard left.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("Mutex").field(&*value).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// Unlocks when dropped. It stays on its thread.
#[must_use = "dropping it unlocks"]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    _thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives a shared value and nothing more.
unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T> MutexGuard<'a, T> {
    pub(crate) const fn raw(&self) -> &'a RawMutex {
        &self.mutex.raw
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the only permit, and is borrowed shared.
        unsafe { &*self.mutex.value.shared() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the only permit, and is borrowed uniquely.
        unsafe { &mut *self.mutex.value.unique() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock();
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
