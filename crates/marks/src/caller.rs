//! On whose behalf calls to other processes are made.

use crate::runtime;
use std::cell::Cell;
use std::num::NonZeroU64;

thread_local! {
    /// The request for which this thread works; zero for none.
    static PRESENT: Cell<u64> = const { Cell::new(0) };
}

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

    /// The request for which the calling thread works ([`Mark::works`](crate::Mark::works)); of several the last.
    #[must_use]
    pub fn present() -> Self {
        Self { number: NonZeroU64::new(PRESENT.get()) }
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

    /// The calling thread does this instead of working for the request, as waiting for its calls.
    pub fn pauses<T>(self, work: impl FnOnce() -> T) -> T {
        let Some(number) = self.number.map(NonZeroU64::get) else { return work() };
        runtime::block(number);
        let done = work();
        runtime::start(number);
        done
    }
}

/// The thread works for this request from now on. The one before, to come back.
pub(crate) fn enter(number: NonZeroU64) -> u64 {
    // A thread that ends has none any more.
    PRESENT.try_with(|present| present.replace(number.get())).unwrap_or(0)
}

/// It stops working for it, unless it has begun another meanwhile.
pub(crate) fn leave(number: NonZeroU64, before: u64) {
    let _ = PRESENT.try_with(|present| {
        if present.get() == number.get() {
            present.set(before);
        }
    });
}
