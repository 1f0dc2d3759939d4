//! One seeded generator, passed down and split by name.
//!
//! Splitting by name keeps components independent: adding a draw in one does not shift the draws of
//! another, so a run stays comparable with yesterday's.

use crate::fnv::{START, fnv1a};
use rand_core::{Rng as _, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;

/// A deterministic source of chance (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng {
    seed: u64,
    generator: Xoshiro256PlusPlus,
}

impl Rng {
    /// A generator whose whole sequence is decided by `seed`.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self { seed, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The seed it was made from, for failure messages.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// An independent generator for the component `name`; does not advance `self`.
    #[must_use]
    pub fn split(&self, name: &str) -> Self {
        Self::from_seed(fnv1a(START ^ self.seed, name.bytes()))
    }

    /// Uniform over all 64-bit values.
    pub fn u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `[0, 1)`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..bound`; zero when `bound` is zero. Bias below 2⁻³² (multiply-shift).
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(bound) * (self.u64() >> 32)) >> 32) as u32
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Puts the items into an order by chance, each order as likely as any other (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
            items.swap(last, other);
        }
    }

    /// Exponentially distributed with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// For the distributions of other crates.
impl TryRng for Rng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_sequence_and_names_separate_it() {
        let root = Rng::from_seed(7);
        let draw = |mut rng: Rng| (0..4).map(|_| rng.u64()).collect::<Vec<_>>();
        assert_eq!(draw(root.split("arrivals")), draw(root.split("arrivals")));
        assert_ne!(draw(root.split("arrivals")), draw(root.split("service")));
        assert_ne!(draw(Rng::from_seed(7)), draw(Rng::from_seed(8)));
    }

    #[test]
    fn exponential_has_its_mean_and_spread() {
        let mut rng = Rng::from_seed(1);
        let draws: Vec<f64> = (0..200_000).map(|_| rng.exponential(10.0)).collect();
        let mean = draws.iter().sum::<f64>() / 200_000.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 200_000.0;
        assert!((mean - 10.0).abs() < 0.1, "mean {mean}");
        assert!((variance.sqrt() - 10.0).abs() < 0.2, "deviation {}", variance.sqrt());
    }

    #[test]
    fn shuffling_keeps_every_item_and_favours_none() {
        let mut rng = Rng::from_seed(3);
        let (mut first, mut last) = ([0_u32; 8], [0_u32; 8]);
        for _ in 0..8_000 {
            let mut order: [usize; 8] = std::array::from_fn(|item| item);
            rng.shuffle(&mut order);
            (first[order[0]], last[order[7]]) = (first[order[0]] + 1, last[order[7]] + 1);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        let mut ends = first.iter().chain(&last);
        assert!(ends.all(|count| (850..1_150).contains(count)), "{first:?}, {last:?}");
    }

    #[test]
    fn below_covers_its_range_and_no_more() {
        let mut rng = Rng::from_seed(3);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
