//! Draws of several shapes.

use std::time::Duration;
use tailwater_core::Rng;

pub(super) struct Dice(pub(super) Rng);

impl Dice {
    /// Between the two, each order of magnitude alike.
    pub(super) fn spread(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.unit())
    }

    pub(super) fn number(&mut self, low: u64, high: u64) -> u64 {
        (self.spread(low as f64, (high + 1) as f64) as u64).min(high)
    }

    pub(super) fn time(&mut self, low_us: u64, high_us: u64) -> Duration {
        Duration::from_nanos(self.spread(low_us as f64 * 1e3, high_us as f64 * 1e3) as u64)
    }

    pub(super) fn one_of<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[self.0.below(N as u32) as usize]
    }

    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.0.below(bound)
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    pub(super) fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}

/// `5.us()`.
pub(super) trait Micros {
    fn us(self) -> Duration;
}

impl Micros for u64 {
    fn us(self) -> Duration {
        Duration::from_micros(self)
    }
}
