//! The whole distribution of a run's latency, for pictures.

use std::time::Duration;
use tailwater_load::Findings;

/// Shares of served requests at which a distribution is told: dense where tails are.
const SHARES: [f64; 24] = [
    0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95,
    0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0,
];

/// The mean latency of all threads' requests, and the latency at each of those shares, in µs.
pub(super) fn distribution(findings: &[Findings]) -> (f64, Vec<(f64, f64)>) {
    let Some((first, rest)) = findings.split_first() else { return (0.0, Vec::new()) };
    let mut tally = first.tally.clone();
    rest.iter().for_each(|part| tally.merge(&part.tally));
    let latency = tally.finish().latency;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    (us(latency.mean()), SHARES.map(|share| (share, us(latency.quantile(share)))).to_vec())
}
