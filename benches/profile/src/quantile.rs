//! Quantiles of what is kept whole.

/// The smallest value that this share does not exceed; `None` where there are none.
pub(crate) fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    // A share such as 0.999 is a little more than it says.
    let rank = (sorted.len() as f64 * share - 1e-6).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_thousand_is_longer() {
        let lengths: Vec<u64> = (1..=2_000).collect();
        assert_eq!(quantile(&lengths, 0.999), Some(1_998));
        assert_eq!((quantile(&lengths[..1], 0.5), quantile::<u64>(&[], 0.5)), (Some(1), None));
    }
}
