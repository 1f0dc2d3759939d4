//! Work of a known length.

use std::hint::black_box;
use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_rt::time::now;

/// Computes for given times. Calibrated in loop rounds, not by watching the clock: work that is
/// interrupted must take longer, as real work does.
#[derive(Clone, Copy, Debug)]
pub struct Spinner {
    rounds_per_ns: f64,
}

impl Spinner {
    /// Measures this machine for some 20 ms. The fastest of several tries counts: whatever slowed
    /// the others was not the work.
    #[must_use]
    pub fn calibrate() -> Self {
        const ROUNDS: u64 = 200_000;
        let fastest_ns = (0..32)
            .map(|_| {
                let start = now();
                spin(ROUNDS);
                now().nanos_since(start).max(1)
            })
            .min()
            .unwrap_or(1);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        Self { rounds_per_ns: ROUNDS as f64 / fastest_ns as f64 }
    }

    /// One that was measured before, in rounds per nanosecond.
    #[must_use]
    pub const fn of_speed(rounds_per_ns: f64) -> Self {
        Self { rounds_per_ns }
    }

    /// Its speed in rounds per nanosecond.
    #[must_use]
    pub const fn speed(&self) -> f64 {
        self.rounds_per_ns
    }

    /// Computes for `duration` of CPU time.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "bounded by SERVICE_MAX"
    )]
    pub fn spin(&self, duration: Duration) {
        spin((duration.nanos() as f64 * self.rounds_per_ns) as u64);
    }
}

/// A chain of dependent multiplications: nothing to overlap, vectorise or skip.
fn spin(rounds: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..rounds {
        state = state.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(17);
    }
    black_box(state);
}
