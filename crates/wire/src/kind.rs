//! The kinds of frames: who may send each and how long it may be.

/// Bytes of the prefix that starts every frame: `len: u32, kind: u8, flags: u8, code: u16`.
pub const PREFIX_LEN: usize = 8;

/// The side that sent a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The side that connected.
    Client,
    /// The side that listened.
    Server,
}

impl Side {
    /// A word for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// What a frame is. The discriminants are the wire's kind bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// First frame of a client.
    Hello = 1,
    /// The server's answer to it.
    Welcome = 2,
    /// A call.
    Request = 3,
    /// Its answer.
    Response = 4,
    /// Its refusal.
    Reject = 5,
    /// An offer that no response could carry.
    Credit = 6,
    /// Demand that no request could carry.
    Demand = 7,
    /// The client gives its credits back.
    Deregister = 8,
    /// The sender's last frame, with a reason.
    Goodbye = 9,
    /// The caller gave a call up.
    Cancel = 10,
    /// Asks whether the peer is there.
    Ping = 11,
    /// Its answer.
    Pong = 12,
}

impl FrameKind {
    /// Every kind, in order of its byte.
    pub const ALL: [Self; 12] = [
        Self::Hello,
        Self::Welcome,
        Self::Request,
        Self::Response,
        Self::Reject,
        Self::Credit,
        Self::Demand,
        Self::Deregister,
        Self::Goodbye,
        Self::Cancel,
        Self::Ping,
        Self::Pong,
    ];

    /// The kind behind a byte; `None` for bytes that version 2 does not know.
    #[must_use]
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        if byte == 0 || byte as usize > Self::ALL.len() {
            return None;
        }
        Some(Self::ALL[byte as usize - 1])
    }

    /// The name in `docs/protocol.md`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "HELLO",
            Self::Welcome => "WELCOME",
            Self::Request => "REQUEST",
            Self::Response => "RESPONSE",
            Self::Reject => "REJECT",
            Self::Credit => "CREDIT",
            Self::Demand => "DEMAND",
            Self::Deregister => "DEREGISTER",
            Self::Goodbye => "GOODBYE",
            Self::Cancel => "CANCEL",
            Self::Ping => "PING",
            Self::Pong => "PONG",
        }
    }

    /// Bytes of its fixed part, prefix included: the shortest frame of this kind.
    #[must_use]
    #[inline]
    pub const fn header_len(self) -> usize {
        match self {
            Self::Hello => 36,
            Self::Request => 48,
            Self::Welcome | Self::Response | Self::Reject => 40,
            Self::Credit => 24,
            Self::Demand | Self::Cancel | Self::Ping | Self::Pong => 16,
            Self::Deregister | Self::Goodbye => PREFIX_LEN,
        }
    }

    /// Whether `peer` may send it.
    #[must_use]
    #[inline]
    pub const fn comes_from(self, peer: Side) -> bool {
        match self {
            Self::Goodbye | Self::Ping | Self::Pong => true,
            Self::Hello | Self::Request | Self::Demand | Self::Deregister | Self::Cancel => {
                matches!(peer, Side::Client)
            }
            Self::Welcome | Self::Response | Self::Reject | Self::Credit => {
                matches!(peer, Side::Server)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_kinds_are_one_to_one() {
        for byte in 0..=u8::MAX {
            match FrameKind::from_byte(byte) {
                Some(kind) => assert_eq!(kind as u8, byte),
                None => assert!(byte == 0 || usize::from(byte) > FrameKind::ALL.len()),
            }
        }
    }

    #[test]
    fn every_kind_has_a_sender() {
        for kind in FrameKind::ALL {
            assert!(kind.comes_from(Side::Client) || kind.comes_from(Side::Server), "{kind:?}");
        }
    }
}
