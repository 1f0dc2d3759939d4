//! Two-level fractional factorials of resolution IV: which of many knobs matter, from few runs.
//!
//! A factor is a knob that is at stock (low) or at its other value (high). In 2ᵐ runs up to 2ᵐ⁻¹ factors fit: those whose
//! levels are products of an odd number of base columns (Box, Hunter and Hunter 1978, §12). The product of two such
//! columns has an even number, so no main effect is confounded with an interaction of two factors. Interactions of two
//! are confounded with one another.

use crate::ab::Better;

/// Factors of a design.
pub const FACTORS_MAX: usize = 16;
/// Degrees of freedom from which on a design's own spread is taken. With fewer, a factor without effect seems to have one too
/// often: at seven in 17.5 % of designs, for 15.9 % where the spread is known (one-sided law of Student).
const FREEDOM_MIN: usize = 7;
/// A gain of so many standard errors is worth a test in four of five designs: one for the rule, and the 80 % quantile of
/// the normal law.
const KEPT_MOSTLY: f64 = 1.841_6;

/// A design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factorial {
    /// Of each factor, the base columns whose product it is, as bits.
    words: Vec<u32>,
    runs: usize,
}

impl Factorial {
    /// For so many factors; `None` for none, and for more than [`FACTORS_MAX`].
    #[must_use]
    pub fn new(factors: usize) -> Option<Self> {
        if !(1..=FACTORS_MAX).contains(&factors) {
            return None;
        }
        let base = (1..).find(|base| 1 << (base - 1) >= factors)?;
        let mut words: Vec<u32> =
            (1..1_u32 << base).filter(|word| word.count_ones() % 2 == 1).collect();
        words.sort_by_key(|word| (word.count_ones(), *word));
        words.truncate(factors);
        Some(Self { words, runs: 1 << base })
    }

    /// Runs of the design.
    #[must_use]
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// Which factors are high in a run; none in run 0.
    #[must_use]
    pub fn levels(&self, run: usize) -> Vec<bool> {
        self.words.iter().map(|word| (run as u32 & word).count_ones() % 2 == 1).collect()
    }

    /// Of each factor, the mean of the responses where it is high less that where it is low. `responses` has one for
    /// each run; `None` with another number.
    #[must_use]
    pub fn effects(&self, responses: &[f64]) -> Option<Vec<f64>> {
        if responses.len() != self.runs {
            return None;
        }
        let half = self.runs as f64 / 2.0;
        let levels: Vec<Vec<bool>> = (0..self.runs).map(|run| self.levels(run)).collect();
        let effect = |factor: usize| {
            let signed = levels.iter().zip(responses);
            let signed = signed.map(|(levels, value)| if levels[factor] { *value } else { -value });
            signed.sum::<f64>() / half
        };
        Some((0..self.words.len()).map(effect).collect())
    }

    /// What a design says that was played several times, its runs each time in another order by chance. Each time has one
    /// response for each run; `None` with another number, and without a time.
    ///
    /// The standard error is that of the blocks' own spread: between times, after what a run and a time are on the mean.
    /// The noise of a quad would not do, since ABBA cancels what neighbours share and an order by chance does not. A design
    /// that was played once, or has few runs, takes `block_deviation` instead, such as a pilot's.
    #[must_use]
    pub fn main_effects(&self, times: &[Vec<f64>], block_deviation: f64) -> Option<MainEffects> {
        let of_times: Vec<Vec<f64>> =
            times.iter().map(|of| self.effects(of)).collect::<Option<_>>()?;
        let count = times.len() as f64;
        let effect = |factor: usize| of_times.iter().map(|of| of[factor]).sum::<f64>() / count;
        let effects = (0..self.words.len()).map(effect).collect();
        let freedom = (self.runs - 1) * times.len().checked_sub(1)?;
        let deviation =
            if freedom < FREEDOM_MIN { block_deviation } else { self.spread(times, freedom) };
        let standard_error = 2.0 * deviation / (self.runs as f64 * count).sqrt();
        Some(MainEffects { effects, standard_error })
    }

    /// Deviation of a response from what its run and its time are on the mean.
    fn spread(&self, times: &[Vec<f64>], freedom: usize) -> f64 {
        let (runs, count) = (self.runs as f64, times.len() as f64);
        let of_run = |run: usize| times.iter().map(|of| of[run]).sum::<f64>() / count;
        let of_runs: Vec<f64> = (0..self.runs).map(of_run).collect();
        let all = of_runs.iter().sum::<f64>() / runs;
        let squares = times.iter().map(|of| {
            let of_time = of.iter().sum::<f64>() / runs;
            let rest = of.iter().zip(&of_runs).map(|(one, of_run)| one - of_run - of_time + all);
            rest.map(|rest| rest * rest).sum::<f64>()
        });
        (squares.sum::<f64>() / freedom as f64).sqrt()
    }
}

/// What a design says of its factors.
#[derive(Clone, PartialEq, Debug)]
pub struct MainEffects {
    /// Of each factor, the mean of the responses where it is high less that where it is low.
    pub effects: Vec<f64>,
    /// Of each of them.
    pub standard_error: f64,
}

impl MainEffects {
    /// Whether a factor is worth a test: its gain exceeds the standard error. That is a liberal rule, since a factor that is
    /// left out is never tested; one in six without any effect is kept. Where there are more values than the one that was
    /// played, others may be good where that is bad, so a loss counts, too.
    #[must_use]
    pub fn is_worth_a_test(&self, factor: usize, better: Better, has_more_values: bool) -> bool {
        let effect = self.effects.get(factor).copied().unwrap_or(0.0);
        let gain = match better {
            Better::Less => -effect,
            Better::More => effect,
        };
        gain > self.standard_error || (has_more_values && gain < -self.standard_error)
    }

    /// The gain that four of five designs find worth a test.
    #[must_use]
    pub fn smallest_kept(&self) -> f64 {
        KEPT_MOSTLY * self.standard_error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_have_the_published_sizes() {
        let runs = |factors| Factorial::new(factors).map(|design| design.runs());
        let expected = [(1, 2), (2, 4), (3, 8), (4, 8), (5, 16), (8, 16), (9, 32), (16, 32)];
        for (factors, size) in expected {
            assert_eq!(runs(factors), Some(size), "{factors} factors");
        }
        assert_eq!((runs(0), runs(17)), (None, None));
    }

    #[test]
    fn the_first_run_is_stock_and_every_factor_is_high_in_half_of_them() {
        for factors in 1..=FACTORS_MAX {
            let design = Factorial::new(factors).unwrap();
            assert!(design.levels(0).iter().all(|high| !high));
            for factor in 0..factors {
                let high = (0..design.runs()).filter(|run| design.levels(*run)[factor]).count();
                assert_eq!(2 * high, design.runs());
            }
        }
    }

    #[test]
    fn main_effects_are_found_whatever_any_two_factors_do_together() {
        for factors in 1..=FACTORS_MAX {
            let design = Factorial::new(factors).unwrap();
            let wanted: Vec<f64> = (0..factors).map(|factor| factor as f64 - 2.5).collect();
            let response = |run: usize| {
                let levels = design.levels(run);
                let sign = |factor: usize| if levels[factor] { 0.5 } else { -0.5 };
                let mains: f64 = (0..factors).map(|factor| wanted[factor] * sign(factor)).sum();
                let pairs = (0..factors).flat_map(|one| (0..one).map(move |other| (one, other)));
                let pairs =
                    pairs.map(|(one, other)| (one * 7 + other) as f64 * sign(one) * sign(other));
                mains + pairs.sum::<f64>() + 100.0
            };
            let responses: Vec<f64> = (0..design.runs()).map(response).collect();
            let found = design.effects(&responses).unwrap();
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-9, "{factors} factors: {found} for {wanted}");
            }
        }
    }

    #[test]
    fn what_runs_and_times_are_on_the_mean_is_no_spread() {
        let design = Factorial::new(4).unwrap();
        // Eight runs, the third time with one response that is off by 8.
        let time =
            |time: usize| (0..8).map(|run| (run * run) as f64 + 10.0 * time as f64).collect();
        let mut times: Vec<Vec<f64>> = (0..3).map(time).collect();
        assert!(design.main_effects(&times, 5.0).unwrap().standard_error < 1e-9);
        times[2][4] += 8.0;
        // 64 · (1 − 1/8) · (1 − 1/3) over 14 degrees of freedom.
        let deviation = (64.0 * 7.0 / 8.0 * 2.0 / 3.0 / 14.0_f64).sqrt();
        let found = design.main_effects(&times, 5.0).unwrap();
        assert!((found.standard_error - 2.0 * deviation / 24.0_f64.sqrt()).abs() < 1e-9);
        // Once, or with few runs, it is what is given.
        let once = design.main_effects(&times[..1], 5.0).unwrap();
        assert!((once.standard_error - 10.0 / 8.0_f64.sqrt()).abs() < 1e-9, "{once:?}");
        let small = Factorial::new(2).unwrap();
        let small = small.main_effects(&[vec![0.0; 4], vec![1.0; 4]], 5.0).unwrap();
        assert!((small.standard_error - 10.0 / 8.0_f64.sqrt()).abs() < 1e-9, "{small:?}");
    }

    #[test]
    fn another_number_of_responses_has_no_effects() {
        let design = Factorial::new(3).unwrap();
        assert_eq!(design.effects(&[1.0]), None);
        assert_eq!(design.main_effects(&[], 1.0), None);
        assert_eq!(design.main_effects(&[vec![1.0; 8], vec![1.0]], 1.0), None);
    }
}
