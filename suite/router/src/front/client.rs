//! A client's connection: commands in, answers out in their order.

use super::command::Way;
use super::exchange::Exchange;
use crate::nodes::{Nodes, Outcome, Ticket};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::{Buffer, Pool, Share};
use tailwater_keyvalue::memcached::input::{Input, Next};
use tailwater_keyvalue::memcached::parse::Command;
use tailwater_rt::net::{Stream, Transfer};
use tailwater_rt::poll::{Interest, Poller, Readiness};

/// Commands of one client that are under way; further ones are read when some have ended.
const PENDING_MAX: usize = 256;
/// Keys and replicas of these that nodes have not answered; likewise. A command that begins below it may have as many
/// again: so one client fills no more than a thirtieth of what a node may owe.
const OPEN_MAX: usize = 1_024;
/// Answers that wait to be sent; likewise.
const OUTPUT_HIGH: usize = 64 << 10;
/// Answers that a connection may hold without borrowing from the pool.
const OUTPUT_OWN: usize = 2 * OUTPUT_HIGH;
/// Likewise of answers that are not whole, or wait for earlier ones.
const ANSWERS_OWN: usize = 64 << 10;

/// What all clients share.
pub(super) struct Shared<'a> {
    pub(super) report: &'a dyn Fn(&Nodes, &mut Vec<u8>),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    stream: Stream,
    /// The poller's, and the client's in tickets.
    key: u64,
    input: Input,
    output: Buffer,
    sent: usize,
    pending: VecDeque<Exchange>,
    /// What these hold.
    share: Share,
    /// Parts of these that nodes have not answered.
    open: usize,
    /// Errors that were not answered, since the client reads no answer.
    silenced: u64,
    /// The number of the first pending command.
    first: u64,
    /// Commands wait in the input until others have ended.
    is_paused: bool,
    /// No more is read: it has said `quit`, or what cannot be gone on from.
    is_leaving: bool,
    /// It has sent everything that it will.
    has_finished: bool,
    is_broken: bool,
    interest: Interest,
    /// When bytes moved last.
    moved_at: Instant,
}

impl Client {
    pub(super) fn new(stream: Stream, key: u64, pool: &Arc<Pool>, now: Instant) -> Self {
        Self {
            stream,
            key,
            input: Input::new(pool.clone()),
            output: Buffer::new(OUTPUT_OWN, pool.clone()),
            sent: 0,
            pending: VecDeque::new(),
            share: Share::new(ANSWERS_OWN, pool.clone()),
            open: 0,
            silenced: 0,
            first: 0,
            is_paused: false,
            is_leaving: false,
            has_finished: false,
            is_broken: false,
            interest: Interest::READ,
            moved_at: now,
        }
    }

    pub(super) const fn key(&self) -> u64 {
        self.key
    }

    /// The poller says something.
    pub(super) fn on_ready(&mut self, now: Instant, readiness: Readiness, scratch: &mut [u8]) {
        if readiness.broken {
            self.is_broken = true;
        } else if readiness.readable && self.interest.readable {
            match self.stream.read(scratch) {
                Transfer::Bytes(read) => {
                    self.input.receive(&scratch[..read]);
                    self.moved_at = now;
                }
                Transfer::WouldBlock => {}
                Transfer::Closed => self.has_finished = true,
            }
        }
    }

    /// A part of a command has ended.
    pub(super) fn end(&mut self, command: u64, outcome: Outcome<'_>) {
        let place = command.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(exchange) = place.and_then(|place| self.pending.get_mut(place)) {
            let before = exchange.open();
            exchange.end(outcome, &mut self.share);
            self.open -= before - exchange.open();
        }
    }

    /// No more is read: what is under way is answered.
    pub(super) const fn leave(&mut self) {
        self.is_leaving = true;
    }

    fn may_begin(&self) -> bool {
        self.pending.len() < PENDING_MAX && self.open < OPEN_MAX
    }

    /// Sends commands on, and answers what is whole, as far as there is room for either.
    pub(super) fn proceed(&mut self, now: Instant, nodes: &mut Nodes, shared: &Shared<'_>) {
        loop {
            self.begin(now, nodes, shared);
            // Commands that need no node, or that a node has answered meanwhile.
            if !self.collect() || !self.is_paused {
                return;
            }
        }
    }

    fn begin(&mut self, now: Instant, nodes: &mut Nodes, shared: &Shared<'_>) {
        let input = self.input.take();
        let mut at = 0;
        self.is_paused = false;
        while !self.is_leaving {
            if !self.may_begin() || self.output.bytes.len() >= OUTPUT_HIGH {
                self.is_paused = true;
                break;
            }
            let next = self.input.next(&input[at..]);
            let command = self.first + self.pending.len() as u64;
            let ticket = Ticket { client: self.key, command };
            let way = Way { now, nodes, ticket, share: &mut self.share, report: shared.report };
            let exchange = match next {
                Next::More => break,
                Next::Command(Command::Quit, used) => {
                    at += used;
                    self.is_leaving = true;
                    break;
                }
                Next::Command(command, used) => {
                    at += used;
                    way.send(command)
                }
                Next::Bad(bad) => {
                    at += self.input.skip(&bad, &input[at..]);
                    self.is_leaving = bad.fatal;
                    way.refuse(&bad)
                }
                Next::NoRoom => {
                    self.is_leaving = true;
                    let line = b"SERVER_ERROR out of memory reading request";
                    Exchange::of_line(line, false, &mut self.share)
                }
            };
            self.open += exchange.open();
            self.pending.push_back(exchange);
        }
        self.input.put_back(input, at);
    }

    /// Moves the answers that are whole to the output, in order. True if there was one.
    fn collect(&mut self) -> bool {
        let mut did = false;
        while self.output.bytes.len() < OUTPUT_HIGH
            && let Some(exchange) = self.pending.front_mut()
            && exchange.is_whole()
            && exchange.write(&mut self.output, &mut self.share).is_ok()
        {
            self.silenced += u64::from(exchange.hides_error());
            self.pending.pop_front();
            self.first += 1;
            did = true;
        }
        did
    }

    /// Sends answers. True if all were sent.
    pub(super) fn flush(&mut self, now: Instant) -> bool {
        while self.sent < self.output.bytes.len() {
            match self.stream.write(&self.output.bytes[self.sent..]) {
                Transfer::Bytes(sent) => {
                    self.sent += sent;
                    self.moved_at = now;
                }
                Transfer::WouldBlock => return false,
                Transfer::Closed => {
                    self.is_broken = true;
                    return false;
                }
            }
        }
        self.sent = 0;
        self.output.bytes.clear();
        self.output.trim();
        true
    }

    /// Whether there is something to do, now that answers were sent.
    pub(super) fn has_more(&self) -> bool {
        self.is_paused && self.may_begin() || self.pending.front().is_some_and(Exchange::is_whole)
    }

    /// How many errors were not answered since this was asked last.
    pub(super) const fn take_silenced(&mut self) -> u64 {
        std::mem::replace(&mut self.silenced, 0)
    }

    /// Watches for what it waits for.
    pub(super) fn watch(&mut self, poller: &Poller) {
        let readable = !self.is_paused && !self.is_leaving && !self.has_finished;
        let writable = !self.output.bytes.is_empty();
        let interest = Interest { readable, writable };
        if interest != self.interest {
            self.interest = interest;
            self.is_broken |= poller.modify(&self.stream, self.key, interest).is_err();
        }
    }

    /// Whether the connection is over.
    pub(super) fn is_over(&self) -> bool {
        let is_answered = self.pending.is_empty() && self.output.bytes.is_empty();
        let has_left = self.is_leaving || self.has_finished && !self.is_paused;
        self.is_broken || is_answered && has_left
    }

    /// Whether commands of it are under way, or answers.
    pub(super) fn is_busy(&self) -> bool {
        !self.pending.is_empty() || !self.output.bytes.is_empty()
    }

    /// Whether it may be cut off. Either it has owed the rest of a command, or the taking of an answer, for longer
    /// than `patience`. Or it has been silent for longer than `idle`.
    pub(super) fn is_overdue(
        &self,
        now: Instant,
        patience: Duration,
        idle: Option<Duration>,
    ) -> bool {
        let still = now.since(self.moved_at);
        if !self.output.bytes.is_empty() || self.pending.is_empty() && !self.input.is_empty() {
            return still >= patience;
        }
        self.pending.is_empty() && idle.is_some_and(|idle| still >= idle)
    }
}
