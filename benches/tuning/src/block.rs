//! A block of real work, in a process of its own.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

/// Units of a block: some 100 ms on a core of 2.6 GHz.
pub(crate) const UNITS: u64 = 60_000;
/// Multiplications of a unit, each waiting for the one before.
const ROUNDS: u64 = 300;
/// Reads of a unit, each at a place that the one before says: these go to memory that others use too.
const READS: u64 = 20;
/// Words of 8 bytes that are read from: 32 MiB, more than a core's own caches.
const WORDS: usize = 4 << 20;

/// CPU time in ns of so many units. What the process takes beside them does not count.
pub(crate) fn cost(units: u64) -> u64 {
    let words: Vec<u64> =
        (0..WORDS as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let before = on_cpu_ns();
    let mut state = black_box(1_u64);
    for _ in 0..units {
        for _ in 0..ROUNDS {
            state = state.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(17);
        }
        for _ in 0..READS {
            // The high half: low bits of a product are poor.
            let at = (state >> 32) as usize % WORDS;
            state = state.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ words[at];
        }
    }
    black_box(state);
    on_cpu_ns() - before
}

/// Of this thread, the only one. The clock is exact: the kernel's books in `/proc` stand still between two ticks.
fn on_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The costs of blocks, one after another: whole fours until both are reached.
pub(crate) fn record(units: u64, time: Duration, fewest: usize) -> Result<Vec<f64>, String> {
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    let one = || {
        let output = Command::new(&myself).args(["--block", &units.to_string()]).output();
        let output = output.map_err(|error| format!("a block: {error}"))?;
        let said: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("a block: {error}"))?;
        said["cpu_ns"]
            .as_f64()
            .filter(|cost| *cost > 0.0)
            .ok_or_else(|| "a block without a cost".to_owned())
    };
    let (began, mut costs) = (Instant::now(), Vec::new());
    while began.elapsed() < time || costs.len() < fewest {
        for _ in 0..4 {
            costs.push(one()?);
        }
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_units_cost_more() {
        assert!(cost(4_000) > cost(400));
    }
}
