//! Gradient2's settings and its profiles.

use crate::config_error::{ConfigError, within};
use std::time::Duration;

/// What a server with a gradient limit needs to know. Built by a profile, changed by overrides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Requests that may be inside at the start.
    pub limit_initial: u32,
    /// Smallest limit, at least 1, or nothing would be served and nothing learnt. Too high and it
    /// never binds: 20 requests of 10 ms on one core are 200 ms.
    pub limit_min: u32,
    /// Largest limit: what a wrong estimate can cost at most.
    pub limit_max: u32,
    /// Requests take this many times as long as usual before the limit falls; at least 1.
    pub tolerance: f64,
    /// What is added to the limit with every update: the queue that may stand.
    pub queue: Queue,
    /// Weight of the new limit against the old, above 0 and up to 1.
    pub smoothing: f64,
    /// Updates that the long average remembers (an exponential average of 2 ÷ (n + 1)).
    pub long_window: u32,
    /// Updates at the start that are averaged plainly.
    pub warm_up: u32,
    /// What the long average is multiplied by while it is more than twice the short one, so that it
    /// finds back after an overload. 1 leaves that to time.
    pub drift_decay: f64,
    /// The long average counts for no more than this. Ours: without it a lasting overload becomes
    /// the usual (the `maxHealthyRtt` that users of such limits ask for). `None` never bounds it.
    pub baseline_max: Option<Duration>,
    /// The long average counts for no less than this. Ours: where requests usually take a small
    /// part of the SLO, chance alone makes windows that are slower by half. Zero is the library's.
    pub baseline_min: Duration,
    /// Shorter samples are not counted.
    pub sample_floor: Duration,
    /// A window of samples lasts twice its shortest sample, but at least this long …
    pub span_min: Duration,
    /// … and at most this long, …
    pub span_max: Duration,
    /// … and goes on until it has this many samples.
    pub window_samples: u32,
}

/// See [`Config::queue`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Queue {
    /// So many requests.
    Fixed(f64),
    /// The square root of the limit: fast growth of small limits, steadiness of large ones.
    Root,
}

impl Config {
    /// Gradient as published ("Performance Under Load", Netflix 2018, and the library's README):
    /// usual ÷ present without tolerance, a queue of the limit's square root, smoothing 0.2, one
    /// update per second. What the text leaves open is as in the library.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            limit_min: 1,
            tolerance: 1.0,
            queue: Queue::Root,
            drift_decay: 1.0,
            sample_floor: Duration::ZERO,
            ..Self::artifact()
        }
    }

    /// `Gradient2Limit` behind `WindowedLimit` as the library ships them. Useless for services of
    /// microseconds: samples below 100 µs are discarded, so that the limit stays where it began, and
    /// no limit is below 20. The library also throws a window away that ends with fewer than ten
    /// samples; here it goes on.
    #[must_use]
    pub const fn artifact() -> Self {
        Self {
            limit_initial: 20,
            limit_min: 20,
            limit_max: 200,
            tolerance: 1.5,
            queue: Queue::Fixed(4.0),
            smoothing: 0.2,
            long_window: 600,
            warm_up: 10,
            drift_decay: 0.95,
            baseline_max: None,
            baseline_min: Duration::ZERO,
            sample_floor: Duration::from_micros(100),
            span_min: Duration::from_secs(1),
            span_max: Duration::from_secs(1),
            window_samples: 10,
        }
    }

    /// Ours: updates within fractions of a millisecond, no floor, as few requests as there are cores, and a usual
    /// tied to the SLO. The limit falls whenever requests take more than half of it on average, which leaves the tail
    /// room. It never falls while they take less than a quarter.
    #[must_use]
    pub fn tuned(slo: Duration, cores: u32) -> Self {
        let cores = cores.clamp(1, 10_000);
        let tolerance = 1.5;
        Self {
            limit_initial: (4 * cores).max(20),
            limit_min: cores,
            limit_max: (100 * cores).max(200),
            tolerance,
            queue: Queue::Fixed(1.0),
            baseline_max: Some((slo / 2).div_f64(tolerance)),
            baseline_min: (slo / 4).div_f64(tolerance),
            sample_floor: Duration::ZERO,
            span_min: slo / 2,
            span_max: 10 * slo,
            window_samples: 20,
            ..Self::artifact()
        }
    }

    /// Why these settings cannot work, if they cannot.
    ///
    /// # Errors
    /// The first setting at fault.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (min, max, first) = (self.limit_min, self.limit_max, self.limit_initial);
        if min == 0 || min > max {
            return Err(ConfigError::new("limit_min", min, format!("1 to limit_max, {max},")));
        }
        if !(min..=max).contains(&first) {
            return Err(ConfigError::new("limit_initial", first, format!("{min} to {max}")));
        }
        if let Queue::Fixed(queue) = self.queue {
            within("queue", queue, 0.001..=1e6)?;
        }
        within("tolerance", self.tolerance, 1.0..=100.0)?;
        within("smoothing", self.smoothing, 0.001..=1.0)?;
        within("drift_decay", self.drift_decay, 0.001..=1.0)?;
        for (name, count) in
            [("long_window", self.long_window), ("window_samples", self.window_samples)]
        {
            if count == 0 {
                return Err(ConfigError::new(name, count, "a number above 0"));
            }
        }
        if let Some(most) = self.baseline_max
            && (most.is_zero() || most < self.baseline_min)
        {
            let least = self.baseline_min;
            let needed = format!("a time above zero and not below baseline_min, {least:?},");
            return Err(ConfigError::new("baseline_max", format!("{most:?}"), needed));
        }
        if self.span_min > self.span_max {
            let needed = format!("a time up to span_max, {:?},", self.span_max);
            return Err(ConfigError::new("span_min", format!("{:?}", self.span_min), needed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_setting_at_fault() {
        let good = Config::artifact();
        let slo = Duration::from_micros(200);
        for config in [good, Config::paper(), Config::tuned(slo, 1), Config::tuned(slo, 64)] {
            assert_eq!(config.check(), Ok(()));
        }
        let wrong = [
            ("limit_min", Config { limit_min: 0, ..good }),
            ("limit_min", Config { limit_min: 300, ..good }),
            ("limit_initial", Config { limit_initial: 500, ..good }),
            ("queue", Config { queue: Queue::Fixed(0.0), ..good }),
            ("tolerance", Config { tolerance: 0.5, ..good }),
            ("smoothing", Config { smoothing: 0.0, ..good }),
            ("drift_decay", Config { drift_decay: f64::NAN, ..good }),
            ("window_samples", Config { window_samples: 0, ..good }),
            ("baseline_max", Config { baseline_max: Some(Duration::ZERO), ..good }),
            ("span_min", Config { span_min: Duration::from_secs(2), ..good }),
        ];
        for (name, config) in wrong {
            assert_eq!(config.check().map_err(|error| error.setting), Err(name));
        }
    }

    /// `Gradient2Limit` and `WindowedLimit` as the library ships them, and the text of 2018 where it departs from them.
    #[test]
    fn published_profiles_are_whole() {
        let (ms, us) = (Duration::from_millis, Duration::from_micros);
        let artifact = Config {
            limit_initial: 20,
            limit_min: 20,
            limit_max: 200,
            tolerance: 1.5,
            queue: Queue::Fixed(4.0),
            smoothing: 0.2,
            long_window: 600,
            warm_up: 10,
            drift_decay: 0.95,
            baseline_max: None,
            baseline_min: Duration::ZERO,
            sample_floor: us(100),
            span_min: ms(1_000),
            span_max: ms(1_000),
            window_samples: 10,
        };
        assert_eq!(Config::artifact(), artifact);
        let paper = Config {
            limit_min: 1,
            tolerance: 1.0,
            queue: Queue::Root,
            drift_decay: 1.0,
            sample_floor: Duration::ZERO,
            ..artifact
        };
        assert_eq!(Config::paper(), paper);
    }

    /// The limit falls at half of the objective and never below a quarter: both over the tolerance of 1.5.
    #[test]
    fn the_default_is_whole_for_few_cores_and_many() {
        let us = Duration::from_micros;
        let one = Config {
            limit_initial: 20,
            limit_min: 1,
            limit_max: 200,
            tolerance: 1.5,
            queue: Queue::Fixed(1.0),
            baseline_max: Some(us(400)),
            baseline_min: us(200),
            sample_floor: Duration::ZERO,
            span_min: us(600),
            span_max: us(12_000),
            window_samples: 20,
            ..Config::artifact()
        };
        assert_eq!(Config::tuned(us(1_200), 1), one);
        let ten = Config { limit_initial: 40, limit_min: 10, limit_max: 1_000, ..one };
        assert_eq!(Config::tuned(us(1_200), 10), ten);
    }

    #[test]
    fn bounds_may_meet_and_may_not_cross() {
        let good = Config::artifact();
        let same = Config { limit_min: 20, limit_max: 20, ..good };
        assert_eq!(same.check(), Ok(()));
        let us = Duration::from_micros;
        let baseline = |most| Config { baseline_max: Some(us(most)), baseline_min: us(50), ..good };
        assert_eq!(baseline(50).check(), Ok(()));
        let setting = |config: Config| config.check().map_err(|error| error.setting);
        assert_eq!(setting(baseline(49)), Err("baseline_max"));
        let never = Config { long_window: 0, ..good };
        assert_eq!(setting(never), Err("long_window"));
    }
}
