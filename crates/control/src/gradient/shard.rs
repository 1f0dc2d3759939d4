//! One loop's half of a gradient server: counts what is inside and refuses beyond the limit.

use super::Shared;
use crate::server::{Arrival, Offer, Outcome, Reason, RequestEnd, Shard, Verdict};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Event, Instant, Observer, SessionId};

pub(super) struct GradientShard {
    shared: Arc<Shared>,
    index: usize,
    sessions: Vec<Session>,
}

/// A connection's requests that are not answered yet.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    /// They hold a place inside.
    admitted: u32,
    /// They were refused. A dry run serves them all the same, without a place.
    refused: u32,
}

impl GradientShard {
    pub(super) const fn new(shared: Arc<Shared>, index: usize) -> Self {
        Self { shared, index, sessions: Vec::new() }
    }

    /// One request of the session is answered: gives back its place, if it held one.
    fn settle(&mut self, id: SessionId, outcome: Outcome) {
        let session = &mut self.sessions[id.index()];
        let was_refused = outcome == Outcome::Shed(Reason::Limit) || session.admitted == 0;
        if was_refused && session.refused > 0 {
            session.refused -= 1;
        } else if session.admitted > 0 {
            session.admitted -= 1;
            self.shared.leave(1);
        }
    }
}

impl Shard for GradientShard {
    fn on_open(&mut self, _: Instant, id: SessionId, _: &mut dyn Observer) -> Offer {
        if self.sessions.len() <= id.index() {
            self.sessions.resize_with(id.index() + 1, Session::default);
        }
        Offer::OPEN
    }

    fn on_close(&mut self, _: Instant, id: SessionId, _: &mut dyn Observer) {
        let closed = std::mem::take(&mut self.sessions[id.index()]);
        self.shared.leave(closed.admitted);
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        _: &Arrival,
        _: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let session = &mut self.sessions[id.index()];
        if self.shared.enter() {
            session.admitted += 1;
            return Verdict::Admit;
        }
        session.refused += 1;
        observer.on_event(now, &Event::Shed(id, Reason::Limit.name()));
        Verdict::Shed(Reason::Limit)
    }

    fn on_done(&mut self, _: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        // What was shed tells nothing of how long serving takes.
        if done.outcome == Outcome::Served {
            self.shared.served(self.index, done.waited, done.service);
        }
        self.settle(id, done.outcome);
        Offer::OPEN
    }

    fn on_tick(&mut self, now: Instant, _: Duration, _: &mut dyn Observer) {
        self.shared.tick(now);
    }
}
