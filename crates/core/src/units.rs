//! Units that stand at every border instead of bare numbers.

use serde::{Deserialize, Serialize};

/// A number of credits: each is the server's permission to send one request.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Credits(pub u32);

/// Events per second; never negative.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub f64);

/// A share of a whole, as a number: 0.02 is two per cent. May exceed one (demand over capacity).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(pub f64);

impl Ratio {
    /// `part ÷ whole`, or zero when there is no whole.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn of(part: u64, whole: u64) -> Self {
        Self(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_defined_edges() {
        assert_eq!(Ratio::of(1, 4), Ratio(0.25));
        assert_eq!(Ratio::of(1, 0), Ratio(0.0));
    }
}
