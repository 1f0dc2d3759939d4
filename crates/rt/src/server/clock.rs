//! A loop's time: read at each step that takes long; everything in between uses it.

use crate::time::now;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _};

pub(super) struct Clock {
    now: Instant,
    /// Every socket was looked at since: what is found in one has waited there for no longer.
    looked: Instant,
    /// When the present look at all sockets began.
    round_began: Instant,
    /// When this turn began to cost something: sleeping does not.
    turn_began: Instant,
    last_work: Instant,
    /// Handlers' time in this turn.
    handled_ns: u64,
    /// Their share of a turn, and the sockets'.
    share_ns: u64,
}

impl Clock {
    pub(super) fn new(share: Duration) -> Self {
        let start = now();
        Self {
            now: start,
            looked: start,
            round_began: start,
            turn_began: start,
            last_work: start,
            handled_ns: 0,
            share_ns: share.nanos(),
        }
    }

    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// Reads the clock: something may have taken long.
    pub(super) fn look(&mut self) -> Instant {
        self.now = now();
        self.now
    }

    /// A turn begins, after a sleep or right behind the turn before.
    pub(super) fn begin_turn(&mut self, slept: bool) {
        let before = self.now;
        self.look();
        if slept {
            // What woke the loop came just now; it was looking all the time until then.
            self.looked = self.now;
        }
        self.turn_began = if slept { self.now } else { before };
        self.handled_ns = 0;
    }

    /// Time of this turn so far.
    pub(super) const fn turn_ns(&self) -> u64 {
        self.now.nanos_since(self.turn_began)
    }

    /// Handlers that ran between two sockets have a share of their own. If they took from this one, requests
    /// would wait in the sockets in place of the queue, and no delay would be seen.
    pub(super) const fn sockets_had_their_share(&self) -> bool {
        self.turn_ns().saturating_sub(self.handled_ns) >= self.share_ns
    }

    pub(super) const fn handlers_had_their_share(&self) -> bool {
        self.handled_ns >= self.share_ns
    }

    /// The handlers of this turn have had their share, or what was sent between them since `began` has: that may take as long
    /// again.
    pub(super) const fn handlers_and_sends_had_their_share(&self, began: Instant) -> bool {
        self.handlers_had_their_share()
            || self.now.nanos_since(began) >= self.share_ns.saturating_mul(2)
    }

    /// A handler ran since `before`; how long, in nanoseconds.
    pub(super) fn handled_since(&mut self, before: Instant) -> u64 {
        let taken = self.look().nanos_since(before);
        self.handled_ns += taken;
        taken
    }

    /// The kernel is asked for the first sockets of a round.
    pub(super) const fn begin_round(&mut self) {
        self.round_began = self.now;
    }

    /// All that the round found was looked at.
    pub(super) const fn end_round(&mut self) {
        self.looked = self.round_began;
    }

    /// Every socket was looked at since: what had come by then was read.
    pub(super) const fn looked(&self) -> Instant {
        self.looked
    }

    /// How long something may have waited in a socket unseen.
    pub(super) const fn blind_ns(&self) -> u64 {
        self.now.nanos_since(self.looked)
    }

    /// The turn found something to do.
    pub(super) const fn worked(&mut self) {
        self.last_work = self.now;
    }

    pub(super) const fn idle(&self) -> Duration {
        self.now.since(self.last_work)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Handlers that do next to nothing would keep the loop from its sockets for as long as all of their answers take.
    #[test]
    fn what_is_sent_between_handlers_has_a_bound_too() {
        let share = Duration::from_micros(50);
        let mut clock = Clock::new(share);
        let began = clock.now;
        clock.now = began + share * 2 - Duration::from_nanos(1);
        assert!(!clock.handlers_and_sends_had_their_share(began));
        clock.now = began + share * 2;
        assert!(
            clock.handlers_and_sends_had_their_share(began),
            "the handlers have had no time at all"
        );
        clock.now = began + share;
        clock.handled_ns = share.nanos();
        assert!(clock.handlers_and_sends_had_their_share(began), "the handlers have had theirs");
    }
}
