//! A mutex that protects nothing: under [`crate::Mutex`] and the C interface.

use crate::Refused;
use crate::gate::{Gate, HandOver, Wait};
use crate::primitive::constructor;
use crate::stats::Stats;

pub(crate) struct RawMutex {
    gate: Gate,
}

impl RawMutex {
    constructor! {
        pub(crate) fn new(stats: Option<&'static Stats>) -> Self {
            Self { gate: Gate::new(1, HandOver::Barging, stats) }
        }
    }

    #[inline]
    pub(crate) fn lock(&self) {
        self.gate.tag.before_wait();
        if !self.gate.try_take_only() {
            // Without a budget no wait is refused.
            let _ = self.gate.wait_thread(1, Wait::ForEver);
        }
        self.gate.tag.acquired();
    }

    /// Locks it once more behind a wait at a condvar. It checks no order, so it cannot panic between
    /// the two halves of a guard's life.
    pub(crate) fn relock(&self) {
        if !self.gate.try_take_only() {
            let _ = self.gate.wait_thread(1, Wait::ForEver);
        }
        self.gate.tag.acquired();
    }

    #[inline]
    pub(crate) fn lock_within_budget(&self) -> Result<(), Refused> {
        self.gate.tag.before_wait();
        if !self.gate.try_take_only() {
            self.gate.wait_thread(1, Wait::WithinBudget)?;
        }
        self.gate.tag.acquired();
        Ok(())
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        let took = self.gate.try_take(1);
        if took {
            self.gate.tag.acquired();
        }
        took
    }

    /// The caller holds it: released twice, it would have two permits.
    #[inline]
    pub(crate) fn unlock(&self) {
        self.gate.tag.released();
        self.gate.release(1);
    }

    /// No thread or task holds it or waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.gate.is_quiet() && self.gate.permits() == 1
    }
}
