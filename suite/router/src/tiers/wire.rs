//! The bytes of the mid-tier's methods; numbers are little-endian.
//!
//! | | request | answer |
//! |---|---|---|
//! | [`GET`] | tag 8, key | tag 8, value; with the status [`MISS`] the tag alone |
//! | [`SET`] | tag 8, bytes of the key 1, key, value | tag 8 |

use tailwater_core::MethodId;
use tailwater_keyvalue::store::KEY_MAX;

/// The value of a key.
pub const GET: MethodId = MethodId(1);
/// Sets the value of a key.
pub const SET: MethodId = MethodId(2);

/// Status: no replica has the key.
pub const MISS: u16 = 1;
/// The status of an answer to what is no request; the answer says why.
pub const BAD_REQUEST: u16 = 400;

/// What is needed instead of a request that is none.
pub const NEEDED: &str = "tag and key are needed; for SET tag, bytes of the key, key and value";

/// Writes a request for a value.
#[must_use]
pub fn get(tag: u64, key: &[u8]) -> Vec<u8> {
    [&tag.to_le_bytes()[..], key].concat()
}

/// Reads it: tag and key.
#[must_use]
pub fn read_get(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (tag, key) = bytes.split_first_chunk()?;
    (1..=KEY_MAX).contains(&key.len()).then_some((u64::from_le_bytes(*tag), key))
}

/// Writes a request that sets a value. Keys are of 1 to [`KEY_MAX`] bytes.
#[must_use]
pub fn set(tag: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &[key.len() as u8], key, value].concat()
}

/// A request that sets a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set<'a> {
    /// The caller's.
    pub tag: u64,
    /// Which key.
    pub key: &'a [u8],
    /// Its value from then on.
    pub value: &'a [u8],
}

/// Reads it.
#[must_use]
pub fn read_set(bytes: &[u8]) -> Option<Set<'_>> {
    let (tag, rest) = bytes.split_first_chunk()?;
    let (&length, rest) = rest.split_first()?;
    let (key, value) = rest.split_at_checked(length.into())?;
    (1..=KEY_MAX).contains(&key.len()).then_some(Set { tag: u64::from_le_bytes(*tag), key, value })
}

/// Writes an answer: with a value where there is one.
#[must_use]
pub fn answer(tag: u64, value: &[u8]) -> Vec<u8> {
    [&tag.to_le_bytes()[..], value].concat()
}

/// Reads it: its tag, and what follows.
#[must_use]
pub fn read_answer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (tag, value) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*tag), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_and_what_is_none_is_refused() {
        assert_eq!(read_get(&get(7, b"key")), Some((7, &b"key"[..])));
        assert_eq!((read_get(&get(7, b"")), read_get(&get(7, &[b'k'; 251]))), (None, None));
        let found = Set { tag: 7, key: b"key", value: b"value" };
        let bytes = set(7, b"key", b"value");
        assert_eq!(read_set(&bytes), Some(found));
        assert_eq!(read_set(&set(7, b"key", b"")), Some(Set { value: b"", ..found }));
        for length in 0..12 {
            assert_eq!(read_set(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(read_answer(&answer(9, b"v")), Some((9, &b"v"[..])));
        assert_eq!(read_answer(&[0; 7]), None);
    }
}
