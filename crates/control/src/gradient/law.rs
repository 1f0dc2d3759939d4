//! How the limit follows what requests take now against what they usually take.

use super::config::{Config, Queue};
use crate::ewma;
use tailwater_core::Nanos;

/// The limit and the long average behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    config: Config,
    limit: f64,
    long_ns: f64,
    updates: u32,
}

/// What an update did, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// Requests take as long as usual.
    Raised,
    /// They take so much longer that the queue allowed for does not make up for it.
    Lowered,
    /// Kept: what one gives the other takes, or a bound is reached.
    Steady,
    /// Kept: fewer than half of the places were taken, so that nothing is known of the limit.
    Unused,
}

/// One update takes no more than this from the limit, before smoothing.
const GRADIENT_MIN: f64 = 0.5;

/// The long average is ahead by more than this after an overload has passed.
const DRIFT: f64 = 2.0;

impl Law {
    pub(super) fn new(config: Config) -> Self {
        Self { config, limit: f64::from(config.limit_initial), long_ns: 0.0, updates: 0 }
    }

    /// Requests that may be inside.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from u32 bounds")]
    pub(super) const fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// Requests took `short_ns` on average lately, with at most `inside_max` of them at once.
    pub(super) fn update(&mut self, short_ns: f64, inside_max: u32) -> Decision {
        // A clock that stood still must not divide by zero.
        let short_ns = short_ns.max(1.0);
        self.remember(short_ns);
        let usual_ns = self.usual_ns();
        if self.long_ns / short_ns > DRIFT {
            self.long_ns *= self.config.drift_decay;
        }
        if f64::from(inside_max) < self.limit / 2.0 {
            return Decision::Unused;
        }
        let before = self.limit;
        let gradient = (self.config.tolerance * usual_ns / short_ns).clamp(GRADIENT_MIN, 1.0);
        let wanted = before * gradient + self.queue();
        let smoothed = ewma::after(before, self.config.smoothing, wanted);
        let (min, max) = (self.config.limit_min, self.config.limit_max);
        self.limit = smoothed.clamp(f64::from(min), f64::from(max));
        match self.limit.total_cmp(&before) {
            std::cmp::Ordering::Greater => Decision::Raised,
            std::cmp::Ordering::Less => Decision::Lowered,
            std::cmp::Ordering::Equal => Decision::Steady,
        }
    }

    fn remember(&mut self, short_ns: f64) {
        self.updates = self.updates.saturating_add(1);
        let weight = if self.updates <= self.config.warm_up.max(1) {
            1.0 / f64::from(self.updates)
        } else {
            2.0 / (f64::from(self.config.long_window) + 1.0)
        };
        self.long_ns = ewma::after(self.long_ns, weight, short_ns);
    }

    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^52 ns")]
    fn usual_ns(&self) -> f64 {
        let most = self.config.baseline_max.map_or(f64::INFINITY, |most| most.nanos() as f64);
        self.long_ns.clamp(self.config.baseline_min.nanos() as f64, most)
    }

    fn queue(&self) -> f64 {
        match self.config.queue {
            Queue::Fixed(queue) => queue,
            Queue::Root => self.limit.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const SLO: Duration = Duration::from_micros(200);

    fn law(config: Config, limit: f64, long_us: f64) -> Law {
        Law { config, limit, long_ns: long_us * 1e3, updates: 1_000_000 }
    }

    #[test]
    fn decisions_and_their_reasons() {
        let still = |config: Config| Config { long_window: u32::MAX, ..config };
        let (shipped, paper) = (still(Config::artifact()), still(Config::paper()));
        let ours = still(Config::tuned(5 * SLO, 1));
        // The long average is 100 µs and the limit 100.
        let table = [
            ("as usual: the queue of 4, smoothed", shipped, 100.0, 100, Decision::Raised, 100.8),
            ("within the tolerance of 1.5", shipped, 150.0, 100, Decision::Raised, 100.8),
            ("twice as long: × 0.75 + 4", shipped, 200.0, 100, Decision::Lowered, 95.8),
            ("a hundred times: × 0.5 + 4", shipped, 10_000.0, 100, Decision::Lowered, 90.8),
            ("just half in use", shipped, 200.0, 50, Decision::Lowered, 95.8),
            ("less than half in use", shipped, 200.0, 49, Decision::Unused, 100.0),
            ("as usual: the root of 100", paper, 100.0, 100, Decision::Raised, 102.0),
            ("less than a quarter of 1 ms", ours, 240.0, 100, Decision::Raised, 100.2),
            ("more than half of 1 ms: × 0.5 + 1", ours, 2_000.0, 100, Decision::Lowered, 90.2),
            ("no tolerance: × 0.5 + 10", paper, 200.0, 100, Decision::Lowered, 92.0),
        ];
        for (why, config, short_us, inside, decision, limit) in table {
            let mut law = law(config, 100.0, 100.0);
            assert_eq!(law.update(short_us * 1e3, inside), decision, "{why}");
            assert!((law.limit - limit).abs() < 1e-3, "{why}: {} found", law.limit);
        }
        let mut full = law(shipped, 200.0, 100.0);
        assert_eq!(full.update(100_000.0, 200), Decision::Steady, "at the bound");
    }

    #[test]
    fn a_lasting_overload_becomes_the_usual_unless_the_slo_bounds_it() {
        let limit_after = |config| {
            let mut law = law(config, 50.0, 20.0);
            (0..5_000).for_each(|_| {
                // One core of 10 µs: what is inside is what one waits for.
                law.update(f64::from(law.limit()) * 10_000.0, law.limit());
            });
            law.limit()
        };
        let drifting = Config { baseline_max: None, ..Config::tuned(SLO, 1) };
        assert_eq!(limit_after(drifting), drifting.limit_max);
        assert!((9..=12).contains(&limit_after(Config::tuned(SLO, 1))), "about 100 µs inside");
    }

    #[test]
    fn after_an_overload_the_long_average_finds_back_in_updates_not_windows() {
        let mut law = law(Config::artifact(), 100.0, 10_000.0);
        let updates = (0..600).take_while(|_| {
            law.update(100_000.0, 10);
            law.long_ns > 200_001.0
        });
        assert!(updates.count() < 80, "0.95 to the 77th is 1/50");
    }

    #[test]
    fn the_first_updates_are_averaged_plainly() {
        let mut law = Law::new(Config::artifact());
        (1..=10).for_each(|n| {
            law.update(f64::from(n) * 1_000.0, 1);
        });
        // Drift plays no part: the average of 1 to n is never twice n.
        assert!((law.long_ns - 5_500.0).abs() < 1e-6, "{}", law.long_ns);
    }

    /// An average over three updates moves by 2 ÷ (3 + 1) of the difference, and is ahead only beyond twice.
    #[test]
    fn the_long_average_is_exponential_and_decays_beyond_twice_the_present() {
        let after = |long_us, short_us| {
            let mut law = law(Config { long_window: 3, ..Config::artifact() }, 100.0, long_us);
            law.update(short_us * 1e3, 100);
            law.long_ns / 1e3
        };
        for (long_us, short_us, now_us) in
            [(100.0, 160.0, 130.0), (300.0, 100.0, 200.0), (320.0, 100.0, 210.0 * 0.95)]
        {
            let found = after(long_us, short_us);
            assert!((found - now_us).abs() < 1e-9, "{long_us} and {short_us}: {found}");
        }
    }

    /// One update more than the warm-up is averaged exponentially.
    #[test]
    fn the_warm_up_ends_with_its_last_update() {
        let config = Config { warm_up: 2, long_window: 3, drift_decay: 1.0, ..Config::artifact() };
        let mut law = Law::new(config);
        let long = [100.0, 300.0, 400.0].map(|short_us| {
            law.update(short_us * 1e3, 1);
            law.long_ns / 1e3
        });
        assert_eq!(long, [100.0, 200.0, 300.0]);
    }

    proptest! {
        #[test]
        fn the_limit_stays_within_its_bounds_and_never_latches(
            which in 0..3_usize,
            updates in prop::collection::vec((0.0..1e12_f64, 0..10_000_u32), 1..300),
        ) {
            let config = [Config::artifact(), Config::paper(), Config::tuned(SLO, 4)][which];
            let mut law = Law::new(config);
            for (short_ns, inside) in updates {
                law.update(short_ns, inside);
                prop_assert!((config.limit_min..=config.limit_max).contains(&law.limit()));
                prop_assert!(law.long_ns.is_finite() && law.long_ns >= 0.0);
            }
            // Whatever it holds for usual, steady service at full use raises it again.
            for _ in 0..5_000 {
                law.update(20_000.0, law.limit());
            }
            prop_assert_eq!(law.limit(), config.limit_max);
        }
    }
}
