//! A semaphore for tasks.

use super::{Waiting, WaitingWithinBudget};
use crate::gate::{Gate, HandOver};
use crate::primitive::constructor;
use crate::stats::Stats;
use std::fmt;

/// A number of permits, given in order of arrival.
pub struct Semaphore {
    gate: Gate,
}

impl Semaphore {
    constructor! {
        /// Without a name. Panics above `usize::MAX / 16` permits.
        pub fn new(permits: usize) -> Self {
            Self { gate: Gate::new(permits, HandOver::Strict, None) }
        }
    }

    /// With a name for the [`crate::report`].
    ///
    /// # Panics
    ///
    /// Above `usize::MAX / 16` permits.
    #[must_use]
    pub fn named(name: &str, permits: usize) -> Self {
        Self { gate: Gate::new(permits, HandOver::Strict, Some(Stats::named(name))) }
    }

    /// Waits for a permit for as long as it takes.
    pub fn acquire(&self) -> Waiting<'_, Self, Permit<'_>> {
        Waiting::new(self, &self.gate, 1, Permit::of)
    }

    /// Waits for a permit no longer than the budget allows that is set when it is first polled.
    pub fn acquire_within_budget(&self) -> WaitingWithinBudget<'_, Self, Permit<'_>> {
        Waiting::within_budget(self, &self.gate, 1, Permit::of)
    }

    /// Takes a permit if one is there.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.gate.try_take(1).then(|| Permit::of(self))
    }

    /// Permits that nobody has at the moment.
    #[must_use]
    pub fn available(&self) -> usize {
        self.gate.permits()
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("available", &self.available()).finish()
    }
}

/// Gives the permit back when dropped, on whatever thread.
#[must_use = "dropping it gives the permit back"]
pub struct Permit<'a> {
    gate: &'a Gate,
}

impl<'a> Permit<'a> {
    /// The caller has just taken it.
    const fn of(semaphore: &'a Semaphore) -> Self {
        Self { gate: &semaphore.gate }
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.gate.release(1);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
