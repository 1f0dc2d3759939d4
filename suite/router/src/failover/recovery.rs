//! Whether answers are as quick as without a death: a ratio with its interval, against rounds in which no node died.
//!
//! The curve's own rule takes any bin for the death's that is worse than all before. Of bins that are alike, the worst
//! is as often after a given moment as before. So each death has a round beside it in which nothing dies.

use super::curve::Sample;
use serde::Serialize;
use std::ops::Range;
use std::time::Duration;
use tailwater_core::{Nanos as _, Rng};

/// How often rounds are drawn anew for the interval.
const DRAWS: usize = 1_000;
/// What of these lies below, and above, the interval: 95 % are inside.
const TAIL: f64 = 0.025;

/// A death, and the same time without one.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// What was due around the death.
    pub death: Vec<Sample>,
    /// What was due around a moment at which nothing died.
    pub control: Vec<Sample>,
}

/// The 99th percentile of what was due within some time after deaths, beside that without them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Recovery {
    /// Milliseconds since the death, from which on and until when.
    pub from_ms: i64,
    /// Likewise.
    pub to_ms: i64,
    /// In microseconds; nothing where that request has failed, or none was due.
    pub p99_us: Option<f64>,
    /// The same without a death.
    pub control_p99_us: Option<f64>,
    /// The first over the second.
    pub ratio: Option<f64>,
    /// Its interval of 95 %, by drawing pairs anew; nothing where a draw has no ratio.
    pub interval: Option<[f64; 2]>,
}

impl Recovery {
    /// Of these milliseconds since deaths. The seed decides the draws.
    #[must_use]
    pub fn of(pairs: &[Pair], ms: Range<i64>, seed: u64) -> Self {
        let arms: Vec<[Vec<u64>; 2]> = pairs
            .iter()
            .map(|pair| [within(&pair.death, &ms), within(&pair.control, &ms)])
            .collect();
        let all: Vec<usize> = (0..arms.len()).collect();
        let [p99, control] = [0, 1].map(|arm| p99_ns(&arms, &all, arm));
        let mut rng = Rng::from_seed(seed);
        let mut draw = || {
            let count = arms.len() as u32;
            let drawn: Vec<usize> = (0..count).map(|_| rng.below(count) as usize).collect();
            ratio(p99_ns(&arms, &drawn, 0), p99_ns(&arms, &drawn, 1))
        };
        let ratios: Option<Vec<f64>> = (0..DRAWS).map(|_| draw()).collect();
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1_000.0);
        Self {
            from_ms: ms.start,
            to_ms: ms.end,
            p99_us: us(p99),
            control_p99_us: us(control),
            ratio: ratio(p99, control),
            interval: ratios.map(interval),
        }
    }
}

/// How long answers took to what was due in this time, in nanoseconds. Nothing is slower than what has failed.
fn within(samples: &[Sample], ms: &Range<i64>) -> Vec<u64> {
    let range = ms.start * 1_000_000..ms.end * 1_000_000;
    let inside = samples.iter().filter(|(at, _)| range.contains(at));
    inside.map(|(_, took)| took.map_or(u64::MAX, |took: Duration| took.nanos())).collect()
}

/// Of one arm of these pairs.
fn p99_ns(arms: &[[Vec<u64>; 2]], pairs: &[usize], arm: usize) -> Option<u64> {
    let mut all: Vec<u64> = pairs.iter().flat_map(|&pair| &arms[pair][arm]).copied().collect();
    let rank = (all.len() * 99).div_ceil(100).checked_sub(1)?;
    let (_, found, _) = all.select_nth_unstable(rank);
    Some(*found).filter(|ns| *ns < u64::MAX)
}

fn ratio(one: Option<u64>, other: Option<u64>) -> Option<f64> {
    Some(one? as f64 / other.filter(|ns| *ns > 0)? as f64)
}

fn interval(mut ratios: Vec<f64>) -> [f64; 2] {
    ratios.sort_by(f64::total_cmp);
    let last = (ratios.len() - 1) as f64;
    [TAIL, 1.0 - TAIL].map(|share| ratios[(share * last).round() as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: usize = 40;

    /// A request in each millisecond from -20 to 200: 100 to 199 µs by chance, and longer by `more` from a death on.
    fn pairs(more: impl Fn(i64) -> u64) -> Vec<Pair> {
        let mut rng = Rng::from_seed(7);
        let mut round = |dies: bool| -> Vec<Sample> {
            let took = |ms| 100 + u64::from(rng.below(100)) + if dies { more(ms) } else { 0 };
            let at = (-20..200).map(took).collect::<Vec<_>>().into_iter().zip(-20..200);
            at.map(|(us, ms)| (ms * 1_000_000, Some(Duration::from_micros(us)))).collect()
        };
        (0..PAIRS).map(|_| Pair { death: round(true), control: round(false) }).collect()
    }

    #[test]
    fn what_is_alike_again_has_an_interval_around_one_and_what_is_not_has_none() {
        let pairs = pairs(|ms| if (0..50).contains(&ms) { 200 } else { 0 });
        let [early, late] = [0..50, 50..200].map(|ms| Recovery::of(&pairs, ms, 1));
        let [low, high] = late.interval.expect("a ratio in each draw");
        assert!(low <= 1.0 && high >= 1.0 && high - low < 0.1, "{late:?}");
        let [low, _] = early.interval.expect("a ratio in each draw");
        assert!(low > 1.5 && early.ratio.is_some_and(|ratio| ratio > 1.8), "{early:?}");
        assert_eq!((early.from_ms, early.to_ms), (0, 50));
    }

    #[test]
    fn failures_are_slowest_and_leave_no_ratio_where_they_are_many() {
        let mut pairs = pairs(|_| 0);
        for pair in &mut pairs {
            // Two of a hundred and fifty.
            pair.death
                .iter_mut()
                .filter(|it| it.0 == 60_000_000 || it.0 == 61_000_000)
                .for_each(|it| it.1 = None);
        }
        let found = Recovery::of(&pairs, 50..200, 1);
        assert_eq!((found.p99_us, found.ratio, found.interval), (None, None, None));
        assert!(found.control_p99_us.is_some_and(|us| (190.0..200.0).contains(&us)), "{found:?}");
        assert_eq!(Recovery::of(&[], 0..10, 1).ratio, None);
    }
}
