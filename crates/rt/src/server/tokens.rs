//! What a client may send that costs it nothing: frames beside requests, requests beyond its window, frames
//! in drips. They are counted here.

use std::time::Duration;
use tailwater_core::{Instant, Nanos as _};

/// A connection's allowance. A control frame takes one: DEMAND, DEREGISTER, CANCEL, PING, PONG and questions
/// for the server's counts. Beyond it nothing is lost: reading pauses until there is some again. Pauses that
/// follow one another grow longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    left: u32,
    /// Up to when those that come with time are counted.
    counted: Instant,
    /// Pauses since the allowance was whole.
    pauses: u32,
}

/// Frames in a row. A client that gives up a thousand calls at once is honest.
const BURST: u32 = 1_024;
/// Time for one more frame: a thousand a second cost a loop less than a thousandth of its time.
const GAP: Duration = Duration::from_millis(1);
/// Frames that a request pays for, beside its CANCEL: its DEMAND and a DEREGISTER, and two to spare.
const PER_REQUEST: u32 = 4;
/// What a request beyond the window costs, beside what it has earned. Reading pauses after 32 of them, before
/// the controller closes a session for 64 in a row: a client that connects anew would cost still more.
const FINE: u32 = 28;
/// A pause ends when there are as many again: single frames would cost a wake-up each.
const RESUMED: u32 = 64;
/// Each pause is twice as long as the one before, up to 16 times the first: a second.
const DOUBLINGS: u32 = 4;

impl Tokens {
    pub(super) const fn new(now: Instant) -> Self {
        Self { left: BURST, counted: now, pauses: 0 }
    }

    /// One frame; or when reading goes on.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        if self.left == 0 {
            self.refill(now);
        }
        if self.left == 0 {
            return Err(self.pause(now));
        }
        self.left -= 1;
        Ok(())
    }

    /// A request came.
    pub(super) fn earn(&mut self) {
        self.left = self.left.saturating_add(PER_REQUEST);
        if self.left >= BURST {
            (self.left, self.pauses) = (BURST, 0);
        }
    }

    /// That request was beyond the window. When reading goes on, if the allowance is used up by it.
    pub(super) fn fine(&mut self, now: Instant) -> Option<Instant> {
        self.charge(now, PER_REQUEST + FINE)
    }

    /// A read brought a few bytes and ended no frame, the `number`th in a row, from one. When reading goes
    /// on, if the allowance is used up by it. Each costs one more than the last: a request pays for a header
    /// that comes apart from its payload, and some forty in a row use up all.
    pub(super) fn drip(&mut self, now: Instant, number: u32) -> Option<Instant> {
        self.charge(now, number)
    }

    fn charge(&mut self, now: Instant, cost: u32) -> Option<Instant> {
        if self.left < cost {
            self.refill(now);
        }
        self.left = self.left.saturating_sub(cost);
        (self.left == 0).then(|| self.pause(now))
    }

    fn refill(&mut self, now: Instant) {
        let fresh = now.nanos_since(self.counted) / GAP.nanos();
        if u64::from(self.left) + fresh >= u64::from(BURST) {
            *self = Self::new(now);
        } else {
            self.left += fresh as u32;
            self.counted = self.counted + GAP * fresh as u32;
        }
    }

    /// Ends with [`RESUMED`] frames, however long it was.
    fn pause(&mut self, now: Instant) -> Instant {
        let pause = GAP * RESUMED * (1 << self.pauses.min(DOUBLINGS));
        self.pauses += 1;
        let until = now + spread(pause, now);
        self.counted = until - GAP * RESUMED;
        until
    }
}

/// From one to two pauses, by the clock's last digits: the requests of connections that were held back
/// together would otherwise come together, and stand before those of others.
fn spread(pause: Duration, now: Instant) -> Duration {
    // Fibonacci hashing: neighbouring times lie far apart in the upper half.
    let digits = now.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    pause + Duration::from_nanos((pause.nanos() * digits) >> 32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// What is taken in ten seconds by a client that goes on as soon as it may.
    fn taken(mut one: impl FnMut(&mut Tokens, Instant) -> Option<Instant>) -> u32 {
        let (mut tokens, mut taken, mut now) = (Tokens::new(at(0)), 0, at(0));
        while now < at(10_000) {
            taken += 1;
            if let Some(until) = one(&mut tokens, now) {
                assert!(until >= now + GAP * RESUMED, "a pause shorter than the first");
                now = until;
            }
        }
        taken
    }

    #[test]
    fn requests_beyond_the_window_end_in_pauses_that_grow_and_others_do_not() {
        let refused = taken(|tokens, now| {
            tokens.earn();
            tokens.fine(now)
        });
        // The allowance first, then two or three after each pause of up to two seconds.
        assert!((45..75).contains(&refused), "{refused} in ten seconds");
        let mut honest = Tokens::new(at(0));
        for request in 0..100_000 {
            honest.earn();
            let violates = request % 16 == 0;
            assert_eq!(violates.then(|| honest.fine(at(0))).flatten(), None, "{request}");
        }
    }

    #[test]
    fn a_flood_of_frames_is_held_back_more_and_more() {
        let frames = taken(|tokens, now| tokens.take(now).err());
        assert!((1_500..2_500).contains(&frames), "{frames} in ten seconds");
    }

    #[test]
    fn drips_are_held_back_and_the_pieces_of_requests_are_not() {
        let mut number = 0;
        let drips = taken(|tokens, now| {
            number += 1;
            tokens.drip(now, number)
        });
        assert!((50..80).contains(&drips), "{drips} in ten seconds");
        let mut honest = Tokens::new(at(0));
        for request in 0..100_000 {
            assert_eq!(honest.drip(at(0), 1), None, "the header of request {request} comes alone");
            honest.earn();
        }
    }

    #[test]
    fn pauses_are_spread_and_short_again_after_silence() {
        let paused = |tokens: &mut Tokens, now| {
            while tokens.take(now).is_ok() {}
            tokens.counted + GAP * RESUMED
        };
        let pauses: Vec<Duration> = (0..100)
            .map(|ns| {
                let now = at(1) + Duration::from_nanos(ns);
                paused(&mut Tokens::new(now), now).since(now)
            })
            .collect();
        let early = pauses.iter().filter(|pause| **pause < GAP * RESUMED * 3 / 2).count();
        assert!((25..75).contains(&early), "{early} of 100 in the first half");
        let mut tokens = Tokens::new(at(0));
        let mut until = at(0);
        for _ in 0..10 {
            until = paused(&mut tokens, until);
        }
        assert!(tokens.pauses == 10);
        while tokens.take(until + Duration::from_secs(2)).is_ok() {}
        assert_eq!(tokens.pauses, 1, "the allowance was whole again");
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
