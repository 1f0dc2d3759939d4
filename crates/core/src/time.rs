//! Time as a value: an instant in nanoseconds, and the 32-bit stamps that travel on the wire.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since an origin that only the driver knows.
///
/// Drivers (the runtime, the simulator) make instants; everything else receives them. Two instants
/// compare meaningfully only when they come from the same driver. The range is 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The driver's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every instant a driver makes; stands for "never".
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, or zero when `earlier` is in fact later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// [`Instant::since`] in nanoseconds, for hot paths.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The low 32 bits: what travels on the wire.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "stamps wrap by design")]
    pub const fn stamp(self) -> Stamp {
        Stamp(self.0 as u32)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates at [`Instant::FAR_FUTURE`].
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.nanos()))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    /// Saturates at [`Instant::ZERO`].
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs.nanos()))
    }
}

/// `Duration` to whole nanoseconds without the detour over `u128`.
pub trait Nanos {
    /// Nanoseconds, saturating at `u64::MAX` (584 years).
    fn nanos(self) -> u64;
}

impl Nanos for Duration {
    fn nanos(self) -> u64 {
        self.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(self.subsec_nanos()))
    }
}

/// An instant's low 32 bits: wraps every 4.29 s, so differences are meaningful below 2 s or so.
///
/// Opaque to the peer that echoes it. Arithmetic is modulo 2³², so it needs no common epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stamp(pub u32);

impl Stamp {
    /// Nanoseconds from `earlier` to `self`, modulo 2³².
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

/// How long a server asks a client to send nothing, as the wire says it: in units of 16 µs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Pause(pub u16);

impl Pause {
    /// Send at once.
    pub const NONE: Self = Self(0);
    /// The unit. 65,535 of them are 1.05 s.
    const UNIT_NS: u64 = 16_000;

    /// This long, rounded down; 1.05 s at most.
    #[must_use]
    pub fn of(duration: Duration) -> Self {
        Self(u16::try_from(duration.nanos() / Self::UNIT_NS).unwrap_or(u16::MAX))
    }

    /// How long it is.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_nanos(Self::UNIT_NS * u64::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate_and_stamps_wrap() {
        let early = Instant::from_nanos(5);
        let late = early + Duration::from_secs(4);
        assert_eq!(late.since(early), Duration::from_secs(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);

        let before_wrap = Instant::from_nanos(u64::from(u32::MAX) - 10);
        let after_wrap = before_wrap + Duration::from_nanos(50);
        assert_eq!(after_wrap.stamp().nanos_since(before_wrap.stamp()), 50);
    }

    #[test]
    fn a_pause_is_never_longer_than_was_asked_for() {
        let us = Duration::from_micros;
        assert_eq!(Pause::of(us(15)), Pause::NONE);
        assert_eq!(Pause::of(us(47)).duration(), us(32));
        assert_eq!(Pause::of(Duration::MAX).duration(), us(65_535 * 16));
    }
}
