//! One loop's half of a DAGOR server: compares levels and keeps the tally.

use super::regulator::{Shared, Tally};
use crate::server::{Arrival, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Event, Instant, Observer, SessionId};

pub(super) struct DagorShard {
    shared: Arc<Shared>,
    index: usize,
}

impl DagorShard {
    pub(super) const fn new(shared: Arc<Shared>, index: usize) -> Self {
        Self { shared, index }
    }

    fn tally(&self) -> &Tally {
        self.shared.tally(self.index)
    }

    /// The same for every session: DAGOR knows requests, not clients.
    fn offer(&self) -> Offer {
        Offer { level: self.shared.config.levels.advertise(self.shared.cursor()), ..Offer::OPEN }
    }
}

impl Shard for DagorShard {
    fn on_open(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) -> Offer {
        self.offer()
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        _delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let level = self.shared.config.levels.of(arrival.priority);
        self.tally().on_arrival(level);
        if level <= self.shared.cursor() {
            return Verdict::Admit;
        }
        observer.on_event(now, &Event::Shed(id, Reason::Priority.name()));
        Verdict::Shed(Reason::Priority)
    }

    fn on_start(
        &mut self,
        _: Instant,
        _: SessionId,
        waited: Duration,
        _: Option<Duration>,
        _: &mut dyn Observer,
    ) -> Verdict {
        self.tally().on_start(waited);
        Verdict::Admit
    }

    fn on_done(&mut self, _: Instant, _: SessionId, done: &RequestEnd) -> Offer {
        // What waited past its deadline is the longest wait there is. Left out, the mean of the rest
        // could never exceed a deadline below the limit.
        let late = done.outcome == Outcome::Shed(Reason::Deadline);
        if late && done.reached == Reached::Queue {
            self.tally().on_start(done.waited);
        }
        // Rejects carry it as well: they are all that a client below the threshold ever hears.
        self.offer()
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, _: &mut dyn Observer) {
        self.shared.tick(now, self.index, delay);
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.shared.next_deadline(now)
    }
}
