//! One loop's half of a Breakwater server. `shard/credits.rs` says which session holds what,
//! `shard/verdict.rs` which request may come in, `shard/idle.rs` what becomes of idle sessions.

mod credits;
mod idle;
mod verdict;

use super::classes::Classes;
use super::config::{Config, Demand, Signal};
use super::idle::Idle;
use super::pool::{Pool, Resized, Turn};
use super::predicted_wait::PredictedWait;
use super::relief::Relief;
use super::round_trips::RoundTrips;
use super::session::Session;
use super::share_shed::Tally;
use super::stranded::{Entry, Stranded};
use super::typical::Typical;
use crate::server::{Arrival, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict, Wish};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Event, Instant, Observer, Pause, Rng, SessionId};

pub(super) struct BreakwaterShard {
    pool: Arc<Pool>,
    /// This loop's place among those of the pool.
    place: usize,
    /// By number, up to the highest that is open.
    sessions: Vec<Session>,
    /// Clients so far, wrapping; tells one from an earlier one with the same number.
    generation: u32,
    stranded: Stranded,
    relief: Relief,
    idle: Idle,
    service: Typical,
    predicted: PredictedWait,
    /// Where the AQM knows them.
    classes: Option<Classes>,
    round_trips: RoundTrips,
    /// What became of requests since this loop last updated the pool.
    tally: Tally,
}

impl BreakwaterShard {
    pub(super) fn new(pool: Arc<Pool>, place: usize, rng: Rng) -> Self {
        let stranded = Stranded::new(pool.config.explicit, rng);
        let classes = pool.config.classes.map(|least| Classes::new(least, &pool.config));
        Self {
            pool,
            place,
            sessions: Vec::new(),
            generation: 0,
            stranded,
            relief: Relief::default(),
            idle: Idle::default(),
            service: Typical::default(),
            predicted: PredictedWait::default(),
            classes,
            round_trips: RoundTrips::new(),
            tally: Tally::default(),
        }
    }

    fn config(&self) -> &Config {
        &self.pool.config
    }

    /// What a request's header says of its client.
    fn receive(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        observer: &mut dyn Observer,
    ) {
        if let Some(echo) = arrival.echo {
            self.on_echo(now, id, echo);
        }
        self.on_heard(now, id);
        if arrival.register {
            self.register(now, id, observer);
        }
        let window_max = self.config().window_max;
        let session = &mut self.sessions[id.index()];
        session.demand = arrival.demand.min(window_max);
        session.pending += 1;
    }

    /// Counts the request as what the verdict makes of it.
    fn follow(&mut self, now: Instant, id: SessionId, verdict: Verdict) {
        let Config { window_max, revoke_on_demand, .. } = *self.config();
        let session = &mut self.sessions[id.index()];
        // Violations are not load that the server let in.
        if !matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_)) {
            session.consumption.on_request(now, window_max);
            if let Some(meter) = self.pool.meter() {
                meter.on_incoming();
            }
        }
        if verdict == Verdict::Admit {
            session.waiting += 1;
            self.predicted.join();
        } else {
            session.shed_since_offer = true;
        }
        let needed = session.pending.saturating_add(session.demand);
        if revoke_on_demand && session.window > needed {
            session.offer(needed);
        }
    }

    /// Counts what came of a request, for the laws. A request that its caller gave up, or that found this
    /// server or one behind it gone, says nothing of overload: it is as if it had not come. One that waited past
    /// its deadline came on a credit and brought nothing, as any other drop.
    fn count(&mut self, now: Instant, done: &RequestEnd) {
        let meter = self.pool.meter();
        match done.outcome {
            Outcome::Served => {
                self.service.learn(done.service);
                self.tally.on_paced(self.predicted.complete(now));
                self.tally.on_served();
                self.pool.on_handled(done.waited + done.service);
                if let Some(meter) = meter {
                    meter.on_served(done.waited + done.service);
                }
            }
            Outcome::Shed(Reason::NoCredit) => {}
            Outcome::Shed(Reason::Cancelled | Reason::Draining | Reason::Unavailable) => {
                if let Some(meter) = meter {
                    meter.on_withdrawn();
                }
            }
            Outcome::Shed(reason) => {
                if let Some(meter) = meter {
                    meter.on_dropped();
                }
                // None ran for what was refused before.
                if done.reached == Reached::Handler {
                    self.tally.on_refused();
                    self.pool.on_handled(done.waited + done.service);
                }
                if reason == Reason::Deadline && done.reached == Reached::Queue {
                    self.tally.on_shed(done.waited >= self.pool.config.target_delay);
                }
            }
        }
    }

    /// A queue longer than it should be is told with every answer: credits that pause come back to it by
    /// themselves, where one that is taken away costs a message. From few clients answers take credits as soon, and
    /// the pause of one would hold back many calls: what their reserve may make wait is no reason.
    fn pause(&self) -> Pause {
        let Config { target_delay, pause, .. } = *self.config();
        let excess = self.predicted.wait().saturating_sub(target_delay);
        // Most answers leave none, and this is asked for each.
        if excess.is_zero() {
            return Pause::NONE;
        }
        let excess = excess.saturating_sub(self.pool.reserve(self.predicted.gap()));
        Pause::of(excess.mul_f64(pause))
    }

    /// What is unused at the end is given back, so that a crowd that has left takes no memory.
    fn trim(&mut self) {
        while self.sessions.last().is_some_and(|session| !session.open) {
            self.sessions.pop();
        }
        // Below 64 places it would be allocated anew for every few connections.
        if self.sessions.capacity() > 4 * self.sessions.len().max(16) {
            self.sessions.shrink_to(2 * self.sessions.len());
        }
    }
}

impl Shard for BreakwaterShard {
    fn on_open(&mut self, now: Instant, id: SessionId, _: &mut dyn Observer) -> Offer {
        if self.sessions.len() <= id.index() {
            self.sessions.resize_with(id.index() + 1, Session::default);
        }
        self.generation = self.generation.wrapping_add(1);
        self.sessions[id.index()] = Session::opened(now, self.generation);
        if self.config().credits {
            self.sessions[id.index()].offered(Pause::NONE)
        } else {
            Offer::OPEN
        }
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.unregister(now, id, observer);
        let closed = std::mem::take(&mut self.sessions[id.index()]);
        self.predicted.leave(closed.waiting);
        if let Some(classes) = &mut self.classes {
            classes.on_close(id);
        }
        if closed.listed {
            let sessions = &self.sessions;
            let is_live = |entry: &Entry| {
                sessions.get(entry.session.index()).is_some_and(|session| session.is(*entry))
            };
            let before = self.stranded.len();
            self.stranded.on_closed(is_live);
            self.pool.shift_stranded(before, self.stranded.len());
        }
        self.trim();
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.unregister(now, id, observer);
    }

    fn on_demand(&mut self, now: Instant, id: SessionId, demand: u32, acked: u32) {
        let window_max = self.config().window_max;
        let session = &mut self.sessions[id.index()];
        session.demand = demand.min(window_max);
        session.acknowledge(acked);
        // Elsewhere the frame costs its sender nothing and says nothing of credits being used.
        if self.config().demand == Demand::Synchronised {
            self.on_heard(now, id);
            self.list_if_stranded(now, id);
        }
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.receive(now, id, arrival, observer);
        let verdict = self.judge(now, id, arrival, delay);
        self.follow(now, id, verdict);
        if let Some(classes) = self.classes.as_mut().filter(|_| verdict == Verdict::Admit) {
            classes.on_admitted(id, arrival.class);
        }
        if let Verdict::Shed(reason) | Verdict::Close(reason) = verdict {
            let event = match reason {
                Reason::NoCredit => Event::Violation(id),
                _ => Event::Shed(id, reason.name()),
            };
            observer.on_event(now, &event);
        }
        self.recount(id);
        verdict
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        time_left: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.leave_queue(id);
        if let Some(classes) = &mut self.classes {
            classes.on_start(now, id);
        }
        match time_left {
            Some(left) if self.is_hopeless(left, Duration::ZERO, self.rest(id)) => {
                self.tally.on_shed(waited >= self.config().target_delay);
                self.sessions[id.index()].shed_since_offer = true;
                observer.on_event(now, &Event::Shed(id, Reason::Deadline.name()));
                Verdict::Shed(Reason::Deadline)
            }
            _ => Verdict::Admit,
        }
    }

    fn on_sent(&mut self, now: Instant, id: SessionId) {
        // An answer may leave after its connection was closed.
        if let Some(session) = self.sessions.get_mut(id.index()) {
            session.stamps.on_sent(now);
        }
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        self.count(now, done);
        if done.reached == Reached::Queue {
            self.leave_queue(id);
        }
        if let Some(classes) = &mut self.classes {
            classes.on_done(now, id, done, self.predicted.waiting());
        }
        let violation = done.outcome == Outcome::Shed(Reason::NoCredit);
        self.sessions[id.index()].answered(violation);
        if !self.config().credits {
            return Offer::OPEN;
        }
        if violation {
            // A violation earns nothing; its client keeps what it had, and waits like others if that
            // is nothing.
            self.recount(id);
            self.list_if_stranded(now, id);
        } else if self.sessions[id.index()].registered {
            self.distribute(now, id);
        }
        let pause = self.pause();
        let session = &mut self.sessions[id.index()];
        if pause > Pause::NONE {
            // It is asked to be silent until then.
            session.silent_since = now + pause.duration();
        }
        session.offered(pause)
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        self.look_for_idle(now);
        let delay = match self.config().signal {
            Signal::OldestAge => delay,
            Signal::Predicted => self.predicted.wait(),
        };
        let turn = Turn { delay, pace: self.predicted.gap(), tally: &mut self.tally };
        let resized = self.pool.tick(now, self.place, turn);
        if let Some(Resized { from, to, delay }) = resized.filter(|it| it.from != it.to) {
            observer.on_event(now, &Event::PoolResized { from, to, delay });
        }
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        if !self.config().credits {
            return None;
        }
        // The pool must go on being updated until there is room for the stranded.
        let waits = !self.stranded.is_empty();
        let update = waits.then(|| now + self.pool.next_look(self.predicted.gap()));
        let look = self.config().idle_after.and_then(|least| self.idle.next_look(now, least));
        update.into_iter().chain(look).min()
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        if !self.config().credits {
            return None;
        }
        self.next_credit(now, observer).or_else(|| self.next_cut(now))
    }
}

#[cfg(test)]
mod tests;
