//! From a buffer's head to one frame: the prefix is checked first, so that nonsense is refused
//! before a byte of its body is awaited.
//!
//! What a frame passes through here and in `client` and `server` is forced inline: left to the
//! compiler, the values are copied from one `Result` into the next, which doubles the time.

use crate::client::ClientFrame;
use crate::error::DecodeError;
use crate::kind::{PREFIX_LEN, Side};
use crate::limits::Limits;
use crate::prefix::Prefix;
use crate::server::ServerFrame;

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
