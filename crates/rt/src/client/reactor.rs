//! The thread behind a [`Client`](super::Client): one channel, and callers that come from anywhere.

use super::call::{Answer, CallError, Slot};
use super::channel::{Channel, ChannelConfig, Event, NewCall};
use crate::executor::{Bell as _, Doorbell};
use crate::poll::{EventBell, Interest, Poller};
use crate::time::now;
use crossbeam_queue::SegQueue;
use slab::Slab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use tailwater_control::Client as Control;
use tailwater_core::Instant;

const BELL: u64 = u64::MAX;
const CHANNEL: u64 = 0;

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
    channel: Channel,
    waiting: Waiting,
}

/// Callers by token, and when their patience ends.
#[derive(Default)]
struct Waiting {
    slots: Slab<(u64, Arc<Slot>)>,
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
    sequence: u64,
}

impl Reactor {
    pub(super) fn new(config: ChannelConfig, control: Control) -> io::Result<(Arc<Shared>, Self)> {
        let poller = Poller::new()?;
        let bell = EventBell::new()?;
        poller.add(&bell, BELL, Interest::READ)?;
        let shared = Arc::new(Shared {
            commands: SegQueue::new(),
            doorbell: Doorbell::new(Box::new(bell.clone())),
            bell,
            stop: AtomicBool::new(false),
        });
        let channel = Channel::new(config, CHANNEL, control);
        let reactor = Self { shared: shared.clone(), poller, channel, waiting: Waiting::default() };
        Ok((shared, reactor))
    }

    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        let mut scratch = vec![0; 64 << 10];
        while !self.shared.stop.load(SeqCst) {
            let time = now();
            let waiting = &mut self.waiting;
            while let Some(command) = self.shared.commands.pop() {
                let token = waiting.add(command.call.deadline, command.slot);
                self.channel.submit(time, token, command.call);
                self.channel.drive(time, &self.poller, &mut |event| waiting.end(event));
            }
            self.channel.drive(time, &self.poller, &mut |event| waiting.end(event));
            waiting.time_out(time);
            self.sleep(time, &mut ready);
            let (time, waiting) = (now(), &mut self.waiting);
            for readiness in ready.drain(..) {
                if readiness.key == BELL {
                    self.shared.bell.hush();
                    continue;
                }
                let on_event = &mut |event: Event<'_>| waiting.end(event);
                self.channel.on_ready(time, &self.poller, readiness, &mut scratch, on_event);
            }
        }
        self.waiting.abandon();
        while let Some(command) = self.shared.commands.pop() {
            command.slot.fill(Err(CallError::Disconnected));
        }
    }

    fn sleep(&mut self, time: Instant, ready: &mut Vec<crate::poll::Readiness>) {
        self.shared.doorbell.lie_down();
        if self.shared.commands.is_empty() && !self.shared.stop.load(SeqCst) {
            let due = [self.channel.next_deadline(), self.waiting.next()];
            let timeout = due.into_iter().flatten().min().map(|at| at.since(time));
            self.poller.wait(timeout, ready);
        }
        self.shared.doorbell.get_up();
    }
}

impl Waiting {
    /// The token is a slot and a sequence: an answer that comes after the caller was told
    /// `TimedOut` must not reach another.
    fn add(&mut self, deadline: Option<Instant>, slot: Arc<Slot>) -> u64 {
        self.sequence = (self.sequence + 1) & u64::from(u32::MAX);
        let token = self.sequence << 32 | self.slots.insert((self.sequence, slot)) as u64;
        if let Some(deadline) = deadline {
            self.deadlines.push(Reverse((deadline, token)));
        }
        token
    }

    fn take(&mut self, token: u64) -> Option<Arc<Slot>> {
        let (index, sequence) = ((token & u64::from(u32::MAX)) as usize, token >> 32);
        self.slots.get(index).filter(|(found, _)| *found == sequence)?;
        Some(self.slots.remove(index).1)
    }

    fn end(&mut self, event: Event<'_>) {
        let (token, answer) = match event {
            Event::Response { token, status, payload, sojourn, .. } => {
                (token, Ok(Answer { status, payload: payload.to_vec(), sojourn }))
            }
            Event::Rejected { token, reason, .. } => {
                let reason = reason.unwrap_or(tailwater_control::Reason::Limit);
                (token, Err(CallError::Shed(reason)))
            }
            Event::Dropped { token, reason, .. } => (token, Err(reason.into())),
            Event::TooLong { token, most } => (token, Err(CallError::TooLong { most })),
        };
        if let Some(slot) = self.take(token) {
            slot.fill(answer);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }

    fn time_out(&mut self, now: Instant) {
        while let Some(&Reverse((at, token))) = self.deadlines.peek()
            && at <= now
        {
            self.deadlines.pop();
            if let Some(slot) = self.take(token) {
                slot.fill(Err(CallError::TimedOut));
            }
        }
    }

    fn abandon(&mut self) {
        for (_, slot) in self.slots.drain() {
            slot.fill(Err(CallError::Disconnected));
        }
    }
}
