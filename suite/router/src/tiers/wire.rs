//! The bytes of the mid-tier's methods; numbers are little-endian.
//!
//! | | request | answer |
//! |---|---|---|
//! | [`GET`] | tag 8, key | tag 8, [`Upheavals`] 8, place of the replica 1, value; with the status [`MISS`] no value and no place |
//! | [`SET`] | tag 8, bytes of the key 1, key, value | tag 8, [`Upheavals`] 8, no place 1 |
//! | [`EACH`] | tag 8, key | tag 8, [`Upheavals`] 8, no place 1, for each replica: node 2, what it [`Holds`] 1, bytes of the value 4, value |
//!
//! No place is the byte 255.

use super::Upheavals;
use tailwater_core::MethodId;
use tailwater_keyvalue::store::KEY_MAX;

/// The value of a key.
pub const GET: MethodId = MethodId(1);
/// Sets the value of a key.
pub const SET: MethodId = MethodId(2);

/// What each replica of a key holds, asked of each by itself.
pub const EACH: MethodId = MethodId(3);

/// Status: no replica has the key.
pub const MISS: u16 = 1;
/// The status of an answer to what is no request; the answer says why.
pub const BAD_REQUEST: u16 = 400;

/// Of an answer that is of no replica alone.
const NO_PLACE: u8 = u8::MAX;

/// What is needed instead of a request that is none.
pub const NEEDED: &str = "tag and key are needed; for SET tag, bytes of the key, key and value";

/// Writes a request for a value, or for all of them.
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
    /// Which of the key's replicas, in its order, a get's value is of.
    pub place: Option<u8>,
    /// The value of a get that has found one; otherwise empty.
    pub value: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Upheavals { lost, returned } = self.upheavals;
        let [lost, returned] = [lost, returned].map(u32::to_le_bytes);
        let place = [self.place.unwrap_or(NO_PLACE)];
        [&self.tag.to_le_bytes()[..], &lost, &returned, &place, self.value].concat()
    }

    /// Reads it.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (lost, rest) = rest.split_first_chunk()?;
        let (returned, rest) = rest.split_first_chunk()?;
        let (&place, value) = rest.split_first()?;
        let [lost, returned] = [lost, returned].map(|bytes| u32::from_le_bytes(*bytes));
        let upheavals = Upheavals { lost, returned };
        let place = Some(place).filter(|place| *place != NO_PLACE);
        Some(Self { tag: u64::from_le_bytes(*tag), upheavals, place, value })
    }
}

/// A replica, and what it holds of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held<'a> {
    /// Which leaf.
    pub node: u16,
    /// What it has.
    pub holds: Holds<'a>,
}

/// What a replica holds of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds<'a> {
    /// It is not to be asked for the key: it is lost, or has missed a write. Or it has not answered.
    Untold,
    /// Nothing, though it lacks nothing that others hold.
    Nothing,
    /// Nothing; it was emptied, and may lack what others hold.
    Lacks,
    /// This.
    Value(&'a [u8]),
}

/// Writes what replicas hold.
#[must_use]
pub fn each(replicas: &[Held<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Held { node, holds } in replicas {
        let (kind, value): (u8, &[u8]) = match holds {
            Holds::Untold => (0, &[]),
            Holds::Nothing => (1, &[]),
            Holds::Lacks => (2, &[]),
            Holds::Value(value) => (3, value),
        };
        bytes.extend_from_slice(&node.to_le_bytes());
        bytes.push(kind);
        // Of a message, which is shorter than that.
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Reads it.
#[must_use]
pub fn read_each(mut bytes: &[u8]) -> Option<Vec<Held<'_>>> {
    let mut replicas = Vec::new();
    while let Some((node, rest)) = bytes.split_first_chunk() {
        let (&kind, rest) = rest.split_first()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let holds = match (kind, value.is_empty()) {
            (0, true) => Holds::Untold,
            (1, true) => Holds::Nothing,
            (2, true) => Holds::Lacks,
            (3, _) => Holds::Value(value),
            _ => return None,
        };
        replicas.push(Held { node: u16::from_le_bytes(*node), holds });
        bytes = rest;
    }
    bytes.is_empty().then_some(replicas)
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
        for place in [None, Some(0), Some(7)] {
            let answer = Answer { tag: 9, upheavals, place, value: b"v" };
            assert_eq!(Answer::read(&answer.bytes()), Some(answer));
        }
        assert_eq!(Answer::read(&[0; 16]), None);
        let held =
            [Holds::Untold, Holds::Nothing, Holds::Lacks, Holds::Value(b"v"), Holds::Value(b"")];
        let held: Vec<Held<'_>> =
            (7..).zip(held).map(|(node, holds)| Held { node, holds }).collect();
        let bytes = each(&held);
        assert_eq!(read_each(&bytes).as_deref(), Some(&held[..]));
        assert_eq!(read_each(&[]).as_deref(), Some(&[][..]));
        for length in (1..bytes.len()).filter(|length| ![7, 14, 21, 29].contains(length)) {
            assert_eq!(read_each(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(read_each(&[0, 0, 4, 0, 0, 0, 0]), None);
        assert_eq!(read_each(&[0, 0, 1, 1, 0, 0, 0, 9]), None);
    }
}
