//! Distributions as words of a command line: a name, and its parameters behind colons.

use super::{Distribution, Pareto};
use crate::limits;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use tailwater_core::words::WordError;

/// All words; what was measured comes from scenarios alone.
const EXAMPLES: &[&str] =
    &["constant", "exponential", "bimodal", "lognormal:1.5", "gamma:0.5", "pareto:1.5"];

impl FromStr for Distribution {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (name, amount) = text.split_once(':').unwrap_or((text, ""));
        let parameter = |range: &RangeInclusive<f64>, text: &str, needed| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or(WordError::Amount(needed))
        };
        match (name, amount) {
            ("constant", "") => Ok(Self::Constant),
            ("exponential", "") => Ok(Self::Exponential),
            ("bimodal", "") => Ok(Self::Bimodal),
            ("lognormal", _) => {
                let needed = "\"lognormal:\" with the standard deviation of the logarithm from 0.01 to 3.2, \
                              such as \"lognormal:1.5\"";
                parameter(&limits::SIGMA, amount, needed).map(|sigma| Self::LogNormal { sigma })
            }
            ("gamma", _) => {
                let needed = "\"gamma:\" with a shape from 0.05 to 1000, such as \"gamma:0.5\"";
                parameter(&limits::GAMMA_SHAPE, amount, needed).map(|shape| Self::Gamma { shape })
            }
            ("pareto", _) => {
                let needed = "\"pareto:\" with a shape from 1.05 to 20, such as \"pareto:1.5\", and the \
                              longest request in means from 2 to 1e9 if another than 1000, such as \
                              \"pareto:1.5:100\"";
                let (shape, longest) = amount.split_once(':').unwrap_or((amount, "1000"));
                let shape = parameter(&limits::PARETO_SHAPE, shape, needed)?;
                let longest = parameter(&(2.0..=1e9), longest, needed)?;
                Ok(Self::Pareto(Pareto::new(shape, longest)))
            }
            _ => Err(WordError::Unknown(EXAMPLES)),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::Constant | Self::Exponential | Self::Bimodal | Self::Empirical(_) => {
                f.write_str(name)
            }
            Self::LogNormal { sigma } => write!(f, "{name}:{sigma}"),
            Self::Gamma { shape } => write!(f, "{name}:{shape}"),
            Self::Pareto(Pareto { shape, longest, .. }) => write!(f, "{name}:{shape}:{longest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_are_written() {
        for word in EXAMPLES.iter().copied().chain(["pareto:1.1:1e6", "lognormal:0.1"]) {
            let read: Distribution = word.parse().unwrap_or_else(|error| panic!("{word}: {error}"));
            assert_eq!(read.to_string().parse(), Ok(read), "{word}");
        }
    }

    #[test]
    fn other_words_are_answered_with_what_is_needed() {
        for word in ["lognormal", "lognormal:9", "gamma:0", "pareto:1", "pareto:2:1", "gamma:nan"] {
            let error = word.parse::<Distribution>().unwrap_err();
            assert!(matches!(error, WordError::Amount(_)), "{word}: {error}");
        }
        for word in ["", "empirical", "constant:1", "weibull"] {
            assert_eq!(word.parse::<Distribution>(), Err(WordError::Unknown(EXAMPLES)), "{word}");
        }
    }
}
