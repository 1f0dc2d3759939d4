//! How requests are spread in time, and the words for it that flags and scenario files share.

use crate::limits;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_core::duration::{format_duration, parse_duration};
use tailwater_core::words::WordError;

/// How requests are spread in time. The mean rate is the demand's under each of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// Exponential gaps: many independent clients (Breakwater §5.2).
    Poisson,
    /// Equal gaps. For tests: real clients do not agree like this, and queues look too short.
    Periodic,
    /// Gamma-distributed gaps: 1 is Poisson, smaller shapes come in clusters, larger ones evenly. The index of
    /// dispersion of counts is 1 ÷ shape.
    Gamma {
        /// See [`limits::GAMMA_SHAPE`].
        shape: f64,
    },
    /// A Poisson process whose rate jumps between two values.
    Bursts(Bursts),
    /// A Poisson process whose rate swings about the demand as a sine, rising first.
    Diurnal(Diurnal),
    /// Those of µSuite's published load generators, as a baseline that shows what they hide. The gap is a whole
    /// number of µs from a *Poisson* distribution whose mean is the mean gap. An exponential one was meant: at 1,000
    /// requests/s the gaps vary by 3 %. On sockets each gap begins when the request before it was sent, and so does
    /// latency. So a late generator stays late and does not show it.
    Metronome,
}

/// Bursts of exponential lengths with quiet times of exponential lengths between them: a Markov-modulated Poisson
/// process of two states (Heffes and Lucantoni, IEEE JSAC 4(6), 1986).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// The rate in a burst as a multiple of the demand; above 1, and at most [`Bursts::factor_max`].
    factor: f64,
    /// Mean length of a burst.
    length: Duration,
    /// Mean time between two.
    quiet: Duration,
}

/// A rate that swings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Diurnal {
    /// How far, as a share of the demand: 1 goes from nothing to twice the demand.
    swing: f64,
    /// How long a swing takes; a whole number of them fits the measured window.
    period: Duration,
}

const FACTOR: RangeInclusive<f64> = 1.000_001..=1_000.0;
const SOJOURN: RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_secs(60);
const SWING: RangeInclusive<f64> = 0.001..=1.0;
const PERIOD: RangeInclusive<Duration> = Duration::from_millis(10)..=limits::DURATION_MAX;

impl Arrivals {
    /// A word of each.
    pub const EXAMPLES: &[&str] =
        &["poisson", "periodic", "gamma:0.25", "bursts:4:10ms:90ms", "diurnal:0.8:1s", "metronome"];

    /// Why a window of this length is not offered the demand in the mean; nothing where it is.
    #[must_use]
    pub fn misfit(&self, window: Duration) -> Option<String> {
        self.no_whole_periods("measured window", window)
    }

    /// The same for a step of a cycle, which a `ramp` is where its demand changes.
    pub(crate) fn misfit_of_step(&self, length: Duration, ramp: bool) -> Option<String> {
        match self {
            // A sine times a slope has no mean of zero.
            Self::Diurnal(_) if ramp => Some(
                "a ramp would not be offered its mean demand; steps of constant demand are needed"
                    .into(),
            ),
            _ => self.no_whole_periods("step", length),
        }
    }

    fn no_whole_periods(&self, what: &str, length: Duration) -> Option<String> {
        let Self::Diurnal(Diurnal { period, .. }) = self else {
            return None;
        };
        (!length.nanos().is_multiple_of(period.nanos())).then(|| {
            format!(
                "a {what} of {} is no whole number of periods of {}, so its mean demand would not be the one that \
                 is asked for",
                format_duration(length),
                format_duration(*period)
            )
        })
    }

    /// The shortest time in which the mean is the demand's; nothing where any will do.
    pub(crate) const fn period(&self) -> Option<Duration> {
        match self {
            Self::Diurnal(diurnal) => Some(diurnal.period),
            _ => None,
        }
    }
}

impl Bursts {
    /// Nothing where the quiet time would need a negative rate for the demand to be the mean.
    #[must_use]
    pub fn new(factor: f64, length: Duration, quiet: Duration) -> Option<Self> {
        let fits = FACTOR.contains(&factor)
            && SOJOURN.contains(&length)
            && SOJOURN.contains(&quiet)
            && factor <= Self::factor_max(length, quiet);
        fits.then_some(Self { factor, length, quiet })
    }

    /// The rate in bursts, as a multiple of the demand, that leaves nothing for the time between.
    #[must_use]
    pub fn factor_max(length: Duration, quiet: Duration) -> f64 {
        (length + quiet).div_duration_f64(length)
    }

    /// Multiples of the demand in a burst, and between two.
    pub(crate) fn factors(&self) -> [f64; 2] {
        let all = self.length + self.quiet;
        let quiet = all.as_secs_f64() - self.factor * self.length.as_secs_f64();
        [self.factor, (quiet / self.quiet.as_secs_f64()).max(0.0)]
    }

    /// Mean lengths of a burst, and of the time between two.
    pub(crate) const fn sojourns(&self) -> [Duration; 2] {
        [self.length, self.quiet]
    }

    /// Share of the time that is in bursts.
    pub(crate) fn share(&self) -> f64 {
        self.length.div_duration_f64(self.length + self.quiet)
    }
}

impl Diurnal {
    /// Nothing where swing or period are out of range.
    #[must_use]
    pub fn new(swing: f64, period: Duration) -> Option<Self> {
        let fits = SWING.contains(&swing) && PERIOD.contains(&period);
        fits.then_some(Self { swing, period })
    }

    /// How long a swing takes.
    pub(crate) const fn period(&self) -> Duration {
        self.period
    }

    /// The multiple of the demand after this share of a period.
    pub(crate) fn factor(&self, share: f64) -> f64 {
        1.0 + self.swing * (std::f64::consts::TAU * share).sin()
    }
}

impl FromStr for Arrivals {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let number = |text: &str| text.parse::<f64>().ok();
        let time = |text: &str| parse_duration(text).ok();
        match (name, &parts[..]) {
            ("poisson", []) => Ok(Self::Poisson),
            ("periodic", []) => Ok(Self::Periodic),
            ("metronome", []) => Ok(Self::Metronome),
            ("gamma", parts) => {
                let shape = if let [shape] = parts { number(shape) } else { None };
                let shape = shape.filter(|shape| limits::GAMMA_SHAPE.contains(shape));
                shape.map(|shape| Self::Gamma { shape }).ok_or(WordError::Amount(GAMMA))
            }
            ("bursts", parts) => {
                let bursts = match parts {
                    [factor, length, quiet] => number(factor).zip(time(length)).zip(time(quiet)),
                    _ => None,
                };
                let bursts =
                    bursts.and_then(|((factor, length), quiet)| Bursts::new(factor, length, quiet));
                bursts.map(Self::Bursts).ok_or(WordError::Amount(BURSTS))
            }
            ("diurnal", parts) => {
                let diurnal = match parts {
                    [swing, period] => number(swing).zip(time(period)),
                    _ => None,
                };
                let diurnal = diurnal.and_then(|(swing, period)| Diurnal::new(swing, period));
                diurnal.map(Self::Diurnal).ok_or(WordError::Amount(DIURNAL))
            }
            _ => Err(WordError::Unknown(Self::EXAMPLES)),
        }
    }
}

const GAMMA: &str = "\"gamma:\" with a shape from 0.05 to 1000, such as \"gamma:0.25\"";
const BURSTS: &str = "\"bursts:RATE:BURST:QUIET\", such as \"bursts:4:10ms:90ms\" (RATE a multiple of the demand, above 1 and at \
    most (BURST + QUIET) / BURST; BURST and QUIET mean lengths from 100us to 60s)";
const DIURNAL: &str = "\"diurnal:\" with the swing as a share of the demand, from 0.001 to 1, and the period, from 10ms to \
    3600s, such as \"diurnal:0.8:1s\"";

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => f.write_str("poisson"),
            Self::Periodic => f.write_str("periodic"),
            Self::Metronome => f.write_str("metronome"),
            Self::Gamma { shape } => write!(f, "gamma:{shape}"),
            Self::Bursts(Bursts { factor, length, quiet }) => {
                let [length, quiet] = [length, quiet].map(|mean| format_duration(*mean));
                write!(f, "bursts:{factor}:{length}:{quiet}")
            }
            Self::Diurnal(Diurnal { swing, period }) => {
                write!(f, "diurnal:{swing}:{}", format_duration(*period))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_are_written() {
        for word in Arrivals::EXAMPLES.iter().copied().chain(["bursts:10:1.5ms:13.5ms"]) {
            let read: Arrivals = word.parse().unwrap_or_else(|error| panic!("{word}: {error}"));
            assert_eq!(read.to_string(), word);
        }
    }

    #[test]
    fn other_words_are_answered_with_what_is_needed() {
        let amounts = [
            "gamma",
            "gamma:0",
            "gamma:nan",
            "gamma:1:2",
            "bursts",
            "bursts:4",
            "bursts:4:10ms",
            "bursts:1:10ms:90ms",
            "bursts:10.1:10ms:90ms",
            "bursts:4:10us:90ms",
            "bursts:4:10ms:90ms:1s",
            "diurnal:0.8",
            "diurnal:1.1:1s",
            "diurnal:0.8:1ms",
            "diurnal:nan:1s",
        ];
        for word in amounts {
            let error = word.parse::<Arrivals>().unwrap_err();
            assert!(matches!(error, WordError::Amount(_)), "{word}: {error}");
        }
        for word in ["", "poisson:1", "metronom", "periodic:"] {
            let known = WordError::Unknown(Arrivals::EXAMPLES);
            assert_eq!(word.parse::<Arrivals>(), Err(known), "{word}");
        }
    }

    #[test]
    fn bursts_and_the_time_between_have_the_demand_as_their_mean() {
        let ms = Duration::from_millis;
        let bursts = Bursts::new(4.0, ms(10), ms(90)).unwrap();
        let [burst, quiet] = bursts.factors();
        assert!((burst * bursts.share() + quiet * (1.0 - bursts.share()) - 1.0).abs() < 1e-12);
        let all = Bursts::new(10.0, ms(10), ms(90)).unwrap();
        assert!(all.factors()[1].abs() < 1e-12, "nothing comes between");
    }

    #[test]
    fn a_window_of_half_a_period_is_a_misfit() {
        let diurnal: Arrivals = "diurnal:0.8:1s".parse().unwrap();
        assert_eq!(diurnal.misfit(Duration::from_secs(2)), None);
        let why = diurnal.misfit(Duration::from_millis(1_500)).unwrap();
        assert!(
            why.starts_with("a measured window of 1.5s is no whole number of periods of 1s"),
            "{why}"
        );
        assert_eq!(Arrivals::Poisson.misfit(Duration::from_millis(1_500)), None);
        let second = Duration::from_secs(1);
        assert_eq!(diurnal.misfit_of_step(2 * second, false), None);
        let why = diurnal.misfit_of_step(second / 2, false).unwrap();
        assert!(why.starts_with("a step of 500ms is no whole number of periods of 1s"), "{why}");
        assert!(diurnal.misfit_of_step(2 * second, true).unwrap().contains("ramp"));
        assert_eq!(Arrivals::Poisson.misfit_of_step(second / 2, true), None);
    }
}
