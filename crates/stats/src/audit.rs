//! Whether an open-loop generator did what it was asked to: gaps like those of a Poisson process,
//! and all of the load.
//!
//! Some generators send nearly periodically, or slip their schedule when the server is slow. Such a generator
//! understates tail latency by up to an order of magnitude and looks fine in every other number.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tailwater_core::{Nanos, Rate};

/// The most gaps that enter the test. A generator is always a little wrong, and a test of all gaps
/// of a long run finds that; with this many it finds distances from about 0.04 upwards
/// (periodic sending is at 0.63, bursts of two at 0.5).
pub const GAPS_MAX: usize = 1000;

/// What was asked of the generator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AuditSpec {
    /// The load asked for. For demand in steps, audit each step by itself: gaps of a mixture are
    /// not exponential.
    pub asked: Rate,
    /// How long it was asked for.
    pub window: Duration,
    /// How exactly the generator can time a send; 1 µs for a polling one. The test forgives shifts
    /// of a gap up to this. Larger than the mean gap, it forgives everything.
    pub granularity: Duration,
    /// Smallest share of the load that must have been sent, as in
    /// [`Rules`](crate::Rules); 0.98.
    pub offered_min: f64,
}

/// What the audit found.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Audit {
    /// Kolmogorov–Smirnov distance of the gaps from the exponential law of their own mean, after
    /// forgiving the granularity.
    pub statistic: f64,
    /// The distance that a true Poisson process exceeds in one audit of a hundred.
    pub critical: f64,
    /// Gaps that entered the test.
    pub gaps: u32,
    /// Whether the gaps pass as exponential. False with fewer than ten gaps: nothing is shown.
    pub exponential: bool,
    /// Sent ÷ asked.
    pub reached: f64,
    /// Whether that is enough.
    pub offered: bool,
    /// The longest time without a send, in µs.
    pub longest_stall_us: f64,
}

impl Audit {
    /// Whether the generator did what it was asked to.
    #[must_use]
    pub const fn passed(&self) -> bool {
        self.exponential && self.offered
    }
}

/// Audits the times, in ns and ascending, at which requests were really sent.
///
/// The law's mean is estimated from the gaps themselves, so the classical critical values would
/// accept too much; Stephens' for the exponential law apply (EDF Statistics for Goodness of Fit and
/// Some Comparisons, JASA 69, 1974, table 1.3: 1.308 at 1 %).
#[must_use]
pub fn audit(sent_ns: &[u64], spec: &AuditSpec) -> Audit {
    let longest_ns = sent_ns.windows(2).map(gap).max().unwrap_or(0);
    // Every k-th gap rather than the first thousand: the whole run is looked at.
    let every = sent_ns.len().saturating_sub(1).div_ceil(GAPS_MAX).max(1);
    let mut gaps: Vec<u64> = sent_ns.windows(2).step_by(every).map(gap).collect();
    gaps.sort_unstable();
    let statistic = distance(&gaps, spec.granularity.nanos());
    let critical = critical(gaps.len());
    let asked = spec.asked.0 * spec.window.as_secs_f64();
    let reached = if asked > 0.0 { sent_ns.len() as f64 / asked } else { 1.0 };
    Audit {
        statistic,
        critical,
        gaps: gaps.len() as u32,
        exponential: gaps.len() >= 10 && statistic <= critical,
        reached,
        offered: reached >= spec.offered_min,
        longest_stall_us: longest_ns as f64 / 1e3,
    }
}

fn gap(pair: &[u64]) -> u64 {
    pair[1].saturating_sub(pair[0])
}

/// The distance at which 1 % of exponential samples of `count` lie, by Stephens' modification
/// (D − 0.2/n)(√n + 0.26 + 0.5/√n) = 1.308.
fn critical(count: usize) -> f64 {
    let n = count.max(1) as f64;
    1.308 / (n.sqrt() + 0.26 + 0.5 / n.sqrt()) + 0.2 / n
}

/// The largest difference between the shares of gaps found and expected up to any length. A gap may have been up to
/// `granularity` longer or shorter.
fn distance(sorted: &[u64], granularity_ns: u64) -> f64 {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<u64>() as f64 / count.max(1.0);
    let expected = |gap_ns: u64| {
        if mean > 0.0 { 1.0 - (-(gap_ns as f64) / mean).exp() } else { 1.0 }
    };
    sorted
        .iter()
        .enumerate()
        .map(|(below, &gap)| {
            let (before, up_to) = (below as f64 / count, (below + 1) as f64 / count);
            let too_many = up_to - expected(gap.saturating_add(granularity_ns));
            let too_few = expected(gap.saturating_sub(granularity_ns)) - before;
            too_many.max(too_few)
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    const SPEC: AuditSpec = AuditSpec {
        asked: Rate(100_000.0),
        window: Duration::from_secs(1),
        granularity: Duration::from_micros(1),
        offered_min: 0.98,
    };

    fn sent(gaps_ns: impl Iterator<Item = f64>) -> Vec<u64> {
        let mut now = 0.0;
        gaps_ns
            .map(|gap| {
                now += gap;
                now as u64
            })
            .take_while(|&ns| ns < 1_000_000_000)
            .collect()
    }

    fn poisson(seed: u64) -> Vec<u64> {
        let mut rng = Rng::from_seed(seed);
        sent(std::iter::repeat_with(|| rng.exponential(10_000.0)))
    }

    #[test]
    fn poisson_sending_passes_also_on_a_clock_of_one_microsecond() {
        let exact = audit(&poisson(1), &SPEC);
        assert!(exact.passed(), "{exact:?}");
        assert!((980..=GAPS_MAX as u32).contains(&exact.gaps), "{exact:?}");
        let rounded: Vec<u64> = poisson(1).iter().map(|ns| ns.div_ceil(1000) * 1000).collect();
        let rounded = audit(&rounded, &SPEC);
        assert!(rounded.passed(), "{rounded:?}");
    }

    #[test]
    fn one_audit_in_a_hundred_fails_by_chance() {
        let exact = AuditSpec { granularity: Duration::ZERO, ..SPEC };
        let fails = (0..2_000)
            .filter(|&seed| {
                let mut rng = Rng::from_seed(seed);
                let few = sent((0..200).map(|_| rng.exponential(10_000.0)));
                !audit(&few, &exact).exponential
            })
            .count();
        // 20 expected; the bounds are three standard deviations of a Poisson count away.
        assert!((7..=33).contains(&fails), "{fails} of 2000");
    }

    #[test]
    fn periodic_bursty_and_uniform_sending_fail() {
        let periodic = sent(std::iter::repeat(10_000.0));
        let pairs = sent([0.0, 20_000.0].into_iter().cycle());
        let mut rng = Rng::from_seed(3);
        let uniform = sent(std::iter::repeat_with(|| rng.unit() * 20_000.0));
        // What a generator does whose loop comes around every 50 µs and sends what is due.
        let batched: Vec<u64> = poisson(1).iter().map(|ns| ns.div_ceil(50_000) * 50_000).collect();
        for (name, times) in
            [("periodic", periodic), ("pairs", pairs), ("uniform", uniform), ("batched", batched)]
        {
            let found = audit(&times, &SPEC);
            assert!(!found.exponential && found.offered, "{name}: {found:?}");
        }
    }

    /// µSuite's open-loop generators draw gaps of whole microseconds from a Poisson distribution.
    #[test]
    fn the_published_generator_fails() {
        let mut rng = Rng::from_seed(4);
        // How many of a process with gaps of one in the mean come before the mean gap is over.
        let mut gap_us = || {
            let (mut time, mut count) = (rng.exponential(1.0), 0_u32);
            while time < 10.0 {
                (time, count) = (time + rng.exponential(1.0), count + 1);
            }
            count
        };
        let times = sent(std::iter::repeat_with(|| 1e3 * f64::from(gap_us())));
        let found = audit(&times, &SPEC);
        assert!(!found.exponential && found.offered, "{found:?}");
    }

    #[test]
    fn the_statistic_is_the_textbooks() {
        // Gaps 1, 2, 3 µs of mean 2: the largest step is at 1: F(1) − 0 = 1 − e^{-1/2}.
        let distance = distance(&[1_000, 2_000, 3_000], 0);
        assert!((distance - (1.0 - (-0.5_f64).exp())).abs() < 1e-12, "{distance}");
    }

    #[test]
    fn missing_load_and_stalls_are_seen() {
        let mut times = poisson(1);
        times.retain(|&ns| !(500_000_000..530_000_000).contains(&ns));
        let found = audit(&times, &SPEC);
        assert!(found.exponential && !found.offered, "{found:?}");
        assert!((found.reached - 0.97).abs() < 0.01, "{found:?}");
        assert!((30_000.0..30_500.0).contains(&found.longest_stall_us), "{found:?}");
    }

    #[test]
    fn too_little_shows_nothing() {
        for times in [&[][..], &[5], &[5, 5, 5]] {
            let found = audit(times, &SPEC);
            assert!(!found.exponential && !found.passed(), "{found:?}");
        }
    }
}
