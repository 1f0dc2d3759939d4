//! How long after a step in demand a server is back to what it can do.
//!
//! One step says little: in 5 ms few requests end, and their 99th percentile is noise. So many
//! repetitions of the same step are laid over one another and each bin is judged on all of them.

use crate::bins::Bins;
use crate::spread::Spread;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tailwater_core::Nanos;

/// When a server counts as recovered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecoverySpec {
    /// Width of a bin, and so the resolution of the answer; 5 ms. Too small and bins hold too few
    /// requests for a 99th percentile.
    pub bin: Duration,
    /// How long after the step to look. The last third is taken for the steady state. So a recovery that needs longer
    /// than two thirds is not told from a lower steady state.
    pub horizon: Duration,
    /// The objective.
    pub slo: Duration,
    /// Smallest goodput as a share of the steady state; 0.95.
    pub goodput_min: f64,
    /// Largest share of later bins that may fail without counting as a relapse; 0.02. At zero one
    /// stall of the machine anywhere postpones the recovery; large values excuse real relapses.
    pub noisy_max: f64,
}

impl RecoverySpec {
    /// The usual limits over bins of 5 ms.
    #[must_use]
    pub const fn new(slo: Duration, horizon: Duration) -> Self {
        let bin = Duration::from_millis(5);
        Self { bin, horizon, slo, goodput_min: 0.95, noisy_max: 0.02 }
    }
}

/// Many repetitions of one step, laid over one another.
#[derive(Clone, Debug)]
pub struct Overlay {
    spec: RecoverySpec,
    steps: u32,
    bins: Bins,
}

impl Overlay {
    /// An overlay of no steps.
    #[must_use]
    pub fn new(spec: RecoverySpec) -> Self {
        Self { spec, steps: 0, bins: Bins::new(spec.bin, spec.horizon) }
    }

    /// Adds one repetition: for every request its intended time after the step, and its latency
    /// from there if it was served. Requests beyond the horizon are ignored.
    pub fn step(&mut self, requests: impl IntoIterator<Item = (Duration, Option<Duration>)>) {
        self.steps += 1;
        for (offset, latency) in requests {
            let Some(bin) = self.bins.at(offset) else {
                continue;
            };
            bin.intended += 1;
            if let Some(latency) = latency {
                bin.ok += u64::from(latency <= self.spec.slo);
                bin.latency.record(latency);
            }
        }
    }

    /// Judges every bin on all repetitions.
    #[must_use]
    pub fn finish(&self) -> Recovery {
        let steps = f64::from(self.steps.max(1));
        let per_step = |rates: Vec<f64>| -> Vec<f64> { rates.iter().map(|r| r / steps).collect() };
        let goodput_rps = per_step(self.bins.rates(|bin| bin.ok));
        let p99_us = self.bins.micros(|bin| bin.latency.quantile(0.99));
        let steady_rps = Spread::of(last_third(&goodput_rps)).median;
        let slo_us = self.spec.slo.nanos() as f64 / 1e3;
        let holds: Vec<bool> = goodput_rps
            .iter()
            .zip(&p99_us)
            .map(|(&goodput, &p99)| {
                goodput > 0.0 && goodput >= self.spec.goodput_min * steady_rps && p99 <= slo_us
            })
            .collect();
        let bin_us = self.bins.width().nanos() as f64 / 1e3;
        let begin_us = |bin: usize| bin as f64 * bin_us;
        Recovery {
            steps: self.steps,
            bin_us,
            steady_rps,
            steady_p99_us: Spread::of(last_third(&p99_us)).median,
            recovered_us: settled(&holds, self.spec.noisy_max).map(begin_us),
            strictly_us: settled(&holds, 0.0).map(begin_us),
            offered_rps: per_step(self.bins.rates(|bin| bin.intended)),
            goodput_rps,
            p99_us,
            holds,
        }
    }
}

/// What [`Overlay::finish`] found. Vectors hold one value for each bin after the step.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Repetitions laid over one another.
    pub steps: u32,
    /// Width of a bin, and the resolution of the times below.
    pub bin_us: f64,
    /// Median goodput of the last third of the bins, per second of one step.
    pub steady_rps: f64,
    /// Median pooled 99th percentile there. Above the SLO there is no recovery to find.
    pub steady_p99_us: f64,
    /// From the step to the first bin from which on goodput and 99th percentile hold, but for
    /// noise; zero when they never ceased to, `None` when they never do for good.
    pub recovered_us: Option<f64>,
    /// The same without any excuse for noise.
    pub strictly_us: Option<f64>,
    /// Intended requests per second.
    pub offered_rps: Vec<f64>,
    /// Answers within the SLO per second.
    pub goodput_rps: Vec<f64>,
    /// 99th percentile of latency over all repetitions; 0 where nothing was served.
    pub p99_us: Vec<f64>,
    /// Whether the bin has goodput near the steady state and its 99th percentile within the SLO.
    pub holds: Vec<bool>,
}

fn last_third(values: &[f64]) -> &[f64] {
    &values[values.len() - values.len().div_ceil(3)..]
}

/// The first bin that holds and after which all hold, but for a share `noisy_max` of bins that each
/// fail alone. Two failing bins in a row are a relapse, however few: otherwise a long steady state
/// would excuse the whole transient after a first good bin. `None` without such a bin before the
/// last third, which defines the steady state and cannot also prove it was reached.
fn settled(holds: &[bool], noisy_max: f64) -> Option<usize> {
    let relapse = holds.windows(2).rposition(|pair| pair == [false, false]).map_or(0, |at| at + 2);
    (relapse..=holds.len() - holds.len().div_ceil(3)).find(|&first| {
        let later = &holds[first..];
        let failing = later.iter().filter(|&&holds| !holds).count();
        later.first() == Some(&true) && failing as f64 <= noisy_max * later.len() as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const US: Duration = Duration::from_micros(1);

    fn spec() -> RecoverySpec {
        RecoverySpec::new(US * 200, MS * 300)
    }

    /// One request each 50 µs for 300 ms, with the latency that `of` gives its offset in ms.
    fn overlay(repetitions: u32, of: impl Fn(u32, u32) -> Option<Duration>) -> Recovery {
        let mut overlay = Overlay::new(spec());
        for repetition in 0..repetitions {
            overlay.step((0..6000).map(|i| (US * 50 * i, of(repetition, i / 20))));
        }
        overlay.finish()
    }

    #[test]
    fn a_transient_of_12_ms_ends_with_its_bin() {
        let found = overlay(3, |_, ms| Some(if ms < 12 { US * 900 } else { US * 100 }));
        assert_eq!((found.steps, found.bin_us, found.steady_rps), (3, 5000.0, 20_000.0));
        assert_eq!((found.recovered_us, found.strictly_us), (Some(15_000.0), Some(15_000.0)));
        assert_eq!(found.goodput_rps[..4], [0.0, 0.0, 12_000.0, 20_000.0]);
        assert_eq!(found.offered_rps, [20_000.0; 60]);
        assert!((found.p99_us[0] / 900.0 - 1.0).abs() < 0.01, "{}", found.p99_us[0]);
        assert_eq!(found.holds.iter().position(|&holds| holds), Some(3));
    }

    #[test]
    fn goodput_alone_is_not_enough_and_neither_is_the_tail() {
        // 2 % late: goodput stays at 98 % but the pooled p99 breaks the SLO in bins 0 to 3.
        let mut overlay_tail = Overlay::new(spec());
        let slow = |i: u32| {
            if i < 400 && i.is_multiple_of(50) { US * 900 } else { US * 100 }
        };
        overlay_tail.step((0..6000).map(|i| (US * 50 * i, Some(slow(i)))));
        assert_eq!(overlay_tail.finish().recovered_us, Some(20_000.0));
        // Every tenth shed: p99 is fine, goodput at 90 %.
        let mut overlay_shed = Overlay::new(spec());
        let shed = |i: u32| (i >= 400 || !i.is_multiple_of(10)).then_some(US * 100);
        overlay_shed.step((0..6000).map(|i| (US * 50 * i, shed(i))));
        assert_eq!(overlay_shed.finish().recovered_us, Some(20_000.0));
    }

    #[test]
    fn without_a_transient_recovery_takes_no_time() {
        assert_eq!(overlay(1, |_, _| Some(US * 100)).recovered_us, Some(0.0));
    }

    #[test]
    fn a_stall_of_one_bin_is_noise_but_shows_in_the_strict_time() {
        let stalled = |ms: u32| ms < 10 || (150..155).contains(&ms);
        let found = overlay(1, |_, ms| Some(if stalled(ms) { US * 900 } else { US * 100 }));
        assert_eq!(found.recovered_us, Some(10_000.0));
        assert_eq!(found.strictly_us, Some(155_000.0));
    }

    #[test]
    fn a_stall_in_one_of_many_repetitions_hides_in_the_pool_only_while_rare() {
        let stall = |repetitions, ms: u32| {
            overlay(repetitions, move |repetition, at| {
                let stalled = repetition == 0 && (100..100 + ms).contains(&at);
                Some(if stalled { US * 900 } else { US * 100 })
            })
        };
        assert_eq!(stall(200, 10).strictly_us, Some(0.0));
        assert_eq!(stall(50, 10).recovered_us, Some(110_000.0));
    }

    #[test]
    fn a_relapse_is_not_excused_by_a_long_steady_state() {
        let holds: Vec<bool> = (0..1000).map(|bin| bin != 1 && bin != 2).collect();
        assert_eq!(settled(&holds, 0.02), Some(3));
        let alone: Vec<bool> = (0..1000).map(|bin| bin != 1).collect();
        assert_eq!((settled(&alone, 0.02), settled(&alone, 0.0)), (Some(0), Some(2)));
        let at_once: Vec<bool> = (0..1000).map(|bin| bin != 0).collect();
        assert_eq!(settled(&at_once, 0.02), Some(1), "a failing bin is no recovery");
        let flapping: Vec<bool> = (0..1000).map(|bin| bin % 10 != 0).collect();
        assert_eq!(settled(&flapping, 0.02), None);
    }

    #[test]
    fn what_never_settles_has_no_time() {
        assert_eq!(overlay(1, |_, _| None).recovered_us, None);
        assert_eq!(overlay(1, |_, _| Some(US * 900)).recovered_us, None);
        // Settles so late that only the steady state itself remains.
        let late = overlay(1, |_, ms| Some(if ms < 290 { US * 900 } else { US * 100 }));
        assert_eq!(late.recovered_us, None);
        assert_eq!(Overlay::new(spec()).finish().recovered_us, None);
    }
}
