//! Which order statistics enclose a quantile.

/// The 1-based ranks `(low, high)` of a sample of `count` such that the true quantile `q` lies
/// below the `low`-th value, or at or above the `high`-th, with at most `(1 − confidence) ÷ 2`
/// each. `None` where no rank does.
///
/// Sums the binomial distribution itself around its mode, so there is no approximation that fails
/// at q = 0.999 and small counts. Takes time and memory in proportion to `√count`.
pub(crate) fn ranks(count: u64, q: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
    if count == 0 || !(q > 0.0 && q < 1.0) {
        return (None, None);
    }
    let (first, weights) = weights(count, q);
    let miss = weights.iter().sum::<f64>() * (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    // B values lie below the quantile. It is below the low-th value when B < low, so `low` is the
    // largest rank with P(B < low) ≤ miss; ranks below `first` have no weight to speak of.
    let low = first + leading(weights.iter(), miss);
    // It is at or above the high-th value when B ≥ high: the smallest such rank.
    let high = first + weights.len() as u64 - leading(weights.iter().rev(), miss);
    ((low >= 1).then_some(low), (high <= count).then_some(high))
}

/// How many leading weights sum up to no more than `limit`.
fn leading<'a>(weights: impl Iterator<Item = &'a f64>, limit: f64) -> u64 {
    let mut sum = 0.0;
    weights
        .take_while(|&&weight| {
            sum += weight;
            sum <= limit
        })
        .count() as u64
}

/// The binomial probabilities that matter, relative to that of the mode, and the number of
/// successes that the first one belongs to.
fn weights(count: u64, q: f64) -> (u64, Vec<f64>) {
    const NEGLIGIBLE: f64 = 1e-20;
    let odds = q / (1.0 - q);
    let mode = (((count + 1) as f64 * q) as u64).min(count);
    let mut below = Vec::new();
    let (mut k, mut weight) = (mode, 1.0);
    while k > 0 && weight > NEGLIGIBLE {
        weight *= k as f64 / ((count - k + 1) as f64 * odds);
        k -= 1;
        below.push(weight);
    }
    let first = k;
    below.reverse();
    below.push(1.0);
    (k, weight) = (mode, 1.0);
    while k < count && weight > NEGLIGIBLE {
        weight *= (count - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        below.push(weight);
    }
    (first, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(B ≤ k) by multiplying out, for small counts.
    fn naive_cdf(count: u64, q: f64, k: u64) -> f64 {
        let choose = |k: u64| (1..=k).fold(1.0, |c, i| c * (count - k + i) as f64 / i as f64);
        (0..=k).map(|j| choose(j) * q.powi(j as i32) * (1.0 - q).powi((count - j) as i32)).sum()
    }

    #[test]
    fn ranks_are_the_tightest_that_keep_the_promise() {
        for count in [1, 2, 7, 30, 100] {
            for q in [0.01, 0.3, 0.5, 0.9, 0.99] {
                let miss = 0.025;
                let low = (1..=count).rev().find(|&l| naive_cdf(count, q, l - 1) <= miss);
                let high = (1..=count).find(|&h| 1.0 - naive_cdf(count, q, h - 1) <= miss);
                assert_eq!(ranks(count, q, 0.95), (low, high), "count {count}, q {q}");
            }
        }
    }

    #[test]
    fn large_samples_follow_the_normal_law() {
        let (low, high) = ranks(1_000_000, 0.99, 0.95);
        let half = 1.959_964 * (1_000_000.0 * 0.99 * 0.01_f64).sqrt();
        assert!((low.unwrap() as f64 - (990_000.0 - half)).abs() < 2.0, "{low:?}");
        assert!((high.unwrap() as f64 - (990_000.0 + half)).abs() < 2.0, "{high:?}");
    }

    #[test]
    fn quantiles_that_are_none_have_no_interval() {
        for q in [0.0, 1.0, f64::NAN] {
            assert_eq!(ranks(100, q, 0.95), (None, None));
        }
    }
}
