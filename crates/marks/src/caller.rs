//! On whose behalf calls to other processes are made.

use crate::{runtime, working};
use std::num::NonZeroU64;

/// A request that makes calls to other processes. Both ends tell of a call by one name
/// (`tailwater_wire::call_name`), by which `tailwater profile requests A.trace B.trace` joins them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// `None` where there is none, or no runtime to tell.
    number: Option<NonZeroU64>,
}

impl Caller {
    /// No request.
    pub const NONE: Self = Self { number: None };

    /// The request for which the calling thread works ([`Mark::works`](crate::Mark::works)); of several the last. A thread
    /// knows 32 of them, those that it began last. One that another thread ended, or let wait, is among them until this one
    /// has begun 32 more.
    #[must_use]
    pub fn present() -> Self {
        Self { number: working::last() }
    }

    /// A call of this name is about to be sent: told before the kernel has it.
    pub fn sent(self, name: Option<NonZeroU64>) {
        if let (Some(number), Some(name)) = (self.number, name) {
            runtime::sent(number.get(), name.get());
        }
    }

    /// Its answer was read.
    pub fn answered(self, name: Option<NonZeroU64>) {
        if let (Some(number), Some(name)) = (self.number, name) {
            runtime::answered(number.get(), name.get());
        }
    }

    /// The calling thread does this instead of working for the request, as waiting for its calls. Where it does not work for
    /// the request, nothing is told: it may have ended.
    pub fn pauses<T>(self, work: impl FnOnce() -> T) -> T {
        let Some(number) = self.worked_for() else { return work() };
        runtime::block(number.get());
        let done = work();
        // It may have ended in the work.
        if self.worked_for().is_some() {
            runtime::start(number.get());
        }
        done
    }

    /// Its number, while the calling thread works for it.
    fn worked_for(self) -> Option<NonZeroU64> {
        self.number.filter(|&number| working::has(number))
    }
}
