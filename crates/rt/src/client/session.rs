//! One connection's protocol, without its socket: bytes in, bytes and events out.
//!
//! HELLO goes out first, with one small request right behind it; everything else waits for WELCOME.

use super::calls::Calls;
use super::config::ChannelConfig;
use super::demand::DemandPace;
use super::event::{End, Event, NewCall};
use super::liveness::Liveness;
use super::over::Over;
use crate::framing::{Flushed, Incoming, Outgoing};
use crate::net::{Stream, Transfer};
use std::time::Duration;
use tailwater_control::client::Action;
use tailwater_control::{Client as Control, Outcome, Reason};
use tailwater_core::{Instant, RequestId};
use tailwater_wire::{
    Cancel, Demand, Deregister, Fault, Goodbye, GoodbyeCode, Hello, Limits, Ping, Pong, Reject,
    Response, ServerFrame, VERSION_MAX, VERSION_MIN, Welcome, decode_from_server,
};

/// A whole frame is a sign of life, and so are so many bytes of one: an answer may be long, and its way slow.
const SIGN_OF_LIFE: usize = 1_024;

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is none.
    Offline,
    /// HELLO was said.
    Greeting,
    /// WELCOME was heard.
    Agreed,
    /// The server has refused a call because it is shutting down: nothing more is sent.
    Draining,
}

/// The protocol of one connection, between its bytes and its calls.
pub(super) struct Session {
    hello: Hello,
    output_max: usize,
    outstanding_max: u32,
    /// Whether calls could go elsewhere. Then none goes before WELCOME, since what was sent to a silent
    /// server stays there, and none to a server that drains; alone, they go, and hear what it says.
    has_replicas: bool,
    phase: Phase,
    limits: Limits,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The kernel took no more when it was last asked.
    is_blocked: bool,
    /// The token of the server's newest PING that has no PONG yet.
    ping: Option<u64>,
    /// A call was answered on this connection.
    has_answered: bool,
    objective: Option<Duration>,
    calls: Calls,
    demand: DemandPace,
    liveness: Liveness,
    /// Bytes that came since the last sign of life.
    trickled: usize,
}

impl Session {
    /// `number` is the client's, or what stands for it where it has none.
    pub(super) fn new(
        config: &ChannelConfig,
        control: Control,
        number: u64,
        has_replicas: bool,
    ) -> Self {
        Self {
            hello: Hello {
                version_min: VERSION_MIN,
                version_max: VERSION_MAX,
                features: 0,
                max_frame: config.frame_max,
                client_id: number,
                tenant: 0,
            },
            output_max: config.output_max,
            outstanding_max: config.outstanding_max,
            has_replicas,
            phase: Phase::Offline,
            limits: Limits::new(Limits::FLOOR),
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            is_blocked: false,
            ping: None,
            has_answered: false,
            objective: None,
            calls: Calls::new(control, number, has_replicas),
            demand: DemandPace::default(),
            liveness: Liveness::new(config.ping_after, config.ping_patience),
            trickled: 0,
        }
    }

    pub(super) fn submit(&mut self, now: Instant, token: u64, call: NewCall) -> RequestId {
        self.calls.submit(now, token, call)
    }

    pub(super) fn recall(&mut self, id: RequestId) -> Option<NewCall> {
        self.calls.recall(id)
    }

    /// Ends a call without an event: it is recalled, or the server is told. Each call costs one CANCEL at
    /// most, so that these are bounded as the calls are. Tells when it was sent, if the server is told.
    pub(super) fn cancel(&mut self, id: RequestId) -> Option<Instant> {
        if self.calls.recall(id).is_some() {
            return None;
        }
        let sent = self.calls.give_up(id)?;
        Cancel { id }.encode(self.outgoing.buffer());
        Some(sent)
    }

    /// A call that was sent then took too long: if nothing was heard since, the server is asked.
    pub(super) fn doubt(&mut self, now: Instant, sent: Instant) {
        self.liveness.doubt(now, sent);
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.calls.poll_event()
    }

    /// The transport stands.
    pub(super) fn on_connected(&mut self, now: Instant) {
        self.phase = Phase::Greeting;
        self.hello.encode(self.outgoing.buffer());
        self.calls.on_connected(now);
    }

    /// The transport is gone.
    pub(super) fn on_lost(&mut self, now: Instant, over: Over) {
        // Instead of WELCOME: nothing behind HELLO was looked at.
        let unread = self.phase == Phase::Greeting;
        let taken = match over {
            Over::Goodbye { .. } if unread => Some(0),
            Over::Goodbye { taken } => taken,
            Over::Closed | Over::Silent | Over::Broken(_) => None,
        };
        self.calls.on_lost(now, taken);
        self.phase = Phase::Offline;
        self.limits = Limits::new(Limits::FLOOR);
        self.incoming.clear();
        self.outgoing.clear();
        (self.is_blocked, self.has_answered, self.ping) = (false, false, None);
        self.demand.reset();
        self.liveness.reset();
        self.trickled = 0;
    }

    /// The last words to a server that broke the protocol, or that is not needed any more.
    pub(super) fn say_goodbye(&mut self, code: GoodbyeCode) {
        Goodbye::new(code, "").encode(self.outgoing.buffer());
    }

    /// Takes every whole frame.
    ///
    /// # Errors
    /// When the connection is over.
    pub(super) fn on_bytes(&mut self, now: Instant, fresh: &[u8]) -> Result<(), Over> {
        self.trickled += fresh.len();
        let mut reading = self.incoming.feed(fresh);
        loop {
            let decoded = decode_from_server(reading.rest(), &self.limits)
                .map_err(|error| Over::Broken(error.goodbye_code()))?;
            let Some((frame, length)) = decoded else { break };
            self.take(now, frame)?;
            reading.take(length);
        }
        // A byte now and then is none: a server that trickles one frame would keep its calls for ever.
        if reading.used() > 0 || self.trickled >= SIGN_OF_LIFE {
            self.trickled = 0;
            self.liveness.on_heard(now);
        }
        self.incoming.keep(reading);
        Ok(())
    }

    /// Puts what may be sent among the outgoing bytes, and ends what waited too long.
    ///
    /// # Errors
    /// When the connection is over.
    pub(super) fn run(&mut self, now: Instant) -> Result<(), Over> {
        while let Some(action) = self.calls.poll(now, self.may_send()) {
            self.carry_out(now, &action);
        }
        if self.phase == Phase::Offline {
            return Ok(());
        }
        self.liveness.expect(now, self.is_agreed() && self.calls.load() > 0);
        self.liveness.look(now)?;
        if self.may_send()
            && let Some(demand) = self.demand.poll(now)
        {
            demand.encode(self.outgoing.buffer());
        }
        if let Some(token) = self.liveness.next_ping() {
            Ping { token }.encode(self.outgoing.buffer());
        }
        // One at a time, and none for a server that does not read: it would be for nothing.
        if self.outgoing.unsent() < self.output_max
            && let Some(token) = self.ping.take()
        {
            Pong { token }.encode(self.outgoing.buffer());
        }
        Ok(())
    }

    /// Hands bytes to the kernel.
    pub(super) fn flush(&mut self, now: Instant, stream: &Stream) -> Flushed {
        let before = self.outgoing.unsent();
        // TLS may hold what the kernel had no room for.
        if stream.push() == Transfer::Closed {
            return Flushed::Closed;
        }
        let flushed = self.outgoing.flush(stream);
        if self.is_blocked && self.outgoing.unsent() < before {
            self.liveness.on_progress(now);
        }
        self.is_blocked = flushed == Flushed::Blocked;
        flushed
    }

    pub(super) fn is_agreed(&self) -> bool {
        matches!(self.phase, Phase::Agreed | Phase::Draining)
    }

    /// Whether calls that come now may soon be sent.
    pub(super) fn is_well(&self) -> bool {
        self.phase == Phase::Agreed && !self.liveness.is_doubtful()
    }

    /// Whether calls that wait here had better go elsewhere, although the connection stands.
    pub(super) fn is_unwell(&self) -> bool {
        self.phase == Phase::Draining || self.liveness.is_doubtful()
    }

    pub(super) const fn has_answered(&self) -> bool {
        self.has_answered
    }

    pub(super) const fn objective(&self) -> Option<Duration> {
        self.objective
    }

    pub(super) const fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let may_send = self.may_send();
        let demand = if may_send { self.demand.next_deadline() } else { None };
        let calls = self.calls.next_deadline(may_send);
        [calls, demand, self.liveness.next_deadline()].into_iter().flatten().min()
    }

    /// Whether a request may go now, for all but the control's window.
    fn may_send(&self) -> bool {
        let has_room = self.outgoing.unsent() < self.output_max
            && self.calls.outstanding() < self.outstanding_max;
        match self.phase {
            Phase::Offline | Phase::Draining => false,
            Phase::Agreed => has_room,
            // One request, and only in a frame that every server takes.
            Phase::Greeting => {
                !self.has_replicas
                    && self.calls.outstanding() == 0
                    && self.calls.next_fits(&self.limits)
            }
        }
    }

    fn carry_out(&mut self, now: Instant, action: &Action) {
        match *action {
            Action::Send(ref dispatch) => {
                self.calls.send(now, dispatch, &self.limits, self.outgoing.buffer());
                self.demand.on_request();
            }
            Action::Demand { demand, acked } => self.demand.note(Demand { demand, acked }),
            Action::Deregister => Deregister.encode(self.outgoing.buffer()),
            Action::Drop(..) => {}
        }
    }

    fn take(&mut self, now: Instant, frame: ServerFrame<'_>) -> Result<(), Over> {
        match (frame, self.phase) {
            (ServerFrame::Goodbye(goodbye), _) => Err(Over::Goodbye { taken: goodbye.taken }),
            (ServerFrame::Welcome(welcome), Phase::Greeting) => {
                self.welcome(now, &welcome);
                Ok(())
            }
            (_, Phase::Offline | Phase::Greeting) | (ServerFrame::Welcome(_), _) => {
                Err(Over::Broken(GoodbyeCode::Protocol))
            }
            (ServerFrame::Response(response), _) => self.respond(now, &response),
            (ServerFrame::Reject(reject), _) => self.reject(now, &reject),
            (ServerFrame::Credit(credit), _) => {
                self.calls.on_credit(now, credit.grant, credit.stamp);
                Ok(())
            }
            (ServerFrame::Ping(ping), _) => {
                self.ping = Some(ping.token);
                Ok(())
            }
            (ServerFrame::Pong(_), _) => Ok(()),
        }
    }

    fn welcome(&mut self, now: Instant, welcome: &Welcome) {
        self.phase = Phase::Agreed;
        self.limits = Limits::new(self.hello.max_frame).agree(welcome.max_frame);
        self.calls.on_welcome(now, welcome.grant, welcome.stamp);
        self.objective = welcome.slo();
        if let Some(objective) = self.objective {
            self.calls.on_objective(objective);
        }
    }

    fn respond(&mut self, now: Instant, response: &Response<'_>) -> Result<(), Over> {
        let answered = self.calls.answered(now, &response.head, Outcome::Served)?;
        self.demand.on_answer();
        self.has_answered = true;
        if let Some((entry, reply)) = answered {
            let (status, payload) = (response.status, response.payload.to_vec());
            let response = End::Response { status, payload, reply };
            let fault = Fault::of(status).map(|fault| End::Fault { fault, reply });
            self.calls.end(now, entry, fault.unwrap_or(response));
        }
        Ok(())
    }

    fn reject(&mut self, now: Instant, reject: &Reject) -> Result<(), Over> {
        let reason = u8::try_from(reject.reason).ok().and_then(Reason::from_code);
        // The control needs some reason; an unknown one is a shed like any other.
        let outcome = Outcome::Shed(reason.unwrap_or(Reason::Limit));
        let answered = self.calls.answered(now, &reject.head, outcome)?;
        self.demand.on_answer();
        let is_draining = reason == Some(Reason::Draining);
        self.has_answered |= !is_draining;
        if is_draining && self.has_replicas {
            self.phase = Phase::Draining;
        }
        if let Some((entry, reply)) = answered {
            self.calls.end(now, entry, End::Rejected { reason, reply });
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
