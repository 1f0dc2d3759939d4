//! The bytes of the mid-tier's methods; numbers are little-endian.
//!
//! | | request | answer |
//! |---|---|---|
//! | [`GET`] | tag 8, key | tag 8, [`Upheavals`] 8, value; with the status [`MISS`] no value |
//! | [`SET`] | tag 8, bytes of the key 1, key, value | tag 8, [`Upheavals`] 8 |

use super::Upheavals;
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

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer<'a> {
    /// The caller's.
    pub tag: u64,
    /// How often the mid-tier has lost leaves by then, and met them again.
    pub upheavals: Upheavals,
    /// The value of a get that has found one; otherwise empty.
    pub value: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Upheavals { lost, returned } = self.upheavals;
        let [lost, returned] = [lost, returned].map(u32::to_le_bytes);
        [&self.tag.to_le_bytes()[..], &lost, &returned, self.value].concat()
    }

    /// Reads it.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (lost, rest) = rest.split_first_chunk()?;
        let (returned, value) = rest.split_first_chunk()?;
        let [lost, returned] = [lost, returned].map(|bytes| u32::from_le_bytes(*bytes));
        let upheavals = Upheavals { lost, returned };
        Some(Self { tag: u64::from_le_bytes(*tag), upheavals, value })
    }
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
        let upheavals = Upheavals { lost: 2, returned: 1 };
        let answer = Answer { tag: 9, upheavals, value: b"v" };
        assert_eq!(Answer::read(&answer.bytes()), Some(answer));
        assert_eq!(Answer::read(&[0; 15]), None);
    }
}
