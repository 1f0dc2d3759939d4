//! How long answers took around deaths: quantiles by time, of all deaths together.

use serde::Serialize;
use std::time::Duration;
use tailwater_core::Nanos;

/// One request: when it was due, in nanoseconds since the death, and how long its answer took; `None` without a right one.
pub type Sample = (i64, Option<Duration>);

/// What was due within one stretch of time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Bin {
    /// When it begins, in milliseconds since the death.
    pub from_ms: i64,
    /// Requests that were due.
    pub requests: usize,
    /// Of these, those that were refused or not answered; they count as slower than all others.
    pub failed: usize,
    /// Quantiles in microseconds; nothing where that request has failed, or none was due.
    pub p50_us: Option<f64>,
    /// Likewise.
    pub p99_us: Option<f64>,
}

/// The curve, and what it says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Curve {
    /// In order of time, each as long as the others.
    pub bins: Vec<Bin>,
    /// Milliseconds of one.
    pub bin_ms: i64,
    /// The highest 99th percentile of a bin before the death, in microseconds: what is called back is no worse.
    pub worst_before_us: Option<f64>,
    /// The end of the last bin that is worse than all before the death, in milliseconds. Nothing where that is the last of all, or
    /// where requests failed before the death already. Of bins that are alike it is any of them: hold it against a curve
    /// without a death.
    pub back_after_ms: Option<i64>,
}

impl Curve {
    /// Of bins of so many milliseconds, from so many before the death to so many after it.
    #[must_use]
    pub fn of(samples: &[Sample], bin_ms: i64, (before_ms, after_ms): (i64, i64)) -> Self {
        let bin_ms = bin_ms.max(1);
        let (first, last) = (-(before_ms / bin_ms), after_ms / bin_ms);
        let bin = |number: i64| {
            let from_ms = number * bin_ms;
            let range = from_ms * 1_000_000..(from_ms + bin_ms) * 1_000_000;
            let inside = samples.iter().filter(|(at, _)| range.contains(at));
            Bin::of(from_ms, inside.map(|(_, took)| *took).collect())
        };
        let bins: Vec<Bin> = (first..last).map(bin).collect();
        let before = bins.iter().filter(|bin| bin.from_ms < 0 && bin.requests > 0);
        let worst_before_us = before.map(|bin| bin.p99_us).reduce(worse).flatten();
        let back_after_ms = worst_before_us.and_then(|worst| back(&bins, bin_ms, worst));
        Self { bins, bin_ms, worst_before_us, back_after_ms }
    }
}

/// The slower of two; nothing is slower than a failure.
fn worse(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one?.max(other?))
}

fn back(bins: &[Bin], bin_ms: i64, worst: f64) -> Option<i64> {
    let is_worse = |bin: &&Bin| bin.requests > 0 && bin.p99_us.is_none_or(|p99| p99 > worst);
    let mut after = bins.iter().filter(|bin| bin.from_ms >= 0);
    let end = bins.last().map(|bin| bin.from_ms + bin_ms)?;
    let back = after.rfind(is_worse).map_or(0, |bin| bin.from_ms + bin_ms);
    (back < end).then_some(back)
}

impl Bin {
    fn of(from_ms: i64, took: Vec<Option<Duration>>) -> Self {
        let (requests, mut took_ns) = (took.len(), Vec::new());
        took_ns.extend(took.into_iter().flatten().map(Nanos::nanos));
        took_ns.sort_unstable();
        let quantile = |per_cent: usize| {
            let rank = (requests * per_cent).div_ceil(100).max(1) - 1;
            took_ns.get(rank).map(|ns| *ns as f64 / 1_000.0)
        };
        let (p50_us, p99_us) = (quantile(50), quantile(99));
        Self { from_ms, requests, failed: requests - took_ns.len(), p50_us, p99_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64, us: u64) -> Sample {
        (ms * 1_000_000, Some(Duration::from_micros(us)))
    }

    /// Ten requests in each millisecond from 20 before to 40 after, of 100 µs each, but for those that `slow` says.
    fn curve(slow: impl Fn(i64) -> Option<u64>) -> Curve {
        let all = (-20..40).flat_map(|ms| (0..10).map(move |_| ms));
        let samples: Vec<Sample> =
            all.map(|ms| slow(ms).map_or((ms * 1_000_000, None), |us| at(ms, us))).collect();
        Curve::of(&samples, 10, (20, 40))
    }

    #[test]
    fn quantiles_are_of_what_was_due_in_the_bin_and_failures_are_slowest() {
        let mut samples: Vec<Sample> = (1..=98).map(|us| at(0, us)).collect();
        samples.extend([(1, None), (2, None), at(10, 7), at(-1, 3)]);
        let Curve { bins, .. } = Curve::of(&samples, 10, (10, 20));
        assert_eq!(bins.iter().map(|bin| bin.from_ms).collect::<Vec<_>>(), [-10, 0, 10]);
        assert_eq!((bins[1].requests, bins[1].failed), (100, 2));
        assert_eq!((bins[1].p50_us, bins[1].p99_us), (Some(50.0), None));
        assert_eq!((bins[0].p99_us, bins[2].p99_us), (Some(3.0), Some(7.0)));
        assert_eq!(Curve::of(&[], 10, (10, 10)).bins[0].p99_us, None);
    }

    #[test]
    fn it_is_back_at_the_end_of_the_last_bin_that_is_worse_than_all_before() {
        assert_eq!(curve(|_| Some(100)).back_after_ms, Some(0));
        assert_eq!(curve(|ms| Some(if ms == 0 { 900 } else { 100 })).back_after_ms, Some(10));
        let again = curve(|ms| Some(if [3, 25].contains(&ms) { 900 } else { 100 }));
        assert_eq!((again.worst_before_us, again.back_after_ms), (Some(100.0), Some(30)));
        assert_eq!(curve(|ms| (ms != 12).then_some(100)).back_after_ms, Some(20), "failures");
        // As bad as it was before is no worse.
        assert_eq!(curve(|ms| Some(if ms.abs() == 5 { 900 } else { 100 })).back_after_ms, Some(0));
    }

    #[test]
    fn what_is_not_back_at_the_end_or_was_not_well_before_has_no_time() {
        assert_eq!(curve(|ms| Some(if ms < 0 { 100 } else { 900 })).back_after_ms, None);
        assert_eq!(curve(|ms| (ms != -5).then_some(100)).back_after_ms, None);
        assert_eq!(Curve::of(&[], 10, (20, 40)).back_after_ms, None);
    }
}
