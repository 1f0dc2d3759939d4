//! A line through many noisy iterations: how what is served follows what comes in.

use crate::ewma;
use std::time::Duration;

/// What was counted during one iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    /// Requests that came, those dropped included: Algorithm 1's `in`.
    pub(super) incoming: u64,
    /// Requests served: `out`.
    pub(super) served: u64,
    /// Requests shed on arrival, at start or at a lock: `drop`.
    pub(super) dropped: u64,
    /// How long was counted.
    pub(super) over: Duration,
}

/// Exponentially weighted means of rates, and how they vary together. Rates are per nanosecond.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Trend {
    /// Means of what came in, was served and was dropped.
    pub(super) incoming: f64,
    pub(super) served: f64,
    pub(super) dropped: f64,
    /// The variance of what came in, and its covariance with what was served.
    pub(super) variance: f64,
    pub(super) covariance: f64,
}

impl Trend {
    /// With one more iteration, of which about the last `memory` count.
    #[expect(clippy::cast_precision_loss, reason = "counts and times of one iteration")]
    pub(super) fn with(self, flow: &Flow, memory: f64) -> Self {
        let nanos = flow.over.as_nanos() as f64;
        if nanos <= 0.0 {
            return self;
        }
        let [incoming, served, dropped] =
            [flow.incoming, flow.served, flow.dropped].map(|count| count as f64 / nanos);
        // The first iteration stands as it is.
        let gain = if self == Self::default() { 1.0 } else { 1.0 / memory };
        let (off, other) = (incoming - self.incoming, served - self.served);
        // West's update of weighted moments: exact, and never negative for the variance.
        let keep = 1.0 - gain;
        Self {
            incoming: ewma::after(self.incoming, gain, incoming),
            served: ewma::after(self.served, gain, served),
            dropped: ewma::after(self.dropped, gain, dropped),
            variance: keep * (self.variance + gain * off * off),
            covariance: keep * (self.covariance + gain * off * other),
        }
    }

    /// How much more is served for a request more that comes in; 0 while the load does not vary.
    pub(super) fn slope(&self) -> f64 {
        if self.variance > 0.0 { self.covariance / self.variance } else { 0.0 }
    }

    /// The share of requests that were dropped.
    pub(super) fn drop_share(&self) -> f64 {
        if self.incoming > 0.0 { self.dropped / self.incoming } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_core::Rng;

    fn flow(incoming: u64, served: u64) -> Flow {
        let over = Duration::from_micros(100);
        Flow { incoming, served, dropped: incoming.saturating_sub(served), over }
    }

    #[test]
    fn the_slope_is_found_in_noise() {
        for (part, low, high) in [(0.0, -0.1, 0.1), (0.2, 0.1, 0.3), (1.0, 0.9, 1.1)] {
            let mut rng = Rng::from_seed(1);
            let (mut trend, mut sum) = (Trend::default(), 0.0);
            for _ in 0..2_000 {
                let incoming = 90 + u64::from(rng.below(21));
                let served = 60.0 + part * (incoming as f64 - 100.0) + rng.unit() * 4.0;
                trend = trend.with(&flow(incoming, served.round() as u64), 32.0);
                sum += trend.slope();
            }
            let mean = sum / 2_000.0;
            assert!((low..high).contains(&mean), "{part}: {mean}");
        }
    }

    #[test]
    fn iterations_of_different_length_are_comparable() {
        let long = Flow { over: Duration::from_micros(200), ..flow(200, 150) };
        let trend = Trend::default().with(&flow(100, 75), 8.0).with(&long, 8.0);
        assert!(trend.variance < 1e-12, "{trend:?}");
        assert!((trend.drop_share() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn nothing_counted_says_nothing() {
        let trend = Trend::default().with(&flow(100, 75), 8.0);
        assert_eq!(trend.with(&Flow::default(), 8.0), trend);
        assert!(Trend::default().slope().abs() < 1e-9 && Trend::default().drop_share() < 1e-9);
    }

    /// Three iterations of 100 µs by hand, with a gain of an eighth: 100, 120 and 80 come, 75, 81 and 71 are served.
    #[test]
    fn moments_are_those_of_the_equations() {
        let [first, second, third] = [flow(100, 75), flow(120, 81), flow(80, 71)]
            .map(|flow| Flow { dropped: flow.incoming / 4, ..flow });
        let trend = Trend::default().with(&first, 8.0);
        // Per microsecond, to be read.
        let found = |trend: Trend| {
            let Trend { incoming, served, dropped, variance, covariance } = trend;
            [incoming * 1e3, served * 1e3, dropped * 1e3, variance * 1e6, covariance * 1e6]
        };
        let close = |trend: Trend, right: [f64; 5]| {
            let pairs = found(trend).into_iter().zip(right);
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", found(trend));
        };
        close(trend, [1.0, 0.75, 0.25, 0.0, 0.0]);
        // Off by 0.2 and 0.06: 7/8 · 1/8 of their products.
        let trend = trend.with(&second, 8.0);
        close(trend, [1.025, 0.7575, 0.25625, 0.109375 * 0.04, 0.109375 * 0.012]);
        assert!((trend.slope() - 0.3).abs() < 1e-9);
        // Off by -0.225 and -0.0475: 7/8 of what was, and 7/64 of their products.
        let trend = trend.with(&third, 8.0);
        let variance = 0.875 * 0.109375 * 0.04 + 0.109375 * 0.050625;
        let covariance = 0.875 * 0.109375 * 0.012 + 0.109375 * 0.0106875;
        close(trend, [0.996875, 0.7515625, 0.24921875, variance, covariance]);
        assert!((trend.slope() - covariance / variance).abs() < 1e-9);
        assert!((trend.drop_share() - 0.25).abs() < 1e-9);
    }
}
