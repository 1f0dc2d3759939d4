//! What samples stand for: the time that slow calls of a kind took beyond the usual.

use crate::functions::Bounds;
use crate::record::FunctionId;
use crate::sampled::Addresses;

/// Samples in slow calls of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// The innermost function that was under way, slow or not.
    pub function: FunctionId,
    /// Where threads were.
    pub addresses: Addresses,
    pub(super) calls: Sum,
    /// From one sample to the next, in nanoseconds.
    pub(super) every_ns: u64,
}

/// Slow calls of one function that took about as long, so that one of them stands for all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Kind {
    pub(super) function: FunctionId,
    /// Of two, the greatest that is no more nanoseconds than each surely took.
    pub(super) power: u32,
}

/// Slow calls of a kind together, those without a sample as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    beyond: Beyond,
    /// What they took in all: surely, and at most, in nanoseconds.
    took: (u64, u64),
    /// In them, and in what they call.
    samples: u64,
}

/// How much longer than usual, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Beyond {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Weighed {
    /// For how much of the time that slow calls took beyond the usual so many of its samples stand, those of a line. Samples come
    /// by time on a core. So they are as many as there is time between them, and fewer where the calls waited. Where they are
    /// more, their own interruptions made calls slow, and together they stand for no more than the calls took.
    ///
    /// What is usual may have been at this line, all of it, and all that was waited beyond the usual. So the lower bound is
    /// without either. The upper bound is all of the line's time, unless the calls took less than that beyond the usual.
    #[must_use]
    pub fn added(&self, samples: u64) -> Bounds {
        let Sum { beyond, took: (least_ns, most_ns), samples: all } = self.calls;
        let share = |took_ns: u64| {
            let on_core_ns = took_ns.min(self.every_ns.saturating_mul(all));
            let share = u128::from(on_core_ns) * u128::from(samples) / u128::from(all.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let usual_ns = least_ns.saturating_sub(beyond.low);
        let low_ns = share(least_ns).saturating_sub(usual_ns);
        Bounds { low_ns, high_ns: Some(share(most_ns).min(beyond.high)) }
    }
}

impl Sum {
    /// Adds a call that took so long, surely and at most, with so many samples in it.
    pub(super) const fn add(&mut self, beyond: Beyond, took: (u64, u64), samples: u64) {
        self.beyond.add(beyond);
        self.took = (self.took.0.saturating_add(took.0), self.took.1.saturating_add(took.1));
        self.samples += samples;
    }
}

impl Beyond {
    const fn add(&mut self, other: Self) {
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }
}
