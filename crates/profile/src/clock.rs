//! Ticks to nanoseconds.

use crate::record::{Clock, Ticks};
use serde::Serialize;
use std::time::Duration;

/// Two readings closer than this give no rate, in nanoseconds.
const BASE_MIN_NS: u64 = 1_000_000;

/// The first and the last reading of both clocks: the line through them maps ticks to time.
///
/// Over 8 s the counter strayed from such a line by 1 ns at most where that was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    first: Clock,
    last: Clock,
}

/// How long a tick lasts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TickRate {
    /// Nanoseconds in a tick.
    pub ns_per_tick: f64,
    /// Whether that was measured. Otherwise a tick counts as a nanosecond, for want of better.
    pub measured: bool,
}

impl Clocks {
    /// Begins with the header's reading.
    #[must_use]
    pub const fn new(first: Clock) -> Self {
        Self { first, last: first }
    }

    /// Takes a later reading; an earlier one changes nothing.
    pub const fn add(&mut self, clock: &Clock) {
        if clock.ticks > self.last.ticks && clock.raw_ns >= self.last.raw_ns {
            self.last = *clock;
        }
    }

    /// The first reading.
    #[must_use]
    pub const fn first(&self) -> Clock {
        self.first
    }

    /// The rate between the readings so far.
    #[must_use]
    pub fn rate(&self) -> TickRate {
        let ticks = self.last.ticks - self.first.ticks;
        let ns = self.last.raw_ns - self.first.raw_ns;
        if ticks == 0 || ns < BASE_MIN_NS {
            return TickRate { ns_per_tick: 1.0, measured: false };
        }
        TickRate { ns_per_tick: ns as f64 / ticks as f64, measured: true }
    }

    /// Nanoseconds from the first reading to `ticks`; zero for what came before.
    #[must_use]
    pub fn since_start_ns(&self, ticks: Ticks) -> u64 {
        self.rate().ns(ticks.saturating_sub(self.first.ticks))
    }

    /// `CLOCK_MONOTONIC_RAW` at `ticks`, in nanoseconds.
    #[must_use]
    pub fn raw_ns(&self, ticks: Ticks) -> u64 {
        self.at(ticks, self.first.raw_ns)
    }

    /// Nanoseconds since 1970 at `ticks`.
    #[must_use]
    pub fn real_ns(&self, ticks: Ticks) -> u64 {
        self.at(ticks, self.first.real_ns)
    }

    /// What a clock shows at `ticks` that showed `first_ns` at the first reading.
    fn at(&self, ticks: Ticks, first_ns: u64) -> u64 {
        let after = ticks.wrapping_sub(self.first.ticks) as i64;
        let ns = (after as f64 * self.rate().ns_per_tick) as i64;
        first_ns.saturating_add_signed(ns)
    }
}

impl TickRate {
    /// A length of time in nanoseconds.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick).round() as u64
    }

    /// So many ticks are no longer than that.
    #[must_use]
    pub fn ticks(&self, time: Duration) -> Ticks {
        (time.as_nanos() as f64 / self.ns_per_tick) as Ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ticks: u64, raw_ns: u64) -> Clock {
        Clock { ticks, raw_ns, real_ns: 1_000_000_000_000 + raw_ns }
    }

    #[test]
    fn two_readings_give_the_rate() {
        let mut clocks = Clocks::new(reading(1_000, 0));
        assert!(!clocks.rate().measured);
        clocks.add(&reading(1_000 + 3_000_000_000, 1_000_000_000));
        clocks.add(&reading(5_000, 2));
        let rate = clocks.rate();
        assert!(rate.measured);
        assert_eq!(rate.ns(30_000), 10_000);
        assert_eq!(clocks.real_ns(1_000 + 3_000), 1_000_000_001_000);
        assert_eq!(clocks.real_ns(0), 1_000_000_000_000 - 333);
        assert_eq!(clocks.raw_ns(1_000 + 3_000), 1_000);
    }

    #[test]
    fn readings_too_close_give_none() {
        let mut clocks = Clocks::new(reading(0, 0));
        clocks.add(&reading(3_000, 1_000));
        assert_eq!(clocks.rate(), TickRate { ns_per_tick: 1.0, measured: false });
    }
}
