//! The bytes of the three methods; numbers are little-endian, and nothing may follow them.
//!
//! | | request | answer |
//! |---|---|---|
//! | [`PREDICT`], of the mid-tier | tag 8, user 4, item 4 | tag 8, rating 4 |
//! | [`NEIGHBOURS`], of a leaf with users | user 4, item 4, each number of the user's row 4 | of each neighbour, the nearest first: user 4, similarity 4, value 4 |
//! | [`SLICE`], of a leaf with lines | user 4, item 4 | rating 4; nothing where the slice does not know both |

use crate::model::Query;
use crate::neighbours::Neighbour;
use std::fmt;
use tailwater_core::MethodId;

/// What would this user rate this item?
pub const PREDICT: MethodId = MethodId(1);
/// Which users that rated the item are most like this one?
pub const NEIGHBOURS: MethodId = MethodId(2);
/// What does a slice by lines predict?
pub const SLICE: MethodId = MethodId(3);

/// The status of an answer to what is no request; the answer says why.
pub const BAD_REQUEST: u16 = 400;

/// A request that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// It has so many bytes, and so many are needed.
    Length(usize, usize),
    /// A number of the row is none.
    Row,
    /// There is no such user: so many are known.
    User(u32, usize),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found, needed) => {
                write!(f, "found a request of {found} bytes; {needed} are needed")
            }
            Self::Row => f.write_str("found a row with what is no number; numbers are needed"),
            Self::User(found, users) => {
                write!(f, "found user {found}; one of the {users} users that are known is needed")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// Writes a request for a rating.
#[must_use]
pub fn request(tag: u64, query: Query) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &cell(query)].concat()
}

/// Reads it.
///
/// # Errors
/// When it is none.
pub fn read_request(bytes: &[u8]) -> Result<(u64, Query), WireError> {
    let whole = <[u8; 16]>::try_from(bytes).map_err(|_| WireError::Length(bytes.len(), 16))?;
    let [a, b, c, d, e, f, g, h, rest @ ..] = whole;
    Ok((u64::from_le_bytes([a, b, c, d, e, f, g, h]), query(rest)))
}

/// Writes the rating that the user would give.
#[must_use]
pub fn answer(tag: u64, rating: f32) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &rating.to_le_bytes()].concat()
}

/// Reads it; `None` where it is none.
#[must_use]
pub fn read_answer(bytes: &[u8]) -> Option<(u64, f32)> {
    let (tag, rating) = bytes.split_first_chunk()?;
    let rating = f32::from_le_bytes(rating.try_into().ok()?);
    rating.is_finite().then_some((u64::from_le_bytes(*tag), rating))
}

/// Writes a request for neighbours.
#[must_use]
pub fn neighbours_request(query: Query, row: &[f32]) -> Vec<u8> {
    let mut bytes = cell(query).to_vec();
    bytes.extend(row.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// Reads it, of a row of so many numbers.
///
/// # Errors
/// When it is none.
pub fn read_neighbours_request(
    bytes: &[u8],
    rank: usize,
    row: &mut Vec<f32>,
) -> Result<Query, WireError> {
    let wrong = || WireError::Length(bytes.len(), 8 + 4 * rank);
    let (head, numbers) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let (numbers, rest) = numbers.as_chunks::<4>();
    if !rest.is_empty() || numbers.len() != rank {
        return Err(wrong());
    }
    row.clear();
    row.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
    if row.iter().all(|number| number.is_finite()) { Ok(query(*head)) } else { Err(WireError::Row) }
}

/// Writes neighbours.
#[must_use]
pub fn neighbours_answer(found: &[Neighbour]) -> Vec<u8> {
    let each = found.iter().flat_map(|it| {
        [it.user.to_le_bytes(), it.similarity.to_le_bytes(), it.value.to_le_bytes()]
    });
    each.flatten().collect()
}

/// Reads them; `None` where they are none: a number that is none, a user twice, or not the nearest first.
#[must_use]
pub fn read_neighbours_answer(bytes: &[u8]) -> Option<Vec<Neighbour>> {
    let (each, rest) = bytes.as_chunks::<12>();
    let found = each.iter().map(|&[a, b, c, d, e, f, g, h, i, j, k, l]| Neighbour {
        user: u32::from_le_bytes([a, b, c, d]),
        similarity: f32::from_le_bytes([e, f, g, h]),
        value: f32::from_le_bytes([i, j, k, l]),
    });
    let found: Vec<Neighbour> = found.collect();
    let is_sound = rest.is_empty()
        && found.iter().all(|it| it.similarity.is_finite() && it.value.is_finite())
        && found.is_sorted_by(|one, next| one.order(next).is_lt())
        && are_different(found.iter().map(|it| it.user).collect());
    is_sound.then_some(found)
}

/// Whether no user is twice: by order alone one may be, with another similarity.
fn are_different(mut users: Vec<u32>) -> bool {
    users.sort_unstable();
    users.is_sorted_by(|one, next| one < next)
}

/// Writes a request for a slice's prediction.
#[must_use]
pub fn slice_request(query: Query) -> Vec<u8> {
    cell(query).to_vec()
}

/// Reads it.
///
/// # Errors
/// When it is none.
pub fn read_slice_request(bytes: &[u8]) -> Result<Query, WireError> {
    let whole = <[u8; 8]>::try_from(bytes).map_err(|_| WireError::Length(bytes.len(), 8))?;
    Ok(query(whole))
}

/// Writes what a slice predicts, if it can.
#[must_use]
pub fn slice_answer(rating: Option<f32>) -> Vec<u8> {
    rating.map_or_else(Vec::new, |rating| rating.to_le_bytes().to_vec())
}

/// Reads it; `None` where it is none.
#[must_use]
pub fn read_slice_answer(bytes: &[u8]) -> Option<Option<f32>> {
    if bytes.is_empty() {
        return Some(None);
    }
    let rating = f32::from_le_bytes(bytes.try_into().ok()?);
    rating.is_finite().then_some(Some(rating))
}

fn cell(query: Query) -> [u8; 8] {
    let [a, b, c, d] = query.user.to_le_bytes();
    let [e, f, g, h] = query.item.to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

const fn query([a, b, c, d, e, f, g, h]: [u8; 8]) -> Query {
    Query { user: u32::from_le_bytes([a, b, c, d]), item: u32::from_le_bytes([e, f, g, h]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUERY: Query = Query { user: 7, item: 1 << 20 };

    #[test]
    fn requests_come_back_and_every_other_length_is_refused() {
        let bytes = request(u64::MAX - 1, QUERY);
        assert_eq!(read_request(&bytes), Ok((u64::MAX - 1, QUERY)));
        assert_eq!(read_request(&bytes[1..]), Err(WireError::Length(15, 16)));
        assert_eq!(read_slice_request(&slice_request(QUERY)), Ok(QUERY));
        assert_eq!(read_slice_request(&bytes), Err(WireError::Length(16, 8)));
        let (bytes, mut row) = (neighbours_request(QUERY, &[0.5, -1.0]), Vec::new());
        assert_eq!(read_neighbours_request(&bytes, 2, &mut row), Ok(QUERY));
        assert_eq!(row, [0.5, -1.0]);
        for length in [0, 7, 8, 12, 15] {
            let refused = read_neighbours_request(&bytes[..length], 2, &mut row);
            assert_eq!(refused, Err(WireError::Length(length, 16)));
        }
        let odd = neighbours_request(QUERY, &[0.5, f32::NAN]);
        assert_eq!(read_neighbours_request(&odd, 2, &mut row), Err(WireError::Row));
    }

    #[test]
    fn answers_come_back_and_what_is_none_is_refused() {
        assert_eq!(read_answer(&answer(9, 3.5)), Some((9, 3.5)));
        assert_eq!(read_answer(&answer(9, f32::NAN)), None);
        assert_eq!(read_answer(&answer(9, 3.5)[..11]), None);
        for rating in [None, Some(2.5)] {
            assert_eq!(read_slice_answer(&slice_answer(rating)), Some(rating));
        }
        assert_eq!((read_slice_answer(&[0; 3]), read_slice_answer(&[0xff; 4])), (None, None));
        let one = |user, similarity| Neighbour { user, similarity, value: 1.0 };
        let found = [one(4, 0.9), one(2, 0.5), one(3, 0.5)];
        let bytes = neighbours_answer(&found);
        assert_eq!(read_neighbours_answer(&bytes).as_deref(), Some(&found[..]));
        assert_eq!(read_neighbours_answer(&bytes[1..]), None);
        for wrong in [
            [one(3, 0.5), one(2, 0.5)],
            [one(2, 0.5); 2],
            [one(2, 0.9), one(2, 0.8)],
            [one(2, f32::NAN), one(3, 0.0)],
        ] {
            assert_eq!(read_neighbours_answer(&neighbours_answer(&wrong)), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok((tag, query)) = read_request(&bytes) {
                prop_assert_eq!(request(tag, query), bytes.clone());
            }
            let mut row = Vec::new();
            if let Ok(query) = read_neighbours_request(&bytes, 2, &mut row) {
                prop_assert_eq!(neighbours_request(query, &row), bytes.clone());
            }
            let _ = (read_answer(&bytes), read_slice_answer(&bytes), read_neighbours_answer(&bytes));
        }
    }
}
