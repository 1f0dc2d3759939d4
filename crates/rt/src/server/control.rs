//! A loop's half of the controller: asked about requests, told of their ends.

use super::budgets::Budgets;
use super::job::Origin;
use crate::config::LockRules;
use std::time::Duration;
use tailwater_control::{
    Arrival, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict, Wish,
};
use tailwater_core::{Event, Instant, Observer, SessionId};
use tailwater_sync::budget::TaskBudget;

pub(super) struct Control {
    shard: Box<dyn Shard>,
    observer: Watching,
    /// What requests may queue, where that is limited.
    budgets: Option<Budgets>,
}

/// Counts what the controller was kept from doing, and passes everything on.
struct Watching {
    outer: Box<dyn Observer + Send>,
    spared: u64,
}

impl Observer for Watching {
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.spared += u64::from(matches!(event, Event::Spared(..)));
        self.outer.on_event(now, event);
    }
}

impl Control {
    pub(super) fn new(
        shard: Box<dyn Shard>,
        outer: Box<dyn Observer + Send>,
        locks: Option<LockRules>,
    ) -> Self {
        let observer = Watching { outer, spared: 0 };
        Self { shard, observer, budgets: locks.map(Budgets::new) }
    }

    /// A connection is there: what it may do.
    pub(super) fn open(&mut self, now: Instant, session: SessionId) -> Offer {
        self.shard.on_open(now, session, &mut self.observer)
    }

    /// A connection's requests are at an end, and so is its part in the credits.
    pub(super) fn close(&mut self, now: Instant, session: SessionId) {
        self.shard.on_close(now, session, &mut self.observer);
    }

    pub(super) fn deregister(&mut self, now: Instant, session: SessionId) {
        self.shard.on_deregister(now, session, &mut self.observer);
    }

    pub(super) fn demand(&mut self, now: Instant, session: SessionId, demand: u32, acked: u32) {
        self.shard.on_demand(now, session, demand, acked);
    }

    /// A request came at `arrived`, while the oldest one waits for `delay`.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        session: SessionId,
        arrival: &Arrival,
        delay: Duration,
    ) -> Verdict {
        if let Some(budgets) = &mut self.budgets {
            budgets.on_echo(now - arrival.hidden, arrival.echo);
        }
        self.shard.on_request(now, session, arrival, delay.max(arrival.hidden), &mut self.observer)
    }

    /// What a request that is admitted now may queue.
    pub(super) fn assign_budget(&self) -> Option<Box<TaskBudget>> {
        self.budgets.as_ref().map(|budgets| Box::new(budgets.assign()))
    }

    /// An admitted request has its turn, with this much left of its deadline: the last word.
    pub(super) fn start(
        &mut self,
        now: Instant,
        origin: &Origin,
        left: Option<Duration>,
    ) -> Result<(), Reason> {
        let (session, waited) = (origin.key.connection.session(), now.since(origin.ready));
        match self.shard.on_start(now, session, waited, left, &mut self.observer) {
            Verdict::Admit => Ok(()),
            Verdict::Shed(reason) | Verdict::Close(reason) => Err(reason),
        }
    }

    /// A request was served, at `ended`.
    pub(super) fn served(&mut self, origin: &Origin, ended: Instant, budget: Option<&TaskBudget>) {
        if let (Some(budgets), Some(budget)) = (&mut self.budgets, budget) {
            budgets.on_served(ended.since(origin.arrived), budget);
        }
    }

    /// An answer is about to leave; the offer that rides on it.
    pub(super) fn done(&mut self, now: Instant, session: SessionId, done: &RequestEnd) -> Offer {
        self.shard.on_done(now, session, done)
    }

    /// A frame with a stamp leaves: its echo is believed once.
    pub(super) fn sent(&mut self, now: Instant, session: SessionId) {
        self.shard.on_sent(now, session);
    }

    pub(super) fn tick(&mut self, now: Instant, delay: Duration) {
        self.shard.on_tick(now, delay, &mut self.observer);
    }

    /// A window that no answer can carry.
    pub(super) fn wish(&mut self, now: Instant) -> Option<(SessionId, Offer)> {
        let Wish::Credit(session, offer) = self.shard.poll_wish(now, &mut self.observer)?;
        Some((session, offer))
    }

    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        self.shard.next_deadline(now)
    }

    /// Requests that would have been shed in enforcing mode.
    pub(super) const fn spared(&self) -> u64 {
        self.observer.spared
    }

    pub(super) const fn budgets(&self) -> Option<&Budgets> {
        self.budgets.as_ref()
    }
}

/// The end of a request that was never begun.
pub(super) fn shed(origin: &Origin, now: Instant, reason: Reason, reached: Reached) -> RequestEnd {
    let waited = now.since(origin.ready);
    let outcome = Outcome::Shed(reason);
    RequestEnd { outcome, reached, waited, service: Duration::ZERO, class: origin.class }
}
