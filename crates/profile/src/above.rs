//! Which requests are above a percentile: one meaning for whatever asks.
//!
//! A percentile leaves a share of the requests above it. That share is rounded up, so of a few requests the longest is above any
//! percentile. A request as long as the shortest of these is above it, too. Of calls only bounds are known: one is above where it
//! surely took longer ([`crate::stacks::Tail`]).

use crate::record::Ticks;

/// How many of so many requests are above a quantile, from 0 to 1, where no two are of one length. At least one, unless there is none.
pub(crate) fn leaves(quantile: f64, requests: usize) -> usize {
    // But for what 1 - 0.99 is too large by.
    let share = ((1.0 - quantile) * requests as f64 - 1e-6).ceil() as usize;
    share.max(1).min(requests)
}

/// What the shortest request above a quantile took, and thus every one that is above it; zero where there is none. The longest
/// stands first.
pub(crate) fn least(quantile: f64, longest_first: &[Ticks]) -> Ticks {
    let above = leaves(quantile, longest_first.len());
    longest_first.get(above.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_rounded_up_and_rounding_adds_none() {
        for (quantile, requests, above) in [
            (0.99, 0, 0),
            (0.99, 1, 1),
            (0.99, 50, 1),
            (0.99, 100, 1),
            (0.99, 101, 2),
            (0.99, 1_000, 10),
            (0.999, 1_000, 1),
            (0.9999, 1_000_000, 100),
            (0.5, 3, 2),
            (0.0, 7, 7),
        ] {
            assert_eq!(leaves(quantile, requests), above, "{quantile} of {requests}");
        }
        assert_eq!(least(0.5, &[9, 9, 8, 7]), 9);
        assert_eq!(least(0.5, &[]), 0);
    }
}
