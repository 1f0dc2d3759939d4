//! Whether a request may come in, and whether it can still be in time.

use super::BreakwaterShard;
use crate::breakwater::classes::Classes;
use crate::breakwater::config::{RoundTrip, Signal};
use crate::ewma::ROUND_TRIP;
use crate::server::{Arrival, Echo, Reason, Verdict};
use std::time::Duration;
use tailwater_core::{Instant, Nanos, SessionId};

impl BreakwaterShard {
    /// A stamp came back: believed if it was sent to this session and has not come back before.
    pub(super) fn on_echo(&mut self, now: Instant, id: SessionId, echo: Echo) {
        let session = &mut self.sessions[id.index()];
        let Some(issued) = session.stamps.take(echo.stamp) else {
            return;
        };
        if let Some(meter) = self.pool.meter() {
            meter.on_used(now.since(issued));
        }
        let Some(rtt) = echo.rtt(now) else {
            return;
        };
        session.rtt_ns = ROUND_TRIP.after_any(session.rtt_ns, rtt.nanos());
        let own = Duration::from_nanos(session.rtt_ns);
        match self.config().round_trip {
            RoundTrip::Smoothed => self.pool.on_rtt(rtt),
            RoundTrip::Median => {
                if let Some(median) = self.round_trips.learn(now, id, own) {
                    self.pool.on_median(self.place, median);
                }
            }
        }
    }

    pub(super) fn judge(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
    ) -> Verdict {
        if self.config().credits
            && let Some(refusal) = self.check_credit(id, arrival.acked)
        {
            return refusal;
        }
        let config = *self.config();
        if let Some(classes) = &mut self.classes {
            classes.on_request(now, arrival.class);
        }
        let waits = self.predicted.waiting() > 0;
        let delay = match (config.signal, &self.classes) {
            (Signal::OldestAge, _) => delay,
            (Signal::Predicted, None) => self.predicted.wait(),
            // It knows what stands before. What runs alone is no queue: without one nothing is shed for delay.
            (Signal::Predicted, Some(classes)) if waits => classes.wait(),
            (Signal::Predicted, Some(_)) => Duration::ZERO,
        };
        if config.drop_threshold.is_some_and(|threshold| delay >= threshold) {
            self.tally.on_shed(true);
            return Verdict::Shed(Reason::Delay);
        }
        let gives_way = |classes: &Classes| classes.gives_way(arrival.class, &config);
        if self.classes.as_ref().is_some_and(gives_way) {
            // Not in the tally: it is no sign of too many credits, since others are served in its place.
            return Verdict::Shed(Reason::Cost);
        }
        let (spent, rest) = match &self.classes {
            None => (arrival.hidden.max(delay), self.rest(id)),
            Some(_) if !waits => (arrival.hidden, Duration::ZERO),
            // What it waited unseen is behind it, and the whole wait before it.
            Some(classes) => {
                let rest = self.rest_of(id, classes.cost(arrival.class));
                // A cost is learnt anew by serving alone: a class that lacks its share is not refused for its
                // cost alone, nor is any while nothing waits.
                let too_dear = arrival.time_left.is_some_and(|left| left < rest);
                let is_renewed = too_dear && classes.is_owed(arrival.class);
                let rest = if is_renewed { Duration::ZERO } else { rest };
                (arrival.hidden + classes.wait(), rest)
            }
        };
        match arrival.time_left {
            Some(left) if self.is_hopeless(left, spent, rest) => {
                self.tally.on_shed(spent >= config.target_delay);
                Verdict::Shed(Reason::Deadline)
            }
            _ => Verdict::Admit,
        }
    }

    /// What becomes of a request that was sent without credit; `None` for others.
    fn check_credit(&mut self, id: SessionId, acked: u32) -> Option<Verdict> {
        let session = &mut self.sessions[id.index()];
        // What it acknowledges counts, whether it may be sent or not.
        session.acknowledge(acked);
        if session.registered && session.allows(session.pending) {
            session.trust();
            return None;
        }
        session.refused += 1;
        Some(if session.suspect() {
            Verdict::Close(Reason::NoCredit)
        } else {
            Verdict::Shed(Reason::NoCredit)
        })
    }

    /// A request that was admitted waits no longer.
    pub(super) fn leave_queue(&mut self, id: SessionId) {
        let session = &mut self.sessions[id.index()];
        if session.waiting > 0 {
            session.waiting -= 1;
            self.predicted.leave(1);
        }
    }

    /// Whether a request that still needs `rest` cannot be in time.
    pub(super) fn is_hopeless(&self, left: Duration, spent: Duration, rest: Duration) -> bool {
        self.config().deadline_aware && left < spent + rest
    }

    /// What a request typically still needs, service and the way back, counts only up to half of
    /// the target delay: the estimate is renewed only by serving, so it must never refuse everything.
    pub(super) fn rest(&self, id: SessionId) -> Duration {
        let rest = self.service.median() + self.rtt_of(id) / 2;
        rest.min(self.config().target_delay / 2)
    }

    /// The same for one whose class costs so much. It counts up to the threshold of the AQM: one of a class
    /// that takes longer is still served while hardly anything waits.
    fn rest_of(&self, id: SessionId, cost: Duration) -> Duration {
        let config = self.config();
        let most = config.drop_threshold.unwrap_or(config.target_delay / 2);
        (cost + self.rtt_of(id) / 2).min(most)
    }

    /// A client's own round trip where each has one, so that it can lie to itself alone.
    fn rtt_of(&self, id: SessionId) -> Duration {
        let own_ns = self.sessions[id.index()].rtt_ns;
        match self.config().round_trip {
            RoundTrip::Median if own_ns > 0 => Duration::from_nanos(own_ns),
            _ => self.pool.rtt(),
        }
    }
}
