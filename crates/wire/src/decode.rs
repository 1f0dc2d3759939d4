//! From a buffer's head to one frame: the prefix is checked first, so that nonsense is refused
//! before a byte of its body is awaited.
//!
//! What a frame passes through here and in `client` and `server` is forced inline: left to the
//! compiler, the values are copied from one `Result` into the next, which doubles the time.

use crate::bytes::{put_u16, put_u32, u16_at, u32_at};
use crate::{ClientFrame, DecodeError, FrameKind, Limits, PREFIX_LEN, ServerFrame, Side};

/// The frame at the head of what a client sent, and how many bytes it took; `None` while more bytes
/// are needed. [`needed`] says how many.
///
/// # Errors
/// When the bytes are not a frame that a client may send. The connection must be closed with
/// [`DecodeError::goodbye_code`].
#[inline]
pub fn decode_from_client<'a>(
    buf: &'a [u8],
    limits: &Limits,
) -> Result<Option<(ClientFrame<'a>, usize)>, DecodeError> {
    let Some((prefix, frame)) = next_frame(buf, Side::Client, limits)? else {
        return Ok(None);
    };
    Ok(Some((ClientFrame::decode(&prefix, frame)?, frame.len())))
}

/// The frame at the head of what a server sent, and how many bytes it took; `None` while more bytes
/// are needed. [`needed`] says how many.
///
/// # Errors
/// When the bytes are not a frame that a server may send. The connection must be closed with
/// [`DecodeError::goodbye_code`].
#[inline]
pub fn decode_from_server<'a>(
    buf: &'a [u8],
    limits: &Limits,
) -> Result<Option<(ServerFrame<'a>, usize)>, DecodeError> {
    let Some((prefix, frame)) = next_frame(buf, Side::Server, limits)? else {
        return Ok(None);
    };
    Ok(Some((ServerFrame::decode(&prefix, frame)?, frame.len())))
}

/// How many bytes a buffer must hold, counted from the start of `buf`, before the frame at its head
/// can be decoded: [`PREFIX_LEN`] while the prefix is incomplete, afterwards the whole frame. Never
/// above the longest frame that `limits` allow, so a reader may size its buffer by it.
///
/// # Errors
/// As the decoder would, as soon as the prefix is visible.
#[inline]
pub fn needed(buf: &[u8], from: Side, limits: &Limits) -> Result<usize, DecodeError> {
    Ok(Prefix::read(buf, from, limits)?.map_or(PREFIX_LEN, |prefix| prefix.len))
}

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
    #[inline(always)]
    fn read(buf: &[u8], from: Side, limits: &Limits) -> Result<Option<Self>, DecodeError> {
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
        if (len as usize) < kind.header_len() || len as usize > kind.max_len(limits) {
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

#[inline(always)]
fn next_frame<'a>(
    buf: &'a [u8],
    from: Side,
    limits: &Limits,
) -> Result<Option<(Prefix, &'a [u8])>, DecodeError> {
    let Some(prefix) = Prefix::read(buf, from, limits)? else {
        return Ok(None);
    };
    Ok(buf.get(..prefix.len).map(|frame| (prefix, frame)))
}

#[cold]
fn bad_len(kind: FrameKind, found: u32, limits: &Limits) -> DecodeError {
    if (found as usize) < kind.header_len() {
        return too_short(kind, found);
    }
    DecodeError::TooLong { kind, found, max: saturated(kind.max_len(limits)) }
}

#[cold]
fn too_short(kind: FrameKind, found: u32) -> DecodeError {
    DecodeError::TooShort { kind, found, needed: saturated(kind.header_len()) }
}

fn saturated(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
