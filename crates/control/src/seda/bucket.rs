//! A token bucket: how a rate becomes permission.

use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// Earns `rate` tokens a second, holds at most `burst`; each request costs one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: f64,
    burst: f64,
    rate: f64,
    /// `None` until first asked: time before that earns nothing.
    filled_at: Option<Instant>,
}

impl Bucket {
    pub(super) const fn new(tokens: f64, burst: f64, rate: f64) -> Self {
        Self { tokens, burst, rate, filled_at: None }
    }

    /// Earns what is due until `now` and says when the next token will be there: `None` when one is.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Instant> {
        self.refill(now);
        if self.tokens >= 1.0 {
            return None;
        }
        let gap = Duration::try_from_secs_f64((1.0 - self.tokens) / self.rate);
        // One nanosecond more, or rounding would have the client called a moment too early.
        Some(now + gap.unwrap_or(Duration::MAX) + Duration::from_nanos(1))
    }

    /// A request is sent. The bucket may owe a token when its owner sends without asking.
    pub(super) fn take(&mut self) {
        self.tokens -= 1.0;
    }

    /// Little is left: its owner uses about as much as it earns.
    pub(super) fn is_low(&self) -> bool {
        self.tokens < self.burst / 2.0
    }

    /// What was earned so far was earned at the old rate.
    pub(super) fn set_rate(&mut self, now: Instant, rate: f64) {
        self.refill(now);
        self.rate = rate;
    }

    fn refill(&mut self, now: Instant) {
        let since = self.filled_at.map_or(Duration::ZERO, |filled| now.since(filled));
        // A clock that stands still or steps back earns nothing and forgets nothing.
        if since.nanos() > 0 || self.filled_at.is_none() {
            self.filled_at = Some(now);
        }
        self.tokens = (self.tokens + since.as_secs_f64() * self.rate).min(self.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn tokens_come_at_the_rate_up_to_the_burst() {
        let mut bucket = Bucket::new(0.0, 4.0, 1_000.0);
        let next = bucket.wait(at(500)).unwrap();
        assert!(next > at(1_500) && next <= at(1_501), "{next:?}");
        assert_eq!(bucket.wait(next), None);
        bucket.take();
        assert!(bucket.wait(next).is_some());
        assert_eq!(bucket.wait(at(1_000_000)), None);
        (0..4).for_each(|_| bucket.take());
        assert!(bucket.wait(at(1_000_000)).is_some(), "a second earns no more than the burst");
    }

    #[test]
    fn a_new_rate_counts_from_now_on() {
        let mut bucket = Bucket::new(0.0, 4.0, 1_000.0);
        bucket.wait(at(0));
        bucket.set_rate(at(500), 10.0);
        let next = bucket.wait(at(500)).unwrap();
        let half = at(50_500);
        assert!(next >= half && next <= half + Duration::from_nanos(2), "at 10/s: {next:?}");
    }

    #[test]
    fn a_bucket_is_low_below_half_of_its_burst() {
        for (tokens, low) in [(2.1, false), (2.0, false), (1.9, true), (-3.0, true)] {
            assert_eq!(Bucket::new(tokens, 4.0, 1.0).is_low(), low, "{tokens} of 4");
        }
    }

    #[test]
    fn a_clock_that_steps_back_earns_nothing_twice() {
        let mut bucket = Bucket::new(0.0, 4.0, 1_000.0);
        bucket.wait(at(2_000));
        bucket.wait(at(1_000));
        let next = bucket.wait(at(2_000)).expect("a millisecond has not passed");
        assert_eq!(next, at(3_000) + Duration::from_nanos(1));
    }
}
