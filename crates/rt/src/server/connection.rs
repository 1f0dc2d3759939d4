//! One client's connection: its socket, and what each stage keeps of it.

use super::input::Input;
use super::key::ConnectionKey;
use super::output::Output;
use super::work::Work;
use crate::net::{PeerRef, Stream};
use crate::poll::{Interest, Poller};
use tailwater_control::{Offer, Stamps};
use tailwater_core::{Instant, Pause};
use tailwater_wire::{GoodbyeCode, Limits};

/// How far a connection has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Its HELLO has not come; it is overdue at this time.
    Greeting(Instant),
    /// It calls.
    Open,
    /// It takes nothing more and says goodbye once its requests are answered.
    Ending(Box<Farewell>),
    /// It was said goodbye to, and is closed at this time at the latest.
    Closing(Instant),
}

/// Why a connection ends, before it can be said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Farewell {
    pub(super) code: GoodbyeCode,
    pub(super) text: String,
    /// When it is said although requests are not answered.
    pub(super) due: Instant,
}

pub(super) struct Connection {
    pub(super) key: ConnectionKey,
    pub(super) stream: Stream,
    pub(super) phase: Phase,
    /// It speaks our version.
    pub(super) is_greeted: bool,
    pub(super) limits: Limits,
    pub(super) tenant: u32,
    /// The client's number, as HELLO says; zero for none.
    pub(super) client_id: u64,
    /// Known once HELLO is there, and with it TLS's handshake over.
    pub(super) peer: PeerRef,
    /// The newest offer, repeated on answers that the controller does not see.
    pub(super) offer: Offer,
    /// What it was sent and has not returned; kept only where requests have budgets.
    pub(super) stamps: Stamps,
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) work: Work,
    /// When `liveness` looks at it next.
    pub(super) look_at: Option<Instant>,
    interest: Interest,
}

impl Connection {
    /// One whose HELLO is due at `hello`.
    pub(super) fn new(key: ConnectionKey, stream: Stream, now: Instant, hello: Instant) -> Self {
        Self {
            key,
            stream,
            phase: Phase::Greeting(hello),
            is_greeted: false,
            // Strangers get no more than this buffered; HELLO fits.
            limits: Limits::new(Limits::FLOOR),
            tenant: 0,
            client_id: 0,
            peer: PeerRef::default(),
            offer: Offer { window: 0, seq: 0, level: 0, pause: Pause::NONE },
            stamps: Stamps::default(),
            input: Input::new(now),
            output: Output::default(),
            work: Work::default(),
            look_at: None,
            interest: Interest::READ,
        }
    }

    /// Its frames are taken; otherwise what it sends is thrown away.
    pub(super) const fn is_heard(&self) -> bool {
        matches!(self.phase, Phase::Greeting(_) | Phase::Open)
    }

    /// Its requests are answered.
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Ending(_))
    }

    /// Its socket is read: not while its output is above `high`, or its allowance of frames used up.
    pub(super) fn is_read(&self, high: usize) -> bool {
        !self.is_heard() || (self.output.unsent() < high && !self.input.is_paused())
    }

    /// Has the poller watch for what this connection can use. False when the kernel refuses.
    pub(super) fn watch(&mut self, poller: &Poller, high: usize) -> bool {
        let (readable, writable) = (self.is_read(high), self.output.is_blocked());
        let wanted = self.stream.interest(Interest { readable, writable });
        if self.interest == wanted {
            return true;
        }
        self.interest = wanted;
        poller.modify(&self.stream, self.key.token(), wanted).is_ok()
    }

    /// Bytes of it wait of which the poller does not tell, and may be taken now.
    pub(super) fn wants_go(&self, high: usize) -> bool {
        let waits = self.input.has_leftover() && self.is_heard();
        (waits || self.stream.has_unread()) && self.is_read(high)
    }
}
