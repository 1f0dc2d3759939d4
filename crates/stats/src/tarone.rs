//! Which comparisons can find anything at all.

/// The number of comparisons to correct for. Those whose smallest possible chance is below `alpha` over that number
/// are no more than it (Tarone, 1990: *A modified Bonferroni method for discrete data*).
///
/// `least` has the smallest chance that each comparison can have, which hangs on its numbers of parts alone, not on what
/// was measured. A comparison of few parts could never pass the correction, and would make it stricter for the others.
/// `alpha` is the level of all comparisons together, from 0 to 1.
#[must_use]
pub fn testable(least: &[f64], alpha: f64) -> usize {
    let can_pass = |of: usize| least.iter().filter(|chance| **chance * (of as f64) < alpha).count();
    // Fewer can pass as the number grows, so they meet at all of them at the latest.
    (1..=least.len()).find(|number| can_pass(*number) <= *number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_that_can_never_pass_do_not_count() {
        // 8 parts against 8: 1 order of 12,870 on either side, which 65 comparisons at 1 % ask too much of.
        let (few, many) = (2.0 / 12_870.0, 1e-11);
        assert_eq!(testable(&[few; 64], 0.01), 64);
        assert_eq!(testable(&[few; 65], 0.01), 65);
        let mixed: Vec<f64> = [many; 10].into_iter().chain([few; 100]).collect();
        let number = testable(&mixed, 0.01);
        let kept = mixed.iter().filter(|chance| **chance * (number as f64) < 0.01).count();
        assert_eq!((number, kept), (65, 10), "the few are left out");
        assert_eq!(testable(&[many; 10], 0.01), 10);
        assert_eq!(testable(&[0.5; 10], 0.01), 1, "and none can pass");
        assert_eq!(testable(&[], 0.01), 0);
    }
}
