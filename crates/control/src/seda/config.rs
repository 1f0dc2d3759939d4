//! SEDA's settings and its profiles. All rates are requests per second of one client.
//!
//! The OSDI '20 text (§5.1) takes the parameters of the USITS '03 paper save three that it tunes,
//! and leaves the token bucket open; what it leaves open is taken from the authors' published code
//! (caladan, `breakwater/src/sd_client.c` and `sd_config.h`). There the bucket earns
//! microseconds × rate ÷ 1,000,000 tokens, so `adj_i` and the bounds are per client and second.

use crate::config_error::{ConfigError, above_zero, within};
use std::time::Duration;

/// What one SEDA client needs to know. Built by a profile, changed by overrides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Response time that the tail is steered to. Below what an idle server needs, every client
    /// ends at its least rate; near the SLO, the tail misses it.
    pub target: Duration,
    /// Which quantile of the response times is the tail: 0.99 (OSDI '20), 0.9 (USITS '03).
    pub quantile: f64,
    /// The rate is adapted after this many responses, `nreq` (100), …
    pub responses: u32,
    /// … or with the first response after this long, `timeout` (1 ms; USITS '03: 1 s). Short makes
    /// a "tail" of few responses; long lets an overload stand.
    pub timeout: Duration,
    /// Weight of the old average against a new tail, from 0 to below 1 (0.7).
    pub smoothing: f64,
    /// The rate falls above this relative error, `err_d` (0): error = tail ÷ target − 1.
    pub error_decrease: f64,
    /// The rate rises below this relative error, `err_i` (−0.5), between −1 and `error_decrease`.
    pub error_increase: f64,
    /// An increase is −(error − offset) steps, `c_i` (−0.1): none at this error.
    pub offset: f64,
    /// One step up, `adj_i`, in requests per second. Must shrink with the number of clients.
    pub adj_i: f64,
    /// One step is at least this share of the rate. Ours, so that it fits any number of clients; 0
    /// is the papers' law.
    pub adj_i_share: f64,
    /// A decrease divides the rate by this, `adj_d`, above 1.
    pub adj_d: f64,
    /// A decrease divides by `adj_d` as often as the tail holds the target, and a tail counts for
    /// this many targets at most: one stall must not weigh on the average for dozens of updates.
    /// Ours; `None` divides once whatever the tail (papers).
    pub severity_max: Option<f64>,
    /// The rate never falls below this (2), or nothing would be learnt any more.
    pub rate_min: f64,
    /// The rate never rises above this. The published code has no such bound.
    pub rate_max: f64,
    /// A client starts at a rate drawn from this (2), so that clients do not step together, …
    pub rate_initial_min: f64,
    /// … to this (8).
    pub rate_initial_max: f64,
    /// Most tokens a bucket holds (4): the burst that a client may send.
    pub burst: f64,
    /// Tokens in a new bucket, at most `burst`. Zero delays a client's first call by a whole gap.
    pub tokens_initial: f64,
    /// How the tail of few responses is told.
    pub estimator: TailEstimator,
    /// When the rate may rise.
    pub growth: Growth,
    /// Ignore responses to requests that were sent before the last decrease: they tell of the old
    /// rate, and a client that heeds them cuts again for what it has mended. Ours.
    pub fresh_only: bool,
}

/// See [`Config::estimator`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TailEstimator {
    /// The nearest rank; the average begins with the first tail.
    NearestRank,
    /// As in the published code: after a timeout the index is rounded down, so that the tail of two
    /// responses is the faster one, and the average begins at zero.
    Artifact,
}

/// See [`Config::growth`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// Whenever responses are fast (papers). An idle period leaves a rate that limits nothing.
    Always,
    /// Only if the bucket fell below half since the last update: the rate then stays within about
    /// twice its use, which leaves bursts alone.
    WhileUsed,
}

impl Config {
    /// The OSDI '20 text (§5.1), tuned for 1,000 clients and 10 µs exponential service: adj_i 40,
    /// adj_d 1.04. The target is 0.4 of the SLO: the 80 µs that the published code sets for that
    /// workload, whose SLO is 200 µs. That code's other tunings, as overrides: 1 µs service:
    /// target 50 µs, adj_i 120; 100 µs service: target 720 µs, adj_i 10, adj_d 1.3. Calls wait for
    /// 100 µs at the client (`CSD_MAX_CLIENT_DELAY_US`; 10 µs for 1 µs service).
    #[must_use]
    pub fn paper(slo: Duration) -> Self {
        Self {
            target: slo.mul_f64(0.4),
            quantile: 0.99,
            responses: 100,
            timeout: Duration::from_millis(1),
            smoothing: 0.7,
            error_decrease: 0.0,
            error_increase: -0.5,
            offset: -0.1,
            adj_i: 40.0,
            adj_i_share: 0.0,
            adj_d: 1.04,
            severity_max: None,
            rate_min: 2.0,
            rate_max: RATE_UNBOUNDED,
            rate_initial_min: 2.0,
            rate_initial_max: 8.0,
            burst: 4.0,
            tokens_initial: 0.0,
            estimator: TailEstimator::NearestRank,
            growth: Growth::Always,
            fresh_only: false,
        }
    }

    /// The published code with the values of the OSDI artifact's scripts; those in its header
    /// (adj_i 4, adj_d 1.1, initial 4) are not what the paper ran.
    #[must_use]
    pub fn artifact(slo: Duration) -> Self {
        Self { estimator: TailEstimator::Artifact, ..Self::paper(slo) }
    }

    /// Ours: steps that fit any number of clients, decreases that grow with the error, and a rate
    /// that rises only while it limits.
    ///
    /// The first rates are the published 2 to 8. A client does not know how many others there are, and any rate that
    /// a hundred could start with is an overload by thousands. The price is a start of two seconds (four where each
    /// client shall have 1,000 requests per second): a client learns as slowly as it sends. What is measured earlier
    /// is the start.
    #[must_use]
    pub fn tuned(slo: Duration) -> Self {
        Self {
            timeout: (5 * slo).max(Duration::from_millis(1)),
            // A response within 90 % of the target is a reason to go on: on a transport whose own
            // time is above half of the target, the papers' −0.5 would never let a rate rise.
            error_increase: -0.1,
            adj_i: 4.0,
            adj_i_share: 0.1,
            adj_d: 1.05,
            severity_max: Some(4.0),
            rate_max: 1e7,
            tokens_initial: 1.0,
            growth: Growth::WhileUsed,
            fresh_only: true,
            ..Self::paper(slo)
        }
    }

    /// Why these settings cannot work, if they cannot.
    ///
    /// # Errors
    /// The first setting at fault.
    pub fn check(&self) -> Result<(), ConfigError> {
        above_zero("target", self.target)?;
        above_zero("timeout", self.timeout)?;
        if !(1..=RESPONSES_MAX).contains(&self.responses) {
            let needed = format!("a number from 1 to {RESPONSES_MAX}");
            return Err(ConfigError::new("responses", self.responses, needed));
        }
        within("quantile", self.quantile, 0.0..=1.0)?;
        within("smoothing", self.smoothing, 0.0..=0.999)?;
        within("error_decrease", self.error_decrease, -1.0..=100.0)?;
        within("error_increase", self.error_increase, -1.0..=self.error_decrease)?;
        // Above `offset` a step up would be a step down.
        within("offset", self.offset, self.error_increase..=100.0)?;
        within("adj_i", self.adj_i, 0.0..=RATE_UNBOUNDED)?;
        within("adj_i_share", self.adj_i_share, 0.0..=10.0)?;
        within("adj_d", self.adj_d, 1.0..=100.0)?;
        within("severity_max", self.severity_max.unwrap_or(1.0), 1.0..=100.0)?;
        within("rate_max", self.rate_max, 0.001..=RATE_UNBOUNDED)?;
        within("rate_min", self.rate_min, 0.001..=self.rate_max)?;
        within("rate_initial_max", self.rate_initial_max, self.rate_min..=self.rate_max)?;
        within("rate_initial_min", self.rate_initial_min, self.rate_min..=self.rate_initial_max)?;
        within("burst", self.burst, 1.0..=1e6)?;
        within("tokens_initial", self.tokens_initial, 0.0..=self.burst)
    }
}

/// Requests per second beyond any client; keeps the arithmetic finite.
const RATE_UNBOUNDED: f64 = 1e9;

/// Bounds what a client remembers to 40 kB.
const RESPONSES_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SLO: Duration = Duration::from_micros(200);

    #[test]
    fn the_papers_profile_has_the_papers_numbers() {
        let paper = Config::paper(SLO);
        assert_eq!(paper.target, Duration::from_micros(80));
        assert_eq!((paper.adj_i, paper.adj_d, paper.rate_initial_max), (40.0, 1.04, 8.0));
        assert_eq!(Config::tuned(SLO).rate_initial_max, 8.0, "ten thousand start as one does");
        for config in [paper, Config::artifact(SLO), Config::tuned(SLO)] {
            assert_eq!(config.check(), Ok(()));
        }
    }

    /// OSDI '20, §5.1, USITS '03 for what that leaves open, and the artifact for the token bucket.
    #[test]
    fn profiles_have_their_published_values() {
        let paper = Config {
            target: Duration::from_micros(80),
            quantile: 0.99,
            responses: 100,
            timeout: Duration::from_millis(1),
            smoothing: 0.7,
            error_decrease: 0.0,
            error_increase: -0.5,
            offset: -0.1,
            adj_i: 40.0,
            adj_i_share: 0.0,
            adj_d: 1.04,
            severity_max: None,
            rate_min: 2.0,
            rate_max: 1e9,
            rate_initial_min: 2.0,
            rate_initial_max: 8.0,
            burst: 4.0,
            tokens_initial: 0.0,
            estimator: TailEstimator::NearestRank,
            growth: Growth::Always,
            fresh_only: false,
        };
        assert_eq!(Config::paper(SLO), paper);
        let artifact = Config { estimator: TailEstimator::Artifact, ..paper };
        assert_eq!(Config::artifact(SLO), artifact);
    }

    #[test]
    fn the_default_departs_from_the_text_where_it_says_so() {
        let tuned = Config {
            timeout: Duration::from_millis(2),
            error_increase: -0.1,
            adj_i: 4.0,
            adj_i_share: 0.1,
            adj_d: 1.05,
            severity_max: Some(4.0),
            rate_max: 1e7,
            tokens_initial: 1.0,
            growth: Growth::WhileUsed,
            fresh_only: true,
            ..Config::paper(2 * SLO)
        };
        assert_eq!(Config::tuned(2 * SLO), tuned);
        assert_eq!(Config::tuned(SLO / 2).timeout, Duration::from_millis(1), "at least");
    }

    #[test]
    fn errors_reach_down_to_minus_one() {
        let least = Config { error_decrease: -1.0, error_increase: -1.0, ..Config::paper(SLO) };
        assert_eq!(least.check(), Ok(()));
    }

    #[test]
    fn an_error_names_the_setting_at_fault() {
        let paper = Config::paper(SLO);
        let wrong = [
            ("timeout", Config { timeout: Duration::ZERO, ..paper }),
            ("target", Config { target: Duration::ZERO, ..paper }),
            ("responses", Config { responses: 0, ..paper }),
            ("quantile", Config { quantile: f64::NAN, ..paper }),
            ("error_increase", Config { error_increase: 0.1, ..paper }),
            ("offset", Config { offset: -0.6, ..paper }),
            ("adj_d", Config { adj_d: 0.9, ..paper }),
            ("severity_max", Config { severity_max: Some(0.5), ..paper }),
            ("rate_min", Config { rate_min: 0.0, ..paper }),
            ("rate_initial_max", Config { rate_initial_max: 1.0, ..paper }),
            ("rate_initial_min", Config { rate_initial_min: 9.0, ..paper }),
            ("burst", Config { burst: 0.5, ..paper }),
            ("tokens_initial", Config { tokens_initial: 5.0, ..paper }),
        ];
        for (name, config) in wrong {
            assert_eq!(config.check().map_err(|error| error.setting), Err(name));
        }
    }
}
