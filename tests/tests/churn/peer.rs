//! One client of the crowd: keeps to the protocol as long as it takes part, and to account for every
//! answer that it was promised.

use crate::link::{Came, Link};
use crate::service::{HANG, Handlers, LARGE, PATIENCE};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;
use tailwater_control::Reason;
use tailwater_core::{MethodId, Pause, RequestId, Stamp};
use tailwater_wire::{
    Cancel, Deregister, Goodbye, GoodbyeCode, Grant, Limits, Pong, ReplyHead, Request, ServerFrame,
    VERSION_MAX, VERSION_MIN, decode_from_server,
};

/// A request on its way.
struct Sent {
    method: u16,
    /// The how many-th of the connection, from zero.
    ordinal: u64,
    cancelled: bool,
}

/// One client of the crowd, on one connection.
pub(crate) struct Peer {
    link: Link,
    sent: BTreeMap<u64, Sent>,
    requests: u64,
    grant: Grant,
    greeted: bool,
    registered: bool,
    /// It does not read.
    stalled: bool,
    /// It has kept the server waiting so long that it may be sent away without its answers.
    suspect: bool,
    /// When it was last looked after.
    touched: Instant,
}

/// Whether a peer goes on.
#[derive(PartialEq, Eq)]
pub(crate) enum Life {
    /// It does.
    Goes,
    /// Its connection has ended as it should.
    Over,
}

impl Peer {
    /// Connects and says HELLO, by drips if it is one of those; `None` when nobody listens.
    pub(crate) fn connect(address: SocketAddr, drips: bool) -> Option<Self> {
        let mut link = Link::connect(address)?;
        link.say(&tailwater_tests::hello(VERSION_MIN, VERSION_MAX));
        if drips {
            link.drip(7);
        }
        link.flush();
        Some(Self {
            link,
            sent: BTreeMap::new(),
            requests: 0,
            grant: Grant { window: 1, seq: 0, level: 0, pause: Pause::NONE },
            greeted: false,
            registered: false,
            stalled: false,
            suspect: drips,
            touched: Instant::now(),
        })
    }

    /// Whether it may make a call now.
    pub(crate) fn may_call(&self) -> bool {
        let free = self.sent.len() < self.grant.window as usize;
        self.greeted && free && !self.stalled && !self.link.drips()
    }

    /// Makes a call of this number.
    pub(crate) fn call(&mut self, number: u64, method: u16, drips: bool) {
        let mut bytes = Vec::new();
        let payload = number.to_le_bytes();
        let request = Request {
            id: RequestId(number),
            method: MethodId(method),
            register: !self.registered,
            demand: 0,
            acked: self.grant.seq,
            echo: None,
            sent_at: Stamp(0),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: &payload,
        };
        request.encode(&Limits::default(), &mut bytes).expect("it fits");
        let sent = Sent { method, ordinal: self.requests, cancelled: false };
        self.requests += 1;
        self.registered = true;
        self.sent.insert(number, sent);
        self.link.say(&bytes);
        if drips {
            self.link.drip(9);
            self.suspect = true;
        }
        self.link.flush();
    }

    /// Gives up those of its calls that never end by themselves, or all.
    pub(crate) fn cancel(&mut self, all: bool) {
        let mut bytes = Vec::new();
        for (number, sent) in &mut self.sent {
            if !sent.cancelled && (all || sent.method == HANG) {
                sent.cancelled = true;
                Cancel { id: RequestId(*number) }.encode(&mut bytes);
            }
        }
        self.link.say(&bytes);
        self.link.flush();
    }

    /// Gives its credits back, if nothing is on its way.
    pub(crate) fn deregister(&mut self) {
        if self.registered && self.sent.is_empty() {
            self.registered = false;
            self.grant.window = 1;
            let mut bytes = Vec::new();
            Deregister.encode(&mut bytes);
            self.link.say(&bytes);
            self.link.flush();
        }
    }

    /// Asks for as many large answers as it may, and reads none of them.
    pub(crate) fn stall(&mut self, mut number: impl FnMut() -> u64) {
        for _ in 0..8 {
            if self.may_call() {
                self.call(number(), LARGE, false);
            }
        }
        self.stalled = true;
        self.suspect = true;
    }

    /// Reads again, and sends the rest of what it began to send.
    pub(crate) fn resume(&mut self) {
        self.stalled = false;
        self.link.hurry();
    }

    /// Answers it waits for.
    pub(crate) fn awaits(&self) -> usize {
        self.sent.len()
    }

    /// Writes and reads what can be. The error says what the server has done wrong.
    pub(crate) fn touch(&mut self, handlers: &Handlers, drains: bool) -> Result<Life, String> {
        // Where the machine is so busy that a round of all takes so long, a PING may have waited in vain.
        self.suspect |= self.touched.elapsed() > PATIENCE / 2;
        self.touched = Instant::now();
        self.link.flush();
        while !self.stalled {
            match self.link.read() {
                Came::Nothing => break,
                Came::Bytes => {
                    if self.take_frames(handlers)? == Life::Over {
                        return Ok(Life::Over);
                    }
                }
                Came::End if self.suspect || (drains && !self.greeted) => return Ok(Life::Over),
                Came::End => return Err("a connection ended without a word".into()),
            }
        }
        Ok(Life::Goes)
    }

    fn take_frames(&mut self, handlers: &Handlers) -> Result<Life, String> {
        loop {
            let decoded = decode_from_server(self.link.input(), &Limits::default());
            let Some((frame, length)) = decoded.map_err(|error| error.to_string())? else {
                return Ok(Life::Goes);
            };
            let mut pong = Vec::new();
            match frame {
                ServerFrame::Welcome(welcome) => {
                    (self.greeted, self.grant) = (true, welcome.grant);
                }
                ServerFrame::Response(response) => self.answered(response.head)?,
                ServerFrame::Reject(reject) if reject.reason == Reason::NoCredit as u16 => {
                    return Err(format!("accused although it had credit: {reject:?}"));
                }
                ServerFrame::Reject(reject) => self.answered(reject.head)?,
                ServerFrame::Credit(credit) => self.apply(credit.grant),
                ServerFrame::Ping(ping) => Pong { token: ping.token }.encode(&mut pong),
                ServerFrame::Pong(_) => {}
                ServerFrame::Goodbye(goodbye) => {
                    return self.heard_goodbye(&goodbye, handlers).map(|()| Life::Over);
                }
            }
            self.link.take(length);
            self.link.say(&pong);
            self.link.flush();
        }
    }

    fn answered(&mut self, head: ReplyHead) -> Result<(), String> {
        self.apply(head.grant);
        let number = head.id.0;
        let sent = self.sent.remove(&number);
        sent.map(drop).ok_or_else(|| format!("an answer to nothing, or a second one: {number}"))
    }

    fn apply(&mut self, grant: Grant) {
        let older = grant.seq.wrapping_sub(self.grant.seq).cast_signed() < 0;
        if self.registered && !older {
            self.grant = grant;
        }
    }

    /// What was taken must have been answered before; what was not must not have been begun.
    fn heard_goodbye(&self, goodbye: &Goodbye<'_>, handlers: &Handlers) -> Result<(), String> {
        match goodbye.reason() {
            Some(GoodbyeCode::Draining) => {}
            Some(GoodbyeCode::Idle | GoodbyeCode::SlowReader) if self.suspect => return Ok(()),
            _ => return Err(format!("an odd end: {goodbye:?}")),
        }
        // A GOODBYE in WELCOME's place has no count, and no request was taken.
        let taken = match goodbye.taken {
            None if self.greeted => return Err("a drain does not say what was taken".into()),
            taken => taken.unwrap_or(0),
        };
        for (number, sent) in &self.sent {
            let begun = handlers.begun(*number);
            if sent.ordinal < taken {
                return Err(format!("request {} of {taken} taken was not answered", sent.ordinal));
            }
            if begun > 0 {
                return Err(format!("request {} of {taken} taken was begun", sent.ordinal));
            }
        }
        Ok(())
    }
}
