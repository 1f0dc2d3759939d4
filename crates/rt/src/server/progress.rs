//! Whether a transfer moves, or its peer holds memory here for nothing.

use std::time::Duration;
use tailwater_core::{Instant, Nanos as _};

/// The least that a peer must move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// It is looked at once per this time.
    pub(super) patience: Duration,
    /// Bytes a second.
    pub(super) rate_min: u64,
}

impl Pace {
    /// Bytes that must have moved within one patience. At least one: a rate may be tiny.
    fn least(self) -> u64 {
        let bytes = u128::from(self.rate_min) * u128::from(self.patience.nanos()) / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
    }
}

/// One transfer, from its beginning or its last good mark. A transfer of `n` bytes has ended, or was found too
/// slow, after `patience + n / rate_min`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    since: Instant,
    moved: u64,
}

impl Progress {
    pub(super) const fn begin(now: Instant) -> Self {
        Self { since: now, moved: 0 }
    }

    pub(super) const fn add(&mut self, bytes: usize) {
        self.moved += bytes as u64;
    }

    /// When it is to be looked at.
    pub(super) fn due(&self, pace: Pace) -> Instant {
        self.since + pace.patience
    }

    /// Whether it stands still, or as good as that. `left` bytes are to go: a peer need not move more
    /// than there is. A transfer that moves well begins its next patience.
    pub(super) fn is_too_slow(&mut self, now: Instant, pace: Pace, left: usize) -> bool {
        if now < self.due(pace) {
            return false;
        }
        let there_was = self.moved.saturating_add(left as u64);
        if self.moved < pace.least().min(there_was) {
            return true;
        }
        *self = Self::begin(now);
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PACE: Pace = Pace { patience: Duration::from_secs(10), rate_min: 1_024 };

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress() {
        let mut trickle = Progress::begin(at(0));
        for second in 1..10 {
            trickle.add(100);
            assert!(!trickle.is_too_slow(at(second), PACE, 1 << 20), "before its patience is over");
        }
        assert!(trickle.is_too_slow(at(10), PACE, 1 << 20));
    }

    #[test]
    fn a_slow_peer_that_keeps_the_least_rate_goes_on_for_ever() {
        let mut slow = Progress::begin(at(0));
        for second in 1..1_000 {
            slow.add(1_100);
            assert!(!slow.is_too_slow(at(second), PACE, 1 << 20), "at second {second}");
        }
    }

    #[test]
    fn the_last_bytes_need_not_be_more_than_they_are() {
        let mut nearly = Progress::begin(at(0));
        assert!(nearly.is_too_slow(at(10), PACE, 3), "three bytes that never move");
        let mut small = Progress::begin(at(0));
        small.add(3);
        assert!(!small.is_too_slow(at(10), PACE, 0), "nothing is left");
        let slowest = Pace { rate_min: 1, patience: Duration::from_millis(1) };
        assert!(Progress::begin(at(0)).is_too_slow(at(1), slowest, 1), "a byte at least");
    }
}
