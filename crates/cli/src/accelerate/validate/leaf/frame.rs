//! What goes over a connection: offloads with their input there, answers of eight bytes back, in the same order.
//!
//! An offload is the length of its input, a word that is one where the kernel is left out, and the input. Numbers are
//! little-endian: both ends are of one build.

use std::io;

/// Bytes before an input.
pub(super) const HEAD: usize = 8;
/// Bytes of an answer.
pub(super) const ANSWER: usize = 8;
/// The longest input.
pub(super) const INPUT_MAX: usize = 1 << 16;

/// An offload as it is sent.
pub(super) fn offload(input: &[u8], is_empty: bool) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + input.len());
    frame.extend_from_slice(&(input.len() as u32).to_le_bytes());
    frame.extend_from_slice(&u32::from(is_empty).to_le_bytes());
    frame.extend_from_slice(input);
    frame
}

/// An offload that has come.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Come<'b> {
    pub(super) input: &'b [u8],
    pub(super) is_empty: bool,
}

/// The first offload of these bytes, once all of it is there.
pub(super) fn first(bytes: &[u8]) -> io::Result<Option<Come<'_>>> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
    let [a, b, c, d, flag @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > INPUT_MAX {
        let why = format!("an input of {length} bytes found, at most {INPUT_MAX} are possible");
        return Err(io::Error::other(why));
    }
    let is_empty = u32::from_le_bytes(flag) != 0;
    Ok(rest.get(..length).map(|input| Come { input, is_empty }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offload_is_there_once_all_of_it_has_come() {
        let frames = [offload(b"features", false), offload(b"", true)].concat();
        let whole = HEAD + 8;
        for end in 0..whole {
            assert_eq!(first(&frames[..end]).expect("sound"), None, "{end}");
        }
        let come = Come { input: b"features", is_empty: false };
        assert_eq!(first(&frames).expect("sound"), Some(come));
        let come = Come { input: b"", is_empty: true };
        assert_eq!(first(&frames[whole..]).expect("sound"), Some(come));
    }

    #[test]
    fn a_length_beyond_reason_is_an_error() {
        assert!(first(&[255; HEAD]).is_err());
    }
}
