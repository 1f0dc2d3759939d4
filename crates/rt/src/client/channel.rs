//! One client connection as a state machine over a socket, driven by whatever owns the poller.
//!
//! It holds no thread and reads no clock. Facts enter by [`Channel::submit`] and [`Channel::on_ready`],
//! [`Channel::drive`] acts on them, and calls end by [`Channel::poll_event`].

use super::config::ChannelConfig;
use super::event::{Event, NewCall};
use super::link::Link;
use super::over::Over;
use super::session::Session;
use crate::framing::Flushed;
use crate::net::{DialError, Stream, Transfer};
use crate::poll::{Interest, Poller, Readiness};
use std::time::Duration;
use tailwater_control::Client as Control;
use tailwater_control::retry::Load;
use tailwater_core::{Instant, RequestId, Rng};
use tailwater_wire::GoodbyeCode;

/// One client connection: its socket, its protocol and its losses.
pub struct Channel {
    link: Link,
    session: Session,
    lost: Losses,
}

/// Connections and attempts that are over, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Closed, broken off, or refused.
    pub closed: u64,
    /// Ended by a GOODBYE of the server.
    pub goodbyes: u64,
    /// Given up because nothing was heard for too long.
    pub silent: u64,
    /// Given up because the server broke the protocol.
    pub broken: u64,
}

/// How a server stands for the calls of a channel. Every driver of channels asks here where calls go and whether they stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// A call that comes now may soon be sent: the connection stands, the server does not drain, and it has answered
    /// what it was asked.
    Well,
    /// It is being reached for the first time, or for a short time: calls that wait there go on waiting.
    Unknown,
    /// Calls that wait there had better go elsewhere: the last attempt has failed or takes long, or the server drains or is
    /// silent.
    Unwell,
}

impl Losses {
    /// Of several channels together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            closed: self.closed + other.closed,
            goodbyes: self.goodbyes + other.goodbyes,
            silent: self.silent + other.silent,
            broken: self.broken + other.broken,
        }
    }

    /// Whatever the cause.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.closed + self.goodbyes + self.silent + self.broken
    }
}

/// The number of a client at the replica in this place. Both ends name calls by it, so that no two should have the same. The
/// first has the client's own. The others' are drawn from that: a sum may be another client's.
pub(super) fn number_at(place: u64, own: u64) -> u64 {
    let mut rng = Rng::from_seed(own).split("replicas");
    (0..place).fold(own, |_, _| rng.u64())
}

impl Channel {
    /// A channel that will register with pollers under `key`. It connects at the first
    /// [`Channel::drive`]. The configuration is trusted: see [`ChannelConfig::check`].
    #[must_use]
    pub fn new(config: ChannelConfig, key: u64, control: Control) -> Self {
        Self::numbered(&config, key, control, config.client_id, false)
    }

    /// The same to one of several replicas, by its place among them, which decides the number of a client that has one
    /// ([`ChannelConfig::client_id`]). It keeps the arguments of its calls until they end, for another try elsewhere. None goes
    /// to a server that has not said WELCOME.
    #[must_use]
    pub fn to_replica(config: &ChannelConfig, place: u64, key: u64, control: Control) -> Self {
        let number = match config.client_id {
            0 => 0,
            own => number_at(place, own),
        };
        Self::numbered(config, key, control, number, true)
    }

    /// A channel whose client has this number, whatever its configuration says: its jitter, and what it tells the
    /// server. One of several replicas keeps the arguments of its calls until they end, and sends none to a server that has
    /// not said WELCOME.
    pub(super) fn numbered(
        config: &ChannelConfig,
        key: u64,
        control: Control,
        number: u64,
        has_replicas: bool,
    ) -> Self {
        Self {
            link: Link::new(config, key, number),
            session: Session::new(config, control, number, has_replicas),
            lost: Losses::default(),
        }
    }

    /// Hands a call over; `token` comes back in its [`Event`]. Drive afterwards. The number returned is
    /// for [`Channel::recall`] and [`Channel::cancel`].
    pub fn submit(&mut self, now: Instant, token: u64, call: NewCall) -> RequestId {
        self.session.submit(now, token, call)
    }

    /// Takes a call back that has not been sent; it then ends in no [`Event`]. `None` for one that was sent
    /// or has ended.
    pub fn recall(&mut self, id: RequestId) -> Option<NewCall> {
        self.session.recall(id)
    }

    /// The call's answer is not wanted any more. It ends in no [`Event`]: if it was sent the server is told to
    /// end it, and it counts as outstanding until the server has answered. Nothing happens to a call that
    /// has ended. Drive afterwards.
    pub fn cancel(&mut self, now: Instant, id: RequestId) {
        if let Some(sent) = self.session.cancel(id) {
            self.session.doubt(now, sent);
        }
    }

    /// The same for a call that another answered before it. It may have been sent just now: that nothing was heard since
    /// casts no doubt on the server.
    pub(super) fn withdraw(&mut self, id: RequestId) {
        self.session.cancel(id);
    }

    /// The poller says that something can be done. Reads once, so that no connection holds up others;
    /// `scratch` is where to. True if that was filled, so that there may be more. Drive afterwards.
    pub fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
    ) -> bool {
        match self.link.on_ready(poller, readiness) {
            Ok(true) => {
                self.session.on_connected(now);
                // A server may have spoken right behind TLS's handshake.
                self.link.stream().is_some_and(Stream::has_unread) && self.read(now, scratch)
            }
            Ok(false) => readiness.readable && self.read(now, scratch),
            Err(failure) => {
                self.end(now, Over::Closed, failure);
                false
            }
        }
    }

    /// Does whatever is due: connects, sends what may be sent, ends what waited too long.
    pub fn drive(&mut self, now: Instant, poller: &Poller) {
        self.link.begin(now, poller);
        if self.link.is_overdue(now) {
            self.lose(now, Over::Silent);
        }
        if let Err(over) = self.session.run(now) {
            self.lose(now, over);
        }
        if !self.flush(now, poller) {
            self.lose(now, Over::Closed);
        }
    }

    /// A call that has ended. To be asked for until there is none after anything else was called. Calls
    /// bound how many there are.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.session.poll_event()
    }

    /// When [`Channel::drive`] must be called at the latest.
    #[must_use]
    pub fn next_deadline(&self, now: Instant) -> Option<Instant> {
        [self.link.next_deadline(now), self.session.next_deadline()].into_iter().flatten().min()
    }

    /// Closes for good: what was sent and not answered ends as lost.
    pub fn close(&mut self, now: Instant) {
        self.part(now, GoodbyeCode::Done);
        self.link.close();
        self.session.on_lost(now, Over::Closed);
    }

    /// Whether the server has said WELCOME and the connection stands.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.link.is_up()
    }

    /// How the server stands now. Changed by whatever else is called, and by time.
    #[must_use]
    pub fn health(&self, now: Instant) -> Health {
        if self.session.is_well() {
            Health::Well
        } else if self.link.is_down(now) || self.session.is_unwell() {
            Health::Unwell
        } else {
            Health::Unknown
        }
    }

    /// Calls that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.session.calls().unfinished()
    }

    /// Whether this call waits to be sent.
    #[must_use]
    pub fn is_waiting(&self, id: RequestId) -> bool {
        self.session.calls().is_waiting(id)
    }

    /// Calls that the server has, or will have, those included that were cancelled and not answered; whether some
    /// of them wait; and whether it wants none now.
    #[must_use]
    pub fn load(&self, now: Instant) -> Load {
        let calls = self.session.calls();
        let has_waiting = calls.has_waiting();
        Load { is_paused: calls.is_paused(now), calls: calls.load(), has_waiting }
    }

    /// Requests on their way, those included that were cancelled and not answered.
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.session.calls().outstanding()
    }

    /// The latency that the server aims at; `None` before the first connection, or when it states none.
    #[must_use]
    pub const fn objective(&self) -> Option<Duration> {
        self.session.objective()
    }

    /// Why the last attempt to connect failed, or the last connection ended. `None` while one stands, and
    /// before anything has ended.
    #[must_use]
    pub const fn failure(&self) -> Option<&DialError> {
        self.link.failure()
    }

    /// Connections and attempts that are over.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.lost
    }

    /// True if there may be more.
    fn read(&mut self, now: Instant, scratch: &mut [u8]) -> bool {
        let mut is_filled = false;
        while let Some(stream) = self.link.stream() {
            let heard = match stream.read(scratch) {
                Transfer::Bytes(count) => {
                    is_filled = count == scratch.len();
                    self.session.on_bytes(now, &scratch[..count])
                }
                Transfer::WouldBlock => Ok(()),
                Transfer::Closed => Err(Over::Closed),
            };
            // The poller does not tell of what TLS has decrypted already.
            let has_unread = stream.has_unread();
            if self.session.is_agreed() {
                self.link.on_welcome();
            }
            if self.session.has_answered() {
                self.link.on_answer();
            }
            match heard {
                Err(over) => {
                    self.lose(now, over);
                    return false;
                }
                Ok(()) if has_unread => {}
                Ok(()) => return is_filled,
            }
        }
        false
    }

    /// False when the connection is over.
    fn flush(&mut self, now: Instant, poller: &Poller) -> bool {
        let Some(stream) = self.link.stream() else { return true };
        let wanted = match self.session.flush(now, stream) {
            Flushed::Done => Interest::READ,
            Flushed::Blocked => Interest { readable: true, writable: true },
            Flushed::Closed => return false,
        };
        self.link.watch(poller, wanted).is_ok()
    }

    fn lose(&mut self, now: Instant, over: Over) {
        let failure = self.link.failure_of(match over {
            Over::Closed => "the connection was closed",
            Over::Goodbye { .. } => "the server ended the connection",
            Over::Silent => "the server did not answer in time",
            Over::Broken(_) => "what answers there does not speak tailwater's protocol",
        });
        self.end(now, over, failure);
    }

    fn end(&mut self, now: Instant, over: Over, failure: DialError) {
        match over {
            Over::Closed => self.lost.closed += 1,
            Over::Goodbye { .. } => self.lost.goodbyes += 1,
            Over::Silent => self.lost.silent += 1,
            Over::Broken(code) => {
                self.lost.broken += 1;
                self.part(now, code);
            }
        }
        self.link.lose(now, failure);
        self.session.on_lost(now, over);
    }

    /// Says why, as far as the socket takes it at once.
    fn part(&mut self, now: Instant, code: GoodbyeCode) {
        if let Some(stream) = self.link.stream() {
            self.session.say_goodbye(code);
            self.session.flush(now, stream);
        }
    }
}
