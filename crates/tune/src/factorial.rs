//! Two-level fractional factorials of resolution IV: which of many knobs matter, from few runs.
//!
//! A factor is a knob that is at stock (low) or at its other value (high). In 2ᵐ runs up to 2ᵐ⁻¹ factors fit: those whose
//! levels are products of an odd number of base columns (Box, Hunter and Hunter 1978, §12). The product of two such
//! columns has an even number, so no main effect is confounded with an interaction of two factors. Interactions of two
//! are confounded with one another.

/// Factors of a design.
pub const FACTORS_MAX: usize = 16;

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
    fn another_number_of_responses_has_no_effects() {
        assert_eq!(Factorial::new(3).unwrap().effects(&[1.0]), None);
    }
}
