//! A semaphore for threads.

use crate::Refused;
use crate::gate::{Gate, HandOver, Wait};
use crate::primitive::constructor;
use crate::stats::Stats;
use std::fmt;

/// A number of permits, for threads; queue and budgets as for [`crate::Mutex`].
pub struct Semaphore {
    gate: Gate,
}

impl Semaphore {
    constructor! {
        /// Without a name. Panics above `usize::MAX / 16` permits.
        pub fn new(permits: usize) -> Self {
            Self { gate: Gate::new(permits, HandOver::Barging, None) }
        }
    }

    /// With a name for the [`crate::report`].
    ///
    /// # Panics
    ///
    /// Above `usize::MAX / 16` permits.
    #[must_use]
    pub fn named(name: &str, permits: usize) -> Self {
        Self { gate: Gate::new(permits, HandOver::Barging, Some(Stats::named(name))) }
    }

    /// Waits for a permit for as long as it takes.
    #[inline]
    pub fn acquire(&self) -> Permit<'_> {
        if !self.gate.try_take(1) {
            // Without a budget no wait is refused.
            let _ = self.gate.wait_thread(1, Wait::ForEver);
        }
        Permit { gate: &self.gate }
    }

    /// Waits for a permit no longer than the request's budget allows.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to answer.
    #[inline]
    pub fn acquire_within_budget(&self) -> Result<Permit<'_>, Refused> {
        if !self.gate.try_take(1) {
            self.gate.wait_thread(1, Wait::WithinBudget)?;
        }
        Ok(Permit { gate: &self.gate })
    }

    /// Takes a permit if one is there.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.gate.try_take(1).then(|| Permit { gate: &self.gate })
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
