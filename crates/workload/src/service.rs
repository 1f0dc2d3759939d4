//! How long requests take at the server, and how the server spends that time.

use crate::distribution::{Distribution, LONG, LONG_SHARE, SHORT};
use crate::limits::REQUEST_MAX;
use std::time::Duration;
use tailwater_core::{Nanos, Rng};

/// Service times: a distribution and its mean.
#[derive(Clone, PartialEq, Debug)]
pub struct Service {
    /// Shape.
    pub distribution: Distribution,
    /// Mean; scenarios allow up to 100 ms, and less where the shape has long requests: see
    /// [`Distribution::mean_max`]. Zero draws a nanosecond: an echo, where only the transport costs.
    pub mean: Duration,
}

/// Requests of a distribution that take about the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mode {
    /// How reports call it.
    pub name: &'static str,
    /// Of all requests.
    pub share: f64,
    /// Their mean.
    pub mean: Duration,
}

/// How the server spends a request's service time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// It computes, in calibrated rounds.
    Spin,
    /// It waits and holds no thread.
    Sleep,
}

impl Work {
    /// Each by the name that scenario files use.
    pub const NAMES: &'static [(&'static str, Self)] =
        &[("spin", Self::Spin), ("sleep", Self::Sleep)];
}

impl Service {
    /// One service time.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        Duration::from_nanos(self.draw_ns(rng).into())
    }

    /// One service time in nanoseconds, from 1 ns to 4 s.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "clamped to what fits"
    )]
    pub fn draw_ns(&self, rng: &mut Rng) -> u32 {
        let time_ns = self.mean.nanos() as f64 * self.distribution.draw(rng);
        time_ns.clamp(1.0, REQUEST_MAX.nanos() as f64).round() as u32
    }

    /// What its requests divide into, the shortest first; one for shapes without modes.
    #[must_use]
    pub fn modes(&self) -> Vec<Mode> {
        let mode = |name, share, factor| Mode { name, share, mean: self.mean.mul_f64(factor) };
        match self.distribution {
            Distribution::Bimodal => {
                vec![mode("short", 1.0 - LONG_SHARE, SHORT), mode("long", LONG_SHARE, LONG)]
            }
            _ => vec![mode("all", 1.0, 1.0)],
        }
    }

    /// The mode that a time was drawn from, by its place in [`Service::modes`].
    #[must_use]
    pub fn mode_of(&self, time: Duration) -> u16 {
        u16::from(self.distribution == Distribution::Bimodal && time > self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distribution_has_its_mean() {
        for distribution in
            [Distribution::Constant, Distribution::Exponential, Distribution::Bimodal]
        {
            let service = Service { distribution, mean: Duration::from_micros(10) };
            let mut rng = Rng::from_seed(1);
            let sum: u64 = (0..200_000).map(|_| u64::from(service.draw_ns(&mut rng))).sum();
            let mean = sum / 200_000;
            assert!((9_850..=10_150).contains(&mean), "{:?} {mean}", service.distribution);
        }
    }

    #[test]
    fn exponential_spreads_by_its_mean() {
        let service =
            Service { distribution: Distribution::Exponential, mean: Duration::from_micros(10) };
        let mut rng = Rng::from_seed(3);
        let draws: Vec<Duration> = (0..200_000).map(|_| service.draw(&mut rng)).collect();
        let beyond = |us| draws.iter().filter(|time| time.as_micros() >= us).count() as f64;
        // e⁻¹ and e⁻³ of the draws exceed one and three means.
        for (us, share) in [(10, 0.3679), (30, 0.0498)] {
            let found = beyond(us) / 200_000.0;
            assert!((found - share).abs() < 0.005, "{us} us: {found}");
        }
    }

    #[test]
    fn modes_add_up_to_the_mean_and_draws_are_told_apart() {
        for distribution in
            [Distribution::Constant, Distribution::Exponential, Distribution::Bimodal]
        {
            let service = Service { distribution, mean: Duration::from_micros(100) };
            let modes = service.modes();
            let mean: f64 = modes.iter().map(|it| it.share * it.mean.as_secs_f64()).sum();
            assert!((mean - 100e-6).abs() < 1e-12, "{:?}: {mean}", service.distribution);
            let mut rng = Rng::from_seed(4);
            let mut seen = vec![0.0; modes.len()];
            (0..50_000)
                .for_each(|_| seen[usize::from(service.mode_of(service.draw(&mut rng)))] += 1.0);
            for (mode, seen) in modes.iter().zip(seen) {
                assert!((seen / 50_000.0 - mode.share).abs() < 0.01, "{mode:?}: {seen}");
            }
        }
    }

    #[test]
    fn bimodal_takes_only_its_two_values() {
        let service =
            Service { distribution: Distribution::Bimodal, mean: Duration::from_micros(8) };
        let mut rng = Rng::from_seed(2);
        let long = (0..10_000)
            .filter(|_| match service.draw_ns(&mut rng) {
                32_000 => true,
                2_000 => false,
                other => panic!("{other} ns drawn"),
            })
            .count();
        assert!((1_850..=2_150).contains(&long), "{long} of 10,000 are long");
    }
}
