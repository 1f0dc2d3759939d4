//! What stands before every frame: checked when it is read, and written when one is sent.
//!
//! As in `decode`, what a frame passes through is forced inline.

use crate::bytes::{put_u16, put_u32, u16_at, u32_at};
use crate::error::DecodeError;
use crate::kind::{FrameKind, PREFIX_LEN, Side};
use crate::limits::Limits;

/// A checked prefix.
pub(crate) struct Prefix {
    /// Bytes of the whole frame; within the bounds of its kind.
    pub(crate) len: usize,
    /// What it is; the peer may send it.
    pub(crate) kind: FrameKind,
    /// Unknown bits are still in it.
    pub(crate) flags: u8,
    /// Its meaning depends on the kind.
    pub(crate) code: u16,
}

impl Prefix {
    /// The prefix at the head of what `from` sent; `None` while bytes of it are missing.
    ///
    /// # Errors
    /// When no frame of that side begins so.
    #[inline(always)]
    pub(crate) fn read(
        buf: &[u8],
        from: Side,
        limits: &Limits,
    ) -> Result<Option<Self>, DecodeError> {
        let Some(head) = buf.first_chunk::<PREFIX_LEN>() else {
            return Ok(None);
        };
        let Some(kind) = FrameKind::from_byte(head[4]) else {
            return Err(DecodeError::UnknownKind { found: head[4] });
        };
        if !kind.comes_from(from) {
            return Err(DecodeError::WrongDirection { kind, from });
        }
        let len = u32_at(head, 0);
        if (len as usize) < kind.header_len() || len as usize > limits.frame_max(kind) {
            return Err(bad_len(kind, len, limits));
        }
        Ok(Some(Self { len: len as usize, kind, flags: head[5], code: u16_at(head, 6) }))
    }
}

/// Splits a frame into its fixed part and the rest.
#[inline(always)]
pub(crate) fn split<const N: usize>(
    kind: FrameKind,
    frame: &[u8],
) -> Result<(&[u8; N], &[u8]), DecodeError> {
    // The prefix check has made sure of it; the compiler cannot know, and a panic is never due.
    frame.split_first_chunk::<N>().ok_or_else(|| too_short(kind, saturated(frame.len())))
}

/// A prefix to be sent.
#[inline(always)]
pub(crate) fn prefix_bytes(len: u32, kind: FrameKind, flags: u8, code: u16) -> [u8; PREFIX_LEN] {
    let mut head = [0; PREFIX_LEN];
    put_prefix(&mut head, len, kind, flags, code);
    head
}

/// Writes the prefix into the first bytes of a header.
#[inline(always)]
pub(crate) fn put_prefix<const N: usize>(
    head: &mut [u8; N],
    len: u32,
    kind: FrameKind,
    flags: u8,
    code: u16,
) {
    put_u32(head, 0, len);
    head[4] = kind as u8;
    head[5] = flags;
    put_u16(head, 6, code);
}

#[cold]
fn bad_len(kind: FrameKind, found: u32, limits: &Limits) -> DecodeError {
    if (found as usize) < kind.header_len() {
        return too_short(kind, found);
    }
    DecodeError::TooLong { kind, found, max: saturated(limits.frame_max(kind)) }
}

#[cold]
fn too_short(kind: FrameKind, found: u32) -> DecodeError {
    DecodeError::TooShort { kind, found, needed: saturated(kind.header_len()) }
}

fn saturated(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
