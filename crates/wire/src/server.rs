//! What a server sends: WELCOME, RESPONSE, REJECT, CREDIT, PING, PONG, GOODBYE.

use crate::bytes::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::error::{DecodeError, PayloadTooLong};
use crate::goodbye::Goodbye;
use crate::kind::{FrameKind, Side};
use crate::limits::Limits;
use crate::ping::{Ping, Pong};
use crate::prefix::{Prefix, put_prefix, split};
use crate::version::{VERSION_MAX, VERSION_MIN};
use std::time::Duration;
use tailwater_core::{Nanos, Pause, RequestId, Stamp};

/// A frame that came from a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerFrame<'a> {
    /// The answer to HELLO.
    Welcome(Welcome),
    /// The answer to a call.
    Response(Response<'a>),
    /// The refusal of a call.
    Reject(Reject),
    /// A new window, without an answer.
    Credit(Credit),
    /// Is the client there?
    Ping(Ping),
    /// The server is there.
    Pong(Pong),
    /// The server closes.
    Goodbye(Goodbye<'a>),
}

/// WELCOME: what the server chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Welcome {
    /// The version both will speak.
    pub version: u16,
    /// Those of the client's features that will be used, as bits.
    pub features: u32,
    /// The longest frame that either side may send, in bytes.
    pub max_frame: u32,
    /// The server's number for the session, for logs.
    pub session: u32,
    /// What the client may do.
    pub grant: Grant,
    /// The server's objective, in microseconds; zero when it states none.
    pub slo_us: u32,
    /// The server's clock when this left.
    pub stamp: Stamp,
}

/// RESPONSE: the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response<'a> {
    /// What it has in common with a reject.
    pub head: ReplyHead,
    /// The application's status; zero is success. From [`crate::STATUS_RESERVED`] up it is
    /// tailwater's own: see [`crate::Fault`].
    pub status: u16,
    /// The result, uninterpreted.
    pub payload: &'a [u8],
}

/// REJECT: the refusal of a call. Small, and never an echo of its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reject {
    /// What it has in common with a response.
    pub head: ReplyHead,
    /// Why; the codes of the controller's reasons. Unknown ones are refusals all the same.
    pub reason: u16,
}

/// CREDIT: sent only when no answer is due that could carry the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// What the client may do.
    pub grant: Grant,
    /// The server's clock when this left.
    pub stamp: Stamp,
}

/// The control fields that ride on every answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyHead {
    /// The call it answers.
    pub id: RequestId,
    /// What the client may do.
    pub grant: Grant,
    /// The server's clock when this left; the client echoes it once.
    pub stamp: Stamp,
    /// From the request's arrival to this answer, in nanoseconds; saturates. See [`saturating_ns`].
    pub sojourn_ns: u32,
    /// The part of it before service began, in nanoseconds; saturates.
    pub waited_ns: u32,
}

/// What the client may do from now on. Absolute, so that applying it twice changes nothing but the pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The most requests outstanding; `u32::MAX` for no limit.
    pub window: u32,
    /// Numbers the grants of a session, wrapping.
    pub seq: u32,
    /// A threshold for controllers that shed by priority at the client; zero admits all.
    pub level: u16,
    /// For so long, counted from its arrival, the client is asked to send no request.
    pub pause: Pause,
}

/// A duration as the wire's nanoseconds; everything from 4.29 s up reads `u32::MAX`.
#[must_use]
#[inline]
pub fn saturating_ns(duration: Duration) -> u32 {
    u32::try_from(duration.nanos()).unwrap_or(u32::MAX)
}

const WELCOME: usize = FrameKind::Welcome.header_len();
const REPLY: usize = FrameKind::Response.header_len();
const CREDIT: usize = FrameKind::Credit.header_len();
// Response and reject share their fixed part.
const _: () = assert!(REPLY == FrameKind::Reject.header_len());

impl<'a> ServerFrame<'a> {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// When a response's payload exceeds `limits`; then `out` is as before.
    pub fn encode(&self, limits: &Limits, out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
        match self {
            Self::Welcome(welcome) => welcome.encode(out),
            Self::Response(response) => return response.encode(limits, out),
            Self::Reject(reject) => reject.encode(out),
            Self::Credit(credit) => credit.encode(out),
            Self::Ping(ping) => ping.encode(out),
            Self::Pong(pong) => pong.encode(out),
            Self::Goodbye(goodbye) => goodbye.encode(out),
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn decode(prefix: &Prefix, frame: &'a [u8]) -> Result<Self, DecodeError> {
        match prefix.kind {
            FrameKind::Response => {
                let (head, payload) = split::<REPLY>(FrameKind::Response, frame)?;
                let head = ReplyHead::read(head);
                Ok(Self::Response(Response { head, status: prefix.code, payload }))
            }
            FrameKind::Reject => {
                let (head, _) = split::<REPLY>(FrameKind::Reject, frame)?;
                Ok(Self::Reject(Reject { head: ReplyHead::read(head), reason: prefix.code }))
            }
            FrameKind::Credit => Ok(Self::Credit(Credit::decode(frame)?)),
            FrameKind::Welcome => Ok(Self::Welcome(Welcome::decode(prefix.code, frame)?)),
            FrameKind::Ping => Ok(Self::Ping(Ping::decode(frame)?)),
            FrameKind::Pong => Ok(Self::Pong(Pong::decode(frame)?)),
            FrameKind::Goodbye => Ok(Self::Goodbye(Goodbye::decode(prefix, frame))),
            kind => Err(DecodeError::WrongDirection { kind, from: Side::Server }),
        }
    }
}

impl Welcome {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = [0; WELCOME];
        put_prefix(&mut head, WELCOME as u32, FrameKind::Welcome, 0, self.version);
        put_u32(&mut head, 8, self.features);
        put_u32(&mut head, 12, self.max_frame);
        put_u32(&mut head, 16, self.session);
        put_u32(&mut head, 20, self.grant.window);
        put_u32(&mut head, 24, self.grant.seq);
        put_u32(&mut head, 28, self.slo_us);
        put_u32(&mut head, 32, self.stamp.0);
        put_u16(&mut head, 36, self.grant.level);
        put_u16(&mut head, 38, self.grant.pause.0);
        out.extend_from_slice(&head);
    }

    /// The server's objective; `None` when it states none.
    #[must_use]
    pub fn slo(&self) -> Option<Duration> {
        (self.slo_us != 0).then(|| Duration::from_micros(u64::from(self.slo_us)))
    }

    fn decode(version: u16, frame: &[u8]) -> Result<Self, DecodeError> {
        if !(VERSION_MIN..=VERSION_MAX).contains(&version) {
            return Err(DecodeError::UnknownVersion { found: version });
        }
        let (head, _) = split::<WELCOME>(FrameKind::Welcome, frame)?;
        Ok(Self {
            version,
            features: u32_at(head, 8),
            max_frame: u32_at(head, 12),
            session: u32_at(head, 16),
            grant: Grant {
                window: u32_at(head, 20),
                seq: u32_at(head, 24),
                level: u16_at(head, 36),
                pause: Pause(u16_at(head, 38)),
            },
            slo_us: u32_at(head, 28),
            stamp: Stamp(u32_at(head, 32)),
        })
    }
}

impl Response<'_> {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// When the payload exceeds `limits`; then `out` is as before.
    #[inline]
    pub fn encode(&self, limits: &Limits, out: &mut Vec<u8>) -> Result<(), PayloadTooLong> {
        let len = limits.frame_len(FrameKind::Response, self.payload.len())?;
        let head = self.head.bytes(len, FrameKind::Response, self.status);
        out.reserve(len as usize);
        out.extend_from_slice(&head);
        out.extend_from_slice(self.payload);
        Ok(())
    }
}

impl Reject {
    /// Appends the frame to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head.bytes(REPLY as u32, FrameKind::Reject, self.reason));
    }
}

impl ReplyHead {
    #[inline(always)]
    fn bytes(&self, len: u32, kind: FrameKind, code: u16) -> [u8; REPLY] {
        let mut head = [0; REPLY];
        put_prefix(&mut head, len, kind, 0, code);
        put_u64(&mut head, 8, self.id.0);
        put_u32(&mut head, 16, self.grant.window);
        put_u32(&mut head, 20, self.grant.seq);
        put_u32(&mut head, 24, self.stamp.0);
        put_u32(&mut head, 28, self.sojourn_ns);
        put_u32(&mut head, 32, self.waited_ns);
        put_u16(&mut head, 36, self.grant.level);
        put_u16(&mut head, 38, self.grant.pause.0);
        head
    }

    #[inline(always)]
    fn read(head: &[u8; REPLY]) -> Self {
        Self {
            id: RequestId(u64_at(head, 8)),
            grant: Grant {
                window: u32_at(head, 16),
                seq: u32_at(head, 20),
                level: u16_at(head, 36),
                pause: Pause(u16_at(head, 38)),
            },
            stamp: Stamp(u32_at(head, 24)),
            sojourn_ns: u32_at(head, 28),
            waited_ns: u32_at(head, 32),
        }
    }
}

impl Credit {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut head = [0; CREDIT];
        put_prefix(&mut head, CREDIT as u32, FrameKind::Credit, 0, 0);
        put_u32(&mut head, 8, self.grant.window);
        put_u32(&mut head, 12, self.grant.seq);
        put_u32(&mut head, 16, self.stamp.0);
        put_u16(&mut head, 20, self.grant.level);
        put_u16(&mut head, 22, self.grant.pause.0);
        out.extend_from_slice(&head);
    }

    fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        let (head, _) = split::<CREDIT>(FrameKind::Credit, frame)?;
        Ok(Self {
            grant: Grant {
                window: u32_at(head, 8),
                seq: u32_at(head, 12),
                level: u16_at(head, 20),
                pause: Pause(u16_at(head, 22)),
            },
            stamp: Stamp(u32_at(head, 16)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_saturate() {
        assert_eq!(saturating_ns(Duration::from_secs(4)), 4_000_000_000);
        assert_eq!(saturating_ns(Duration::from_secs(5)), u32::MAX);
    }
}
