//! A loop's half of the controller: asked about requests, told of their ends.

use super::budgets::Budgets;
use super::connection::Connection;
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
        if let Some(budgets) = &mut self.budgets {
            budgets.on_close(session);
        }
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
        connection: &mut Connection,
        arrival: &Arrival,
        delay: Duration,
    ) -> Verdict {
        let (session, delay) = (connection.key.session(), delay.max(arrival.hidden));
        if let Some(budgets) = &mut self.budgets {
            let arrived = now - arrival.hidden;
            budgets.on_echo(arrived, session, arrival.echo, &mut connection.stamps);
        }
        self.shard.on_request(now, session, arrival, delay, &mut self.observer)
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
    pub(super) fn sent(&mut self, now: Instant, connection: &mut Connection) {
        if self.budgets.is_some() {
            connection.stamps.on_sent(now);
        }
        self.shard.on_sent(now, connection.key.session());
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::connections::Connections;
    use super::super::testing::{at, open};
    use super::*;
    use std::sync::Arc;
    use tailwater_control::asqm::Policy;
    use tailwater_control::{Admission, Echo, none};
    use tailwater_core::{Silent, Stamp};

    const TARGET: Duration = Duration::from_secs(1);

    /// Requests have budgets, and the controller looks at no stamp.
    fn control() -> Control {
        let rules = LockRules { policy: Policy::Plain, target: TARGET, budget: None };
        Control::new(Arc::new(none::None).shard(0), Box::new(Silent), Some(rules))
    }

    /// A request comes at `ms`, and returns this stamp as if it had just come.
    fn judge(control: &mut Control, ms: u64, from: &mut Connection, stamp: Stamp) {
        let echo = Some(Echo { stamp, hold: Duration::ZERO });
        let arrival = Arrival { echo, ..Arrival::default() };
        assert_eq!(control.judge(at(ms), from, &arrival, Duration::ZERO), Verdict::Admit);
    }

    fn budget(control: &Control) -> Duration {
        control.assign_budget().expect("requests have budgets").budget().left()
    }

    #[test]
    fn a_stamp_that_was_sent_shrinks_budgets_by_its_round_trip() {
        let (mut control, mut connections) = (control(), Connections::default());
        let (it, _client) = open(&mut connections);
        for round in 0..128 {
            let ms = 5_000 + 100 * round;
            control.sent(at(ms), it);
            judge(&mut control, ms + 20, it, at(ms).stamp());
        }
        // Measured to a sixteenth.
        let left = budget(&control);
        let (most, least) = (Duration::from_millis(980), Duration::from_millis(978));
        assert!(left <= most && left >= least, "{left:?} of a second, less 20 ms of network");
    }

    #[test]
    fn a_stamp_that_was_never_sent_leaves_budgets_as_they_are() {
        let (mut control, mut connections) = (control(), Connections::default());
        let (it, _client) = open(&mut connections);
        for round in 0..1_000 {
            let ms = 5_000 + 100 * round;
            control.sent(at(ms), it);
            judge(&mut control, ms + 20, it, at(ms - 850).stamp());
        }
        assert_eq!(budget(&control), TARGET);
    }

    #[test]
    fn a_stamp_that_comes_back_again_and_again_counts_once() {
        let (mut control, mut connections) = (control(), Connections::default());
        let (it, _client) = open(&mut connections);
        control.sent(at(5_000), it);
        for _ in 0..1_000 {
            judge(&mut control, 5_900, it, at(5_000).stamp());
        }
        assert_eq!(budget(&control), TARGET, "one reading of the 128 that a tail needs");
    }

    #[test]
    fn a_stamp_is_that_of_the_connection_that_it_was_sent_to() {
        let (mut control, mut connections) = (control(), Connections::default());
        let (sent_to, _its_client) = open(&mut connections);
        let key = sent_to.key;
        let (thief, _client) = open(&mut connections);
        let thief = thief.key;
        for round in 0..1_000 {
            let ms = 5_000 + 1_000 * round;
            control.sent(at(ms), connections.get_mut(key).unwrap());
            judge(&mut control, ms + 900, connections.get_mut(thief).unwrap(), at(ms).stamp());
        }
        assert_eq!(budget(&control), TARGET);
    }

    /// Of the 128 readings that a tail needs, 127 come over the first connection.
    #[test]
    fn a_connection_that_is_gone_has_no_say_in_budgets() {
        let (mut control, mut connections) = (control(), Connections::default());
        let (near, _its_client) = open(&mut connections);
        for round in 0..127 {
            let ms = 5_000 + 100 * round;
            control.sent(at(ms), near);
            judge(&mut control, ms + 20, near, at(ms).stamp());
        }
        let gone = near.key.session();
        control.close(at(50_000), gone);
        let (far, _client) = open(&mut connections);
        control.sent(at(51_000), far);
        judge(&mut control, 51_900, far, at(51_000).stamp());
        assert_eq!(budget(&control), TARGET / 4, "900 ms leave less than a quarter");
    }

    #[test]
    fn stamps_are_kept_only_where_requests_have_budgets() {
        let without = Control::new(Arc::new(none::None).shard(0), Box::new(Silent), None);
        for (mut control, kept) in [(control(), Some(at(5_000))), (without, None)] {
            let mut connections = Connections::default();
            let (it, _client) = open(&mut connections);
            control.sent(at(5_000), it);
            assert_eq!(it.stamps.take(at(5_000).stamp()), kept);
        }
    }
}
