//! The capacity that demand is quoted against: one sweep, one rule, for every driver and for `load`.

use crate::driver::ClosedLoop;
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_core::{Nanos, Rate};
use tailwater_stats::result::{CapacityReading, Spread};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::Capacity;

/// Points within this share of the best are the plateau.
const PLATEAU: f64 = 0.97;
/// A step of a sweep that adds this share is one of the climb.
const RISE: f64 = 0.05;
/// A sweep that goes on asks for so many times as much at each step, and for no more than [`IN_FLIGHT_MAX`].
const STEP: u32 = 4;
/// Beyond it the queues of a service in tiers reach their bounds, and requests are refused: HDSearch's leaves hold 8 MiB of them.
const IN_FLIGHT_MAX: u32 = 1_024;
/// So much of a point's length passes before it is measured: with 4,096 requests in flight the first
/// round alone takes tens of milliseconds.
const SETTLE: u32 = 3;

/// The measurement that `capacity` asks for with so many clients.
#[must_use]
pub fn closed_loop(capacity: &Capacity, clients: u32, seed: u64) -> ClosedLoop {
    ClosedLoop {
        clients,
        in_flight: capacity.sweep(clients),
        settle: settle(capacity.duration),
        measure: capacity.duration,
        seed,
    }
}

/// The measurement of a scenario. Its requests are the same each time, so that a drift is the machine's
/// and not the draw's.
#[must_use]
pub fn of_scenario(scenario: &Scenario, clients: u32) -> ClosedLoop {
    closed_loop(&scenario.capacity, clients, scenario.seed)
}

/// The height of a sweep's plateau: the median of the points within 3 % of the best. The largest would be
/// the luckiest, and with it every quoted share would be too small. Zero for no points.
#[must_use]
pub fn plateau(points: &[(u32, f64)]) -> f64 {
    let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut plateau: Vec<f64> =
        points.iter().map(|point| point.1).filter(|rate| *rate >= PLATEAU * best).collect();
    plateau.sort_by(f64::total_cmp);
    // Of an even number the upper one: both are heights that were reached.
    plateau.get(plateau.len() / 2).copied().unwrap_or(0.0)
}

/// By how much the last point of a sweep exceeds the best one before it, as a share of that; `None` for fewer than two points.
#[must_use]
pub fn last_rise(points: &[(u32, f64)]) -> Option<f64> {
    let ((_, last), before) = points.split_last()?;
    let best = before.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    (best > 0.0).then(|| last / best - 1.0)
}

/// Whether the last step of a sweep still rises by 5 % or more: its best point is no plateau then, and capacity is larger.
#[must_use]
pub fn still_rises(points: &[(u32, f64)]) -> bool {
    last_rise(points).is_some_and(|rise| rise >= RISE)
}

/// How many requests in flight a sweep goes on with that still rises; `None` where it rises no more, or has had 1,024.
#[must_use]
pub fn next_in_flight(points: &[(u32, f64)]) -> Option<u32> {
    let (last, _) = points.last().filter(|_| still_rises(points))?;
    (*last < IN_FLIGHT_MAX).then(|| last.saturating_mul(STEP).min(IN_FLIGHT_MAX))
}

/// Capacity of the whole experiment and its drift: the median of what was measured with so many clients, and the largest
/// range ÷ median of any number of clients.
pub(crate) fn conclude(readings: &[CapacityReading], clients: u32) -> (f64, f64) {
    let counts: BTreeSet<u32> = readings.iter().map(|reading| reading.clients).collect();
    let drift = |&clients: &u32| {
        let Spread { min, median, max } = heights(readings, clients);
        if median > 0.0 { (max - min) / median } else { 0.0 }
    };
    (heights(readings, clients).median, counts.iter().map(drift).fold(0.0, f64::max))
}

fn heights(readings: &[CapacityReading], clients: u32) -> Spread {
    let with_them = readings.iter().filter(|reading| reading.clients == clients);
    Spread::of(&with_them.map(|reading| reading.plateau_rps).collect::<Vec<_>>())
}

/// What a request costs a core beside its service, in nanoseconds, where so many cores reach `capacity` with
/// requests of this mean service time.
#[must_use]
pub fn overhead_ns(capacity: Rate, cores: u32, mean: Duration) -> f64 {
    // A capacity that was measured a little too high must not make requests cheaper than their service.
    (1e9 * f64::from(cores) / capacity.0 - mean.nanos() as f64).max(0.0)
}

fn settle(measure: Duration) -> Duration {
    measure / SETTLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plateau_is_neither_the_luckiest_point_nor_one_of_the_climb() {
        assert_eq!(plateau(&[(16, 50e3), (64, 98e3), (256, 100e3), (1024, 99e3)]), 99e3);
        assert_eq!(plateau(&[(16, 50e3), (64, 98e3), (256, 100e3)]), 100e3);
        assert_eq!(plateau(&[(16, 7.0)]), 7.0);
        assert_eq!(plateau(&[]), 0.0);
    }

    #[test]
    fn a_sweep_goes_on_until_it_rises_no_more_or_has_had_all() {
        let rising = [(4, 4_300.0), (16, 17_000.0), (64, 26_000.0)];
        assert_eq!(next_in_flight(&rising), Some(256));
        let flat = [&rising[..], &[(256, 27_200.0)]].concat();
        assert_eq!((still_rises(&flat), next_in_flight(&flat)), (false, None));
        let most = [(256, 100.0), (1_024, 200.0)];
        assert_eq!((still_rises(&most), next_in_flight(&most)), (true, None), "it is flagged");
        assert_eq!(next_in_flight(&[(300, 1.0), (400, 2.0)]), Some(1_024));
        assert_eq!((next_in_flight(&[(4, 9.0)]), next_in_flight(&[])), (None, None));
        assert_eq!(last_rise(&[(4, 0.0), (16, 9.0)]), None);
        // A bad moment between two points alike is no climb.
        assert!(!still_rises(&[(4, 100.0), (16, 60.0), (64, 100.0)]));
        assert!(!still_rises(&[(16, 100.0), (64, 80.0), (256, 90.0)]));
        assert_eq!(last_rise(&rising).map(|rise| (1e3 * rise).round()), Some(529.0));
    }

    #[test]
    fn drift_is_the_largest_that_one_number_of_clients_has() {
        let reading = |clients, plateau_rps| CapacityReading {
            clients,
            plateau_rps,
            ..CapacityReading::default()
        };
        let readings =
            [reading(10, 90.0), reading(99, 5.0), reading(10, 110.0), reading(10, 100.0)];
        assert_eq!(conclude(&readings, 10), (100.0, 0.2));
        let more = [readings.to_vec(), vec![reading(99, 10.0)]].concat();
        assert_eq!(conclude(&more, 10), (100.0, 5.0 / 7.5));
        assert_eq!(conclude(&[], 10), (0.0, 0.0));
    }

    #[test]
    fn overhead_is_what_capacity_leaves_of_the_cores_beside_the_service() {
        let mean = Duration::from_micros(10);
        assert_eq!(overhead_ns(Rate(50e3), 1, mean), 10_000.0);
        assert_eq!(overhead_ns(Rate(50e3), 4, mean), 70_000.0);
        assert_eq!(overhead_ns(Rate(101e3), 1, mean), 0.0, "never less than nothing");
    }
}
