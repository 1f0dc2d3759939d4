//! What is known of a number: the number itself, or how uncertain it is.

use tailwater_core::Rng;

/// A value, an interval, or a histogram.
#[derive(Clone, PartialEq, Debug)]
pub enum Amount {
    /// Known.
    Exactly(f64),
    /// Anywhere between the two, equally likely.
    Between(f64, f64),
    /// One of these, with weights that add up to one.
    OneOf(Vec<(f64, f64)>),
}

/// The most entries of a histogram.
pub const ENTRIES_MAX: usize = 256;

impl Amount {
    /// What stands for it where one number is needed: the middle of an interval, the mean of a histogram.
    #[must_use]
    pub fn central(&self) -> f64 {
        match self {
            Self::Exactly(value) => *value,
            Self::Between(low, high) => f64::midpoint(*low, *high),
            Self::OneOf(entries) => entries.iter().map(|(value, weight)| value * weight).sum(),
        }
    }

    /// The ends of an interval, or the 5th and 95th percentile of a histogram; `None` where it is known.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        match self {
            Self::Exactly(_) => None,
            Self::Between(low, high) => Some((*low, *high)),
            Self::OneOf(entries) => Some((at(entries, 0.05), at(entries, 0.95))),
        }
    }

    /// The smallest and the largest that it may be.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Self::Exactly(value) => (*value, *value),
            Self::Between(low, high) => (*low, *high),
            Self::OneOf(entries) => entries
                .iter()
                .filter(|(_, weight)| *weight > 0.0)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (value, _)| {
                    (low.min(*value), high.max(*value))
                }),
        }
    }

    /// One draw.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Exactly(value) => *value,
            Self::Between(low, high) => low + rng.unit() * (high - low),
            Self::OneOf(entries) => at(entries, rng.unit()),
        }
    }
}

/// The value at which the summed weights reach `share`. Entries are sorted by value.
fn at(entries: &[(f64, f64)], share: f64) -> f64 {
    let mut below = 0.0;
    let reached = entries.iter().find(|(_, weight)| {
        below += weight;
        below > share
    });
    // Weights may add up to a little less than one.
    reached.or(entries.last()).map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_what_is_said() {
        let mut rng = Rng::from_seed(2);
        let mut mean =
            |amount: &Amount| (0..20_000).map(|_| amount.draw(&mut rng)).sum::<f64>() / 20_000.0;
        for amount in [
            Amount::Exactly(7.0),
            Amount::Between(2.0, 6.0),
            Amount::OneOf(vec![(1.0, 0.5), (2.0, 0.25), (10.0, 0.25)]),
        ] {
            assert!((mean(&amount) / amount.central() - 1.0).abs() < 0.02, "{amount:?}");
        }
    }

    #[test]
    fn a_known_number_has_no_range() {
        assert_eq!(Amount::Exactly(1.0).range(), None);
        assert_eq!(Amount::Between(1.0, 2.0).range(), Some((1.0, 2.0)));
        let rare = Amount::OneOf(vec![(1.0, 0.04), (5.0, 0.92), (9.0, 0.04)]);
        assert_eq!(rare.range(), Some((5.0, 5.0)));
        assert_eq!(rare.ends(), (1.0, 9.0));
    }
}
