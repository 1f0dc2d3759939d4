//! The bytes of the method [`INTERSECT`], which mid-tier and leaves share; numbers are little-endian.
//!
//! | request | | answer | |
//! |---|---|---|---|
//! | tag | 8 bytes, repeated in the answer | tag | 8 bytes |
//! | words | 1 byte, 1 to [`WORDS_MAX`] | missing leaves | 8 bytes, bit n for leaf n |
//! | of each word: bytes | 1 byte, 1 to [`TERM_BYTES_MAX`] | documents found | 4 bytes |
//! | and the word | UTF-8, as [`tailwater_data::text::tokens`] makes it | of those given, each number | 4 bytes |

use crate::queries::WORDS_MAX;
use std::fmt;
use tailwater_core::MethodId;
use tailwater_data::numbers::{bytes_of_u32, u32_of_bytes};
use tailwater_data::text::tokens::TERM_BYTES_MAX;

/// Which documents have all of these words?
pub const INTERSECT: MethodId = MethodId(1);

/// Most leaves: each has a bit in an answer.
pub const LEAVES_MAX: u32 = 64;

/// The most documents that fit an answer of the usual longest frame.
pub const HITS_MAX: u32 = 250_000;

/// The status of an answer to a request that is none.
pub const BAD_REQUEST: u16 = 400;

const TAG: usize = 8;

/// A request that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// It ends too early.
    Short,
    /// So many bytes follow its end.
    Trailing(usize),
    /// It has so many words.
    Words(u8),
    /// A word of so many bytes.
    WordBytes(u8),
    /// A word is no UTF-8.
    NotText,
}

/// Writes a request.
#[must_use]
pub fn request<'w>(tag: u64, words: impl ExactSizeIterator<Item = &'w str>) -> Vec<u8> {
    let mut bytes = tag.to_le_bytes().to_vec();
    bytes.push(words.len() as u8);
    for word in words {
        bytes.push(word.len() as u8);
        bytes.extend_from_slice(word.as_bytes());
    }
    bytes
}

/// Reads a request: its tag and its words.
pub fn read_request(bytes: &[u8]) -> Result<(u64, Vec<&str>), WireError> {
    let (tag, rest) = bytes.split_first_chunk().ok_or(WireError::Short)?;
    let (&count, mut rest) = rest.split_first().ok_or(WireError::Short)?;
    if count == 0 || usize::from(count) > WORDS_MAX {
        return Err(WireError::Words(count));
    }
    let mut words = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (&length, after) = rest.split_first().ok_or(WireError::Short)?;
        if length == 0 || usize::from(length) > TERM_BYTES_MAX {
            return Err(WireError::WordBytes(length));
        }
        let (word, after) = after.split_at_checked(length.into()).ok_or(WireError::Short)?;
        words.push(std::str::from_utf8(word).map_err(|_| WireError::NotText)?);
        rest = after;
    }
    if rest.is_empty() {
        Ok((u64::from_le_bytes(*tag), words))
    } else {
        Err(WireError::Trailing(rest.len()))
    }
}

/// What a leaf or the mid-tier found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The request's.
    pub tag: u64,
    /// Leaves whose documents are not in it: bit n for leaf n.
    pub missing: u64,
    /// How many documents were found.
    pub found: u32,
    /// The first of them, by rising number.
    pub documents: Vec<u32>,
}

impl Answer {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TAG + 12 + 4 * self.documents.len());
        bytes.extend_from_slice(&self.tag.to_le_bytes());
        bytes.extend_from_slice(&self.missing.to_le_bytes());
        bytes.extend_from_slice(&self.found.to_le_bytes());
        bytes.extend_from_slice(&bytes_of_u32(&self.documents));
        bytes
    }

    /// What these bytes say; `None` where they are no answer: cut off, more documents than were found, or not by rising
    /// number.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (missing, rest) = rest.split_first_chunk()?;
        let (found, rest) = rest.split_first_chunk()?;
        let (tag, missing) = (u64::from_le_bytes(*tag), u64::from_le_bytes(*missing));
        let (found, documents) = (u32::from_le_bytes(*found), u32_of_bytes(rest)?);
        let sound =
            documents.len() <= found as usize && documents.is_sorted_by(|one, next| one < next);
        sound.then_some(Self { tag, missing, found, documents })
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("found the end of the request; its words are needed"),
            Self::Trailing(bytes) => {
                write!(f, "found {bytes} bytes after the last word; none may follow")
            }
            Self::Words(words) => write!(f, "found {words} words; 1 to {WORDS_MAX} are needed"),
            Self::WordBytes(bytes) => {
                write!(f, "found a word of {bytes} bytes; 1 to {TERM_BYTES_MAX} are needed")
            }
            Self::NotText => f.write_str("found a word that is no UTF-8; text is needed"),
        }
    }
}

impl std::error::Error for WireError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_and_every_cut_is_refused() {
        let bytes = request(7, ["small", "boat"].into_iter());
        assert_eq!(read_request(&bytes), Ok((7, vec!["small", "boat"])));
        for length in 0..bytes.len() {
            assert!(read_request(&bytes[..length]).is_err(), "{length} bytes");
        }
        let refused = |bytes: &[u8]| read_request(bytes).map(drop);
        assert_eq!(refused(&[&bytes[..], b"x"].concat()), Err(WireError::Trailing(1)));
        let with = |words: &[u8]| [&[0; 8], words].concat();
        assert_eq!(refused(&with(&[0])), Err(WireError::Words(0)));
        assert_eq!(refused(&with(&[17])), Err(WireError::Words(17)));
        assert_eq!(refused(&with(&[1, 0])), Err(WireError::WordBytes(0)));
        assert_eq!(refused(&with(&[1, 65])), Err(WireError::WordBytes(65)));
        assert_eq!(refused(&with(&[1, 1, 0xff])), Err(WireError::NotText));
        assert_eq!(refused(&with(&[2, 1, b'a', 9])), Err(WireError::Short));
    }

    #[test]
    fn answers_come_back_and_what_is_none_is_refused() {
        let answer = Answer { tag: 7, missing: 2, found: 5, documents: vec![1, 4, 9] };
        let bytes = answer.to_bytes();
        assert_eq!(Answer::of_bytes(&bytes), Some(answer.clone()));
        assert_eq!(Answer::of_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Answer::of_bytes(&bytes[..19]), None);
        let with = |found, documents: &[u32]| Answer {
            found,
            documents: documents.to_vec(),
            ..answer.clone()
        };
        for wrong in [with(2, &[1, 4, 9]), with(5, &[4, 1]), with(5, &[4, 4])] {
            assert_eq!(Answer::of_bytes(&wrong.to_bytes()), None, "{wrong:?}");
        }
    }
}
