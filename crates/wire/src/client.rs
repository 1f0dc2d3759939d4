//! What a client sends: HELLO, REQUEST, DEMAND, DEREGISTER, CANCEL, PING, PONG, GOODBYE.

use crate::bytes::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::error::{DecodeError, PayloadTooLong};
use crate::goodbye::Goodbye;
use crate::kind::{FrameKind, PREFIX_LEN, Side};
use crate::limits::Limits;
use crate::ping::{Ping, Pong};
use crate::prefix::{Prefix, prefix_bytes, put_prefix, split};
use crate::version::MAGIC;
use std::time::Duration;
use tailwater_core::{MethodId, Nanos, RequestId, Stamp};

/// A frame that came from a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientFrame<'a> {
    /// First of all; never again.
    Hello(Hello),
    /// A call.
    Request(Request<'a>),
    /// How much waits, without a call.
    Demand(Demand),
    /// The credits come back.
    Deregister(Deregister),
    /// A call was given up.
    Cancel(Cancel),
    /// Is the server there?
    Ping(Ping),
    /// The client is there.
    Pong(Pong),
    /// The client closes.
    Goodbye(Goodbye<'a>),
}

/// HELLO: who the client is and what it can do. Its layout is the same in every version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The oldest version it speaks.
    pub version_min: u16,
    /// The newest version it speaks.
    pub version_max: u16,
    /// Optional features it would like, as bits; version 2 defines none.
    pub features: u32,
    /// The longest frame it accepts, in bytes.
    pub max_frame: u32,
    /// Its own name for itself, for logs; zero when it has none.
    pub client_id: u64,
    /// On whose behalf it works unless a request says otherwise; zero for nobody in particular.
    pub tenant: u32,
}

/// REQUEST: a call with the control fields that ride on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// Comes back in the answer; unique among the connection's calls in flight.
    pub id: RequestId,
    /// What is called.
    pub method: MethodId,
    /// Registration rides on this request.
    pub register: bool,
    /// Calls that wait at the client behind this one.
    pub demand: u32,
    /// The newest window sequence the client knew.
    pub acked: u32,
    /// The newest server stamp, coming back once.
    pub echo: Option<Echo>,
    /// The client's clock when it sent this; only differences between two of them mean anything.
    pub sent_at: Stamp,
    /// What was left of the deadline, in microseconds; zero without a deadline. See [`budget_us`].
    pub budget_us: u32,
    /// On whose behalf; zero for HELLO's tenant.
    pub tenant: u32,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
    /// The arguments, uninterpreted.
    pub payload: &'a [u8],
}

/// A server stamp on its way back: network round trip = server's now − stamp − hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// As the server sent it.
    pub stamp: Stamp,
    /// How long the client kept it, in nanoseconds; `u32::MAX` is sent as one less, because it
    /// stands for "no echo".
    pub hold_ns: u32,
}

/// DEMAND: for demand synchronisation (Breakwater, Fig. 8), or when the demand falls to zero while
/// no request can say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Calls that wait at the client.
    pub demand: u32,
    /// The newest window sequence the client knew.
    pub acked: u32,
}

/// DEREGISTER: the client gives its credits back and keeps the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deregister;

/// CANCEL: the caller gave a call up. It is answered all the same: by REJECT cancelled if it was ended, or
/// as if nothing had been said if it had ended before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancel {
    /// The call; an id that is not in flight is ignored.
    pub id: RequestId,
}

/// What is left of a deadline, as [`Request::budget_us`]: rounded down, but never to zero, which
/// would mean "no deadline"; saturates at 71 minutes.
#[must_use]
#[inline]
pub fn budget_us(left: Option<Duration>) -> u32 {
    left.map_or(0, |left| u32::try_from(left.nanos() / 1000).unwrap_or(u32::MAX).max(1))
}

const HELLO: usize = FrameKind::Hello.header_len();
const REQUEST: usize = FrameKind::Request.header_len();
const DEMAND: usize = FrameKind::Demand.header_len();
const CANCEL: usize = FrameKind::Cancel.header_len();
const REGISTER: u8 = 1;
const NO_ECHO: u32 = u32::MAX;

impl<'a> ClientFrame<'a> {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// When a request's payload exceeds `limits`; then `out` is as before.
    pub fn encode(&self, limits: &Limits, out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
        match self {
            Self::Hello(hello) => hello.encode(out),
            Self::Request(request) => return request.encode(limits, out),
            Self::Demand(demand) => demand.encode(out),
            Self::Deregister(deregister) => deregister.encode(out),
            Self::Cancel(cancel) => cancel.encode(out),
            Self::Ping(ping) => ping.encode(out),
            Self::Pong(pong) => pong.encode(out),
            Self::Goodbye(goodbye) => goodbye.encode(out),
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn decode(prefix: &Prefix, frame: &'a [u8]) -> Result<Self, DecodeError> {
        match prefix.kind {
            FrameKind::Request => Ok(Self::Request(Request::decode(prefix, frame)?)),
            FrameKind::Hello => Ok(Self::Hello(Hello::decode(frame)?)),
            FrameKind::Demand => Ok(Self::Demand(Demand::decode(frame)?)),
            FrameKind::Deregister => Ok(Self::Deregister(Deregister)),
            FrameKind::Cancel => Ok(Self::Cancel(Cancel::decode(frame)?)),
            FrameKind::Ping => Ok(Self::Ping(Ping::decode(frame)?)),
            FrameKind::Pong => Ok(Self::Pong(Pong::decode(frame)?)),
            FrameKind::Goodbye => Ok(Self::Goodbye(Goodbye::decode(prefix, frame))),
            kind => Err(DecodeError::WrongDirection { kind, from: Side::Client }),
        }
    }
}

impl Hello {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = [0; HELLO];
        put_prefix(&mut head, HELLO as u32, FrameKind::Hello, 0, 0);
        put_u32(&mut head, 8, MAGIC);
        put_u16(&mut head, 12, self.version_min);
        put_u16(&mut head, 14, self.version_max);
        put_u32(&mut head, 16, self.features);
        put_u32(&mut head, 20, self.max_frame);
        put_u64(&mut head, 24, self.client_id);
        put_u32(&mut head, 32, self.tenant);
        out.extend_from_slice(&head);
    }

    /// Ignores bytes behind the known fields: later versions may append to it.
    fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        let (head, _later) = split::<HELLO>(FrameKind::Hello, frame)?;
        let magic = u32_at(head, 8);
        if magic != MAGIC {
            return Err(DecodeError::BadMagic { found: magic });
        }
        Ok(Self {
            version_min: u16_at(head, 12),
            version_max: u16_at(head, 14),
            features: u32_at(head, 16),
            max_frame: u32_at(head, 20),
            client_id: u64_at(head, 24),
            tenant: u32_at(head, 32),
        })
    }
}

impl<'a> Request<'a> {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// When the payload exceeds `limits`; then `out` is as before.
    #[inline]
    pub fn encode(&self, limits: &Limits, out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
        let len = limits.frame_len(FrameKind::Request, self.payload.len())?;
        let (stamp, hold_ns) = match self.echo {
            Some(echo) => (echo.stamp.0, echo.hold_ns.min(NO_ECHO - 1)),
            None => (0, NO_ECHO),
        };
        let mut head = [0; REQUEST];
        put_prefix(
            &mut head,
            len,
            FrameKind::Request,
            u8::from(self.register) * REGISTER,
            self.method.0,
        );
        put_u64(&mut head, 8, self.id.0);
        put_u32(&mut head, 16, self.demand);
        put_u32(&mut head, 20, self.acked);
        put_u32(&mut head, 24, stamp);
        put_u32(&mut head, 28, hold_ns);
        put_u32(&mut head, 32, self.sent_at.0);
        put_u32(&mut head, 36, self.budget_us);
        put_u32(&mut head, 40, self.tenant);
        head[44] = self.priority;
        out.reserve(len as usize);
        out.extend_from_slice(&head);
        out.extend_from_slice(self.payload);
        Ok(())
    }

    /// What was left of the deadline when it was sent; `None` without a deadline.
    #[must_use]
    #[inline]
    pub fn time_left(&self) -> Option<Duration> {
        (self.budget_us != 0).then(|| Duration::from_micros(u64::from(self.budget_us)))
    }

    #[inline(always)]
    fn decode(prefix: &Prefix, frame: &'a [u8]) -> Result<Self, DecodeError> {
        let (head, payload) = split::<REQUEST>(FrameKind::Request, frame)?;
        let hold_ns = u32_at(head, 28);
        Ok(Self {
            id: RequestId(u64_at(head, 8)),
            method: MethodId(prefix.code),
            register: prefix.flags & REGISTER != 0,
            demand: u32_at(head, 16),
            acked: u32_at(head, 20),
            echo: (hold_ns != NO_ECHO).then(|| Echo { stamp: Stamp(u32_at(head, 24)), hold_ns }),
            sent_at: Stamp(u32_at(head, 32)),
            budget_us: u32_at(head, 36),
            tenant: u32_at(head, 40),
            priority: head[44],
            payload,
        })
    }
}

impl Echo {
    /// The echo of `stamp` after keeping it for `hold`; `None` when that was a second or longer,
    /// since the stamp may have wrapped by the time it is judged.
    #[must_use]
    pub fn new(stamp: Stamp, hold: Duration) -> Option<Self> {
        let hold_ns = u32::try_from(hold.nanos()).ok()?;
        (hold < Duration::from_secs(1)).then_some(Self { stamp, hold_ns })
    }

    /// How long the client kept it.
    #[must_use]
    pub const fn hold(&self) -> Duration {
        Duration::from_nanos(self.hold_ns as u64)
    }
}

impl Demand {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = [0; DEMAND];
        put_prefix(&mut head, DEMAND as u32, FrameKind::Demand, 0, 0);
        put_u32(&mut head, 8, self.demand);
        put_u32(&mut head, 12, self.acked);
        out.extend_from_slice(&head);
    }

    fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        let (head, _) = split::<DEMAND>(FrameKind::Demand, frame)?;
        Ok(Self { demand: u32_at(head, 8), acked: u32_at(head, 12) })
    }
}

impl Cancel {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = [0; CANCEL];
        put_prefix(&mut head, CANCEL as u32, FrameKind::Cancel, 0, 0);
        put_u64(&mut head, 8, self.id.0);
        out.extend_from_slice(&head);
    }

    fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        let (head, _) = split::<CANCEL>(FrameKind::Cancel, frame)?;
        Ok(Self { id: RequestId(u64_at(head, 8)) })
    }
}

impl Deregister {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&prefix_bytes(PREFIX_LEN as u32, FrameKind::Deregister, 0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_never_turns_into_none() {
        assert_eq!(budget_us(None), 0);
        assert_eq!(budget_us(Some(Duration::ZERO)), 1);
        assert_eq!(budget_us(Some(Duration::from_nanos(2_999))), 2);
        assert_eq!(budget_us(Some(Duration::MAX)), u32::MAX);
    }

    #[test]
    fn stale_stamps_are_not_echoed() {
        assert_eq!(Echo::new(Stamp(1), Duration::from_secs(1)), None);
        let echo = Echo::new(Stamp(1), Duration::from_micros(7)).unwrap();
        assert_eq!(echo.hold(), Duration::from_micros(7));
    }

    #[test]
    fn the_longest_hold_is_not_taken_for_no_echo() {
        let sent = Request {
            id: RequestId(1),
            method: MethodId(1),
            register: false,
            demand: 0,
            acked: 0,
            echo: Some(Echo { stamp: Stamp(7), hold_ns: u32::MAX }),
            sent_at: Stamp(0),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: b"",
        };
        let mut bytes = Vec::new();
        sent.encode(&Limits::default(), &mut bytes).unwrap();
        let Ok(Some((ClientFrame::Request(found), _))) =
            crate::decode_from_client(&bytes, &Limits::default())
        else {
            panic!("a request was needed, {bytes:?} found");
        };
        let echo = Some(Echo { stamp: Stamp(7), hold_ns: u32::MAX - 1 });
        assert_eq!(found.echo, echo);
    }
}
