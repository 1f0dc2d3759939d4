//! The thread behind a [`Client`](super::Client): a channel to each replica, and callers that come from
//! anywhere.

use super::call::{CallError, Slot};
use super::channel::{Channel, ChannelConfig, NewCall};
use super::waiting::{Again, Failed, Waiting};
use crate::executor::{Bell as _, Doorbell};
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
    pub(super) slot: Arc<Slot>,
}

/// What callers and the reactor share.
pub(super) struct Shared {
    commands: SegQueue<Command>,
    doorbell: Doorbell,
    bell: EventBell,
    stop: AtomicBool,
}

impl Shared {
    pub(super) fn send(&self, command: Command) {
        self.commands.push(command);
        self.doorbell.notify();
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
    /// A reactor with a channel for each configuration, and the controller's half for it.
    pub(super) fn new(
        ends: Vec<(ChannelConfig, Control)>,
        replicas: Replicas,
    ) -> io::Result<(Arc<Shared>, Self)> {
        let poller = Poller::new()?;
        let bell = EventBell::new()?;
        poller.add(&bell, BELL, Interest::READ)?;
        let shared = Arc::new(Shared {
            commands: SegQueue::new(),
            doorbell: Doorbell::new(Box::new(bell.clone())),
            bell,
            stop: AtomicBool::new(false),
        });
        let channel = |(key, (config, control))| Channel::new(config, key, control);
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
        self.waiting.abandon();
        while let Some(command) = self.shared.commands.pop() {
            command.slot.fill(Err(CallError::Disconnected));
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
