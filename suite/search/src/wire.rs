//! The bytes of the method [`SEARCH`]; numbers are little-endian.
//!
//! | request | | answer | |
//! |---|---|---|---|
//! | tag | 8 bytes, repeated in the answer | tag | 8 bytes |
//! | hits | 2 bytes, 1 to [`HITS_MAX`](crate::query::HITS_MAX) | hits | 2 bytes |
//! | mode | 1 byte: 0 any, 1 all | of each hit: document | 4 bytes |
//! | terms | 1 byte, 1 to [`TERMS_MAX`] | and score | 4 bytes, IEEE 754 |
//! | of each term: bytes | 1 byte, 1 to [`TERM_BYTES_MAX`] | | |
//! | and the term | UTF-8, as [`tailwater_data::text::tokens`] makes it | | |

use crate::query::{Mode, Query, QueryError, TERMS_MAX};
use crate::top::Hit;
use std::fmt;
use tailwater_core::MethodId;
use tailwater_data::text::tokens::TERM_BYTES_MAX;

/// The method's number.
pub const SEARCH: MethodId = MethodId(1);

/// A request that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// It ends too early.
    Short,
    /// So many bytes follow its end.
    Trailing(usize),
    /// The mode is neither 0 nor 1.
    Mode(u8),
    /// A term of so many bytes.
    TermBytes(u8),
    /// A term is no UTF-8.
    NotText,
    /// The query cannot be asked.
    Query(QueryError),
}

/// Writes a request.
#[must_use]
pub fn request(tag: u64, query: &Query) -> Vec<u8> {
    let mut bytes = tag.to_le_bytes().to_vec();
    bytes.extend_from_slice(&query.hits().to_le_bytes());
    bytes.push(u8::from(query.mode() == Mode::All));
    bytes.push(query.terms().len() as u8);
    for term in query.terms() {
        bytes.push(term.len() as u8);
        bytes.extend_from_slice(term.as_bytes());
    }
    bytes
}

/// Reads a request: its tag and its query.
pub fn read_request(bytes: &[u8]) -> Result<(u64, Query), WireError> {
    let mut rest = Rest(bytes);
    let tag = u64::from_le_bytes(rest.array()?);
    let hits = u16::from_le_bytes(rest.array()?);
    let mode = match rest.byte()? {
        0 => Mode::Any,
        1 => Mode::All,
        other => return Err(WireError::Mode(other)),
    };
    let count = usize::from(rest.byte()?);
    if count > TERMS_MAX {
        return Err(WireError::Query(QueryError::TooManyTerms(count)));
    }
    let terms = (0..count).map(|_| rest.term()).collect::<Result<_, _>>()?;
    match rest.0.len() {
        0 => Query::of_terms(terms, mode, hits).map(|query| (tag, query)).map_err(WireError::Query),
        trailing => Err(WireError::Trailing(trailing)),
    }
}

/// Writes the answer to the request of this tag.
#[must_use]
pub fn answer(tag: u64, hits: &[Hit]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(10 + 8 * hits.len());
    bytes.extend_from_slice(&tag.to_le_bytes());
    bytes.extend_from_slice(&(hits.len() as u16).to_le_bytes());
    for hit in hits {
        bytes.extend_from_slice(&hit.document.to_le_bytes());
        bytes.extend_from_slice(&hit.score.to_le_bytes());
    }
    bytes
}

/// Reads an answer: its tag and its hits. `None` if it is none: too short or too long for its number of
/// hits, or hits that are not in [`Hit::order`].
#[must_use]
pub fn read_answer(bytes: &[u8]) -> Option<(u64, Vec<Hit>)> {
    let mut rest = Rest(bytes);
    let tag = u64::from_le_bytes(rest.array().ok()?);
    let count = usize::from(u16::from_le_bytes(rest.array().ok()?));
    let (hits, []) = rest.0.as_chunks::<8>() else { return None };
    let hits: Vec<_> = hits
        .iter()
        .map(|&[a, b, c, d, e, f, g, h]| Hit {
            document: u32::from_le_bytes([a, b, c, d]),
            score: f32::from_le_bytes([e, f, g, h]),
        })
        .collect();
    let ordered = hits.windows(2).all(|pair| pair[0].order(&pair[1]).is_lt());
    (ordered && hits.len() == count).then_some((tag, hits))
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(WireError::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn byte(&mut self) -> Result<u8, WireError> {
        self.array().map(|[byte]| byte)
    }

    fn term(&mut self) -> Result<String, WireError> {
        let length = self.byte()?;
        if length == 0 || usize::from(length) > TERM_BYTES_MAX {
            return Err(WireError::TermBytes(length));
        }
        let (term, rest) = self.0.split_at_checked(length.into()).ok_or(WireError::Short)?;
        self.0 = rest;
        std::str::from_utf8(term).map(str::to_owned).map_err(|_| WireError::NotText)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("found the end of the request; its terms are needed"),
            Self::Trailing(bytes) => {
                write!(f, "found {bytes} bytes after the last term; none may follow")
            }
            Self::Mode(mode) => write!(f, "found mode {mode}; 0 (any) or 1 (all) is needed"),
            Self::TermBytes(bytes) => {
                write!(f, "found a term of {bytes} bytes; 1 to {TERM_BYTES_MAX} are needed")
            }
            Self::NotText => f.write_str("found a term that is no UTF-8"),
            Self::Query(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WireError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query() -> Query {
        Query::new("grey école boats", Mode::All, 300).expect("a query")
    }

    #[test]
    fn a_request_comes_back() {
        let bytes = request(u64::MAX - 1, &query());
        assert_eq!(read_request(&bytes), Ok((u64::MAX - 1, query())));
        for cut in 0..bytes.len() {
            assert_eq!(read_request(&bytes[..cut]), Err(WireError::Short), "{cut} bytes");
        }
        assert_eq!(read_request(&[&bytes[..], &[0]].concat()), Err(WireError::Trailing(1)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let changed = |place: usize, value: u8| {
            let mut bytes = request(1, &query());
            bytes[place] = value;
            read_request(&bytes)
        };
        assert_eq!(changed(9, 4), Err(WireError::Query(QueryError::Hits(1_068))));
        assert_eq!(changed(10, 2), Err(WireError::Mode(2)));
        assert_eq!(changed(11, 17), Err(WireError::Query(QueryError::TooManyTerms(17))));
        assert_eq!(changed(12, 0), Err(WireError::TermBytes(0)));
        assert_eq!(changed(12, 65), Err(WireError::TermBytes(65)));
        assert_eq!(changed(13, 0xff), Err(WireError::NotText));
    }

    #[test]
    fn an_answer_comes_back_and_must_be_in_order() {
        let hits = [Hit { document: 9, score: 2.5 }, Hit { document: 1, score: 1.5 }];
        let bytes = answer(7, &hits);
        assert_eq!(read_answer(&bytes), Some((7, hits.to_vec())));
        assert_eq!(read_answer(&answer(7, &[hits[1], hits[0]])), None);
        assert_eq!(read_answer(&answer(7, &[hits[0], hits[0]])), None);
        assert_eq!(read_answer(&bytes[..18]), None);
        assert_eq!(read_answer(&[&bytes[..], &[0; 8]].concat()), None);
        assert_eq!(read_answer(&[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok((tag, query)) = read_request(&bytes) {
                prop_assert!(read_request(&request(tag, &query)).is_ok());
            }
            let _ = read_answer(&bytes);
        }
    }
}
