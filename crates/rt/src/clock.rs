//! The clock of the real world.

use tailwater_core::Instant;

/// Now, by the kernel's monotonic clock (about 20 ns a call). One origin for all processes of a
/// machine, until it boots again.
#[must_use]
pub fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
