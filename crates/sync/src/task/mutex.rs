//! A mutex for tasks.

use super::{Waiting, WaitingWithinBudget};
use crate::gate::{Gate, HandOver};
use crate::order::Held;
use crate::primitive::{UnsafeCell, constructor};
use crate::stats::Stats;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A mutex whose guard may be held across an `await`. A panic unlocks and poisons nothing.
pub struct Mutex<T> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves with the lock; nothing else is tied to a thread.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: one guard at a time (the gate's one permit) touches the value: it is sent, never shared.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    constructor! {
        /// Without a name, hence not in the [`crate::report`].
        pub fn new(value: T) -> Self {
            Self { gate: Gate::new(1, HandOver::Strict, None), value: UnsafeCell::new(value) }
        }
    }

    /// With a name for the [`crate::report`].
    #[must_use]
    pub fn named(name: &str, value: T) -> Self {
        let gate = Gate::new(1, HandOver::Strict, Some(Stats::named(name)));
        Self { gate, value: UnsafeCell::new(value) }
    }

    /// Waits for as long as it takes: for work that must not be dropped.
    pub fn lock(&self) -> Waiting<'_, Self, MutexGuard<'_, T>> {
        Waiting::new(self, &self.gate, 1, MutexGuard::of)
    }

    /// Waits no longer than the budget allows that is set when it is first polled.
    pub fn lock_within_budget(&self) -> WaitingWithinBudget<'_, Self, MutexGuard<'_, T>> {
        Waiting::within_budget(self, &self.gate, 1, MutexGuard::of)
    }

    /// Takes it if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.gate.try_take(1).then(|| MutexGuard::of(self))
    }

    /// The value, with no guard left.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// Unlocks when dropped.
#[must_use = "dropping it unlocks"]
pub struct MutexGuard<'a, T> {
    lock: &'a Mutex<T>,
    /// It is as good as a `&mut T`: sent where T may be sent, shared only where T may be shared.
    _value: PhantomData<&'a mut T>,
    held: Held,
}

impl<'a, T> MutexGuard<'a, T> {
    /// The caller has just taken the permit.
    fn of(lock: &'a Mutex<T>) -> Self {
        Self { lock, _value: PhantomData, held: Held::by_present_task(&lock.gate.tag) }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the only permit, and is borrowed shared.
        unsafe { &*self.lock.value.shared() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the only permit, and is borrowed uniquely.
        unsafe { &mut *self.lock.value.unique() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.held.end();
        self.lock.gate.release(1);
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
