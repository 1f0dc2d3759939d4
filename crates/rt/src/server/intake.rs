//! Which sockets have something to be taken, in which order they have their go, and what is held of them.
//!
//! Work comes in rounds. A round is what the kernel says can be done, and the connections whose last go left
//! frames behind. Each of them has one go of bounded length before the next round begins. A turn may end in
//! the middle of a round, when the sockets have had their share of time; the next turn goes on where it
//! ended. So no connection waits for longer than one go of each of the others.

use super::connection::Connection;
use super::input::Stop;
use super::key::ConnectionKey;
use crate::framing::Reading;
use crate::poll::{BATCH, Poller, Readiness};
use std::time::Duration;
use tailwater_core::Instant;

/// Frames of one connection in one go: a fifth of the shortest requests that a read may bring.
pub(super) const FRAMES_PER_GO: usize = 256;
/// Bytes of one read.
const SCRATCH: usize = 64 << 10;
/// A beginning of a frame as long as this at most is held however much is held of others.
const ALWAYS_HELD: usize = 4 << 10;

pub(super) struct Intake {
    /// What is left of the round, the next last.
    round: Vec<Readiness>,
    /// The kernel had more to say than fits a batch.
    more: bool,
    /// How often the kernel may still be asked in this round. It tells of each socket once before it tells of one
    /// again. So a round looks at all of them and then ends, however much they bring meanwhile.
    asks: usize,
    /// Connections that left frames behind, for the next round; each once.
    again: Vec<ConnectionKey>,
    scratch: Vec<u8>,
    /// Bytes held of unfinished frames and of those left behind.
    held: usize,
    /// The loop's share of `input_total_max`.
    held_max: usize,
}

impl Intake {
    pub(super) fn new(held_max: usize) -> Self {
        let scratch = vec![0; SCRATCH];
        Self {
            round: Vec::new(),
            more: false,
            asks: 0,
            again: Vec::new(),
            scratch,
            held: 0,
            held_max,
        }
    }

    /// Something waits, whatever the kernel says.
    pub(super) fn has_work(&self) -> bool {
        !self.round_is_over() || !self.again.is_empty()
    }

    /// Every connection of the round has had its go.
    pub(super) fn round_is_over(&self) -> bool {
        self.round.is_empty() && !self.more
    }

    /// Begins a round over so many sockets: waits for the kernel for at most `timeout`. True if there is
    /// something to do.
    pub(super) fn begin_round(
        &mut self,
        poller: &Poller,
        timeout: Option<Duration>,
        sockets: usize,
    ) -> bool {
        self.asks = sockets / BATCH;
        let left = self.again.drain(..).map(ConnectionKey::token);
        self.round.extend(left.map(|key| Readiness {
            key,
            readable: true,
            writable: false,
            broken: false,
        }));
        self.ask(poller, timeout);
        !self.round.is_empty()
    }

    /// The next one to have its go; `None` at the round's end.
    pub(super) fn next(&mut self, poller: &Poller) -> Option<Readiness> {
        if self.round.is_empty() && self.more {
            self.asks = self.asks.saturating_sub(1);
            self.ask(poller, Some(Duration::ZERO));
        }
        self.round.pop()
    }

    fn ask(&mut self, poller: &Poller, timeout: Option<Duration>) {
        let before = self.round.len();
        poller.wait(timeout, &mut self.round);
        self.more = self.asks > 0 && self.round.len() - before >= BATCH;
        self.round[before..].reverse();
    }

    /// Where a socket is read to; it comes back by [`Intake::return_scratch`].
    pub(super) fn lend_scratch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.scratch)
    }

    pub(super) fn return_scratch(&mut self, scratch: Vec<u8>) {
        self.scratch = scratch;
    }

    /// Keeps what a go of `fresh` bytes has left. False if there is no memory for it, `waiting` bytes of requests being held
    /// beside it.
    pub(super) fn keep(
        &mut self,
        connection: &mut Connection,
        rest: Reading<'_>,
        fresh: usize,
        stop: Stop,
        now: Instant,
        waiting: usize,
    ) -> bool {
        let input = &mut connection.input;
        input.keep(rest, fresh, stop, now);
        self.held = self.held + input.held() - input.counted;
        input.counted = input.held();
        input.held() <= ALWAYS_HELD || self.held + waiting <= self.held_max
    }

    /// Whether a request of `bytes` may wait beside those that do, `waiting` bytes.
    pub(super) const fn has_memory(&self, waiting: usize, bytes: usize) -> bool {
        waiting == 0 || self.held + waiting + bytes <= self.held_max
    }

    /// A connection has a go in the next round if frames of it were left behind and may be taken.
    pub(super) fn go_again(&mut self, connection: &mut Connection, high: usize) {
        if connection.wants_go(high) && !connection.input.goes_again {
            connection.input.goes_again = true;
            self.again.push(connection.key);
        }
    }

    /// Nothing of a connection is held any more.
    pub(super) fn forget(&mut self, connection: &mut Connection) {
        self.held -= connection.input.counted;
        connection.input.counted = 0;
        connection.input.clear();
    }
}
