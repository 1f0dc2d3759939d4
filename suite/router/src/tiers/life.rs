//! The bytes of a leaf's methods; numbers are little-endian.
//!
//! | | request | answer |
//! |---|---|---|
//! | [`rpc::GET`], [`rpc::SET`], [`rpc::ADD`] | incarnation 8, as the store's | incarnation 8, as the store's |
//! | [`LIST`] | incarnation 8, part 4 | incarnation 8, next part 4, for each key its bytes 1 and it |
//! | [`MEET`] | [`Meeting`]: incarnation 8, whether all 1, for each key its bytes 1 and it | incarnation 8, whether kept 1 |
//!
//! An *incarnation* is a number that a leaf draws at its start, and again when it is met: it says whose memory answers. A
//! request for another one is not carried out. So what was sent to a leaf before it was met again changes nothing later,
//! whichever connection it is in.

use crate::standing::Forget;
use tailwater_core::MethodId;
#[cfg(doc)]
use tailwater_keyvalue::rpc;
use tailwater_keyvalue::store::KEY_MAX;

/// Asks a leaf who it is, and tells it what to forget.
pub(super) const MEET: MethodId = MethodId(16);

/// Asks a leaf for the keys that it holds, from a part of its table on. A next part of zero means that these were the last.
pub(super) const LIST: MethodId = MethodId(17);

/// Status: the request is for another incarnation. The answer says which one this is.
pub(super) const OTHER: u16 = 16;

/// What is needed instead of a request that is none.
pub(super) const NEEDED: &str = "an incarnation is needed, and a request of the store; for MEET what is to be forgotten, for LIST a part";

/// A request to be met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meeting {
    /// Whose memory is known, but for what is to be forgotten. Zero: whose ever, as it is the first meeting.
    pub(super) known: u64,
    /// What that has missed.
    pub(super) forget: Vec<Forget>,
}

impl Meeting {
    /// Its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.known.to_le_bytes().to_vec();
        bytes.push(u8::from(self.forget.contains(&Forget::Everything)));
        for forget in &self.forget {
            if let Forget::Key(key) = forget {
                add_key(&mut bytes, key);
            }
        }
        bytes
    }

    /// Reads it.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (known, rest) = read(bytes)?;
        let (all, rest) = rest.split_first()?;
        let mut forget = vec![Forget::Everything; usize::from(*all == 1)];
        forget.extend(read_keys(rest)?.into_iter().map(|key| Forget::of(Some(key))));
        (*all <= 1).then_some(Self { known, forget })
    }
}

/// Appends a key. One has 250 bytes at most.
pub(super) fn add_key(bytes: &mut Vec<u8>, key: &[u8]) {
    bytes.push(key.len() as u8);
    bytes.extend_from_slice(key);
}

/// Reads keys until the end.
fn read_keys(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut keys = Vec::new();
    while let Some((&length, more)) = bytes.split_first() {
        let (key, more) = more.split_at_checked(length.into())?;
        if !(1..=KEY_MAX).contains(&key.len()) {
            return None;
        }
        keys.push(key);
        bytes = more;
    }
    Some(keys)
}

/// Reads a list: the next part, and the keys.
pub(super) fn read_list(bytes: &[u8]) -> Option<(u32, Vec<Vec<u8>>)> {
    let (next, keys) = bytes.split_first_chunk()?;
    let keys = read_keys(keys)?.into_iter().map(<[u8]>::to_vec).collect();
    Some((u32::from_le_bytes(*next), keys))
}

/// Writes what an incarnation is asked, or answers.
pub(super) fn of(incarnation: u64, bytes: &[u8]) -> Vec<u8> {
    [&incarnation.to_le_bytes(), bytes].concat()
}

/// Reads it.
pub(super) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (incarnation, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*incarnation), rest))
}

/// Writes the answer of a leaf that was met: who it is, and whether it kept what the known one held.
pub(super) fn met(incarnation: u64, is_kept: bool) -> Vec<u8> {
    of(incarnation, &[u8::from(is_kept)])
}

/// Reads it.
pub(super) fn read_met(bytes: &[u8]) -> Option<(u64, bool)> {
    let (incarnation, rest) = read(bytes)?;
    let &[is_kept] = rest else { return None };
    (incarnation != 0).then_some((incarnation, is_kept == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_come_back_and_what_is_none_is_refused() {
        let keys = [&b"a"[..], b"key"].map(|key| Forget::of(Some(key)));
        for forget in [vec![], keys.to_vec(), vec![Forget::Everything]] {
            let meeting = Meeting { known: 7, forget };
            assert_eq!(Meeting::read(&meeting.bytes()), Some(meeting));
        }
        let whole = Meeting { known: 7, forget: keys.to_vec() }.bytes();
        for length in [0, 7, 8, 10, whole.len() - 1] {
            assert_eq!(Meeting::read(&whole[..length]), None, "{length} bytes");
        }
        let mut odd = whole;
        odd[8] = 2;
        assert_eq!(Meeting::read(&odd), None);
        let mut list = 9_u32.to_le_bytes().to_vec();
        [&b"a"[..], b"key"].iter().for_each(|key| add_key(&mut list, key));
        assert_eq!(read_list(&list), Some((9, vec![b"a".to_vec(), b"key".to_vec()])));
        assert_eq!((read_list(&list[..3]), read_list(&list[..5])), (None, None));
        assert_eq!(read_met(&met(7, true)), Some((7, true)));
        assert_eq!((read_met(&met(0, true)), read_met(&[1; 8])), (None, None));
    }
}
