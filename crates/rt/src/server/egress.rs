//! Answers to bytes, and bytes to sockets: once per turn, or at once where nothing more is to come.

use super::connection::Connection;
use super::job::{Answer, Origin};
use super::key::ConnectionKey;
use super::liveness;
use crate::framing::Flushed;
use std::time::Duration;
use tailwater_control::Offer;
use tailwater_core::Instant;
use tailwater_wire::{Fault, Grant, Reject, ReplyHead, Response, saturating_ns};

pub(super) struct Egress {
    /// Connections with something to flush at the end of the turn.
    dirty: Vec<ConnectionKey>,
    /// Bytes that the kernel did not take, of all connections of the loop.
    blocked: usize,
    /// The loop's share of `output_total_max`.
    blocked_max: usize,
    /// A connection's unsent output from which it is not served.
    high: usize,
}

/// A controller's offer as it travels.
pub(super) const fn grant(offer: Offer) -> Grant {
    Grant { window: offer.window, seq: offer.seq, level: offer.level, pause: offer.pause }
}

impl Egress {
    pub(super) const fn new(high: usize, blocked_max: usize) -> Self {
        Self { dirty: Vec::new(), blocked: 0, blocked_max, high }
    }

    pub(super) const fn high(&self) -> usize {
        self.high
    }

    /// Whether a connection may have more answers made: not while it leaves too many unread, nor, while
    /// all connections together do, as long as it leaves any.
    pub(super) const fn has_room(&self, connection: &Connection) -> bool {
        let unsent = connection.output.unsent();
        unsent < self.high && (unsent == 0 || self.blocked <= self.blocked_max)
    }

    /// Appends an answer. A result that is too long for the client becomes a status that says so.
    pub(super) fn answer(
        &mut self,
        connection: &mut Connection,
        origin: &Origin,
        now: Instant,
        waited: Duration,
        answer: Answer<'_>,
    ) {
        let head = ReplyHead {
            id: origin.key.id,
            grant: grant(connection.offer),
            stamp: now.stamp(),
            sojourn_ns: saturating_ns(now.since(origin.arrived)),
            waited_ns: saturating_ns(waited),
        };
        match answer {
            Answer::Reject(reason) => {
                Reject { head, reason: reason as u16 }.encode(connection.output.buffer());
            }
            Answer::Response { status, payload } => respond(connection, head, status, payload),
        }
        self.touched(connection);
    }

    /// Something was appended to the output.
    pub(super) fn touched(&mut self, connection: &mut Connection) {
        if !connection.output.dirty {
            connection.output.dirty = true;
            self.dirty.push(connection.key);
        }
    }

    /// The connections to flush at the turn's end, in the order in which their answers came. The list
    /// comes back by [`Egress::flushed_all`].
    pub(super) fn take_dirty(&mut self) -> Vec<ConnectionKey> {
        std::mem::take(&mut self.dirty)
    }

    pub(super) fn flushed_all(&mut self, mut list: Vec<ConnectionKey>) {
        // While they were flushed, others may have been touched.
        list.clear();
        list.append(&mut self.dirty);
        self.dirty = list;
    }

    /// Hands a connection's output to the kernel. False when the peer is gone.
    pub(super) fn flush(&mut self, connection: &mut Connection, now: Instant) -> bool {
        let was_blocked = connection.output.is_blocked();
        let held_up = was_blocked && connection.output.unsent() >= self.high;
        let flushed = connection.output.flush(&connection.stream, now);
        if was_blocked && !connection.output.is_blocked() {
            liveness::excuse(connection, now);
        }
        if held_up && connection.output.unsent() < self.high {
            connection.input.reader_goes_on(now);
        }
        self.count(connection);
        flushed != Flushed::Closed
    }

    /// Counts what the kernel did not take.
    fn count(&mut self, connection: &mut Connection) {
        let output = &mut connection.output;
        let unsent = if output.is_blocked() { output.unsent() } else { 0 };
        self.blocked = self.blocked + unsent - output.counted;
        output.counted = unsent;
    }

    /// A connection is gone with what it left unread.
    pub(super) const fn forget(&mut self, connection: &Connection) {
        self.blocked -= connection.output.counted;
    }
}

fn respond(connection: &mut Connection, head: ReplyHead, status: u16, payload: &[u8]) {
    let limits = connection.limits;
    let response = Response { head, status, payload };
    if response.encode(&limits, connection.output.buffer()).is_err() {
        let payload = b"the answer is longer than the client accepts";
        let response = Response { head, status: Fault::AnswerTooLong.status(), payload };
        let fits = response.encode(&limits, connection.output.buffer());
        debug_assert!(fits.is_ok(), "the smallest frame size holds an explanation");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::connections::Connections;
    use super::super::input::Stop;
    use super::super::testing::{at, job, open};
    use super::*;

    const LARGE: &[u8] = &[7; 1 << 20];

    fn answer(egress: &mut Egress, connection: &mut Connection, payload: &[u8]) {
        connection.limits = tailwater_wire::Limits::new(2 << 20);
        let answer = Answer::Response { status: 0, payload };
        let origin = job(0, 1, 1).origin;
        egress.answer(connection, &origin, at(2), Duration::ZERO, answer);
    }

    #[test]
    fn a_connection_is_listed_once_until_it_is_flushed() {
        let (mut egress, mut connections) = (Egress::new(1 << 20, 1 << 20), Connections::default());
        let (it, _client) = open(&mut connections);
        answer(&mut egress, it, b"one");
        answer(&mut egress, it, b"two");
        let dirty = egress.take_dirty();
        assert_eq!(dirty, [it.key]);
        it.output.dirty = false;
        assert!(egress.flush(it, at(3)) && it.output.unsent() == 0);
        answer(&mut egress, it, b"three");
        egress.flushed_all(dirty);
        assert_eq!(egress.take_dirty(), [it.key], "touched while others were flushed");
    }

    #[test]
    fn a_reader_that_stands_still_has_no_room_and_nor_have_others_once_all_is_full() {
        let (mut egress, mut connections) = (Egress::new(4 << 20, 1 << 20), Connections::default());
        let (it, _client) = open(&mut connections);
        while !it.output.is_blocked() {
            answer(&mut egress, it, LARGE);
            assert!(egress.flush(it, at(3)));
        }
        while it.output.unsent() < 4 << 20 {
            answer(&mut egress, it, LARGE);
        }
        assert!(egress.flush(it, at(4)) && egress.blocked >= 1 << 20);
        assert!(!egress.has_room(it), "its own output is above its mark");
        let slow = it.key;
        let (other, _client) = open(&mut connections);
        assert!(egress.has_room(other), "it has read all of its answers");
        answer(&mut egress, other, b"small");
        assert!(!egress.has_room(other), "it left one unread, and all together left too many");
        let slow = connections.remove(slow).unwrap();
        egress.forget(&slow);
        assert_eq!(egress.blocked, 0);
    }

    /// Its frames count as delay of the whole loop from when they may be taken.
    #[test]
    fn what_is_left_behind_while_a_reader_stands_still_is_no_delay_of_ours() {
        let high = 1 << 20;
        let (mut egress, mut connections) = (Egress::new(high, high), Connections::default());
        let (it, client) = open(&mut connections);
        assert_eq!(it.input.hidden_ns(at(1), at(1).stamp(), 0), 0);
        let left = [0; 16];
        let reading = it.input.feed(&left);
        it.input.keep(reading, left.len(), Stop::Fair, at(1));
        while !it.output.is_blocked() || it.is_read(high) {
            answer(&mut egress, it, LARGE);
            assert!(egress.flush(it, at(2)));
        }
        let mut bytes = vec![0; 1 << 16];
        while !it.is_read(high) {
            let _ = client.read(&mut bytes);
            assert!(egress.flush(it, at(1_000)));
        }
        assert_eq!(it.input.hidden_ns(at(1_000), at(1).stamp(), 0), 0, "the client did not read");
        let hidden = it.input.hidden_ns(at(1_005), at(1).stamp(), 0);
        assert_eq!(hidden, 5_000_000, "it waits for us since then");
    }

    #[test]
    fn a_result_that_is_too_long_becomes_a_status() {
        let (mut egress, mut connections) = (Egress::new(1 << 20, 1 << 20), Connections::default());
        let (it, _client) = open(&mut connections);
        it.limits = tailwater_wire::Limits::new(tailwater_wire::Limits::FLOOR);
        let answer = Answer::Response { status: 0, payload: &[7; 5_000] };
        egress.answer(it, &job(0, 1, 1).origin, at(2), Duration::ZERO, answer);
        let told = it.output.buffer()[6..8].to_vec();
        assert_eq!(told, Fault::AnswerTooLong.status().to_le_bytes());
    }
}
