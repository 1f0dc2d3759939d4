//! A channel's calls that have not ended, and the control that decides when each goes.

use super::event::{End, Event, NewCall};
use super::over::Over;
use super::slots::{KEPT, Slots};
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::client::{Action, Call, Dispatch, Reply};
use tailwater_control::{Client as Control, Offer, Outcome};
use tailwater_core::{Instant, RequestId, Stamp};
use tailwater_wire::{Echo, GoodbyeCode, Grant, Limits, ReplyHead, Request, call_name};

/// Calls by number, with the server's half of the news about them: what is allowed, and how each ended.
/// Those that wait are bounded by the control's queue, those that were sent by the session's limits, and
/// events by both: each call ends in one.
pub(super) struct Calls {
    control: Control,
    entries: Slots<Entry>,
    events: VecDeque<Event>,
    /// Of the entries, those that were sent and given up: no longer anyone's, and not answered.
    given_up: usize,
    /// The client's, as HELLO says.
    client_id: u64,
    /// REQUEST frames of this connection.
    requests: u64,
    /// Whether arguments are kept until a call ends, so that it can be made again elsewhere.
    keeps_arguments: bool,
}

/// A call that has not been answered.
pub(super) struct Entry {
    token: u64,
    call: NewCall,
    /// `None` while it waits.
    sent: Option<Sent>,
}

#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    /// REQUEST frames of the connection before it.
    before: u64,
    given_up: bool,
}

impl Calls {
    pub(super) fn new(control: Control, client_id: u64, keeps_arguments: bool) -> Self {
        Self {
            control,
            entries: Slots::default(),
            events: VecDeque::new(),
            given_up: 0,
            client_id,
            requests: 0,
            keeps_arguments,
        }
    }

    pub(super) fn submit(&mut self, now: Instant, token: u64, call: NewCall) -> RequestId {
        let (deadline, priority) = (call.deadline, call.priority);
        let id = RequestId(self.entries.insert(Entry { token, call, sent: None }));
        self.control.submit(now, Call { id, deadline, priority });
        // A call that it pushed out is kept in one place only, until the next.
        let _ = self.poll(now, false);
        id
    }

    /// Takes a call back that has not been sent.
    pub(super) fn recall(&mut self, id: RequestId) -> Option<NewCall> {
        if !self.is_waiting(id) || !self.control.cancel(id) {
            return None;
        }
        self.entries.remove(id.0).map(|entry| entry.call)
    }

    /// A call that was sent ends without an event; it stays outstanding until it is answered. Tells when it
    /// was sent; `None` for one that was not, or is gone.
    pub(super) fn give_up(&mut self, id: RequestId) -> Option<Instant> {
        let entry = self.entries.get_mut(id.0)?;
        let sent = entry.sent.as_mut().filter(|sent| !sent.given_up)?;
        sent.given_up = true;
        let at = sent.at;
        entry.call.payload = Bytes::new();
        self.given_up += 1;
        Some(at)
    }

    /// Ends what must end here, and tells what is to be sent; nothing of that unless it may be.
    pub(super) fn poll(&mut self, now: Instant, may_send: bool) -> Option<Action> {
        loop {
            let action =
                if may_send { self.control.poll(now) } else { self.control.poll_drop(now) };
            match action? {
                Action::Drop(id, reason) => {
                    if let Some(entry) = self.entries.remove(id.0) {
                        self.end(now, entry, End::Unsent(reason));
                    }
                }
                action => return Some(action),
            }
        }
    }

    /// Writes a request. One that does not fit ends here.
    pub(super) fn send(
        &mut self,
        now: Instant,
        dispatch: &Dispatch,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) {
        let Some(entry) = self.entries.get_mut(dispatch.id.0) else { return };
        match request(now, dispatch, &entry.call).encode(limits, out) {
            Ok(()) => {
                entry.sent = Some(Sent { at: now, before: self.requests, given_up: false });
                // Before the kernel has it: a server's clock is told by that it reads it later.
                entry.call.caller.sent(call_name(self.client_id, dispatch.id));
                self.requests += 1;
                if !self.keeps_arguments {
                    // They are with the kernel soon; ten thousand clients need not keep them.
                    entry.call.payload = Bytes::new();
                }
            }
            Err(too_long) => {
                // The gate has counted it: as far as credits go it was answered.
                self.control.on_unsent(dispatch);
                if let Some(entry) = self.entries.remove(dispatch.id.0) {
                    self.end(now, entry, End::TooLong { most: too_long.max });
                }
            }
        }
    }

    /// An answer came, and with it a window. Tells which call it ends; none for a call that was given up,
    /// and for a number that is not known.
    ///
    /// # Errors
    /// When the call has not been sent: the server invents answers.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        head: &ReplyHead,
        outcome: Outcome,
    ) -> Result<Option<(Entry, Reply)>, Over> {
        let Some(entry) = self.entries.get(head.id.0) else {
            self.control.on_credit(now, offer(head.grant), head.stamp);
            return Ok(None);
        };
        let Some(sent) = entry.sent else {
            return Err(Over::Broken(GoodbyeCode::Protocol));
        };
        // Also of one that was given up: it says when the answer came, and so how the server's clock goes.
        entry.call.caller.answered(call_name(self.client_id, head.id));
        let reply = Reply {
            outcome,
            offer: offer(head.grant),
            stamp: head.stamp,
            elapsed: now.since(sent.at),
            sojourn: Duration::from_nanos(u64::from(head.sojourn_ns)),
            waited: Duration::from_nanos(u64::from(head.waited_ns)),
        };
        self.given_up -= usize::from(sent.given_up);
        if sent.given_up && outcome != Outcome::Served {
            self.control.on_returned(now, reply.offer, reply.stamp);
        } else {
            self.control.on_reply(now, &reply);
        }
        let entry = self.entries.remove(head.id.0).filter(|_| !sent.given_up);
        Ok(entry.map(|entry| (entry, reply)))
    }

    pub(super) fn end(&mut self, at: Instant, entry: Entry, end: End) {
        self.events.push_back(Event { token: entry.token, at, call: entry.call, end });
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if self.events.is_empty() && self.events.capacity() > KEPT {
            // As with the entries: all may have ended at once.
            self.events = VecDeque::new();
        }
        event
    }

    pub(super) fn on_connected(&mut self, now: Instant) {
        self.control.on_connected(now);
    }

    /// The connection is gone, and with it what was sent. Of its requests the server has read the first
    /// `taken`, or it does not say.
    pub(super) fn on_lost(&mut self, now: Instant, taken: Option<u64>) {
        self.control.on_disconnected();
        (self.requests, self.given_up) = (0, 0);
        let sent = |(id, entry): (u64, &Entry)| entry.sent.map(|sent| (id, sent));
        let mut all: Vec<_> = self.entries.iter().filter_map(sent).collect();
        all.sort_by_key(|(_, sent)| sent.before);
        for (id, sent) in all {
            let Some(entry) = self.entries.remove(id).filter(|_| !sent.given_up) else { continue };
            let begun = taken.is_none_or(|taken| sent.before < taken);
            self.end(now, entry, if begun { End::Lost } else { End::NotTaken });
        }
    }

    pub(super) fn on_welcome(&mut self, now: Instant, grant: Grant, stamp: Stamp) {
        self.control.on_welcome(now, offer(grant), stamp);
    }

    pub(super) fn on_credit(&mut self, now: Instant, grant: Grant, stamp: Stamp) {
        self.control.on_credit(now, offer(grant), stamp);
    }

    pub(super) const fn on_objective(&mut self, told: Duration) {
        self.control.on_objective(told);
    }

    /// Whether the call that would be sent next fits these frames; true if none waits.
    pub(super) fn next_fits(&self, limits: &Limits) -> bool {
        let next = self.control.waiting().next().and_then(|id| self.entries.get(id.0));
        next.is_none_or(|entry| entry.call.payload.len() <= limits.request_payload_max())
    }

    /// Whether this call waits to be sent.
    pub(super) fn is_waiting(&self, id: RequestId) -> bool {
        self.entries.get(id.0).is_some_and(|entry| entry.sent.is_none())
    }

    /// Calls that the server has, or will have: those included that were given up.
    pub(super) fn load(&self) -> usize {
        self.entries.len()
    }

    /// Whether some of them wait to be sent.
    pub(super) fn has_waiting(&self) -> bool {
        self.control.queued() > 0
    }

    /// Whether the server has asked for silence, so that a call would wait now.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.control.is_paused(now)
    }

    /// Calls that have not ended for the driver.
    pub(super) fn unfinished(&self) -> usize {
        self.entries.len() - self.given_up
    }

    /// Requests that were sent and not answered, those included that were given up.
    pub(super) const fn outstanding(&self) -> u32 {
        self.control.outstanding()
    }

    pub(super) fn next_deadline(&self, may_send: bool) -> Option<Instant> {
        if !self.events.is_empty() {
            return Some(Instant::ZERO);
        }
        // While nothing can be sent a gate that permits would only keep the driver awake.
        if may_send { self.control.next_deadline() } else { self.control.next_drop() }
    }
}

fn request<'a>(now: Instant, dispatch: &Dispatch, call: &'a NewCall) -> Request<'a> {
    Request {
        id: dispatch.id,
        method: call.method,
        register: dispatch.register,
        demand: dispatch.demand,
        acked: dispatch.acked,
        echo: dispatch.echo.and_then(|echo| Echo::new(echo.stamp, echo.hold)),
        sent_at: now.stamp(),
        budget_us: tailwater_wire::budget_us(dispatch.time_left),
        tenant: call.tenant,
        priority: dispatch.priority,
        payload: &call.payload,
    }
}

const fn offer(grant: Grant) -> Offer {
    Offer { window: grant.window, seq: grant.seq, level: grant.level, pause: grant.pause }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tailwater_control::catalog::default_client;
    use tailwater_core::MethodId;
    use tailwater_marks::Caller;

    /// Each of a thousand connections kept what its worst moment had taken.
    #[test]
    fn a_connection_whose_calls_have_ended_keeps_little_memory_for_them() {
        let mut calls = Calls::new(default_client(), 0, true);
        let (now, all) = (Instant::from_nanos(1), 4 * KEPT as u64);
        for token in 0..all {
            let call = NewCall {
                method: MethodId(1),
                payload: Bytes::new(),
                deadline: None,
                priority: 128,
                tenant: 0,
                caller: Caller::NONE,
            };
            calls.submit(now, token, call);
        }
        assert_eq!(calls.poll(Instant::FAR_FUTURE, false), None, "what waits has expired");
        assert_eq!(calls.load(), 0);
        let ended = std::iter::from_fn(|| calls.poll_event()).count();
        assert_eq!(ended as u64, all, "each once");
        assert!(calls.events.capacity() <= KEPT, "{} places", calls.events.capacity());
    }
}
