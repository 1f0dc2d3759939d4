//! Several claims that shall together be wrong as seldom as one.

/// Which of several hypotheses are rejected, so that a true one is among them with probability `alpha` at most (Holm,
/// Scandinavian Journal of Statistics 6(2), 1979). Nothing is assumed of how the tests depend on one another.
///
/// It rejects all that dividing the level does (Bonferroni), and more: each rejection leaves fewer for the next to share
/// the level with. A p-value that is no number is not rejected.
#[must_use]
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut rejected = vec![false; p_values.len()];
    for (before, at) in order.into_iter().enumerate() {
        let share = alpha / (p_values.len() - before) as f64;
        if p_values[at].is_nan() || p_values[at] > share {
            break;
        }
        rejected[at] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    #[test]
    fn a_worked_example() {
        // Shares are 0.0125, 0.01667, 0.025 and 0.05: the third is above its own, and so the fourth stays, too.
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        // Dividing the level would leave the second: 0.04 is above 0.025.
        assert_eq!(holm(&[0.02, 0.04], 0.05), [true, true]);
        assert_eq!(holm(&[0.03, 0.04], 0.05), [false, false]);
        assert_eq!(holm(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn it_rejects_what_bonferroni_does_and_keeps_the_level() {
        let mut rng = Rng::from_seed(11);
        let mut wrong = 0;
        for _ in 0..20_000 {
            // Two hypotheses are true, two are false by far.
            let p = [rng.unit(), rng.unit(), 1e-4 * rng.unit(), 1e-4 * rng.unit()];
            let rejected = holm(&p, 0.05);
            assert!(p.iter().zip(&rejected).all(|(p, rejected)| *rejected || *p > 0.05 / 4.0));
            wrong += u32::from(rejected[0] || rejected[1]);
        }
        // Of the two that are true: 1 − (1 − 0.025)² = 4.9 %.
        assert!((850..=1_050).contains(&wrong), "{wrong} of 20,000");
    }
}
