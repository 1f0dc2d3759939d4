//! How long a frame may be, and so how much memory a peer can make us hold.

use crate::error::PayloadTooLong;
use crate::kind::{FrameKind, PREFIX_LEN};

/// Most bytes of text in a GOODBYE.
pub const GOODBYE_TEXT_MAX: usize = 256;
/// Bytes in which a GOODBYE says how many requests were read, where it does.
pub(crate) const GOODBYE_TAKEN: usize = 8;

/// The longest frame that a connection carries; checked once, here, and trusted afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    max_frame: u32,
}

impl Limits {
    /// Every implementation accepts frames up to this length, in bytes: a client may send so much
    /// before it has heard what the server accepts.
    pub const FLOOR: u32 = 4 << 10;
    /// What is used when nobody says otherwise, in bytes.
    pub const DEFAULT: u32 = 1 << 20;
    /// No limit goes above this, in bytes: a reader must hold a whole frame per connection.
    pub const CEILING: u32 = 64 << 20;

    /// Frames up to `max_frame` bytes, prefix included; moved into `FLOOR..=CEILING`. Too small and
    /// large payloads cannot be sent at all; too large and each connection may cost that much memory.
    #[must_use]
    pub const fn new(max_frame: u32) -> Self {
        let max_frame = if max_frame < Self::FLOOR {
            Self::FLOOR
        } else if max_frame > Self::CEILING {
            Self::CEILING
        } else {
            max_frame
        };
        Self { max_frame }
    }

    /// What both sides accept, when the peer's HELLO or WELCOME says `theirs`.
    #[must_use]
    pub const fn agree(self, theirs: u32) -> Self {
        Self::new(if theirs < self.max_frame { theirs } else { self.max_frame })
    }

    /// The longest frame in bytes, prefix included.
    #[must_use]
    #[inline]
    pub const fn max_frame(&self) -> u32 {
        self.max_frame
    }

    /// The longest frame of this kind, in bytes.
    #[must_use]
    #[inline]
    pub const fn frame_max(&self, kind: FrameKind) -> usize {
        match kind {
            FrameKind::Request | FrameKind::Response => self.max_frame as usize,
            // Later versions may append fields, and no limit has been agreed on yet.
            FrameKind::Hello => Self::FLOOR as usize,
            FrameKind::Goodbye => PREFIX_LEN + GOODBYE_TAKEN + GOODBYE_TEXT_MAX,
            other => other.header_len(),
        }
    }

    /// The longest payload of a REQUEST, in bytes.
    #[must_use]
    pub const fn request_payload_max(&self) -> usize {
        self.max_frame as usize - FrameKind::Request.header_len()
    }

    /// The longest payload of a RESPONSE, in bytes.
    #[must_use]
    pub const fn response_payload_max(&self) -> usize {
        self.max_frame as usize - FrameKind::Response.header_len()
    }

    /// The length of a frame of `kind` with this much payload, for its `len` field.
    #[inline]
    pub(crate) const fn frame_len(
        &self,
        kind: FrameKind,
        payload: usize,
    ) -> Result<u32, PayloadTooLong> {
        let max = self.max_frame as usize - kind.header_len();
        if payload > max {
            return Err(PayloadTooLong { kind, found: payload, max });
        }
        // Not above max_frame, which is a u32.
        Ok((kind.header_len() + payload) as u32)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stay_between_floor_and_ceiling() {
        assert_eq!(Limits::new(0).max_frame(), Limits::FLOOR);
        assert_eq!(Limits::new(u32::MAX).max_frame(), Limits::CEILING);
        assert_eq!(Limits::default().max_frame(), 1_048_576);
    }

    #[test]
    fn every_kind_fits_between_its_bounds_even_under_the_floor() {
        let limits = Limits::new(0);
        for kind in FrameKind::ALL {
            assert!(kind.header_len() <= limits.frame_max(kind), "{kind:?}");
        }
    }

    #[test]
    fn two_sides_agree_on_the_smaller_limit_whoever_asks() {
        let (small, large) = (Limits::new(10_000), Limits::new(2_000_000));
        assert_eq!(small.agree(large.max_frame()), small);
        assert_eq!(large.agree(small.max_frame()), small);
        assert_eq!(large.agree(1), Limits::new(Limits::FLOOR));
    }
}
