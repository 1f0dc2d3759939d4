//! How a client's rate follows the tail of its response times (USITS '03, §3.3 with OSDI '20's
//! quantile).

use super::config::{Config, Growth, TailEstimator};
use tailwater_core::Nanos;

/// One client's rate and the average that moves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    config: Config,
    /// The smoothed tail in nanoseconds; `None` before the first.
    tail_ns: Option<f64>,
    rate: f64,
}

/// What an update did, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The tail is well below the target.
    Raised,
    /// The tail is above the target.
    Lowered,
    /// Kept: the tail lies between the two thresholds.
    OnTarget,
    /// Kept: the tail is low, but the rate limited nothing.
    Unused,
}

impl Law {
    /// Starts at `rate` requests per second.
    pub(super) fn new(config: Config, rate: f64) -> Self {
        let tail_ns = (config.estimator == TailEstimator::Artifact).then_some(0.0);
        Self { config, tail_ns, rate: rate.clamp(config.rate_min, config.rate_max) }
    }

    /// Requests per second.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Response times in nanoseconds, at least one; sorts them. `limited` says whether the rate
    /// was used since the last update.
    pub(super) fn update(&mut self, responses_ns: &mut [u32], limited: bool) -> Decision {
        let target = nanos(self.config.target);
        let most = self.config.severity_max.map_or(f64::INFINITY, |severity| severity * target);
        let tail = f64::from(self.tail_of(responses_ns)).min(most);
        let keep = self.config.smoothing;
        let smoothed = self.tail_ns.map_or(tail, |old| keep * old + (1.0 - keep) * tail);
        self.tail_ns = Some(smoothed);
        self.apply(smoothed / target - 1.0, limited)
    }

    fn apply(&mut self, error: f64, limited: bool) -> Decision {
        let config = &self.config;
        let (rate, decision) = if error > config.error_decrease {
            let severity = config.severity_max.map_or(1.0, |_| (1.0 + error).max(1.0));
            (self.rate / config.adj_d.powf(severity), Decision::Lowered)
        } else if error >= config.error_increase {
            return Decision::OnTarget;
        } else if config.growth == Growth::WhileUsed && !limited {
            return Decision::Unused;
        } else {
            let step = config.adj_i.max(config.adj_i_share * self.rate);
            (self.rate + (config.offset - error) * step, Decision::Raised)
        };
        self.rate = rate.clamp(config.rate_min, config.rate_max);
        decision
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "counts of at most 10,000"
    )]
    fn tail_of(&self, responses_ns: &mut [u32]) -> u32 {
        responses_ns.sort_unstable();
        let (count, quantile) = (responses_ns.len(), self.config.quantile);
        let index = match self.config.estimator {
            TailEstimator::NearestRank => ((count as f64 * quantile).ceil() as usize).max(1) - 1,
            // The code's two places disagree on what to multiply; a full count takes the maximum.
            TailEstimator::Artifact if count == self.config.responses as usize => {
                (count as f64 * quantile) as usize
            }
            TailEstimator::Artifact => ((count - 1) as f64 * quantile) as usize,
        };
        responses_ns[index.min(count - 1)]
    }
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^52 ns")]
fn nanos(duration: std::time::Duration) -> f64 {
    duration.nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const SLO: Duration = Duration::from_micros(200);

    #[test]
    fn the_papers_law_by_error() {
        // Target 80 µs; a first tail stands as it is.
        let table = [
            (81_000, true, Decision::Lowered, 1_000.0 / 1.04),
            (800_000, true, Decision::Lowered, 1_000.0 / 1.04),
            (80_000, true, Decision::OnTarget, 1_000.0),
            (80_000, true, Decision::OnTarget, 1_000.0),
            (41_000, true, Decision::OnTarget, 1_000.0),
            (40_000, true, Decision::OnTarget, 1_000.0),
            (32_000, false, Decision::Raised, 1_000.0 + 0.5 * 40.0),
            (16_000, true, Decision::Raised, 1_000.0 + 0.7 * 40.0),
        ];
        for (tail, limited, decision, rate) in table {
            let mut law = Law::new(Config::paper(SLO), 1_000.0);
            assert_eq!(law.update(&mut [tail], limited), decision, "{tail} ns");
            assert!((law.rate() - rate).abs() < 1e-9, "{tail} ns: {} found", law.rate());
        }
    }

    #[test]
    fn our_law_cuts_by_severity_and_rises_only_in_use() {
        // Target 80 µs; a step is a tenth of the rate.
        let table = [
            (40_000, false, Decision::Unused, 1_000.0),
            (40_000, true, Decision::Raised, 1_000.0 + 0.4 * 100.0),
            (75_000, true, Decision::OnTarget, 1_000.0),
            (160_000, true, Decision::Lowered, 1_000.0 / 1.05_f64.powi(2)),
            (90_000_000, false, Decision::Lowered, 1_000.0 / 1.05_f64.powi(4)),
        ];
        for (tail, limited, decision, rate) in table {
            let mut law = Law::new(Config::tuned(SLO), 1_000.0);
            assert_eq!(law.update(&mut [tail], limited), decision, "{tail} ns");
            assert!((law.rate() - rate).abs() < 1e-9, "{tail} ns: {} found", law.rate());
        }
    }

    #[test]
    fn the_artifact_takes_the_faster_of_two_and_averages_from_zero() {
        let paper = Law::new(Config::paper(SLO), 10.0);
        let mut artifact = Law::new(Config::artifact(SLO), 10.0);
        assert_eq!(paper.tail_of(&mut [90, 70]), 90);
        assert_eq!(artifact.tail_of(&mut [90, 70]), 70);
        let mut hundred: Vec<u32> = (0..100).collect();
        assert_eq!(paper.tail_of(&mut hundred), 98);
        assert_eq!(artifact.tail_of(&mut hundred), 99);
        artifact.update(&mut [100_000], false);
        assert!((artifact.tail_ns.unwrap() - 30_000.0).abs() < 1e-6, "{artifact:?}");
    }

    /// The published code multiplies the count by the quantile where it is full, and one less where it is not.
    #[test]
    fn the_artifacts_index_is_rounded_down_and_never_beyond_the_last() {
        let tail = |quantile, count: u32| {
            let config = Config { quantile, ..Config::artifact(SLO) };
            Law::new(config, 10.0).tail_of(&mut (0..count).collect::<Vec<_>>())
        };
        assert_eq!([0.5, 0.99, 1.0].map(|quantile| tail(quantile, 100)), [50, 99, 99]);
        assert_eq!([0.5, 0.99, 1.0].map(|quantile| tail(quantile, 50)), [24, 48, 49]);
        let nearest = |quantile| {
            let law = Law::new(Config { quantile, ..Config::paper(SLO) }, 10.0);
            law.tail_of(&mut (0..50).collect::<Vec<_>>())
        };
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(nearest), [0, 24, 25, 49]);
    }

    proptest! {
        #[test]
        fn the_rate_stays_within_its_bounds_and_recovers(
            which in 0..3_usize,
            start in 0.0..1e12_f64,
            tails in prop::collection::vec(0..u32::MAX, 1..300),
        ) {
            let config = [Config::paper(SLO), Config::artifact(SLO), Config::tuned(SLO)][which];
            let mut law = Law::new(config, start);
            for tail in tails {
                law.update(&mut [tail], true);
                prop_assert!((config.rate_min..=config.rate_max).contains(&law.rate()));
            }
            // Whatever happened, fast responses make it rise again, and from the very bottom too.
            for _ in 0..60 {
                law.update(&mut [10_000], true);
            }
            let before = law.rate();
            prop_assert_eq!(law.update(&mut [10_000], true), Decision::Raised);
            prop_assert!(law.rate() > before || before == config.rate_max);
            for _ in 0..100 {
                law.update(&mut [10_000], true);
            }
            prop_assert!(law.rate() > 250.0, "{}", law.rate());
        }
    }
}
