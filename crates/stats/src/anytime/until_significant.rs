//! The rule of µSKU: sample until the difference is significant.

use crate::student::t_975;

/// Observations after which µSKU gives up (thesis §4.3: about 30,000).
pub const OBSERVATIONS_MAX: u32 = 30_000;

/// Observations of each system before the first look. The thesis names no number; fewer would alarm more often.
const FIRST_LOOK: u32 = 30;

/// A fixed-size t-test at 95 %, repeated after every pair of observations, which ends when it is significant or has
/// [`OBSERVATIONS_MAX`] observations.
///
/// A baseline that does not hold its level: it is here so that this stays visible. Two identical systems are found to
/// differ in far more than 5 % of such comparisons. Use [`Sequence`](super::Sequence) instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct UntilSignificant {
    a: Moments,
    b: Moments,
    differs: bool,
}

/// Running mean and sum of squares about it (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn push(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / f64::from(self.count);
        self.squares += off * (value - self.mean);
    }

    /// Squared standard error of the mean.
    fn error_squared(&self) -> f64 {
        let count = f64::from(self.count);
        self.squares / (count - 1.0) / count
    }
}

impl UntilSignificant {
    /// Takes an observation of each system, and looks. After the end nothing changes.
    pub fn push(&mut self, a: f64, b: f64) {
        if self.has_ended() {
            return;
        }
        self.a.push(a);
        self.b.push(b);
        self.differs = self.a.count >= FIRST_LOOK && self.is_significant();
    }

    /// Welch's t-test at 5 %, two-sided.
    fn is_significant(&self) -> bool {
        let (a, b) = (self.a.error_squared(), self.b.error_squared());
        let (error, apart) = (a + b, (self.b.mean - self.a.mean).abs());
        if error <= 0.0 {
            // Without any noise every difference is significant, and degrees of freedom are 0 ÷ 0.
            return apart > 0.0;
        }
        let freedom = f64::from(self.a.count - 1) * error * error / (a * a + b * b);
        apart > t_975(freedom as usize) * error.sqrt()
    }

    /// Whether the rule says that the systems differ.
    #[must_use]
    pub const fn differs(&self) -> bool {
        self.differs
    }

    /// Whether no more observations are taken.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.differs || self.a.count + self.b.count >= OBSERVATIONS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_difference_ends_it_at_the_first_look() {
        let mut rule = UntilSignificant::default();
        let mut looks = 0;
        while !rule.has_ended() {
            let noise = f64::from(looks % 3);
            rule.push(10.0 + noise, 20.0 + noise);
            looks += 1;
        }
        assert_eq!((rule.differs(), looks), (true, FIRST_LOOK));
    }

    #[test]
    fn without_a_difference_it_ends_after_the_most_observations() {
        let mut rule = UntilSignificant::default();
        let mut pairs = 0;
        while !rule.has_ended() {
            let value = f64::from(pairs % 7);
            rule.push(value, value);
            pairs += 1;
        }
        assert_eq!((rule.differs(), 2 * pairs), (false, OBSERVATIONS_MAX));
    }

    #[test]
    fn without_noise_every_difference_is_significant() {
        let differs = |b: f64| {
            let mut rule = UntilSignificant::default();
            (0..FIRST_LOOK).for_each(|_| rule.push(1.0, b));
            rule.differs()
        };
        assert!(differs(2.0) && !differs(1.0));
    }

    #[test]
    fn the_look_is_a_two_sided_t_test() {
        // Two samples of deviation 1 about 0 and d: t = d/√(2·(n/(n−1))/n), here with n = 30 and 58 degrees.
        let look = |d: f64| {
            let mut rule = UntilSignificant::default();
            for i in 0..FIRST_LOOK {
                let side = if i % 2 == 0 { 1.0 } else { -1.0 };
                rule.push(side, d + side);
            }
            rule.differs()
        };
        let critical = 2.001_717 * (2.0_f64 / 29.0).sqrt();
        assert!(look(critical * 1.001) && !look(critical * 0.999));
    }
}
