//! What came of a request, on its way out; and the end of connections.

use super::connection::{Flush, Phase};
use super::event_loop::EventLoop;
use super::wire_ns;
use crate::poll::Interest;
use crate::service::{Reply, status};
use crate::worker::Ticket;
use std::time::Duration;
use tailwater_control::{Completion, Offer, Reason};
use tailwater_core::{Instant, RequestId, SessionId};
use tailwater_wire::{Goodbye, GoodbyeCode, Grant, Reject, ReplyHead, Response, saturating_ns};

/// A controller's offer as it travels.
pub(super) const fn grant(offer: Offer) -> Grant {
    Grant { window: offer.window, seq: offer.seq, level: offer.level }
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    pub(super) fn respond(
        &mut self,
        ticket: &Ticket,
        done: &Completion,
        status: u16,
        payload: &[u8],
    ) {
        let head = self.conclude(ticket.connection, ticket.id, ticket.arrived, done);
        let connection = &mut self.connections[ticket.connection as usize];
        let limits = connection.limits;
        let response = Response { head, status, payload };
        if response.encode(&limits, connection.output()).is_err() {
            let why = b"the answer is longer than the client accepts";
            let response = Response { head, status: status::ANSWER_TOO_LONG, payload: why };
            let fits = response.encode(&limits, connection.output());
            debug_assert!(fits.is_ok(), "the smallest frame size holds an explanation");
        }
        self.totals.served += 1;
        self.after_output(ticket.connection);
    }

    pub(super) fn reject(
        &mut self,
        key: u32,
        id: RequestId,
        arrived: Instant,
        done: &Completion,
        reason: Reason,
    ) {
        let head = self.conclude(key, id, arrived, done);
        Reject { head, reason: reason as u16 }.encode(self.connections[key as usize].output());
        self.totals.count_shed(reason);
        self.after_output(key);
    }

    /// Tells the controller how the request ended and fetches the offer that rides on the answer.
    fn conclude(
        &mut self,
        key: u32,
        id: RequestId,
        arrived: Instant,
        done: &Completion,
    ) -> ReplyHead {
        let offer = self.shard.on_done(self.now, SessionId(key), done);
        self.shard.on_sent(self.now, SessionId(key));
        let connection = &mut self.connections[key as usize];
        connection.pending -= 1;
        connection.offer = offer;
        self.totals.frames_out += 1;
        ReplyHead {
            id,
            grant: grant(offer),
            stamp: self.now.stamp(),
            sojourn_ns: wire_ns(arrived, self.now),
            waited_ns: saturating_ns(done.waited),
        }
    }

    pub(super) fn after_output(&mut self, key: u32) {
        let connection = &mut self.connections[key as usize];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(key);
        }
    }

    /// Sends at once when nothing of this connection is left to run in this turn: waiting would
    /// coalesce nothing. Otherwise the turn's end sends all answers in one call.
    pub(super) fn flush_if_settled(&mut self, key: u32) {
        let Some(connection) = self.connections.get(key as usize) else {
            return;
        };
        if connection.queued == 0 && connection.unsent() > 0 {
            self.flush(key);
        }
    }

    pub(super) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for key in dirty.drain(..) {
            let Some(connection) = self.connections.get_mut(key as usize) else {
                continue;
            };
            connection.dirty = false;
            if connection.unsent() > 0 {
                self.flush(key);
            }
        }
        self.dirty = dirty;
    }

    pub(super) fn flush(&mut self, key: u32) {
        let Some(connection) = self.connections.get_mut(key as usize) else {
            return;
        };
        let before = connection.unsent();
        let flushed = connection.flush();
        if connection.phase == Phase::Open && connection.unsent() < before {
            // Slow is not stalled: it has read something, and patience begins anew.
            connection.overdue_at = None;
        }
        match flushed {
            Flush::Done => {
                match connection.phase {
                    Phase::Open | Phase::Greeting => {}
                    Phase::Closing => connection.stream.finish_writing(),
                }
                self.watch_for(key, Interest::READ);
            }
            Flush::Blocked => self.hold_back(key),
            Flush::Closed => self.close(key),
        }
    }

    /// The client does not read: wait for it, stop reading from it, in the end give it up.
    fn hold_back(&mut self, key: u32) {
        let config = &self.shared.config;
        let (high, most, patience) = (config.output_high, config.output_max, config.patience);
        let now = self.now;
        let connection = &mut self.connections[key as usize];
        connection.compact();
        connection.overdue_at.get_or_insert(now + patience);
        let unsent = connection.unsent();
        if unsent > most {
            self.totals.slow_readers += 1;
            self.close(key);
            return;
        }
        self.expect_soon();
        self.watch_for(key, Interest { readable: unsent < high, writable: true });
    }

    fn watch_for(&mut self, key: u32, wanted: Interest) {
        let connection = &mut self.connections[key as usize];
        if connection.interest != wanted {
            connection.interest = wanted;
            if self
                .poller()
                .modify(&self.connections[key as usize].stream, key.into(), wanted)
                .is_err()
            {
                self.close(key);
            }
        }
    }

    /// Says why and closes once the client has had a chance to read it: closing at once with
    /// unread input would make the kernel throw the farewell away.
    pub(super) fn say_goodbye(&mut self, key: u32, code: GoodbyeCode, why: &str) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key as usize) else {
            return;
        };
        connection.phase = Phase::Closing;
        connection.input = Vec::new();
        connection.overdue_at = Some(now + Duration::from_secs(1));
        connection.rest_due = None;
        Goodbye::new(code, why).encode(connection.output());
        self.totals.frames_out += 1;
        self.expect_soon();
        self.flush(key);
    }

    /// A HELLO, the rest of a frame, a read or the peer's end of a closing connection is overdue.
    pub(super) fn give_up_on(&mut self, key: u32) {
        let connection = &self.connections[key as usize];
        match connection.phase {
            Phase::Closing => self.close(key),
            Phase::Greeting => self.say_goodbye(key, GoodbyeCode::Idle, "no HELLO came in time"),
            Phase::Open if connection.owes_rest(self.now) => {
                self.say_goodbye(
                    key,
                    GoodbyeCode::Idle,
                    "the rest of a frame did not come in time",
                );
            }
            Phase::Open => {
                self.totals.slow_readers += 1;
                self.close(key);
            }
        }
    }
}
