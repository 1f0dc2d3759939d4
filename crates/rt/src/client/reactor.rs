//! The thread behind a [`Client`](super::Client): a channel to each replica, and callers that come from
//! anywhere.

use super::call::Filler;
use super::channel::{Channel, ChannelConfig, NewCall};
use super::waiting::{Again, Failed, Waiting};
use crate::bell::{Bell as _, Doorbell};
use crate::poll::{EventBell, Interest, Poller, Readiness};
use crate::time::now;
use crossbeam_queue::SegQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use tailwater_control::retry::{Failure, Next};
use tailwater_control::{Client as Control, Replicas};
use tailwater_core::Instant;

const BELL: u64 = u64::MAX;

pub(super) struct Command {
    pub(super) call: NewCall,
    pub(super) slot: Filler,
}

/// A channel to be: the controller's half for it, and what its jitter is drawn from.
pub(super) struct End {
    pub(super) config: ChannelConfig,
    pub(super) half: Control,
    pub(super) seed: u64,
}

/// What callers and the reactor share.
pub(super) struct Shared {
    commands: SegQueue<Command>,
    doorbell: Doorbell,
    bell: EventBell,
    /// The client wants the reactor to end, or it has ended, be it by a panic.
    stop: AtomicBool,
}

impl Shared {
    pub(super) fn send(&self, command: Command) {
        self.commands.push(command);
        self.doorbell.notify();
        if self.stop.load(SeqCst) {
            self.refuse();
        }
    }

    /// Nobody takes commands any more. Whoever sees `stop` after it has pushed one does this too, so that
    /// none is left behind.
    fn refuse(&self) {
        while let Some(command) = self.commands.pop() {
            drop(command);
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.bell.ring();
    }
}

pub(super) struct Reactor {
    shared: Arc<Shared>,
    poller: Poller,
    /// One for each replica; their keys at the poller are their numbers.
    channels: Vec<Channel>,
    replicas: Replicas,
    waiting: Waiting,
    /// When calls have waited long enough for credit: with the replica at which they did.
    patience: BinaryHeap<Reverse<(Instant, u64, usize)>>,
}

impl Reactor {
    /// A reactor with a channel for each end.
    pub(super) fn new(ends: Vec<End>, replicas: Replicas) -> io::Result<(Arc<Shared>, Self)> {
        let poller = Poller::new()?;
        let bell = EventBell::new()?;
        poller.add(&bell, BELL, Interest::READ)?;
        let shared = Arc::new(Shared {
            commands: SegQueue::new(),
            doorbell: Doorbell::new(Box::new(bell.clone())),
            bell,
            stop: AtomicBool::new(false),
        });
        let channel = |(key, End { config, half, seed })| Channel::seeded(config, key, half, seed);
        let reactor = Self {
            shared: shared.clone(),
            poller,
            channels: (0..).zip(ends).map(channel).collect(),
            replicas,
            waiting: Waiting::default(),
            patience: BinaryHeap::new(),
        };
        Ok((shared, reactor))
    }

    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        let mut scratch = vec![0; 64 << 10];
        while !self.shared.stop.load(SeqCst) {
            let time = now();
            while let Some(command) = self.shared.commands.pop() {
                self.begin(time, command);
            }
            for replica in 0..self.channels.len() {
                self.drive(time, replica);
            }
            self.settle(time);
            self.lose_patience(time);
            self.waiting.time_out(time);
            self.sleep(time, &mut ready);
            let time = now();
            for readiness in ready.drain(..) {
                self.on_ready(time, readiness, &mut scratch);
            }
            self.settle(time);
        }
    }

    /// A new call goes to its first replica.
    fn begin(&mut self, time: Instant, command: Command) {
        let Command { call, slot } = command;
        let channels = &self.channels;
        let (replica, tries) = self.replicas.first(|replica| channels[replica].unfinished());
        let keeps = self.channels.len() > 1;
        let again = || {
            let id = tailwater_core::RequestId::default();
            Box::new(Again { call: call.clone(), tries, replica, id, impatient: false })
        };
        let token = self.waiting.add(call.deadline, slot, keeps.then(again));
        self.submit(time, token, replica, call);
    }

    /// A call is handed to a channel, where it may wait for credit.
    fn submit(&mut self, time: Instant, token: u64, replica: usize, call: NewCall) {
        let id = self.channels[replica].submit(time, token, call);
        if let Some(again) = self.waiting.again(token) {
            (again.id, again.replica, again.impatient) = (id, replica, false);
            if let Some(wait) = self.replicas.credit_wait(again.tries) {
                self.patience.push(Reverse((time + wait, token, replica)));
            }
        }
        // Most calls leave before their patience ends; without them a call has one entry at most.
        if self.patience.len() > self.waiting.entries_max() {
            let waiting = &mut self.waiting;
            self.patience.retain(|&Reverse((_, token, replica))| {
                waiting.again(token).is_some_and(|again| again.replica == replica)
            });
        }
        self.drive(time, replica);
    }

    fn drive(&mut self, time: Instant, replica: usize) {
        let (waiting, replicas) = (&mut self.waiting, &mut self.replicas);
        self.channels[replica].drive(time, &self.poller, &mut |event| {
            if let Some(reply) = waiting.end(event) {
                replicas.on_reply(replica, &reply);
            }
        });
    }

    fn on_ready(&mut self, time: Instant, readiness: Readiness, scratch: &mut [u8]) {
        if readiness.key == BELL {
            return self.shared.bell.hush();
        }
        let (waiting, replicas) = (&mut self.waiting, &mut self.replicas);
        let replica = usize::try_from(readiness.key).unwrap_or(usize::MAX);
        let Some(channel) = self.channels.get_mut(replica) else {
            return;
        };
        channel.on_ready(time, &self.poller, readiness, scratch, &mut |event| {
            if let Some(reply) = waiting.end(event) {
                replicas.on_reply(replica, &reply);
            }
        });
    }

    /// Takes calls away from replicas that cannot be reached, and decides about what has failed. Each
    /// round uses up a try of its call, so it ends.
    fn settle(&mut self, time: Instant) {
        let mut more_up = false;
        for (replica, channel) in self.channels.iter().enumerate() {
            more_up |= channel.is_up() && !self.replicas.is_up(replica);
            self.replicas.set_up(replica, channel.is_up());
        }
        if self.channels.len() > 1 {
            for (token, replica) in if more_up { self.waiting.impatient() } else { Vec::new() } {
                self.leave(time, token, replica);
            }
            for replica in (0..self.channels.len()).rev() {
                if self.channels[replica].is_down() && self.channels[replica].unfinished() > 0 {
                    for token in self.waiting.at(replica) {
                        self.leave(time, token, replica);
                    }
                }
            }
        }
        while let Some(Failed { token, failure, error }) = self.waiting.next_failed() {
            match self.next(time, token, failure) {
                Some(replica) => self.try_again(time, token, replica),
                None => self.waiting.fill(token, Err(error)),
            }
        }
    }

    /// Calls that have waited for credit for as long as they should go elsewhere, if they can.
    fn lose_patience(&mut self, time: Instant) {
        while let Some(&Reverse((at, token, replica))) = self.patience.peek()
            && at <= time
        {
            self.patience.pop();
            self.leave(time, token, replica);
            if let Some(again) = self.waiting.again(token) {
                again.impatient = again.replica == replica;
            }
        }
        self.settle(time);
    }

    /// A call that has not been sent goes from this replica to another, or stays.
    fn leave(&mut self, time: Instant, token: u64, replica: usize) {
        let Some(again) = self.waiting.again(token).filter(|again| again.replica == replica) else {
            return;
        };
        let (id, tries) = (again.id, again.tries);
        if let Some(next) = self.next(time, token, Failure::Unsent) {
            if self.channels[replica].recall(id) {
                self.try_again(time, token, next);
            } else if let Some(again) = self.waiting.again(token) {
                // It is on its way: nothing has become of the decision.
                again.tries = tries;
            }
        }
    }

    fn next(&mut self, time: Instant, token: u64, failure: Failure) -> Option<usize> {
        let (channels, again) = (&self.channels, self.waiting.again(token)?);
        let load = |replica: usize| channels[replica].unfinished();
        let deadline = again.call.deadline;
        match self.replicas.next(time, deadline, &mut again.tries, failure, load) {
            Next::Try(replica) => Some(replica),
            Next::GiveUp(_) => None,
        }
    }

    fn try_again(&mut self, time: Instant, token: u64, replica: usize) {
        if let Some(call) = self.waiting.again(token).map(|again| again.call.clone()) {
            self.submit(time, token, replica, call);
        }
    }

    fn sleep(&mut self, time: Instant, ready: &mut Vec<Readiness>) {
        self.shared.doorbell.lie_down();
        if self.shared.commands.is_empty() && !self.shared.stop.load(SeqCst) {
            let patience = self.patience.peek().map(|Reverse((at, _, _))| *at);
            let channels = self.channels.iter().map(Channel::next_deadline);
            let due = channels.chain([patience, self.waiting.next_deadline()]);
            let timeout = due.flatten().min().map(|at| at.since(time));
            self.poller.wait(timeout, ready);
        }
        self.shared.doorbell.get_up();
    }
}

/// Calls that have not ended are dropped with the reactor, and told so; see [`Filler`].
impl Drop for Reactor {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.shared.refuse();
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::{CallError, CallFuture, Slot};
    use super::*;
    use crate::net::Address;
    use std::time::Duration;
    use tailwater_control::catalog::Spec;
    use tailwater_control::{RetryConfig, retry::First};
    use tailwater_core::{MethodId, Ratio};

    fn reactor(retry: RetryConfig) -> (Arc<Shared>, Reactor) {
        let controller = Spec::named("none").build(Duration::from_secs(1), 1, 0).unwrap();
        let end = |_| End {
            config: ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into())),
            half: controller.client(0),
            seed: 0,
        };
        Reactor::new((0..2).map(end).collect(), Replicas::new(retry, 2, 0)).unwrap()
    }

    fn command() -> (Command, CallFuture) {
        let slot = Arc::new(Slot::default());
        let (method, payload) = (MethodId(1), Vec::new());
        let call = NewCall { method, payload, deadline: None, priority: 128, tenant: 0 };
        (Command { call, slot: Filler::new(slot.clone()) }, CallFuture::new(slot))
    }

    #[test]
    fn who_calls_a_reactor_that_is_gone_is_told() {
        let (shared, mut reactor) = reactor(RetryConfig::default());
        let (taken, first) = command();
        reactor.begin(Instant::ZERO, taken);
        let (sent, second) = command();
        shared.send(sent);
        drop(reactor);
        let (late, third) = command();
        shared.send(late);
        for call in [first, second, third] {
            assert_eq!(call.wait(), Err(CallError::Disconnected));
        }
    }

    #[test]
    fn what_has_ended_waits_for_no_credit() {
        let credit_wait = Some(Duration::from_secs(3_600));
        let (share, first) = (Ratio(0.0), First::Primary);
        let (_shared, mut reactor) =
            reactor(RetryConfig { tries: 2, credit_wait, share, burst: 0, first });
        for _ in 0..5_000 {
            let (command, _) = command();
            reactor.begin(Instant::ZERO, command);
            let ended: Vec<u64> = reactor.waiting.at(0);
            for token in ended {
                reactor.waiting.fill(token, Err(CallError::TimedOut));
            }
        }
        assert!(reactor.patience.len() <= 1_026, "{} are kept", reactor.patience.len());
    }
}
