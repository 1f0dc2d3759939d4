//! The one place that reads a clock, and only where something waits.

use tailwater_core::Instant;

/// Nanoseconds since the first call in this process.
#[cfg(not(loom))]
pub(crate) fn now() -> Instant {
    use std::sync::OnceLock;
    use tailwater_core::Nanos;

    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    Instant::from_nanos(ORIGIN.get_or_init(std::time::Instant::now).elapsed().nanos())
}

/// Time stands still in a model.
#[cfg(loom)]
pub(crate) fn now() -> Instant {
    Instant::from_nanos(1)
}
