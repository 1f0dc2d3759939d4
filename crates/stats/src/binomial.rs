//! How many of several tries go right, by the binomial law.

/// The fewest right ones of so many tries that do not speak against a probability of each: fewer are seen in less than
/// `level` of all cases. Zero where the tries are too few to speak against it: then all may go wrong more often than that.
///
/// Where each try has a probability of its own and `probability` is their mean, the level holds too: numbers that lie a
/// try below their mean or more are then seen less often (Hoeffding 1956, theorem 4).
#[must_use]
pub fn fewest_right(tries: u32, probability: f64, level: f64) -> u32 {
    let mut at_most = 0.0;
    for right in 0..tries {
        at_most += exactly(right, tries, probability);
        if at_most >= level {
            return right;
        }
    }
    tries
}

fn exactly(right: u32, tries: u32, probability: f64) -> f64 {
    // What is certain, or never happens, has no logarithm.
    if probability <= 0.0 || probability >= 1.0 {
        let all = if probability <= 0.0 { 0 } else { tries };
        return if right == all { 1.0 } else { 0.0 };
    }
    // By logarithms: of a thousand tries the ways are more than a number holds, and each is less likely than one.
    let ways = (0..right).map(|at| (f64::from(tries - at) / f64::from(at + 1)).ln());
    let each = f64::from(right) * probability.ln();
    (ways.sum::<f64>() + each + f64::from(tries - right) * (-probability).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fair_coins_have_the_numbers_of_the_sign_test() {
        // One-sided at 5 %, as tables have it: 5 of 20 or fewer speak against a fair coin, and 4 of 16.
        for (tries, fewest) in [(4, 0), (5, 1), (8, 2), (16, 5), (20, 6)] {
            assert_eq!(fewest_right(tries, 0.5, 0.05), fewest, "{tries} coins");
        }
    }

    #[test]
    fn few_tries_speak_against_nothing() {
        // 0.7⁸ is 5.8 %, and 0.7⁹ 4.0 %.
        assert_eq!((fewest_right(8, 0.3, 0.05), fewest_right(9, 0.3, 0.05)), (0, 1));
        assert_eq!((fewest_right(0, 0.3, 0.05), fewest_right(100, 0.0, 0.05)), (0, 0));
        assert_eq!(fewest_right(3, 1.0, 0.05), 3, "what is certain never fails");
    }

    #[test]
    fn all_numbers_together_are_certain() {
        for tries in [40, 5_000] {
            let all: f64 = (0..=tries).map(|right| exactly(right, tries, 0.3)).sum();
            assert!((all - 1.0).abs() < 1e-9, "{all}");
        }
        assert!((1_400..1_500).contains(&fewest_right(5_000, 0.3, 0.05)));
    }
}
