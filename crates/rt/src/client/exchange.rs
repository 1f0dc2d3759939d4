//! The channels to one server, or to all replicas of it, and what becomes of each call: where it goes, and when it ends.
//!
//! One turn: gather what has happened, decide what becomes of each call, then send. It has no thread and reads
//! no clock: the reactor of a [`Client`](super::Client) drives one, a server's loop one for each shard.

use super::answer::{Answer, CallError};
use super::callers::{Caller, Callers, Fill, Place, Places};
use super::channel::{Channel, number_at};
use super::config::ChannelConfig;
use super::event::{End, Event, NewCall};
use super::routes::{Failed, Routes};
use crate::net::DialError;
use crate::poll::{Poller, Readiness};
use tailwater_control::retry::{Failure, HedgeCounts, Lateness};
use tailwater_control::{Client as Control, Replicas};
use tailwater_core::Instant;

/// A channel to be: the controller's half for it, and its client's number there.
pub(crate) struct Replica {
    pub(crate) config: ChannelConfig,
    pub(crate) half: Control,
    pub(crate) seed: u64,
}

impl Replica {
    /// The one in this place, for a client of this number.
    pub(crate) fn nth(
        index: u64,
        config: ChannelConfig,
        number: u64,
        half: impl FnOnce(u64) -> Control,
    ) -> Self {
        let seed = number_at(index, number);
        Self { half: half(seed), config, seed }
    }
}

/// A call that was made, and the duty to end it.
pub(crate) struct Order<F> {
    pub(crate) call: NewCall,
    pub(crate) filler: F,
}

/// The channels to one server or its replicas, and the calls that have not ended.
pub(crate) struct Exchange<F> {
    /// The poller's key of the first channel; the others follow.
    first_key: u64,
    /// One for each replica.
    channels: Vec<Channel>,
    routes: Routes,
    callers: Callers<F>,
    /// Tries that failed in this turn: at most one for each call.
    failed: Vec<Failed>,
    /// Calls of whose two tries one has failed since they were looked at.
    alone: Vec<u64>,
}

impl<F: Fill> Exchange<F> {
    pub(crate) fn new(servers: Vec<Replica>, replicas: Replicas, first_key: u64) -> Self {
        let has_replicas = servers.len() > 1;
        let channel = |(key, Replica { config, half, seed })| {
            Channel::numbered(&config, key, half, seed, has_replicas)
        };
        Self {
            first_key,
            channels: (first_key..).zip(servers).map(channel).collect(),
            routes: Routes::new(replicas),
            callers: Callers::default(),
            failed: Vec::new(),
            alone: Vec::new(),
        }
    }

    /// Takes `orders` on, decides, and sends.
    pub(crate) fn turn(
        &mut self,
        time: Instant,
        poller: &Poller,
        orders: impl Iterator<Item = Order<F>>,
    ) {
        self.gather();
        self.decide(time, orders);
        for channel in &mut self.channels {
            channel.drive(time, poller);
        }
        self.end_unreached(time);
        self.hedge_late(time, poller);
    }

    /// Ends the calls that wait for a connection which was lost, where they may not. Behind what has just been lost, and what
    /// came too late to be sent.
    fn end_unreached(&mut self, time: Instant) {
        // Asked of the few servers first: one that is lost for long would have each turn walk over all calls.
        let is_awaited = |it: &Channel| it.failure().is_some() && it.load(time).has_waiting;
        if !self.callers.has_hasty() || !self.channels.iter().any(is_awaited) {
            return;
        }
        // Of a loss in this turn the next one knows, which comes at once and may find another replica.
        if self.has_news(time) {
            return;
        }
        for token in self.callers.which(|caller| !caller.awaits_connection()) {
            let place = self.callers.get_mut(token).map(|caller| caller.place);
            let waits = |place: &Place| {
                let channel = &self.channels[place.replica];
                channel.failure().is_some() && channel.is_waiting(place.id)
            };
            if let Some(place) = place.filter(waits) {
                self.cancel(time, place);
                if !self.goes_on_without(token, place.replica) {
                    self.callers.fill(token, Err(CallError::Disconnected));
                }
            }
        }
    }

    /// The caller wants no answer any more.
    pub(crate) fn give_up(&mut self, time: Instant, token: u64) {
        if let Some(places) = self.callers.forget(token) {
            self.cancel_all(time, places);
        }
    }

    /// See [`Channel::on_ready`].
    pub(crate) fn on_ready(
        &mut self,
        time: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
    ) -> bool {
        let replica = usize::try_from(readiness.key - self.first_key).unwrap_or(usize::MAX);
        let channel = self.channels.get_mut(replica);
        channel.is_some_and(|channel| channel.on_ready(time, poller, readiness, scratch))
    }

    /// Whether what was done at the end of the turn calls for another.
    pub(crate) fn has_news(&self, time: Instant) -> bool {
        self.routes.has_news(time, &self.channels)
    }

    /// When a turn is due at the latest, if nothing happens before.
    pub(crate) fn next_deadline(&self, time: Instant) -> Option<Instant> {
        let channels = self.channels.iter().map(|channel| channel.next_deadline(time));
        channels.chain([self.callers.next_deadline()]).flatten().min()
    }

    /// What became of second tries so far.
    pub(crate) fn hedge_counts(&self) -> HedgeCounts {
        self.routes.hedge_counts()
    }

    /// Why a server is not reached.
    pub(crate) fn trouble(&self) -> Option<&DialError> {
        self.channels.iter().find_map(Channel::failure)
    }

    /// Tells callers what has become of their calls.
    fn gather(&mut self) {
        for replica in 0..self.channels.len() {
            while let Some(event) = self.channels[replica].poll_event() {
                self.on_event(replica, event);
            }
        }
    }

    /// Ends the calls whose deadlines have passed. True if there was one.
    fn time_out(&mut self, time: Instant) -> bool {
        let mut ended = false;
        while let Some((token, places)) = self.callers.next_timed_out(time) {
            let waits = |place: Place| self.channels[place.replica].is_waiting(place.id);
            let error =
                if places.each().all(waits) { CallError::Expired } else { CallError::TimedOut };
            self.cancel_all(time, places);
            self.learn(time, token);
            self.callers.fill(token, Err(error));
            ended = true;
        }
        ended
    }

    fn on_event(&mut self, replica: usize, event: Event) {
        let Event { token, at, call, end } = event;
        if let Some(reply) = end.reply() {
            self.routes.on_reply(replica, reply);
        }
        // An answer ends the call. What does not may be without meaning, while another try goes on.
        if !matches!(end, End::Response { .. }) && self.goes_on_without(token, replica) {
            if let Some(caller) = self.callers.get_mut(token) {
                if end.may_have_run() {
                    caller.may_have_run();
                }
                end.failure().into_iter().for_each(|it| caller.tries.failed_beside((replica, it)));
            }
            return;
        }
        self.failed.extend(Failed::of(token, call, &end));
        match end {
            End::Response { status, payload, reply } => {
                self.answered(at, token, replica);
                let answer = Answer { status, payload, sojourn: reply.sojourn };
                self.callers.fill(token, Ok(answer));
            }
            End::Fault { fault, .. } => {
                self.callers.fill(token, Err(CallError::Runtime(fault)));
            }
            // It fits no replica any better.
            End::TooLong { most } => self.callers.fill(token, Err(CallError::TooLong { most })),
            // Such a try has failed; see above.
            End::Rejected { .. } | End::Unsent(_) | End::NotTaken | End::Lost => {}
        }
    }

    /// A try of the call was answered: the other one is given up.
    fn answered(&mut self, at: Instant, token: u64, replica: usize) {
        let Some(places) = self.callers.get(token).map(Caller::places) else { return };
        if let Places { first, second: Some(second) } = places {
            if first.replica == replica {
                self.channels[second.replica].withdraw(second.id);
            } else {
                self.cancel(at, first);
                self.routes.on_hedge_won();
            }
        }
        self.learn(at, token);
    }

    /// The first try of a call that may have a second took until now, or longer.
    fn learn(&mut self, at: Instant, token: u64) {
        if let Some(began) = self.callers.get(token).and_then(Caller::began) {
            self.routes.on_hedgeable_end(at.since(began));
        }
    }

    /// A try has failed. True if the call has another.
    fn goes_on_without(&mut self, token: u64, replica: usize) -> bool {
        let caller = self.callers.get_mut(token);
        let has_other = caller.is_some_and(|caller| caller.goes_on_without(replica));
        self.alone.extend(has_other.then_some(token));
        has_other
    }

    fn cancel_all(&mut self, time: Instant, places: Places) {
        places.each().for_each(|place| self.cancel(time, place));
    }

    fn cancel(&mut self, time: Instant, Place { replica, id }: Place) {
        self.channels[replica].cancel(time, id);
    }

    /// Gives every call a place, or its end. The health of the replicas is looked at first: a new call does
    /// not go to one that has just been lost.
    fn decide(&mut self, time: Instant, orders: impl Iterator<Item = Order<F>>) {
        let mut has_changed = self.routes.look(time, &self.channels);
        for failed in std::mem::take(&mut self.failed) {
            self.retry(time, failed);
        }
        for token in std::mem::take(&mut self.alone) {
            self.goes_on_alone(time, token);
        }
        // Behind the ends that are known: an answer that has come is no late one, and a call that was not
        // sent hears why.
        if self.time_out(time) {
            // A call that was not answered in time casts doubt on its replica, and its caller may be here
            // with the next one already.
            has_changed |= self.routes.look(time, &self.channels);
        }
        for Order { call, filler } in orders {
            if let Some(token) = self.callers.add(call.deadline, filler) {
                self.begin(time, token, call);
            }
        }
        while let Some(token) = self.callers.next_impatient(time) {
            self.leave(time, token);
        }
        if has_changed && self.channels.len() > 1 {
            for token in self.callers.which(|caller| self.routes.should_leave(caller)) {
                self.leave(time, token);
            }
        }
    }

    fn begin(&mut self, time: Instant, token: u64, call: NewCall) {
        let (replica, tries) = self.routes.first(time, &self.channels);
        let Some(caller) = self.callers.get_mut(token) else { return };
        caller.tries = tries;
        if self.routes.hedges() && caller.may_run_twice() {
            let wait = self.routes.hedge_after();
            let copy = wait.map(|wait| (Lateness::new(time, wait), call.clone()));
            self.callers.may_hedge(token, time, copy);
        }
        self.submit(time, token, replica, call);
    }

    /// Tries late calls at another replica, too. Behind what was sent in this turn: a replica where calls still wait has
    /// no room for more.
    fn hedge_late(&mut self, time: Instant, poller: &Poller) {
        // As in `end_unreached`: the next turn knows what was lost in this one.
        if !self.routes.hedges() || self.has_news(time) {
            return;
        }
        while let Some((token, call)) = self.callers.next_late(time) {
            self.hedge(time, poller, token, call);
        }
    }

    fn hedge(&mut self, time: Instant, poller: &Poller, token: u64, call: NewCall) {
        let Some(caller) = self.callers.get_mut(token) else { return };
        let Place { replica: here, id } = caller.place;
        // A call that waits is at no server; it leaves, if it can, as any other.
        if !caller.is_wanted() || self.channels[here].is_waiting(id) {
            return;
        }
        if let Some(replica) = self.routes.hedge(time, caller, &self.channels) {
            let channel = &mut self.channels[replica];
            let id = channel.submit(time, token, call);
            // At once: the next late call would find this one waiting.
            channel.drive(time, poller);
            self.callers.place_second(token, Place { replica, id });
        }
    }

    fn retry(&mut self, time: Instant, failed: Failed) {
        let Failed { token, call, failure, error } = failed;
        let Some(caller) = self.callers.get_mut(token) else { return };
        match self.routes.next(time, caller, failure, &self.channels) {
            Some(replica) => self.submit(time, token, replica, call),
            None => self.callers.fill(token, Err(error)),
        }
    }

    /// Its second try may wait where the first would not have: the replica was lost meanwhile, or gives no credit.
    fn goes_on_alone(&mut self, time: Instant, token: u64) {
        let Some(caller) = self.callers.get(token) else { return };
        let (place, patience) = (caller.place, self.routes.patience(time, caller.tries));
        if self.routes.should_leave(caller) {
            self.leave(time, token);
        } else {
            self.callers.place(token, place, patience);
        }
    }

    /// A call that waits goes to another replica, if it can.
    fn leave(&mut self, time: Instant, token: u64) {
        let Some(caller) = self.callers.get_mut(token) else { return };
        let Place { replica, id } = caller.place;
        // One that was sent stays: it may be carried out.
        if !self.channels[replica].is_waiting(id) {
            return;
        }
        if let Some(next) = self.routes.next(time, caller, Failure::Unsent, &self.channels)
            && let Some(call) = self.channels[replica].recall(id)
        {
            self.submit(time, token, next, call);
        }
    }

    /// Hands a call to a channel, where it may wait for credit.
    fn submit(&mut self, time: Instant, token: u64, replica: usize, call: NewCall) {
        let Some(tries) = self.callers.get_mut(token).map(|caller| caller.tries) else { return };
        let id = self.channels[replica].submit(time, token, call);
        let patience = self.routes.patience(time, tries);
        self.callers.place(token, Place { replica, id }, patience);
    }

    /// Whether no caller waits.
    #[cfg(all(test, not(loom)))]
    pub(super) fn is_empty(&self) -> bool {
        self.callers.which(|_| true).is_empty()
    }

    /// Calls that have not ended in the channels.
    #[cfg(all(test, not(loom)))]
    pub(super) fn unfinished(&self) -> usize {
        self.channels.iter().map(Channel::unfinished).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
