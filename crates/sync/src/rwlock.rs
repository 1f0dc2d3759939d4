//! A reader-writer lock for threads.

use crate::Refused;
use crate::gate::{Gate, HandOver, PERMITS_MAX, Wait};
use crate::primitive::{UnsafeCell, constructor};
use crate::stats::Stats;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Many readers or one writer, for threads; queue, budgets, panics and debug checks as for
/// [`crate::Mutex`].
///
/// Readers pass a waiting writer for about 100 µs at most; then nobody does. A thread that reads must
/// not read again: with a writer between the two it would wait for itself.
pub struct RwLock<T> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves with the lock; nothing else is tied to a thread.
unsafe impl<T: Send> Send for RwLock<T> {}
// SAFETY: a writer has all permits, so it is alone (T: Send); readers share the value (T: Sync).
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

const READER: usize = 1;
const WRITER: usize = PERMITS_MAX;

impl<T> RwLock<T> {
    constructor! {
        /// Without a name, hence not in the [`crate::report`].
        pub fn new(value: T) -> Self {
            Self { gate: Gate::new(WRITER, HandOver::Barging, None), value: UnsafeCell::new(value) }
        }
    }

    /// With a name for the [`crate::report`] and for debug builds.
    #[must_use]
    pub fn named(name: &str, value: T) -> Self {
        let gate = Gate::new(WRITER, HandOver::Barging, Some(Stats::named(name)));
        Self { gate, value: UnsafeCell::new(value) }
    }

    /// Waits for as long as it takes to read.
    ///
    /// # Panics
    ///
    /// In debug builds, if the thread holds it already or takes locks in two orders.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        // Without a budget no wait is refused.
        let _ = self.take(READER, Wait::ForEver);
        ReadGuard { lock: self, _thread: PhantomData }
    }

    /// Waits to read no longer than the request's budget allows.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to answer.
    ///
    /// # Panics
    ///
    /// As [`RwLock::read`].
    #[inline]
    pub fn read_within_budget(&self) -> Result<ReadGuard<'_, T>, Refused> {
        self.take(READER, Wait::WithinBudget)?;
        Ok(ReadGuard { lock: self, _thread: PhantomData })
    }

    /// Waits for as long as it takes to write.
    ///
    /// # Panics
    ///
    /// As [`RwLock::read`].
    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        // Without a budget no wait is refused.
        let _ = self.take(WRITER, Wait::ForEver);
        WriteGuard { lock: self, _thread: PhantomData }
    }

    /// Waits to write no longer than the request's budget allows.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to answer.
    ///
    /// # Panics
    ///
    /// As [`RwLock::read`].
    #[inline]
    pub fn write_within_budget(&self) -> Result<WriteGuard<'_, T>, Refused> {
        self.take(WRITER, Wait::WithinBudget)?;
        Ok(WriteGuard { lock: self, _thread: PhantomData })
    }

    /// The value, with no guard left.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    #[inline]
    fn take(&self, need: usize, wait: Wait) -> Result<(), Refused> {
        self.gate.tag.before_wait();
        if !self.gate.try_take(need) {
            self.gate.wait_thread(need, wait)?;
        }
        self.gate.tag.acquired();
        Ok(())
    }

    #[inline]
    fn give(&self, permits: usize) {
        self.gate.tag.released();
        self.gate.release(permits);
    }
}

impl<T> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// Ends the reading when dropped. It stays on its thread.
#[must_use = "dropping it unlocks"]
pub struct ReadGuard<'a, T> {
    lock: &'a RwLock<T>,
    _thread: PhantomData<*const ()>,
}

/// Ends the writing when dropped. It stays on its thread.
#[must_use = "dropping it unlocks"]
pub struct WriteGuard<'a, T> {
    lock: &'a RwLock<T>,
    _thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives a shared value and nothing more.
unsafe impl<T: Sync> Sync for ReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for WriteGuard<'_, T> {}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds a permit, so no writer has all of them.
        unsafe { &*self.lock.value.shared() }
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds every permit, and is borrowed shared.
        unsafe { &*self.lock.value.shared() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds every permit, and is borrowed uniquely.
        unsafe { &mut *self.lock.value.unique() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.give(READER);
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.give(WRITER);
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
