//! Work of a known length.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_rt::time::now;

/// Computes for given times. Calibrated in loop rounds, not by watching the clock: work that is
/// interrupted must take longer, as real work does.
#[derive(Clone, Copy, Debug)]
pub struct Spinner {
    rounds_per_ns: f64,
    throttle: Option<&'static Throttle>,
}

/// At which share of their speed spinners compute. What has begun keeps its pace.
#[derive(Debug)]
pub struct Throttle {
    /// The share's bits.
    share: AtomicU64,
}

impl Throttle {
    /// At their full speed. One stays for as long as the process.
    #[must_use]
    pub fn open() -> &'static Self {
        Box::leak(Box::new(Self { share: AtomicU64::new(1.0_f64.to_bits()) }))
    }

    /// From now on at this share, which is above 0.
    pub fn set(&self, share: f64) {
        // Relaxed: nothing else is read because of it.
        self.share.store(share.to_bits(), Relaxed);
    }

    fn share(&self) -> f64 {
        // Relaxed: as above.
        f64::from_bits(self.share.load(Relaxed))
    }
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
        Self { rounds_per_ns: ROUNDS as f64 / fastest_ns as f64, throttle: None }
    }

    /// One that was measured before, in rounds per nanosecond.
    #[must_use]
    pub const fn of_speed(rounds_per_ns: f64) -> Self {
        Self { rounds_per_ns, throttle: None }
    }

    /// The same, as fast as this says.
    #[must_use]
    pub const fn throttled(self, throttle: &'static Throttle) -> Self {
        Self { throttle: Some(throttle), ..self }
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
        reason = "bounded by SERVICE_MAX"
    )]
    pub fn spin(&self, duration: Duration) {
        spin(self.rounds(duration) as u64);
    }

    /// Rounds that take so long at the speed that holds now.
    #[expect(clippy::cast_precision_loss, reason = "bounded by SERVICE_MAX")]
    fn rounds(&self, duration: Duration) -> f64 {
        let share = self.throttle.map_or(1.0, Throttle::share);
        duration.nanos() as f64 * self.rounds_per_ns / share
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a_quarter_of_the_speed_the_same_time_has_four_times_the_rounds() {
        let throttle = Throttle::open();
        let spinner = Spinner::of_speed(2.0).throttled(throttle);
        let time = Duration::from_micros(3);
        assert_eq!(spinner.rounds(time), 6_000.0);
        throttle.set(0.25);
        assert_eq!(spinner.rounds(time), 24_000.0);
        throttle.set(1.0);
        assert_eq!(spinner.rounds(time), 6_000.0);
    }
}
