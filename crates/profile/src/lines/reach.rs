//! When calls were under way, by the clock of the samples.

use crate::clock::TickRate;
use crate::record::{AWAY_US, Call, CallFlags, Ticks};
use crate::trace::Header;
use std::ops::RangeInclusive;

/// At an end known to within less, the scanner was not away: half of what counts as absence.
const SEEN_NS: u64 = AWAY_US * 1_000 / 2;

/// When a call was under way, in nanoseconds of the samples' clock.
pub(super) struct Reach {
    pub(super) surely: RangeInclusive<u64>,
    pub(super) maybe: RangeInclusive<u64>,
}

/// The trace's ticks as nanoseconds of the samples' clock.
pub(super) struct SampleClock {
    began: (Ticks, u64),
    pub(super) rate: TickRate,
}

impl SampleClock {
    /// Of the trace with this header, whose ticks are so long.
    pub(super) const fn new(header: &Header, rate: TickRate) -> Self {
        Self { began: (header.clock.ticks, header.clock.raw_ns), rate }
    }

    /// When a call was under way.
    pub(super) fn reach(&self, call: &Call) -> Reach {
        let middles = (self.raw_ns(call.start), self.raw_ns(call.end));
        let slacks = [call.start_slack, call.end_slack];
        let [start_ns, end_ns] = slacks.map(|slack| {
            let ns = self.rate.ns(u64::from(slack));
            // The flag is of both ends, and one of them may have been seen.
            let is_away = call.flags.has(CallFlags::GAP) && ns >= SEEN_NS;
            if is_away { ns } else { 0 }
        });
        let surely = match slacks.contains(&u32::MAX) {
            // It stands for all that is longer.
            true => RangeInclusive::new(1, 0),
            false => middles.0.saturating_add(start_ns)..=middles.1.saturating_sub(end_ns),
        };
        let maybe = middles.0.saturating_sub(start_ns)..=middles.1.saturating_add(end_ns);
        Reach { surely, maybe }
    }

    fn raw_ns(&self, ticks: Ticks) -> u64 {
        let (began, raw_ns) = self.began;
        raw_ns.saturating_add(self.rate.ns(ticks.saturating_sub(began)))
    }
}
