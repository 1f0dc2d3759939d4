//! Several claims that shall together be wrong as seldom as one.

/// The chances (p-values) of several tests, corrected (Holm, Scandinavian Journal of Statistics 6(2), 1979). Where all hypotheses are
/// true, one of these is at α or below with the chance α at most. Nothing is assumed of how the tests depend on one another.
///
/// None is larger than what multiplying all by their number gives (Bonferroni): each rejection leaves fewer for the next to
/// share the level with. What is no number counts as 1.
#[must_use]
pub fn corrected(chances: &[f64]) -> Vec<f64> {
    let known = |at: &usize| if chances[*at].is_nan() { 1.0 } else { chances[*at] };
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|one, other| known(one).total_cmp(&known(other)));
    let mut corrected = vec![1.0; chances.len()];
    let mut least: f64 = 0.0;
    for (before, at) in order.into_iter().enumerate() {
        least = least.max(known(&at) * (chances.len() - before) as f64).min(1.0);
        corrected[at] = least;
    }
    corrected
}

/// Which of several hypotheses are rejected at this level; see [`corrected`].
#[must_use]
pub fn rejected(chances: &[f64], alpha: f64) -> Vec<bool> {
    corrected(chances).into_iter().map(|chance| chance <= alpha).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    #[test]
    fn a_worked_example() {
        // Shares are 0.0125, 0.01667, 0.025 and 0.05: the third is above its own, and so the fourth stays, too.
        assert_eq!(rejected(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        // Dividing the level would leave the second: 0.04 is above 0.025.
        assert_eq!(rejected(&[0.02, 0.04], 0.05), [true, true]);
        assert_eq!(rejected(&[0.03, 0.04], 0.05), [false, false]);
        assert_eq!(rejected(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert!(rejected(&[], 0.05).is_empty());
        // 4 × 0.005, 3 × 0.01, 2 × 0.03, and 0.04 no less than the one before.
        let found = corrected(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        assert_eq!(corrected(&[f64::NAN, 0.5, 0.9]), [1.0; 3]);
    }

    #[test]
    fn it_rejects_what_bonferroni_does_and_keeps_the_level() {
        let mut rng = Rng::from_seed(11);
        let mut wrong = 0;
        for _ in 0..20_000 {
            // Two hypotheses are true, two are false by far.
            let p = [rng.unit(), rng.unit(), 1e-4 * rng.unit(), 1e-4 * rng.unit()];
            let rejected = rejected(&p, 0.05);
            assert!(p.iter().zip(&rejected).all(|(p, rejected)| *rejected || *p > 0.05 / 4.0));
            wrong += u32::from(rejected[0] || rejected[1]);
        }
        // Of the two that are true: 1 − (1 − 0.025)² = 4.9 %.
        assert!((850..=1_050).contains(&wrong), "{wrong} of 20,000");
    }
}
