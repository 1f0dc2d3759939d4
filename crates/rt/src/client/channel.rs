//! One client connection as a state machine over a socket, driven by whoever owns the poller.
//!
//! It connects, says hello with the first request right behind, keeps the controller's half of the
//! client, and reconnects with back-off. It holds no thread and reads no clock.

use super::calls::{Calls, Entry};
use crate::framing::give_back;
use crate::net::{Address, KeepAlive, Stream, Transfer};
use crate::poll::{Interest, Poller, Readiness};
use std::time::Duration;
use tailwater_control::{
    Action, Call, Client as Control, Dispatch, DropReason, Offer, Outcome, Reason, Reply,
};
use tailwater_core::{Instant, MethodId, RequestId, Rng};
use tailwater_wire::{
    Demand, Deregister, Echo, Grant, Hello, Limits, PayloadTooLong, Pong, ReplyHead, Request,
    ServerFrame, VERSION_MAX, VERSION_MIN, decode_from_server,
};

/// How a channel connects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelConfig {
    /// The server.
    pub address: Address,
    /// First pause after a lost or refused connection; doubles each time. Default 10 ms.
    pub backoff_min: Duration,
    /// Longest pause. Default 1 s.
    pub backoff_max: Duration,
    /// How a TCP server whose host is gone is noticed; default: after some 30 s. `None` never notices it
    /// while nothing is sent.
    pub keep_alive: Option<KeepAlive>,
    /// Longest frame accepted, in bytes; default 1 MiB.
    pub frame_max: u32,
    /// Most unsent bytes before calls wait although there is credit; default 1 MiB.
    pub output_max: usize,
    /// The client's own name, for the server's logs; zero for none. Also decides its jitter;
    /// a [`Client`](super::Client) without a name draws one for that.
    pub client_id: u64,
}

impl ChannelConfig {
    /// Defaults for a server.
    #[must_use]
    pub const fn new(address: Address) -> Self {
        Self {
            address,
            backoff_min: Duration::from_millis(10),
            backoff_max: Duration::from_secs(1),
            keep_alive: Some(KeepAlive::DEFAULT),
            frame_max: Limits::DEFAULT,
            output_max: 1 << 20,
            client_id: 0,
        }
    }

    /// Why it cannot work like this, if it cannot.
    ///
    /// # Errors
    /// A sentence that names the field, what was found and what is needed.
    pub fn check(&self) -> Result<(), String> {
        self.keep_alive.map_or(Ok(()), |keep_alive| keep_alive.check())
    }
}

/// A call to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCall {
    /// Which procedure.
    pub method: MethodId,
    /// The arguments.
    pub payload: Vec<u8>,
    /// When the answer is worthless.
    pub deadline: Option<Instant>,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
    /// On whose behalf; zero for nobody in particular.
    pub tenant: u32,
}

/// How a call ended. Every submitted call ends in exactly one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// The server answered.
    Response {
        /// The driver's token.
        token: u64,
        /// The application's status.
        status: u16,
        /// The result; valid during the callback.
        payload: &'a [u8],
        /// From sending to receiving.
        elapsed: Duration,
        /// Its time at the server.
        sojourn: Duration,
        /// The waiting part of it.
        waited: Duration,
    },
    /// The server refused; `None` for a reason this version does not know.
    Rejected {
        /// The driver's token.
        token: u64,
        /// Why.
        reason: Option<Reason>,
        /// From sending to receiving.
        elapsed: Duration,
        /// Its time at the server.
        sojourn: Duration,
        /// The waiting part of it.
        waited: Duration,
    },
    /// It ended here.
    Dropped {
        /// The driver's token.
        token: u64,
        /// Why.
        reason: DropReason,
        /// Whether it had been sent, and so may have been carried out.
        sent: bool,
    },
    /// It does not fit the server's frames.
    TooLong {
        /// The driver's token.
        token: u64,
        /// The longest payload that fits.
        most: usize,
    },
}

enum Link {
    /// Not before this time.
    Resting(Instant),
    /// The attempt is under way.
    Connecting(Stream),
    /// It stands.
    Up(Stream),
}

/// See the module's words.
pub struct Channel {
    config: ChannelConfig,
    key: u64,
    link: Link,
    control: Control,
    calls: Calls,
    input: Vec<u8>,
    output: Vec<u8>,
    output_sent: usize,
    interest: Interest,
    limits: Limits,
    backoff: Duration,
    rng: Rng,
}

impl Channel {
    /// A channel that will register with pollers under `key`. It connects at the first
    /// [`Channel::drive`].
    #[must_use]
    pub fn new(config: ChannelConfig, key: u64, control: Control) -> Self {
        let seed = config.client_id;
        Self::seeded(config, key, control, seed)
    }

    /// A channel whose jitter is another's than its number says.
    pub(super) fn seeded(config: ChannelConfig, key: u64, control: Control, seed: u64) -> Self {
        Self {
            key,
            link: Link::Resting(Instant::ZERO),
            control,
            calls: Calls::default(),
            input: Vec::new(),
            output: Vec::new(),
            output_sent: 0,
            interest: Interest::default(),
            limits: Limits::new(config.frame_max),
            backoff: config.backoff_min,
            rng: Rng::from_seed(seed),
            config,
        }
    }

    /// Hands a call over; `token` comes back in its [`Event`]. Drive afterwards. The number returned is
    /// for [`Channel::recall`].
    pub fn submit(&mut self, now: Instant, token: u64, call: NewCall) -> RequestId {
        let (deadline, priority) = (call.deadline, call.priority);
        let id = self.calls.insert(token, call);
        self.control.submit(now, Call { id, deadline, priority });
        id
    }

    /// Takes a call back that has not been sent: true if there was such a one, which then ends in no
    /// [`Event`].
    pub fn recall(&mut self, id: RequestId) -> bool {
        self.control.cancel(id) && self.calls.remove(id).is_some()
    }

    /// Whether the connection stands.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self.link, Link::Up(_))
    }

    /// Whether the last attempt to connect has failed, or the connection was lost, and the next is not
    /// under way yet.
    #[must_use]
    pub fn is_down(&self) -> bool {
        matches!(self.link, Link::Resting(until) if until > Instant::ZERO)
    }

    /// Calls that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.calls.len()
    }

    /// Requests on their way.
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.control.outstanding()
    }

    /// Does whatever is due: connects, sends what may be sent, expires what waited too long.
    pub fn drive(&mut self, now: Instant, poller: &Poller, on_event: &mut impl FnMut(Event<'_>)) {
        if let Link::Resting(until) = self.link
            && until <= now
        {
            self.connect(now, poller);
        }
        self.carry_out(now, on_event);
        self.flush(now, poller, on_event);
    }

    /// The poller says that something can be done.
    pub fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        if matches!(self.link, Link::Connecting(_)) {
            self.conclude_connecting(now, poller, on_event);
        }
        if readiness.readable {
            self.read(now, poller, scratch, on_event);
        }
        self.drive(now, poller, on_event);
    }

    /// When [`Channel::drive`] must be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let link = if let Link::Resting(until) = self.link { Some(until) } else { None };
        // While nothing can be sent a gate that permits would only keep the driver awake.
        let control =
            if self.is_choked() { self.control.next_drop() } else { self.control.next_deadline() };
        [link, control].into_iter().flatten().min()
    }

    /// Closes in order: what was sent and not answered ends as dropped.
    pub fn close(&mut self, now: Instant, on_event: &mut impl FnMut(Event<'_>)) {
        self.lose(now, on_event);
        self.link = Link::Resting(Instant::FAR_FUTURE);
    }

    fn connect(&mut self, now: Instant, poller: &Poller) {
        let connecting = Stream::connect(&self.config.address).and_then(|stream| {
            if let Some(keep_alive) = self.config.keep_alive {
                stream.set_keep_alive(keep_alive)?;
            }
            poller.add(&stream, self.key, Interest::WRITE)?;
            Ok(stream)
        });
        self.interest = Interest::WRITE;
        self.link = match connecting {
            Ok(stream) => Link::Connecting(stream),
            Err(_) => self.rest(now),
        };
    }

    /// The pause before the next attempt: doubled each time, and spread by up to half so that a
    /// thousand clients do not come back in step.
    fn rest(&mut self, now: Instant) -> Link {
        let pause = self.backoff.mul_f64(1.0 - 0.5 * self.rng.unit());
        self.backoff = (2 * self.backoff).min(self.config.backoff_max);
        Link::Resting(now + pause)
    }

    fn conclude_connecting(
        &mut self,
        now: Instant,
        poller: &Poller,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        let Link::Connecting(stream) =
            std::mem::replace(&mut self.link, Link::Resting(Instant::ZERO))
        else {
            return;
        };
        if stream.trouble().is_some() {
            self.link = self.rest(now);
            return;
        }
        self.link = Link::Up(stream);
        self.limits = Limits::new(self.config.frame_max);
        Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: self.config.frame_max,
            client_id: self.config.client_id,
            tenant: 0,
        }
        .encode(&mut self.output);
        self.control.on_connected(now);
        self.watch(now, poller, Interest::READ, on_event);
    }

    fn carry_out(&mut self, now: Instant, on_event: &mut impl FnMut(Event<'_>)) {
        loop {
            let action =
                if self.is_choked() { self.control.poll_drop(now) } else { self.control.poll(now) };
            let Some(action) = action else { return };
            match action {
                Action::Send(dispatch) => self.send(now, &dispatch, on_event),
                Action::Drop(id, reason) => self.end(
                    id,
                    |entry| Event::Dropped { token: entry.token, reason, sent: false },
                    on_event,
                ),
                Action::Demand { demand, acked } => {
                    Demand { demand, acked }.encode(&mut self.output);
                }
                Action::Deregister => Deregister.encode(&mut self.output),
            }
        }
    }

    /// The server does not read: what is not sent yet is as much as shall be kept.
    const fn is_choked(&self) -> bool {
        self.output.len() - self.output_sent >= self.config.output_max
    }

    fn send(&mut self, now: Instant, dispatch: &Dispatch, on_event: &mut impl FnMut(Event<'_>)) {
        let Some(entry) = self.calls.get_mut(dispatch.id) else {
            return;
        };
        entry.sent = Some(now);
        let request = Request {
            id: dispatch.id,
            method: entry.call.method,
            register: dispatch.register,
            demand: dispatch.demand,
            acked: dispatch.acked,
            echo: dispatch.echo.and_then(|echo| Echo::new(echo.stamp, echo.hold)),
            sent_at: now.stamp(),
            budget_us: tailwater_wire::budget_us(dispatch.budget),
            tenant: entry.call.tenant,
            priority: dispatch.priority,
            payload: &entry.call.payload,
        };
        if let Err(PayloadTooLong { max, .. }) = request.encode(&self.limits, &mut self.output) {
            // Nothing was sent, but the gate has counted it: as far as credits go it was answered.
            self.control.on_unsent(dispatch);
            let too_long = |entry: &Entry| Event::TooLong { token: entry.token, most: max };
            self.end(dispatch.id, too_long, on_event);
        } else {
            // The arguments are with the kernel soon; ten thousand clients need not keep them.
            entry.call.payload = Vec::new();
        }
    }

    fn end<'a>(
        &mut self,
        id: RequestId,
        event: impl FnOnce(&Entry) -> Event<'a>,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        if let Some(entry) = self.calls.remove(id) {
            on_event(event(&entry));
        }
    }

    fn read(
        &mut self,
        now: Instant,
        poller: &Poller,
        scratch: &mut [u8],
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        let Link::Up(stream) = &self.link else { return };
        match stream.read(scratch) {
            Transfer::Bytes(count) => self.consume(now, &scratch[..count], on_event),
            Transfer::WouldBlock => {}
            Transfer::Closed => self.lose(now, on_event),
        }
        let _ = poller;
    }

    fn consume(&mut self, now: Instant, fresh: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        if self.input.is_empty() {
            if let Some(used) = self.parse(now, fresh, on_event) {
                self.input.extend_from_slice(&fresh[used..]);
            }
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(fresh);
            if let Some(used) = self.parse(now, &input, on_event) {
                input.drain(..used);
                give_back(&mut input);
                self.input = input;
            }
        }
    }

    /// Takes every whole frame; `None` when the connection is over.
    fn parse(
        &mut self,
        now: Instant,
        bytes: &[u8],
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Option<usize> {
        let mut used = 0;
        while let Ok(decoded) = decode_from_server(&bytes[used..], &self.limits) {
            let Some((frame, length)) = decoded else {
                return Some(used);
            };
            used += length;
            if let ServerFrame::Goodbye(_) = frame {
                break;
            }
            self.take(now, frame, on_event);
        }
        // A goodbye, or a server that does not speak our language: both are tried again later.
        self.lose(now, on_event);
        None
    }

    fn take(&mut self, now: Instant, frame: ServerFrame<'_>, on_event: &mut impl FnMut(Event<'_>)) {
        match frame {
            ServerFrame::Welcome(welcome) => {
                self.limits = self.limits.agree(welcome.max_frame);
                self.backoff = self.config.backoff_min;
                self.control.on_credit(now, offer(welcome.grant), welcome.stamp);
            }
            ServerFrame::Credit(credit) => {
                self.control.on_credit(now, offer(credit.grant), credit.stamp);
            }
            ServerFrame::Response(response) => {
                let Some((entry, elapsed)) = self.answered(now, &response.head, Outcome::Served)
                else {
                    return;
                };
                on_event(Event::Response {
                    token: entry.token,
                    status: response.status,
                    payload: response.payload,
                    elapsed,
                    sojourn: Duration::from_nanos(u64::from(response.head.sojourn_ns)),
                    waited: Duration::from_nanos(u64::from(response.head.waited_ns)),
                });
            }
            ServerFrame::Reject(reject) => {
                let reason = u8::try_from(reject.reason).ok().and_then(Reason::from_code);
                // The controller needs some reason; an unknown one is a shed like any other.
                let outcome = Outcome::Shed(reason.unwrap_or(Reason::Limit));
                if let Some((entry, elapsed)) = self.answered(now, &reject.head, outcome) {
                    on_event(Event::Rejected {
                        token: entry.token,
                        reason,
                        elapsed,
                        sojourn: Duration::from_nanos(u64::from(reject.head.sojourn_ns)),
                        waited: Duration::from_nanos(u64::from(reject.head.waited_ns)),
                    });
                }
            }
            ServerFrame::Ping(ping) => Pong { token: ping.token }.encode(&mut self.output),
            ServerFrame::Pong(_) | ServerFrame::Goodbye(_) => {}
        }
    }

    fn answered(
        &mut self,
        now: Instant,
        head: &ReplyHead,
        outcome: Outcome,
    ) -> Option<(Entry, Duration)> {
        let entry = self.calls.remove(head.id)?;
        let elapsed = now.since(entry.sent.unwrap_or(now));
        self.control.on_reply(
            now,
            &Reply {
                outcome,
                offer: offer(head.grant),
                stamp: head.stamp,
                elapsed,
                sojourn: Duration::from_nanos(u64::from(head.sojourn_ns)),
                waited: Duration::from_nanos(u64::from(head.waited_ns)),
            },
        );
        Some((entry, elapsed))
    }

    fn flush(&mut self, now: Instant, poller: &Poller, on_event: &mut impl FnMut(Event<'_>)) {
        let Link::Up(stream) = &self.link else { return };
        while self.output_sent < self.output.len() {
            match stream.write(&self.output[self.output_sent..]) {
                Transfer::Bytes(count) => self.output_sent += count,
                Transfer::WouldBlock => {
                    self.output.drain(..self.output_sent);
                    self.output_sent = 0;
                    let both = Interest { readable: true, writable: true };
                    return self.watch(now, poller, both, on_event);
                }
                Transfer::Closed => return self.lose(now, on_event),
            }
        }
        self.output.clear();
        give_back(&mut self.output);
        self.output_sent = 0;
        self.watch(now, poller, Interest::READ, on_event);
    }

    fn watch(
        &mut self,
        now: Instant,
        poller: &Poller,
        wanted: Interest,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        let Link::Up(stream) = &self.link else { return };
        if self.interest != wanted {
            self.interest = wanted;
            if poller.modify(stream, self.key, wanted).is_err() {
                self.lose(now, on_event);
            }
        }
    }

    /// The connection is over. Dropping the socket takes it out of the poller.
    fn lose(&mut self, now: Instant, on_event: &mut impl FnMut(Event<'_>)) {
        self.link = self.rest(now);
        self.input = Vec::new();
        self.output.clear();
        self.output_sent = 0;
        self.control.on_disconnected();
        for entry in self.calls.take_sent() {
            let reason = DropReason::Disconnected;
            on_event(Event::Dropped { token: entry.token, reason, sent: true });
        }
    }
}

const fn offer(grant: Grant) -> Offer {
    Offer { window: grant.window, seq: grant.seq, level: grant.level }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_control::client::{ClientConfig, Expiry, OpenGate};

    #[test]
    fn calls_end_in_time_and_once_while_the_server_does_not_read() {
        let config = ClientConfig {
            queue_max: 2,
            expiry: Expiry::After(Duration::from_micros(10)),
            announce_demand: false,
            deregister_after: None,
        };
        let mut control = Control::new(config, Box::new(OpenGate));
        control.on_connected(Instant::ZERO);
        let nowhere = Address::Tcp(([127, 0, 0, 1], 1).into());
        let config = ChannelConfig { output_max: 16, ..ChannelConfig::new(nowhere) };
        let mut channel = Channel::new(config, 0, control);
        channel.link = Link::Resting(Instant::FAR_FUTURE);
        channel.output = vec![0; 16];
        let mut ended = Vec::new();
        let mut carry_out = |channel: &mut Channel, now| {
            channel.carry_out(now, &mut |event| match event {
                Event::Dropped { token, reason, sent: false } => ended.push((token, reason)),
                other => panic!("{other:?}"),
            });
        };
        for token in 0..4 {
            let payload = Vec::new();
            let (method, deadline, priority, tenant) = (MethodId(1), None, 128, 0);
            let call = NewCall { method, payload, deadline, priority, tenant };
            channel.submit(Instant::ZERO, token, call);
            carry_out(&mut channel, Instant::ZERO);
        }
        let due = channel.next_deadline().expect("two wait");
        assert_eq!(due, Instant::from_nanos(10_000));
        carry_out(&mut channel, due);
        let (full, expired) = (DropReason::QueueFull, DropReason::Expired);
        assert_eq!(ended, [(0, full), (1, full), (2, expired), (3, expired)]);
        assert_eq!((channel.unfinished(), channel.control.next_drop()), (0, None));
    }
}
