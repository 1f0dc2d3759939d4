//! Which queue the next item goes to: the four traffic shapes of the thesis (§5.1.3).

use clap::ValueEnum;
use serde::Serialize;
use tailwater_core::Rng;

/// A traffic shape: some queues are hot, and one item in twenty goes to the others.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shape {
    /// Fully balanced: all queues.
    Fb,
    /// Proportionally concentrated: 20 % of the queues are hot.
    Pc,
    /// Non-proportionally concentrated: 100 queues are hot.
    Nc,
    /// Single queue: one is hot.
    Sq,
}

/// The thesis: queues that are not hot have traffic with a probability of 5 %.
const COLD: f64 = 0.05;
/// Queues drawn beforehand, so that drawing costs the producer nothing.
const DRAWN: usize = 1 << 16;

impl Shape {
    fn hot(self, queues: usize) -> usize {
        let hot = match self {
            Self::Fb => queues,
            Self::Pc => queues.div_ceil(5),
            Self::Nc => 100,
            Self::Sq => 1,
        };
        hot.min(queues)
    }

    /// The queues of many items, to be gone through in a circle.
    pub(crate) fn draw(self, queues: usize, seed: u64) -> Vec<u32> {
        let mut rng = Rng::from_seed(seed);
        let hot = self.hot(queues) as u32;
        let cold = queues as u32 - hot;
        // Hot queues lie spread over all numbers, as they would.
        let step = queues as u32 / hot;
        (0..DRAWN)
            .map(|_| {
                if cold > 0 && rng.chance(COLD) {
                    rng.below(queues as u32)
                } else {
                    rng.below(hot) * step
                }
            })
            .collect()
    }
}
