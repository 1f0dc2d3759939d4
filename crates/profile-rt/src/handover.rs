//! How long a cache line takes from one core to another: what scanning costs is counted in that.

use crate::clock::ticks;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use tailwater_profile::record::Ticks;

const ROUNDS: u32 = 400;
const OVER: u32 = u32::MAX;

/// A line that two threads throw to each other.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Ball(AtomicU32);

impl Ball {
    /// Throws it back until the other side is through.
    pub(crate) fn catch(&self) {
        loop {
            match self.0.load(Acquire) {
                OVER => return,
                thrown if thrown % 2 == 1 => {
                    // It may be over by now, and must stay so.
                    let _ = self.0.compare_exchange(thrown, thrown + 1, Release, Acquire);
                }
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Half the median round trip, between 30 and 300 ns; 80 ns when the other side does not
    /// answer in a millisecond (the two share a core).
    pub(crate) fn throw(&self, us: Ticks) -> Ticks {
        let deadline = ticks() + us * 1000;
        let mut trips = Vec::with_capacity(ROUNDS as usize);
        'all: for round in 0..ROUNDS {
            let before = ticks();
            self.0.store(2 * round + 1, Release);
            while self.0.load(Acquire) != 2 * round + 2 {
                if ticks() > deadline {
                    break 'all;
                }
            }
            trips.push(ticks().saturating_sub(before));
        }
        self.0.store(OVER, Release);
        trips.sort_unstable();
        let half = trips.get(trips.len() / 2).map_or(us * 80 / 1000, |trip| trip / 2);
        half.clamp(us * 30 / 1000, us * 300 / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_measured_and_ends_even_when_nobody_answers() {
        let us = crate::clock::ticks_per_us();
        let bounds = us * 30 / 1000..=us * 300 / 1000;
        assert!(bounds.contains(&Ball::default().throw(us)), "nobody caught it");
        let ball = Ball::default();
        std::thread::scope(|scope| {
            scope.spawn(|| ball.catch());
            assert!(bounds.contains(&ball.throw(us)));
        });
    }
}
