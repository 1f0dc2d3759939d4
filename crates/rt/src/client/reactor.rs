//! The thread behind a [`Client`](super::Client): a channel to each replica, and callers on any thread.
//!
//! One turn: gather what has happened, decide what becomes of each call, then send.

use super::call::{Answer, CallError};
use super::callers::{Callers, Place};
use super::channel::Channel;
use super::config::ChannelConfig;
use super::desk::{Desk, Order};
use super::event::{End, Event, NewCall};
use super::routes::{Failed, Routes};
use crate::net::DialError;
use crate::poll::{Poller, Readiness};
use crate::time::now;
use std::io;
use std::sync::Arc;
use tailwater_control::retry::Failure;
use tailwater_control::{Client as Control, Replicas};
use tailwater_core::Instant;

/// A channel to be: the controller's half for it, and what its jitter is drawn from.
pub(super) struct Replica {
    pub(super) config: ChannelConfig,
    pub(super) half: Control,
    pub(super) seed: u64,
}

pub(super) struct Reactor {
    desk: Arc<Desk>,
    poller: Poller,
    /// One for each replica; their keys at the poller are their numbers.
    channels: Vec<Channel>,
    routes: Routes,
    callers: Callers,
    /// Tries that failed in this turn: at most one for each call.
    failed: Vec<Failed>,
    /// Why a server is not reached, as the desk was told last.
    trouble: Option<DialError>,
}

impl Reactor {
    pub(super) fn new(servers: Vec<Replica>, replicas: Replicas) -> io::Result<Self> {
        let poller = Poller::new()?;
        let desk = Arc::new(Desk::new(&poller)?);
        let has_replicas = servers.len() > 1;
        let channel = |(key, Replica { config, half, seed })| {
            Channel::seeded(&config, key, half, seed, has_replicas)
        };
        Ok(Self {
            desk,
            poller,
            channels: (0..).zip(servers).map(channel).collect(),
            routes: Routes::new(replicas),
            callers: Callers::default(),
            failed: Vec::new(),
            trouble: None,
        })
    }

    /// Where its callers go.
    pub(super) const fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        let mut scratch = vec![0; 64 << 10];
        while !self.desk.is_closed() {
            self.turn(now());
            self.rest(now(), &mut ready);
            let time = now();
            for readiness in ready.drain(..) {
                self.on_ready(time, readiness, &mut scratch);
            }
        }
    }

    fn turn(&mut self, time: Instant) {
        self.gather(time);
        self.decide(time);
        for channel in &mut self.channels {
            channel.drive(time, &self.poller);
        }
    }

    /// Takes back what callers gave up, and tells the others what has become of their calls.
    fn gather(&mut self, time: Instant) {
        while let Some(token) = self.desk.next_given_up() {
            let place = self.callers.forget(token);
            self.cancel(time, place);
        }
        for replica in 0..self.channels.len() {
            while let Some(event) = self.channels[replica].poll_event() {
                self.on_event(replica, event);
            }
        }
    }

    /// Ends the calls whose deadlines have passed. True if there was one.
    fn time_out(&mut self, time: Instant) -> bool {
        let mut ended = false;
        while let Some((token, place)) = self.callers.next_timed_out(time) {
            let waits = self.channels[place.replica].is_waiting(place.id);
            self.cancel(time, Some(place));
            let error = if waits { CallError::Expired } else { CallError::TimedOut };
            self.callers.fill(token, Err(error));
            ended = true;
        }
        ended
    }

    fn on_event(&mut self, replica: usize, event: Event) {
        let Event { token, call, end, .. } = event;
        if let End::Response { reply, .. }
        | End::Fault { reply, .. }
        | End::Rejected { reply, .. } = &end
        {
            self.routes.on_reply(replica, reply);
        }
        self.failed.extend(Failed::of(token, call, &end));
        match end {
            End::Response { status, payload, reply } => {
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

    fn cancel(&mut self, time: Instant, place: Option<Place>) {
        if let Some(Place { replica, id }) = place {
            self.channels[replica].cancel(time, id);
        }
    }

    /// Gives every call a place, or its end. The health of the replicas is looked at first: a new call does
    /// not go to one that has just been lost.
    fn decide(&mut self, time: Instant) {
        let mut has_changed = self.routes.look(time, &self.channels);
        self.tell_trouble();
        for failed in std::mem::take(&mut self.failed) {
            self.retry(time, failed);
        }
        // Behind the ends that are known: an answer that has come is no late one, and a call that was not
        // sent hears why.
        if self.time_out(time) {
            // A call that was not answered in time casts doubt on its replica, and its caller may be here
            // with the next one already.
            has_changed |= self.routes.look(time, &self.channels);
        }
        while let Some(Order { call, filler }) = self.desk.next_order() {
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

    /// Tells the desk when another failure, or none, keeps a server from being reached.
    fn tell_trouble(&mut self) {
        let trouble = self.channels.iter().find_map(Channel::failure);
        if trouble != self.trouble.as_ref() {
            self.trouble = trouble.cloned();
            self.desk.set_trouble(self.trouble.as_ref().map(ToString::to_string));
        }
    }

    fn begin(&mut self, time: Instant, token: u64, call: NewCall) {
        let (replica, tries) = self.routes.first(time, &self.channels);
        if let Some(caller) = self.callers.get_mut(token) {
            caller.tries = tries;
        }
        self.submit(time, token, replica, call);
    }

    fn retry(&mut self, time: Instant, failed: Failed) {
        let Failed { token, call, failure, error, may_wait } = failed;
        let Some(caller) = self.callers.get_mut(token) else { return };
        let here = caller.place.replica;
        match self.routes.next(time, caller, failure, &self.channels) {
            Some(replica) => self.submit(time, token, replica, call),
            None if may_wait && self.channels.len() > 1 => self.submit(time, token, here, call),
            None => self.callers.fill(token, Err(error)),
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

    fn on_ready(&mut self, time: Instant, readiness: Readiness, scratch: &mut [u8]) {
        if self.desk.hears(readiness.key) {
            return;
        }
        let replica = usize::try_from(readiness.key).unwrap_or(usize::MAX);
        if let Some(channel) = self.channels.get_mut(replica) {
            channel.on_ready(time, &self.poller, readiness, scratch);
        }
    }

    fn rest(&self, time: Instant, ready: &mut Vec<Readiness>) {
        // What was done at the end of the turn may call for a decision.
        if self.routes.has_news(time, &self.channels) {
            return;
        }
        self.desk.rest(|| {
            let channels = self.channels.iter().map(|channel| channel.next_deadline(time));
            let due = channels.chain([self.callers.next_deadline()]).flatten().min();
            self.poller.wait(due.map(|at| at.since(time)), ready);
        });
    }
}

/// Calls that have not ended are dropped with the reactor, and told so; see [`super::slot::Filler`].
impl Drop for Reactor {
    fn drop(&mut self) {
        self.desk.close();
        self.desk.clear();
    }
}

#[cfg(test)]
mod tests;
