//! Whether a request may come in, and whether it can still be in time.

use super::BreakwaterShard;
use crate::breakwater::config::{RoundTrip, Signal};
use crate::breakwater::round_trips;
use crate::server::{Arrival, Echo, Reason, Verdict};
use std::time::Duration;
use tailwater_core::{Instant, SessionId};

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
        session.rtt_ns = round_trips::smooth(session.rtt_ns, rtt);
        let own = Duration::from_nanos(session.rtt_ns);
        match self.config().round_trip {
            RoundTrip::Smoothed => self.pool.on_rtt(rtt),
            RoundTrip::Median => {
                if let Some(median) = self.round_trips.learn(now, id, own) {
                    self.pool.on_median(self.index, median);
                }
            }
        }
    }

    pub(super) fn judge(&mut self, id: SessionId, arrival: &Arrival, delay: Duration) -> Verdict {
        if self.config().credits
            && let Some(refusal) = self.check_credit(id, arrival.acked)
        {
            return refusal;
        }
        let config = *self.config();
        let delay = match config.signal {
            Signal::OldestAge => delay,
            Signal::Predicted => self.predicted.wait(),
        };
        if config.drop_threshold.is_some_and(|threshold| delay >= threshold) {
            self.tally.on_shed(true);
            return Verdict::Shed(Reason::Delay);
        }
        let spent = arrival.hidden.max(delay);
        match arrival.budget {
            Some(budget) if self.is_hopeless(id, budget, spent) => {
                self.tally.on_shed(spent >= config.target_delay);
                Verdict::Shed(Reason::Deadline)
            }
            _ => Verdict::Admit,
        }
    }

    /// What becomes of a request that was sent without credit; `None` for others.
    fn check_credit(&mut self, id: SessionId, acked: u32) -> Option<Verdict> {
        let session = &mut self.sessions[id.index()];
        if session.registered && session.allows(acked, session.pending) {
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

    /// What a request typically still needs, service and the way back, counts only up to half of
    /// the target delay: the estimate is renewed only by serving, so it must never refuse everything.
    pub(super) fn is_hopeless(&self, id: SessionId, budget: Duration, spent: Duration) -> bool {
        let config = self.config();
        let rest = self.service.median() + self.rtt_of(id) / 2;
        let needed = rest.min(config.target_delay / 2);
        config.deadline_aware && budget < spent + needed
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
