//! What can be wrong with bytes, and how to say it to the peer.

use crate::goodbye_code::GoodbyeCode;
use crate::kind::{FrameKind, PREFIX_LEN, Side};
use crate::version::{MAGIC, VERSION_MAX, VERSION_MIN};
use std::fmt;

/// Why bytes are not a frame. To be mended by the peer that sent them; the connection cannot go on,
/// because where the next frame starts is no longer known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// `kind` is none of ours.
    UnknownKind {
        /// The byte.
        found: u8,
    },
    /// A frame that only the other side may send.
    WrongDirection {
        /// What came.
        kind: FrameKind,
        /// The end that sent it.
        from: Side,
    },
    /// `len` is less than the kind's fixed part.
    TooShort {
        /// The kind.
        kind: FrameKind,
        /// `len`, in bytes.
        found: u32,
        /// The least, in bytes.
        needed: u32,
    },
    /// `len` is more than the kind may have under the agreed limit.
    TooLong {
        /// The kind.
        kind: FrameKind,
        /// `len`, in bytes.
        found: u32,
        /// The most, in bytes.
        max: u32,
    },
    /// HELLO does not start with the magic number: the peer speaks something else.
    BadMagic {
        /// What stood there.
        found: u32,
    },
    /// WELCOME chose a version that we do not speak.
    UnknownVersion {
        /// What it chose.
        found: u16,
    },
}

impl DecodeError {
    /// Where in the frame the offending field starts, in bytes.
    #[must_use]
    pub const fn offset(self) -> usize {
        match self {
            Self::TooShort { .. } | Self::TooLong { .. } => 0,
            Self::UnknownKind { .. } | Self::WrongDirection { .. } => 4,
            Self::UnknownVersion { .. } => 6,
            Self::BadMagic { .. } => PREFIX_LEN,
        }
    }

    /// What the GOODBYE says.
    #[must_use]
    pub const fn goodbye_code(self) -> GoodbyeCode {
        match self {
            Self::TooLong { kind: FrameKind::Request | FrameKind::Response, .. } => {
                GoodbyeCode::FrameTooLarge
            }
            Self::TooLong { .. }
            | Self::TooShort { .. }
            | Self::UnknownKind { .. }
            | Self::BadMagic { .. } => GoodbyeCode::Malformed,
            Self::WrongDirection { .. } => GoodbyeCode::Protocol,
            Self::UnknownVersion { .. } => GoodbyeCode::VersionUnsupported,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnknownKind { found } => {
                write!(f, "kind is {found}, needed one of 1 to {}", FrameKind::ALL.len())?;
                // A browser, or what asks for a server's health: the fifth byte of `GET /` or `POST /`.
                if matches!(found, b' '..=b'~') {
                    f.write_str("; this looks like text, such as HTTP, which is not spoken here")?;
                }
            }
            Self::WrongDirection { kind, from } => {
                write!(f, "{} came from the {}, which may not send it", kind.name(), from.name())?;
            }
            Self::TooShort { kind, found, needed } => {
                write!(f, "len of {} is {found} bytes, needed at least {needed}", kind.name())?;
            }
            Self::TooLong { kind, found, max } => {
                write!(f, "len of {} is {found} bytes, allowed at most {max}", kind.name())?;
            }
            Self::BadMagic { found } => {
                write!(f, "magic of HELLO is {found:#010x}, needed {:#010x}", MAGIC)?;
            }
            Self::UnknownVersion { found } => {
                write!(f, "WELCOME chose version {found}, needed {VERSION_MIN} to {VERSION_MAX}")?;
            }
        }
        write!(f, " (at byte {} of the frame)", self.offset())
    }
}

impl std::error::Error for DecodeError {}

/// A payload that does not fit the agreed frame length. To be mended by the caller; nothing was
/// written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PayloadTooLong {
    /// REQUEST or RESPONSE.
    pub kind: FrameKind,
    /// The payload's length in bytes.
    pub found: usize,
    /// The most, in bytes.
    pub max: usize,
}

impl fmt::Display for PayloadTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "payload of {} is {} bytes, allowed at most {}; raise max_frame on both sides or split it",
            self.kind.name(),
            self.found,
            self.max
        )
    }
}

impl std::error::Error for PayloadTooLong {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_found_needed_and_where() {
        let long = DecodeError::TooLong { kind: FrameKind::Request, found: 9000, max: 4096 };
        assert_eq!(
            long.to_string(),
            "len of REQUEST is 9000 bytes, allowed at most 4096 (at byte 0 of the frame)"
        );
        assert_eq!(long.goodbye_code(), GoodbyeCode::FrameTooLarge);
        let padded = DecodeError::TooLong { kind: FrameKind::Demand, found: 17, max: 16 };
        assert_eq!(padded.goodbye_code(), GoodbyeCode::Malformed);
        let kind = |found| DecodeError::UnknownKind { found }.to_string();
        let needed = format!("kind is 47, needed one of 1 to {}", FrameKind::ALL.len());
        assert!(kind(b'/').starts_with(&needed) && kind(b'/').contains("HTTP"), "{}", kind(b'/'));
        assert!(kind(b' ').contains("HTTP") && !kind(0xff).contains("HTTP"));
        let magic = DecodeError::BadMagic { found: 1 };
        assert_eq!(
            magic.to_string(),
            "magic of HELLO is 0x00000001, needed 0x52545754 (at byte 8 of the frame)"
        );
    }
}
