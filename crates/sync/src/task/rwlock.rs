//! A reader-writer lock for tasks.

use super::{Waiting, WaitingWithinBudget};
use crate::gate::{Gate, HandOver, PERMITS_MAX};
use crate::order::Held;
use crate::primitive::{UnsafeCell, constructor};
use crate::stats::Stats;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Many readers or one writer, in order of arrival: nobody passes a writer that waits. A task that
/// reads must not read again; see [`crate::RwLock`].
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
            Self { gate: Gate::new(WRITER, HandOver::Strict, None), value: UnsafeCell::new(value) }
        }
    }

    /// With a name for the [`crate::report`].
    #[must_use]
    pub fn named(name: &str, value: T) -> Self {
        let gate = Gate::new(WRITER, HandOver::Strict, Some(Stats::named(name)));
        Self { gate, value: UnsafeCell::new(value) }
    }

    /// Waits for as long as it takes to read.
    pub fn read(&self) -> Waiting<'_, Self, ReadGuard<'_, T>> {
        Waiting::new(self, &self.gate, READER, ReadGuard::of)
    }

    /// Waits to read no longer than the budget allows that is set when it is first polled.
    pub fn read_within_budget(&self) -> WaitingWithinBudget<'_, Self, ReadGuard<'_, T>> {
        Waiting::within_budget(self, &self.gate, READER, ReadGuard::of)
    }

    /// Waits for as long as it takes to write.
    pub fn write(&self) -> Waiting<'_, Self, WriteGuard<'_, T>> {
        Waiting::new(self, &self.gate, WRITER, WriteGuard::of)
    }

    /// Waits to write no longer than the budget allows that is set when it is first polled.
    pub fn write_within_budget(&self) -> WaitingWithinBudget<'_, Self, WriteGuard<'_, T>> {
        Waiting::within_budget(self, &self.gate, WRITER, WriteGuard::of)
    }

    /// The value, with no guard left.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// Ends the reading when dropped.
#[must_use = "dropping it unlocks"]
pub struct ReadGuard<'a, T> {
    lock: &'a RwLock<T>,
    /// It is as good as a `&T`.
    _value: PhantomData<&'a T>,
    held: Held,
}

impl<'a, T> ReadGuard<'a, T> {
    /// The caller has just taken the permits.
    fn of(lock: &'a RwLock<T>) -> Self {
        Self { lock, _value: PhantomData, held: Held::by_present_task(&lock.gate.tag) }
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds a permit, so no writer has all of them.
        unsafe { &*self.lock.value.shared() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.held.end();
        self.lock.gate.release(READER);
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Ends the writing when dropped.
#[must_use = "dropping it unlocks"]
pub struct WriteGuard<'a, T> {
    lock: &'a RwLock<T>,
    /// It is as good as a `&mut T`.
    _value: PhantomData<&'a mut T>,
    held: Held,
}

impl<'a, T> WriteGuard<'a, T> {
    /// The caller has just taken the permits.
    fn of(lock: &'a RwLock<T>) -> Self {
        Self { lock, _value: PhantomData, held: Held::by_present_task(&lock.gate.tag) }
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds every permit, and is borrowed shared.
        unsafe { &*self.lock.value.shared() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds every permit, and is borrowed uniquely.
        unsafe { &mut *self.lock.value.unique() }
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.held.end();
        self.lock.gate.release(WRITER);
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
