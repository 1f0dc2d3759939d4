//! One client's credits as the server sees them: an absolute window, and what it was before.

use super::consumption::Consumption;
use super::stranded::Entry;
use crate::server::{Offer, is_older};
use crate::stamps::Stamps;
use std::collections::VecDeque;
use tailwater_core::{Instant, Pause};

/// A registered (or just connected) client.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) open: bool,
    pub(super) registered: bool,
    /// The newest offer: most requests the client may have outstanding.
    pub(super) window: u32,
    pub(super) seq: u32,
    history: Offered,
    /// Requests that came and have not been answered.
    pub(super) pending: u32,
    /// Those of them that were violations. If the next window covered them too, a flood would earn
    /// credit.
    pub(super) refused: u32,
    /// Those of them that wait to be started.
    pub(super) waiting: u32,
    /// Requests waiting at the client, as of its last message and as it claims.
    pub(super) demand: u32,
    pub(super) consumption: Consumption,
    /// Silent since then: its last message, or the explicit credit that woke it.
    pub(super) silent_since: Instant,
    /// It has been silent for long: its one credit left the pool and comes back with its next message.
    pub(super) idle: bool,
    pub(super) stamps: Stamps,
    /// Its smoothed network round trip; zero while unknown.
    pub(super) rtt_ns: u64,
    /// What the pool counts for this session.
    pub(super) held: u32,
    pub(super) shed_since_offer: bool,
    /// In the list of sessions that only an explicit credit can wake.
    pub(super) listed: bool,
    /// Distinguishes this client from an earlier one with the same id.
    pub(super) generation: u32,
    suspicion: u32,
}

/// What a client without registration may have outstanding: the request that registers.
pub(super) const FIRST_WINDOW: u32 = 1;
/// A violation weighs this much; a proper request takes one away.
const VIOLATION_WEIGHT: u32 = 4;
/// 64 violations in a row, or a persistent share of more than a fifth.
const SUSPICION_LIMIT: u32 = 64 * VIOLATION_WEIGHT;

impl Session {
    /// A client that has just connected: it may send the request that registers, which is window 1
    /// under number 0, and nothing is known of it.
    pub(super) fn opened(now: Instant, generation: u32) -> Self {
        let mut session = Self {
            open: true,
            generation,
            silent_since: now,
            window: FIRST_WINDOW,
            ..Self::default()
        };
        session.history.push(session.seq, session.window);
        session
    }

    /// Whether a list's entry means this client and not an earlier one with the same number.
    pub(super) const fn is(&self, entry: Entry) -> bool {
        self.open && self.generation == entry.generation
    }

    /// What the client may do, as a message says it, once this pause is over.
    pub(super) const fn offered(&self, pause: Pause) -> Offer {
        Offer { window: self.window, seq: self.seq, level: 0, pause }
    }

    /// Credits the client holds and has not used, as far as the server can know.
    pub(super) const fn unused(&self) -> u32 {
        self.window.saturating_sub(self.pending)
    }

    /// A request is about to be answered. What was refused here a guard may have admitted, so the
    /// kinds are told apart only as far as they last.
    pub(super) fn answered(&mut self, as_violation: bool) {
        self.pending = self.pending.saturating_sub(1);
        self.refused = self.refused.saturating_sub(u32::from(as_violation)).min(self.pending);
    }

    /// Sets a new window under a new sequence number, unless nothing changed.
    pub(super) fn offer(&mut self, window: u32) {
        if window != self.window {
            self.seq = self.seq.wrapping_add(1);
            self.window = window;
            self.history.push(self.seq, window);
        }
    }

    /// The client knows offer `acked`, so that those before it cover nothing more.
    pub(super) fn acknowledge(&mut self, acked: u32) {
        self.history.acknowledge(acked);
    }

    /// Whether the client may have `outstanding` requests.
    ///
    /// Server and client disagree only about messages in flight: the client may act on any offer
    /// from the one it echoed last to the newest. So the largest of these decides.
    pub(super) fn allows(&self, outstanding: u32) -> bool {
        outstanding <= self.history.largest().max(self.window)
    }

    /// Counts a violation; true when there have been too many. No more are counted then, so that proper requests can make up
    /// for them: where a guard lets in what is sent at will there is no end of them.
    pub(super) const fn suspect(&mut self) -> bool {
        if self.suspicion < SUSPICION_LIMIT {
            self.suspicion += VIOLATION_WEIGHT;
        }
        self.suspicion >= SUSPICION_LIMIT
    }

    pub(super) const fn trust(&mut self) {
        self.suspicion = self.suspicion.saturating_sub(1);
    }
}

/// Offers that the client may still act on, windows strictly falling from front to back: an offer
/// that a later, larger one covers need not be remembered.
#[derive(Debug, Default)]
struct Offered(VecDeque<(u32, u32)>);

impl Offered {
    /// Beyond this the oldest two are merged to the client's advantage. A client that answers
    /// within a round trip never gets near it.
    const MAX: usize = 16;

    /// An entry's number is the first from which its window is the largest still to come.
    fn push(&mut self, seq: u32, window: u32) {
        let mut from = seq;
        while let Some(&(earlier, smaller)) = self.0.back()
            && smaller <= window
        {
            from = earlier;
            self.0.pop_back();
        }
        self.0.push_back((from, window));
        if self.0.len() > Self::MAX {
            let largest = self.0[0];
            self.0.pop_front();
            self.0[0] = largest;
        }
    }

    fn acknowledge(&mut self, acked: u32) {
        while self.0.len() > 1 && !is_older(acked, self.0[1].0) {
            self.0.pop_front();
        }
    }

    fn largest(&self) -> u32 {
        self.0.front().map_or(0, |&(_, window)| window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_window_since_the_echoed_offer_decides() {
        let mut session = Session::default();
        session.offer(8); // seq 1
        session.offer(3); // seq 2
        session.offer(5); // seq 3
        session.offer(1); // seq 4
        let largest = [
            (0, 8, "it may not have heard of the revocations"),
            (1, 8, "nor now"),
            (2, 5, "it knew of 3, at most 5 came later"),
            (3, 5, "it knows of 5"),
            (4, 1, "it knows all"),
        ];
        for (acked, window, why) in largest {
            session.acknowledge(acked);
            assert!(session.allows(window) && !session.allows(window + 1), "{acked}: {why}");
        }
    }

    #[test]
    fn an_unchanged_window_needs_no_new_number() {
        let mut session = Session::default();
        session.offer(4);
        let seq = session.seq;
        session.offer(4);
        assert_eq!(session.seq, seq);
    }

    #[test]
    fn a_long_unacknowledged_history_is_bounded_in_the_clients_favour() {
        let mut session = Session::default();
        for window in (1..=100).rev() {
            session.offer(window);
        }
        assert!(session.history.0.len() <= Offered::MAX);
        assert!(session.allows(100));
        session.acknowledge(1);
        assert!(session.allows(100));
    }

    #[test]
    fn persistent_violations_are_told_from_single_ones() {
        let mut session = Session::default();
        assert!((0..63).all(|_| !session.suspect()));
        assert!(session.suspect());
        let mut honest = Session::default();
        for _ in 0..10_000 {
            assert!(!honest.suspect());
            (0..8).for_each(|_| honest.trust());
        }
    }

    /// As after a dry run, in which all may send at will.
    #[test]
    fn proper_requests_make_up_for_any_number_of_violations() {
        let mut session = Session::default();
        (0..100_000).for_each(|_| _ = session.suspect());
        assert!(session.suspect());
        (0..2 * SUSPICION_LIMIT).for_each(|_| session.trust());
        assert!(!session.suspect(), "it has kept to its window for long");
        // None weighs beyond the limit: five proper requests make room for one more, and not for two.
        (0..100).for_each(|_| _ = session.suspect());
        (0..5).for_each(|_| session.trust());
        assert_eq!([session.suspect(), session.suspect()], [false, true]);
    }

    #[test]
    fn a_client_that_connects_may_send_one_request_and_is_silent_from_now_on() {
        let now = Instant::from_nanos(9);
        let mut session = Session::opened(now, 7);
        assert_eq!((session.window, session.seq, session.silent_since), (1, 0, now));
        assert!(session.allows(1) && !session.allows(2));
        let entry =
            |generation| Entry { session: tailwater_core::SessionId(0), generation, since: now };
        assert!(session.is(entry(7)) && !session.is(entry(8)));
        session.open = false;
        assert!(!session.is(entry(7)), "it has closed");
    }

    /// Sixteen offers, each smaller than the one before, are all remembered; of seventeen the oldest two are one.
    #[test]
    fn sixteen_offers_are_told_apart() {
        for (offers, second) in [(16, 15), (17, 17)] {
            let mut session = Session::default();
            (1..=offers).rev().for_each(|window| session.offer(window));
            for (acked, largest) in [(2, second), (3, offers - 2)] {
                session.acknowledge(acked);
                let found = session.allows(largest) && !session.allows(largest + 1);
                assert!(found, "{offers} offers, {acked} acknowledged");
            }
        }
    }

    /// Such an echo says nothing of what the client has heard.
    #[test]
    fn an_echo_half_of_all_numbers_away_acknowledges_nothing() {
        let mut session = Session::default();
        session.offer(8); // seq 1
        session.offer(3); // seq 2
        session.acknowledge(2 + (1 << 31));
        assert!(session.allows(8));
        session.acknowledge(2);
        assert!(!session.allows(8), "the same, acknowledged");
    }
}
