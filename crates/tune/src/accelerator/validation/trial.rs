//! Blocks with and without the accelerator, and which of them count.

use serde::{Deserialize, Serialize};
use tailwater_stats::anytime::{Arm, QuadOrder};

/// What disturbed a block, as shares of its time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BlockNoise {
    /// What the hypervisor gave to others, of all cores.
    pub steal: f64,
    /// What the host's core did for others, or nothing.
    pub host_away: f64,
    /// What the accelerator's thread was not on its core.
    pub device_away: f64,
}

/// What a block may have of each. Fixed before the first block, and the same for both arms.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct NoiseLimits {
    /// Of the hypervisor.
    pub steal_max: f64,
    /// Of the host's core.
    pub host_away_max: f64,
    /// Of the accelerator's thread.
    pub device_away_max: f64,
}

impl NoiseLimits {
    /// Time of the host is counted while its threads run, so its absence costs caches alone. That of the accelerator
    /// keeps the host waiting, which the model cannot know of.
    pub const DEFAULT: Self = Self { steal_max: 0.02, host_away_max: 0.1, device_away_max: 0.02 };
    /// Every block counts that has readings: of runs from which nothing is concluded.
    pub const NONE: Self = Self { steal_max: 1.0, host_away_max: 1.0, device_away_max: 1.0 };

    /// Why a block cannot count. It does not see what was measured.
    #[must_use]
    pub fn broken(&self, noise: &BlockNoise) -> Option<String> {
        let readings = [
            ("steal", noise.steal, self.steal_max),
            ("the host's core was for others or idle", noise.host_away, self.host_away_max),
            ("the accelerator's thread was away", noise.device_away, self.device_away_max),
        ];
        // A reading that is no number is noise, too.
        let beyond = |(_, found, max): &(&str, f64, f64)| found.is_nan() || found > max;
        let (what, found, max) = readings.into_iter().find(beyond)?;
        Some(format!("{what}: {:.1} % of the time, above {:.0} %", found * 100.0, max * 100.0))
    }
}

/// One block.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TrialBlock {
    /// Nanoseconds that the host's threads ran for a request.
    pub ns_per_request: f64,
    /// How often these threads left their core for a request, of themselves or not.
    pub switches_per_request: f64,
    /// What disturbed it.
    pub noise: BlockNoise,
}

/// Four blocks, two without the accelerator (A) and two with it (B).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Trial {
    /// Whether each had the accelerator.
    pub with: [bool; 4],
    /// In the order in which they were measured.
    pub blocks: [TrialBlock; 4],
    /// Why it does not count; one block that is spoilt sets all four aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
}

impl Trial {
    /// Judges four blocks by the rules.
    #[must_use]
    pub fn new(rules: &NoiseLimits, order: QuadOrder, blocks: [TrialBlock; 4]) -> Self {
        let set_aside = blocks.iter().find_map(|block| rules.broken(&block.noise));
        Self { with: order.arms().map(|arm| arm == Arm::B), blocks, set_aside }
    }

    /// The mean of the switches with the accelerator, where it counts.
    #[must_use]
    pub fn switches(&self) -> Option<f64> {
        let arms = self.with.iter().zip(&self.blocks).filter(|(with, _)| **with);
        let all: f64 = arms.map(|(_, block)| block.switches_per_request).sum();
        self.set_aside.is_none().then_some(all / 2.0)
    }

    /// Geometric means of the time with and of that without, where it counts.
    #[must_use]
    pub fn times(&self) -> Option<(f64, f64)> {
        let mean = |wanted: bool| {
            let arms = self.with.iter().zip(&self.blocks).filter(|(with, _)| **with == wanted);
            arms.map(|(_, block)| block.ns_per_request).product::<f64>().sqrt()
        };
        self.set_aside.is_none().then(|| (mean(true), mean(false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: BlockNoise = BlockNoise { steal: 0.0, host_away: 0.01, device_away: 0.0 };

    fn block(ns_per_request: f64, noise: BlockNoise) -> TrialBlock {
        TrialBlock { ns_per_request, switches_per_request: 0.5, noise }
    }

    #[test]
    fn a_drift_in_a_trial_cancels() {
        let blocks = [10.0, 8.0 * 1.1, 8.0 * 1.21, 10.0 * 1.331].map(|ns| block(ns, QUIET));
        let (with, without) =
            Trial::new(&NoiseLimits::DEFAULT, QuadOrder::Abba, blocks).times().unwrap();
        assert!((without / with - 1.25).abs() < 1e-12);
    }

    #[test]
    fn one_spoilt_block_sets_the_trial_aside_whatever_was_measured() {
        let spoilt = [
            BlockNoise { steal: 0.5, ..QUIET },
            BlockNoise { host_away: 0.2, ..QUIET },
            BlockNoise { device_away: 0.03, ..QUIET },
            BlockNoise { steal: f64::NAN, ..QUIET },
        ];
        for noise in spoilt {
            for at in 0..4 {
                let mut blocks = [block(10.0, QUIET); 4];
                blocks[at].noise = noise;
                let trial = Trial::new(&NoiseLimits::DEFAULT, QuadOrder::Baab, blocks);
                assert!(trial.set_aside.is_some() && trial.times().is_none(), "{noise:?}");
                let trial = Trial::new(&NoiseLimits::NONE, QuadOrder::Baab, blocks);
                assert_eq!(trial.set_aside.is_some(), noise.steal.is_nan(), "{noise:?}");
            }
        }
    }
}
