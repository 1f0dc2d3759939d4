//! CoDel's settings and its profiles.

use crate::config_error::{ConfigError, above_zero};
use std::time::Duration;

/// All that CoDel needs to know. Built by a profile, changed by overrides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The wait that may stand (RFC 8289, §3.2: `TARGET`). Too low sheds bursts that would have been
    /// in time; too high leaves no room in the SLO for service and network.
    pub target: Duration,
    /// How long the wait must stay at the target or above before anything is shed (`INTERVAL`), and
    /// the unit of the control law: sheds follow at interval/√count. Too short takes a burst for
    /// overload; too long lets the queue grow before the law has caught up with the load.
    pub interval: Duration,
    /// While overloaded, shed each request that waited this long, whatever the control law says.
    /// Requests do not slow down when one is shed, as TCP flows do: at twice the capacity the law
    /// alone must first reach a rate of one shed per service. `None` is the RFC.
    pub ceiling: Option<Duration>,
}

impl Config {
    /// RFC 8289's law with a target of 40 % of the SLO, which is Breakwater's own, and an interval of
    /// one SLO. Breakwater (§2.2) says only that its CoDel was tuned for the highest goodput at an
    /// SLO of 200 µs; neither values nor code are published, so these are ours.
    #[must_use]
    pub fn paper(slo: Duration) -> Self {
        Self { target: slo.mul_f64(0.4), interval: slo, ceiling: None }
    }

    /// RFC 8289's values for networks: 5 ms and 100 ms, whatever the SLO.
    #[must_use]
    pub const fn rfc() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ceiling: None,
        }
    }

    /// Ours: judges after half an SLO, and then sheds everything that waited for twice the target, as
    /// folly's CoDel for servers does.
    #[must_use]
    pub fn tuned(slo: Duration) -> Self {
        let target = slo.mul_f64(0.4);
        Self { target, interval: slo / 2, ceiling: Some(2 * target) }
    }

    /// Why these settings cannot work, if they cannot.
    ///
    /// # Errors
    /// The first setting at fault.
    pub fn check(&self) -> Result<(), ConfigError> {
        above_zero("target", self.target)?;
        above_zero("interval", self.interval)?;
        match self.ceiling {
            Some(ceiling) if ceiling < self.target => {
                let needed = format!("a wait not below the target, {:?},", self.target);
                Err(ConfigError::new("ceiling", format!("{ceiling:?}"), needed))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_sound_and_nonsense_is_refused_by_name() {
        let slo = Duration::from_micros(200);
        let paper = Config::paper(slo);
        assert_eq!((paper.target, paper.interval), (Duration::from_micros(80), slo));
        for config in [paper, Config::rfc(), Config::tuned(slo)] {
            assert_eq!(config.check(), Ok(()));
        }
        let short = Duration::from_micros(79);
        let wrong = [
            ("target", Config { target: Duration::ZERO, ..paper }),
            ("interval", Config { interval: Duration::ZERO, ..paper }),
            ("ceiling", Config { ceiling: Some(short), ..paper }),
        ];
        for (name, config) in wrong {
            assert_eq!(config.check().map_err(|error| error.setting), Err(name));
        }
    }

    /// RFC 8289, §3.2; and 40 % of the objective, as Breakwater's target.
    #[test]
    fn profiles_have_their_published_values() {
        let us = Duration::from_micros;
        let paper = Config { target: us(80), interval: us(200), ceiling: None };
        assert_eq!(Config::paper(us(200)), paper);
        let rfc = Config { target: us(5_000), interval: us(100_000), ceiling: None };
        assert_eq!(Config::rfc(), rfc);
        let tuned = Config { target: us(80), interval: us(100), ceiling: Some(us(160)) };
        assert_eq!(Config::tuned(us(200)), tuned);
    }

    #[test]
    fn a_ceiling_may_be_as_low_as_the_target() {
        let tuned = Config::tuned(Duration::from_micros(200));
        assert_eq!(Config { ceiling: Some(tuned.target), ..tuned }.check(), Ok(()));
    }
}
