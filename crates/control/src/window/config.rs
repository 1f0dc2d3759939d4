//! The window's settings and its profiles.

use crate::config_error::{ConfigError, above_zero, within};
use std::time::Duration;

/// What one client with a window needs to know. Built by a profile, changed by overrides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// A response slower than this shrinks the window; OSDI '20 §2: the SLO. Below what an idle
    /// server needs, every client ends at one request; near the SLO, the tail misses it.
    pub target: Duration,
    /// What a whole window of fast responses adds (1: TCP's congestion avoidance, RFC 5681 §3.1).
    pub window_step: f64,
    /// What a decrease multiplies by, above 0 and below 1.
    pub window_decrease: f64,
    /// How often slow responses shrink the window.
    pub cut: Cut,
    /// When the window may grow.
    pub growth: Growth,
    /// The window of a new client, from 1 to `window_max`.
    pub window_initial: f64,
    /// Largest window: bounds what an idle period can build up.
    pub window_max: f64,
}

/// See [`Config::cut`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// With every slow response (the paper's words).
    EachResponse,
    /// Once for all requests that were on their way when it was cut (TCP, RFC 6582): one standing
    /// queue makes a whole window of slow responses.
    OncePerWindow,
}

/// See [`Config::growth`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// With every fast response (paper).
    Always,
    /// Only while at least half of the window is in use (RFC 7661): what was never tried is not
    /// known to be safe.
    WhileUsed,
}

impl Config {
    /// The OSDI '20 text (§2): the SLO decides. Its factors were tuned per workload and are not
    /// printed; these are ours: TCP's increase, and a decrease gentle enough for one per response.
    #[must_use]
    pub fn paper(slo: Duration) -> Self {
        Self {
            target: slo,
            window_step: 1.0,
            window_decrease: 0.9,
            cut: Cut::EachResponse,
            growth: Growth::Always,
            window_initial: 1.0,
            window_max: 1_024.0,
        }
    }

    /// Ours: a target that leaves the tail room within the SLO, one decrease per window by CUBIC's
    /// 0.7 (RFC 9438 §4.6), and growth in use only.
    #[must_use]
    pub fn tuned(slo: Duration) -> Self {
        Self {
            target: slo / 2,
            window_decrease: 0.7,
            cut: Cut::OncePerWindow,
            growth: Growth::WhileUsed,
            ..Self::paper(slo)
        }
    }

    /// Why these settings cannot work, if they cannot.
    ///
    /// # Errors
    /// The first setting at fault.
    pub fn check(&self) -> Result<(), ConfigError> {
        above_zero("target", self.target)?;
        within("window_step", self.window_step, 0.001..=1_000.0)?;
        within("window_decrease", self.window_decrease, 0.001..=0.999)?;
        within("window_max", self.window_max, 1.0..=1e6)?;
        within("window_initial", self.window_initial, 1.0..=self.window_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_setting_at_fault() {
        let paper = Config::paper(Duration::from_micros(200));
        assert_eq!(paper.check(), Ok(()));
        assert_eq!(Config::tuned(Duration::from_micros(200)).check(), Ok(()));
        let wrong = [
            ("target", Config { target: Duration::ZERO, ..paper }),
            ("window_step", Config { window_step: 0.0, ..paper }),
            ("window_decrease", Config { window_decrease: 1.0, ..paper }),
            ("window_max", Config { window_max: 0.5, ..paper }),
            ("window_initial", Config { window_initial: 0.0, ..paper }),
        ];
        for (name, config) in wrong {
            assert_eq!(config.check().map_err(|error| error.setting), Err(name));
        }
    }

    /// TCP's increase (RFC 5681), CUBIC's decrease (RFC 9438, §4.6); the rest is ours, as said there.
    #[test]
    fn profiles_have_the_values_that_they_say() {
        let slo = Duration::from_micros(200);
        let paper = Config {
            target: slo,
            window_step: 1.0,
            window_decrease: 0.9,
            cut: Cut::EachResponse,
            growth: Growth::Always,
            window_initial: 1.0,
            window_max: 1_024.0,
        };
        assert_eq!(Config::paper(slo), paper);
        let tuned = Config {
            target: slo / 2,
            window_decrease: 0.7,
            cut: Cut::OncePerWindow,
            growth: Growth::WhileUsed,
            ..paper
        };
        assert_eq!(Config::tuned(slo), tuned);
    }
}
