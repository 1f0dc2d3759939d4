//! Shapes of service times, as multiples of their mean.

mod words;

use crate::empirical::Empirical;
use crate::limits;
use rand_distr::Distribution as _;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Rng;

/// A shape whose mean is 1. The first three are those of Breakwater §5.2; the others are what services are
/// measured to have.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Every request takes the mean.
    Constant,
    /// Exponential: a shared resource that is waited for.
    Exponential,
    /// A fifth of the requests take four times the mean, the others a quarter of it: a cache with
    /// misses.
    Bimodal,
    /// The logarithm is normal: most services whose work is a product of many influences.
    LogNormal {
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Gamma: stages of exponential length one after the other where the shape is a whole number. Below 1
    /// it spreads wider than the exponential.
    Gamma {
        /// 1 is the exponential; the squared coefficient of variation is 1 ÷ shape.
        shape: f64,
    },
    /// A power law with an end: sizes of files and answers.
    Pareto(Pareto),
    /// What was measured.
    Empirical(Arc<Empirical>),
}

/// A Pareto distribution that is cut off above, of mean 1.
///
/// Without an end its mean would be that of the machine's rarest request: at a shape of 1.1 a quarter of the
/// work lies beyond 100,000 means. Harchol-Balter calls it B(k, p, α) (SIGMETRICS 1998, "bounded Pareto").
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pareto {
    shape: f64,
    /// The shortest and the longest, in means.
    least: f64,
    longest: f64,
}

/// The two modes of [`Distribution::Bimodal`], as multiples of the mean.
pub(crate) const SHORT: f64 = 0.25;
pub(crate) const LONG: f64 = 4.0;
/// How many requests are of the longer one.
pub(crate) const LONG_SHARE: f64 = 0.2;

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;
/// The 99.9th.
const NORMAL_P999: f64 = 3.090_232_306_167_813;
/// 53 bits of chance go no further into an exponential tail: 53 ln 2.
const EXPONENTIAL_LONGEST: f64 = 36.74;
/// So little of the work may be cut off by a limit on single requests.
const CUT_OFF: f64 = 0.001;

impl Distribution {
    /// As scenario files spell it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Exponential => "exponential",
            Self::Bimodal => "bimodal",
            Self::LogNormal { .. } => "lognormal",
            Self::Gamma { .. } => "gamma",
            Self::Pareto(_) => "pareto",
            Self::Empirical(_) => "empirical",
        }
    }

    /// The log-normal whose 99th percentile is so many times its median; more than 1.
    #[must_use]
    pub fn log_normal_of_ratio(p99_of_p50: f64) -> Self {
        Self::LogNormal { sigma: p99_of_p50.ln() / NORMAL_P99 }
    }

    /// One draw, in means.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => rng.exponential(1.0),
            Self::Bimodal => {
                if rng.chance(LONG_SHARE) {
                    LONG
                } else {
                    SHORT
                }
            }
            Self::LogNormal { sigma } => {
                let normal: f64 = rand_distr::StandardNormal.sample(rng);
                (sigma * normal - sigma * sigma / 2.0).exp()
            }
            // Parameters that it refuses are no numbers or not positive; then everything takes the mean.
            Self::Gamma { shape } => {
                rand_distr::Gamma::new(*shape, 1.0 / shape).map_or(1.0, |gamma| gamma.sample(rng))
            }
            Self::Pareto(pareto) => pareto.quantile(rng.unit()),
            Self::Empirical(measured) => measured.quantile(rng.unit()),
        }
    }

    /// The squared coefficient of variation: variance ÷ mean². Waiting grows with it, and so does what chance
    /// makes of a sample's mean.
    #[must_use]
    pub fn variation(&self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Exponential => 1.0,
            Self::Bimodal => LONG_SHARE * LONG * LONG + (1.0 - LONG_SHARE) * SHORT * SHORT - 1.0,
            Self::LogNormal { sigma } => (sigma * sigma).exp_m1(),
            Self::Gamma { shape } => 1.0 / shape,
            Self::Pareto(pareto) => pareto.second_moment() - 1.0,
            Self::Empirical(measured) => measured.variation(),
        }
    }

    /// The longest mean of service times of this shape: no request may take longer than
    /// [`limits::REQUEST_MAX`], and with this mean less than a thousandth of the work is lost to that.
    #[must_use]
    pub fn mean_max(&self) -> Duration {
        let most = limits::SERVICE_MAX.min(limits::REQUEST_MAX.div_f64(self.longest().max(1.0)));
        // What messages tell shall be what holds, and short.
        if most < Duration::from_millis(1) {
            most
        } else {
            Duration::from_micros(most.as_micros() as u64)
        }
    }

    /// In means: requests that are longer hold less than a thousandth of the work, or are never drawn.
    fn longest(&self) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => EXPONENTIAL_LONGEST,
            Self::Bimodal => LONG,
            // Weighted by its length, it is log-normal again, and its logarithm lies higher by σ².
            Self::LogNormal { sigma } => (NORMAL_P999 * sigma + sigma * sigma / 2.0).exp(),
            Self::Gamma { shape } => gamma_longest(*shape),
            Self::Pareto(pareto) => pareto.longest,
            Self::Empirical(measured) => measured.longest(),
        }
    }
}

/// Weighted by its length a gamma is one again, of a shape that is larger by 1. Chernoff's bound of its tail at
/// t scales is (t e ÷ (shape + 1))^(shape + 1) e^−t.
fn gamma_longest(shape: f64) -> f64 {
    let weighted = shape + 1.0;
    let tail = |t: f64| (weighted * (t / weighted).ln() + weighted - t).exp();
    let mut t = weighted;
    while tail(t) > CUT_OFF {
        t *= 1.01;
    }
    t / shape
}

impl Pareto {
    /// Of a shape above 1, with no request longer than `longest` means; more than 1.
    #[must_use]
    pub fn new(shape: f64, longest: f64) -> Self {
        let of = |least: f64| Self { shape, least, longest };
        // The mean grows with the shortest. Without an end it would be 1 at (shape − 1) ÷ shape.
        let (mut low, mut high) = ((shape - 1.0) / shape, 1.0);
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if of(middle).mean() < 1.0 { low = middle } else { high = middle }
        }
        of(high)
    }

    /// What a share of `u` of the requests does not exceed, in means; `u` from 0 to below 1.
    fn quantile(&self, u: f64) -> f64 {
        let beyond = 1.0 - u * self.kept();
        (self.least * beyond.powf(-1.0 / self.shape)).min(self.longest)
    }

    /// The share of an endless one that lies below the end.
    fn kept(&self) -> f64 {
        1.0 - (self.least / self.longest).powf(self.shape)
    }

    fn mean(&self) -> f64 {
        self.moment(1.0)
    }

    fn second_moment(&self) -> f64 {
        self.moment(2.0)
    }

    fn moment(&self, order: f64) -> f64 {
        let Self { shape, least, longest } = *self;
        let power = order - shape;
        // ∫ x^(power − 1) from the least to the longest.
        let integral = if power.abs() < 1e-9 {
            (longest / least).ln()
        } else {
            (longest.powf(power) - least.powf(power)) / power
        };
        shape * least.powf(shape) * integral / self.kept()
    }
}

#[cfg(test)]
mod tests;
