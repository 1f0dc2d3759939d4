//! What a client may send beside requests. Those frames cost it nothing, so they are counted here.

use std::time::Duration;
use tailwater_core::{Instant, Nanos as _};

/// A connection's allowance of control frames: DEMAND, DEREGISTER, CANCEL, PING, PONG and questions for
/// the server's counts. Beyond it nothing is lost: reading pauses until there is some again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    left: u32,
    /// Up to when those that come with time are counted.
    counted: Instant,
}

/// Frames in a row. A client that gives up a thousand calls at once is honest.
const BURST: u32 = 1_024;
/// Time for one more frame: a thousand a second cost a loop less than a thousandth of its time.
const GAP: Duration = Duration::from_millis(1);
/// Frames that a request pays for: its DEMAND, its CANCEL and a DEREGISTER, and one to spare.
const PER_REQUEST: u32 = 4;
/// What a request beyond the window costs, beside what it has earned. Reading pauses after 32 of them, before
/// the controller closes a session for 64 in a row: a client that connects anew would cost still more.
const FINE: u32 = 28;
/// A pause ends when there are as many again: single frames would cost a wake-up each.
const RESUMED: u32 = 64;

impl Tokens {
    pub(super) const fn new(now: Instant) -> Self {
        Self { left: BURST, counted: now }
    }

    /// One frame; or when there are some again.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        if self.left == 0 {
            self.refill(now);
        }
        if self.left == 0 {
            return Err(self.counted + GAP * RESUMED);
        }
        self.left -= 1;
        Ok(())
    }

    /// A request came.
    pub(super) fn earn(&mut self) {
        self.left = self.left.saturating_add(PER_REQUEST).min(BURST);
    }

    /// That request was beyond the window. When reading goes on, if the allowance is used up by it.
    pub(super) fn fine(&mut self, now: Instant) -> Option<Instant> {
        if self.left == 0 {
            self.refill(now);
        }
        self.left = self.left.saturating_sub(PER_REQUEST + FINE);
        (self.left == 0).then(|| self.counted.max(now) + GAP * RESUMED)
    }

    fn refill(&mut self, now: Instant) {
        let fresh = now.nanos_since(self.counted) / GAP.nanos();
        if fresh >= u64::from(BURST) {
            *self = Self::new(now);
        } else {
            self.left = fresh as u32;
            self.counted = self.counted + GAP * self.left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn requests_beyond_the_window_end_in_a_pause_and_others_do_not() {
        let (mut tokens, mut refused, mut ms) = (Tokens::new(at(0)), 0, 0);
        while ms < 10_000 {
            tokens.earn();
            refused += 1;
            if let Some(until) = tokens.fine(at(ms)) {
                ms = until.as_nanos() / 1_000_000;
            }
        }
        // The allowance first, then one at the end of each pause.
        assert!((150..250).contains(&refused), "{refused} in ten seconds");
        let mut honest = Tokens::new(at(0));
        for request in 0..100_000 {
            honest.earn();
            let violates = request % 16 == 0;
            assert_eq!(violates.then(|| honest.fine(at(0))).flatten(), None, "{request}");
        }
    }

    #[test]
    fn a_flood_is_held_to_the_rate_after_its_burst() {
        let mut tokens = Tokens::new(at(0));
        let (mut taken, mut time) = (0, at(0));
        while time < at(10_000) {
            match tokens.take(time) {
                Ok(()) => taken += 1,
                Err(later) => {
                    assert!(later > time, "a pause that has ended pauses again at once");
                    time = later;
                }
            }
        }
        assert!((11_000..=11_100).contains(&taken), "{taken} in ten seconds");
    }

    #[test]
    fn requests_pay_for_the_frames_beside_them() {
        let mut tokens = Tokens::new(at(0));
        for _ in 0..100_000 {
            tokens.earn();
            for _ in 0..PER_REQUEST {
                assert_eq!(tokens.take(at(0)), Ok(()));
            }
        }
    }

    #[test]
    fn silence_fills_the_burst_and_no_more() {
        let mut tokens = Tokens::new(at(0));
        while tokens.take(at(0)).is_ok() {}
        let row = |tokens: &mut Tokens, now| std::iter::from_fn(|| tokens.take(now).ok()).count();
        assert_eq!(row(&mut tokens, at(100)), 100);
        assert_eq!(row(&mut tokens, at(3_600_000)), BURST as usize);
    }
}
