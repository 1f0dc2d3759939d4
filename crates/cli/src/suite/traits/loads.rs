//! Which loads a service is asked at.

use serde::{Deserialize, Serialize};

/// The thesis' loads in requests per second (§2.5.2).
const LOADS: [f64; 3] = [100.0, 1_000.0, 10_000.0];

/// Shares of capacity that stand in for loads which are not asked for.
const SHARES: [f64; 3] = [0.6, 0.3, 0.1];

/// The largest share of capacity that is asked for. Capacity is of a closed loop, where queries under way share system calls
/// and wake-ups: an open loop bears less. At 0.9 HDSearch left requests unanswered. At 0.56 and 0.60 it answered all, with
/// a p99 of 76 ms in one sitting and 18 ms in another: this is the edge.
pub(super) const ASKED_MAX: f64 = 0.6;

/// Loads that are nearer to each other tell the same. The square is below the ratio of two shares, so that a load which
/// stays shuts out one of them at most.
const APART: f64 = 1.4;

/// What a service is asked at.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Loads {
    /// Requests per second, rising.
    pub(super) rps: Vec<f64>,
    /// Loads of the thesis that are not among them.
    pub(super) left_out: Vec<f64>,
}

impl Loads {
    /// Those that are asked for at this capacity, and shares of it for the others.
    pub(super) fn of(capacity_rps: f64) -> Self {
        let is_asked_for = |load: &f64| *load <= ASKED_MAX * capacity_rps;
        let (mut rps, left_out): (Vec<f64>, Vec<f64>) = LOADS.into_iter().partition(is_asked_for);
        let is_near = |one: f64, other: f64| one.max(other) < APART * one.min(other);
        let shares = SHARES.map(|share| (share * capacity_rps).round());
        let stands_in = |share: &f64| !rps.iter().any(|load| is_near(*share, *load));
        let stand_ins: Vec<f64> =
            shares.into_iter().filter(stands_in).take(left_out.len()).collect();
        rps.extend(stand_ins);
        rps.sort_by(f64::total_cmp);
        Self { rps, left_out }
    }

    /// Lowest and highest, which show that it works.
    pub(super) fn shorten(self) -> Self {
        let mut rps: Vec<f64> =
            [self.rps.first(), self.rps.last()].into_iter().flatten().copied().collect();
        rps.dedup();
        Self { rps, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_the_thesis_that_are_asked_for_stay_and_shares_stand_in_for_others() {
        let of = |capacity| {
            let Loads { rps, left_out } = Loads::of(capacity);
            (rps, left_out)
        };
        assert_eq!(of(20_000.0), (vec![100.0, 1_000.0, 10_000.0], vec![]));
        assert_eq!(of(5_000.0), (vec![100.0, 1_000.0, 3_000.0], vec![10_000.0]));
        assert_eq!(of(1_777.0), (vec![100.0, 533.0, 1_000.0], vec![10_000.0]));
        assert_eq!(of(600.0), (vec![100.0, 180.0, 360.0], vec![1_000.0, 10_000.0]));
        assert_eq!(of(240.0), (vec![24.0, 100.0, 144.0], vec![1_000.0, 10_000.0]));
        assert_eq!(of(50.0), (vec![5.0, 15.0, 30.0], vec![100.0, 1_000.0, 10_000.0]));
        assert_eq!(Loads::of(5_000.0).shorten().rps, [100.0, 3_000.0]);
        let alone = Loads { rps: vec![700.0], left_out: Vec::new() };
        assert_eq!(alone.shorten().rps, [700.0]);
    }

    #[test]
    fn three_loads_rise_whatever_the_capacity() {
        for capacity in (50..40_000).chain([1_000_000]) {
            let rps = Loads::of(f64::from(capacity)).rps;
            assert!(
                rps.len() == 3 && rps.is_sorted_by(|one, other| 1.3 * one < *other),
                "{capacity}: {rps:?}"
            );
        }
    }
}
