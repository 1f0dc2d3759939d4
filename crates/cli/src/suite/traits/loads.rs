//! Which loads a service is asked at.

use serde::{Deserialize, Serialize};

/// The thesis' loads in requests per second (§2.5.2). The second number is the share of capacity that stands in for it
/// where the machine does not bear it.
const LOADS: [(f64, f64); 3] = [(100.0, 0.1), (1_000.0, 0.5), (10_000.0, 0.9)];

/// The largest share of capacity at which latency is that of a service and not of a queue that grows.
const BORNE: f64 = 0.9;

/// Loads that are nearer to each other tell the same.
const APART: f64 = 1.5;

/// What a service is asked at.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Loads {
    /// Requests per second, rising.
    pub(super) rps: Vec<f64>,
    /// Loads of the thesis that are not among them.
    pub(super) left_out: Vec<f64>,
}

impl Loads {
    /// Those that this capacity bears. The highest comes first: what stands in for it may come down to the next.
    pub(super) fn of(capacity_rps: f64) -> Self {
        let (mut rps, mut left_out) = (Vec::new(), Vec::new());
        let mut most = BORNE * capacity_rps;
        for (load, share) in LOADS.into_iter().rev() {
            let is_borne = load <= most;
            let chosen = if is_borne { load } else { (share * capacity_rps).round() };
            left_out.extend((!is_borne).then_some(load));
            rps.push(chosen);
            most = chosen / APART;
        }
        rps.reverse();
        left_out.reverse();
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
    fn loads_of_the_thesis_that_are_borne_stay_and_shares_stand_in_for_others() {
        let of = |capacity| {
            let Loads { rps, left_out } = Loads::of(capacity);
            (rps, left_out)
        };
        assert_eq!(of(20_000.0), (vec![100.0, 1_000.0, 10_000.0], vec![]));
        assert_eq!(of(5_000.0), (vec![100.0, 1_000.0, 4_500.0], vec![10_000.0]));
        assert_eq!(of(600.0), (vec![100.0, 300.0, 540.0], vec![1_000.0, 10_000.0]));
        assert_eq!(of(112.0), (vec![11.0, 56.0, 101.0], vec![100.0, 1_000.0, 10_000.0]));
        assert_eq!(of(1_112.0), (vec![100.0, 556.0, 1_001.0], vec![1_000.0, 10_000.0]));
        assert_eq!(of(50.0), (vec![5.0, 25.0, 45.0], vec![100.0, 1_000.0, 10_000.0]));
        assert_eq!(Loads::of(5_000.0).shorten().rps, [100.0, 4_500.0]);
        let alone = Loads { rps: vec![700.0], left_out: Vec::new() };
        assert_eq!(alone.shorten().rps, [700.0]);
    }

    #[test]
    fn loads_rise_whatever_the_capacity() {
        for capacity in [30.0, 111.0, 112.0, 1_100.0, 1_112.0, 11_111.0, 11_112.0, 1e6] {
            let rps = Loads::of(capacity).rps;
            assert!(rps.is_sorted_by(|one, other| one < other), "{capacity}: {rps:?}");
        }
    }
}
