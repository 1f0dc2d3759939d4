//! PING and PONG, by which either side finds out whether the other is there.

use crate::bytes::{put_u64, u64_at};
use crate::error::DecodeError;
use crate::kind::FrameKind;
use crate::prefix::{put_prefix, split};

const LEN: usize = FrameKind::Ping.header_len();

/// PING: to be answered at once by a PONG with the same token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Comes back; means nothing to the receiver.
    pub token: u64,
}

/// PONG: the answer to a PING. One that was not asked for is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pong {
    /// The PING's.
    pub token: u64,
}

impl Ping {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode(FrameKind::Ping, self.token, out);
    }

    pub(crate) fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { token: token(FrameKind::Ping, frame)? })
    }
}

impl Pong {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode(FrameKind::Pong, self.token, out);
    }

    pub(crate) fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { token: token(FrameKind::Pong, frame)? })
    }
}

fn encode(kind: FrameKind, token: u64, out: &mut Vec<u8>) {
    let mut head = [0; LEN];
    put_prefix(&mut head, LEN as u32, kind, 0, 0);
    put_u64(&mut head, 8, token);
    out.extend_from_slice(&head);
}

fn token(kind: FrameKind, frame: &[u8]) -> Result<u64, DecodeError> {
    let (head, _) = split::<LEN>(kind, frame)?;
    Ok(u64_at(head, 8))
}
