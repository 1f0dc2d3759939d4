//! The bytes of the methods [`SEARCH`], of the mid-tier, and [`DISTANCES`], of leaves; numbers are little-endian.
//!
//! | of the mid-tier: request | | answer | |
//! |---|---|---|---|
//! | tag | 8 bytes, repeated in the answer | tag | 8 bytes |
//! | neighbours wanted | 2 bytes, 1 to [`NEIGHBOURS_MAX`] | candidates | 4 bytes: points that leaves looked at |
//! | dimensions | 2 bytes, those of the set | neighbours | 2 bytes |
//! | values | 4 bytes each, IEEE 754, finite | of each: point | 4 bytes |
//! | | | and squared distance | 4 bytes, IEEE 754 |
//!
//! | of a leaf: request | | answer | |
//! |---|---|---|---|
//! | neighbours wanted | 2 bytes | points that it looked at | 4 bytes |
//! | dimensions | 2 bytes | neighbours | 2 bytes |
//! | values | 4 bytes each | of each: point | 4 bytes |
//! | ranges of candidates | 4 bytes | and squared distance | 4 bytes |
//! | of each: its first, by the number in this leaf | 4 bytes | | |
//! | and how many | 4 bytes, 1 at least | | |
//! | single candidates: numbers in this leaf | 4 bytes each, to the end | | |
//!
//! Ranges rise and do not overlap, so that a request names no more points in them than the leaf has.
//!
//! The query travels as its vector, as the thesis has it (§2.2.1). The published code sends a number, and every
//! tier looks the vector up in a copy of the whole set.

use crate::index::ivf::LISTS_MAX;
use crate::nearest::Found;
use crate::vectors::DIMENSIONS_MAX;
use std::fmt;
use std::ops::Range;
use tailwater_core::MethodId;

/// The mid-tier's method: the nearest of all points.
pub const SEARCH: MethodId = MethodId(1);

/// A leaf's method: the nearest of these points.
pub const DISTANCES: MethodId = MethodId(2);

/// Most neighbours of a query.
pub const NEIGHBOURS_MAX: u16 = 1_000;

/// Most single candidates of one request to a leaf: with the longest vector they fit a frame of a mebibyte. The
/// mid-tier sends more in several requests.
pub const CANDIDATES_MAX: usize = 250_000;

/// Most magnitude of a value: the squares of 4,096 differences stay in the range of the sums.
pub const VALUE_MAX: f32 = 1e15;

/// A request that is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireError {
    /// It ends too early.
    Short,
    /// So many bytes are left that are no whole number.
    Trailing(usize),
    /// So many neighbours are wanted.
    Neighbours(u16),
    /// It has so many dimensions, and so many are needed.
    Dimensions(u16, usize),
    /// A value that is none, or too large.
    Value(f32),
    /// So many candidates.
    Candidates(usize),
    /// A range that begins there and has so many points: none, others than the leaf's, or those of the range before.
    Range(u32, u32),
}

/// A query as it travels.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// How many neighbours are wanted.
    pub neighbours: u16,
    /// Its vector.
    pub vector: Vec<f32>,
}

/// An answer of the mid-tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The request's.
    pub tag: u64,
    /// How many points leaves looked at.
    pub candidates: u32,
    /// The neighbours, the nearest first.
    pub found: Vec<Found>,
}

/// An answer of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafAnswer {
    /// How many points it looked at.
    pub candidates: u32,
    /// The nearest of them.
    pub found: Vec<Found>,
}

/// Writes a request to the mid-tier.
#[must_use]
pub fn request(tag: u64, query: &Query) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(12 + 4 * query.vector.len());
    bytes.extend_from_slice(&tag.to_le_bytes());
    write_query(&mut bytes, query);
    bytes
}

/// Reads a request to the mid-tier of a set of so many dimensions: its tag and its query.
///
/// # Errors
/// When it is none.
pub fn read_request(bytes: &[u8], dimensions: usize) -> Result<(u64, Query), WireError> {
    let (tag, rest) = bytes.split_first_chunk().ok_or(WireError::Short)?;
    let (query, rest) = read_query(rest, dimensions)?;
    match rest.len() {
        0 => Ok((u64::from_le_bytes(*tag), query)),
        trailing => Err(WireError::Trailing(trailing)),
    }
}

/// Writes an answer of the mid-tier.
#[must_use]
pub fn answer(answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(14 + 8 * answer.found.len());
    bytes.extend_from_slice(&answer.tag.to_le_bytes());
    bytes.extend_from_slice(&answer.candidates.to_le_bytes());
    write_found(&mut bytes, &answer.found);
    bytes
}

/// Reads an answer of the mid-tier; `None` if it is none. Whether its neighbours are right is another question.
#[must_use]
pub fn read_answer(bytes: &[u8]) -> Option<Answer> {
    let (tag, rest) = bytes.split_first_chunk()?;
    let (candidates, rest) = rest.split_first_chunk()?;
    let (tag, candidates) = (u64::from_le_bytes(*tag), u32::from_le_bytes(*candidates));
    Some(Answer { tag, candidates, found: read_found(rest)? })
}

/// Writes a request to a leaf: ranges of candidates, and single ones.
#[must_use]
pub fn leaf_request(query: &Query, ranges: &[Range<u32>], single: &[u32]) -> Vec<u8> {
    let numbers = query.vector.len() + 2 * ranges.len() + single.len();
    let mut bytes = Vec::with_capacity(8 + 4 * numbers);
    write_query(&mut bytes, query);
    bytes.extend_from_slice(&(ranges.len() as u32).to_le_bytes());
    for Range { start, end } in ranges {
        bytes.extend_from_slice(&start.to_le_bytes());
        bytes.extend_from_slice(&(end - start).to_le_bytes());
    }
    bytes.extend(single.iter().flat_map(|candidate| candidate.to_le_bytes()));
    bytes
}

/// Reads a request to a leaf of so many points of so many dimensions: its query, and into `candidates` all that it names.
/// Whether the leaf has the single ones is another question.
///
/// # Errors
/// When it is none.
pub fn read_leaf_request(
    bytes: &[u8],
    (points, dimensions): (usize, usize),
    candidates: &mut Vec<u32>,
) -> Result<Query, WireError> {
    let (query, rest) = read_query(bytes, dimensions)?;
    let (count, rest) = rest.split_first_chunk().ok_or(WireError::Short)?;
    let of_ranges = 8 * u32::from_le_bytes(*count) as usize;
    let (ranges, rest) = rest.split_at_checked(of_ranges).ok_or(WireError::Short)?;
    let (numbers, rest) = rest.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(WireError::Trailing(rest.len()));
    }
    if numbers.len() > CANDIDATES_MAX {
        return Err(WireError::Candidates(numbers.len()));
    }
    candidates.clear();
    read_ranges(ranges, points, candidates)?;
    candidates.extend(numbers.iter().map(|number| u32::from_le_bytes(*number)));
    Ok(query)
}

/// Of eight bytes each; all that are in them.
fn read_ranges(bytes: &[u8], points: usize, candidates: &mut Vec<u32>) -> Result<(), WireError> {
    let mut before = 0;
    for &[a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0 {
        let (start, count) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let fits = |&end: &u32| start >= before && end > start && end as usize <= points;
        let end = start.checked_add(count).filter(fits);
        before = end.ok_or(WireError::Range(start, count))?;
        candidates.extend(start..before);
    }
    Ok(())
}

/// Writes an answer of a leaf.
#[must_use]
pub fn leaf_answer(answer: &LeafAnswer) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(6 + 8 * answer.found.len());
    bytes.extend_from_slice(&answer.candidates.to_le_bytes());
    write_found(&mut bytes, &answer.found);
    bytes
}

/// Reads an answer of a leaf; `None` if it is none.
#[must_use]
pub fn read_leaf_answer(bytes: &[u8]) -> Option<LeafAnswer> {
    let (candidates, rest) = bytes.split_first_chunk()?;
    Some(LeafAnswer { candidates: u32::from_le_bytes(*candidates), found: read_found(rest)? })
}

fn write_query(bytes: &mut Vec<u8>, query: &Query) {
    bytes.extend_from_slice(&query.neighbours.to_le_bytes());
    bytes.extend_from_slice(&(query.vector.len() as u16).to_le_bytes());
    bytes.extend(query.vector.iter().flat_map(|value| value.to_le_bytes()));
}

fn read_query(bytes: &[u8], dimensions: usize) -> Result<(Query, &[u8]), WireError> {
    let (neighbours, rest) = bytes.split_first_chunk().ok_or(WireError::Short)?;
    let (found, rest) = rest.split_first_chunk().ok_or(WireError::Short)?;
    let (neighbours, found) = (u16::from_le_bytes(*neighbours), u16::from_le_bytes(*found));
    if !(1..=NEIGHBOURS_MAX).contains(&neighbours) {
        return Err(WireError::Neighbours(neighbours));
    }
    if usize::from(found) != dimensions {
        return Err(WireError::Dimensions(found, dimensions));
    }
    let (values, rest) = rest.split_at_checked(4 * dimensions).ok_or(WireError::Short)?;
    let vector: Vec<f32> =
        values.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    match vector.iter().find(|value| !value.is_finite() || value.abs() > VALUE_MAX) {
        Some(&value) => Err(WireError::Value(value)),
        None => Ok((Query { neighbours, vector }, rest)),
    }
}

fn write_found(bytes: &mut Vec<u8>, found: &[Found]) {
    bytes.extend_from_slice(&(found.len() as u16).to_le_bytes());
    for found in found {
        bytes.extend_from_slice(&found.point.to_le_bytes());
        bytes.extend_from_slice(&found.distance.to_le_bytes());
    }
}

fn read_found(bytes: &[u8]) -> Option<Vec<Found>> {
    let (count, rest) = bytes.split_first_chunk()?;
    let (each, []) = rest.as_chunks::<8>() else { return None };
    let found = each.iter().map(|&[a, b, c, d, e, f, g, h]| Found {
        point: u32::from_le_bytes([a, b, c, d]),
        distance: f32::from_le_bytes([e, f, g, h]),
    });
    (each.len() == usize::from(u16::from_le_bytes(*count))).then(|| found.collect())
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("found the end of the request; its values are needed"),
            Self::Trailing(bytes) => {
                write!(f, "found {bytes} bytes after the last number; none may follow")
            }
            Self::Neighbours(found) => {
                write!(f, "found {found} neighbours wanted; 1 to {NEIGHBOURS_MAX} are needed")
            }
            Self::Dimensions(found, needed) => {
                write!(
                    f,
                    "found a query of {found} dimensions; those of the set, {needed}, are needed"
                )
            }
            Self::Value(value) => {
                write!(f, "found the value {value}; a number of at most {VALUE_MAX:e} is needed")
            }
            Self::Candidates(found) => {
                write!(
                    f,
                    "found {found} candidates; {CANDIDATES_MAX} at most are needed: ask in parts"
                )
            }
            Self::Range(start, count) => {
                write!(
                    f,
                    "found a range of {count} candidates from {start} on; ranges of points of this leaf are needed that rise, \
                     do not overlap, and have one point at least"
                )
            }
        }
    }
}

impl std::error::Error for WireError {}

const _: () = assert!(DIMENSIONS_MAX <= u16::MAX as usize);
const _: () = assert!(4 * (DIMENSIONS_MAX + CANDIDATES_MAX) + 64 < 1 << 20);
// A range comes from a list, so the mid-tier has no more of them.
const _: () = assert!(4 * DIMENSIONS_MAX + 8 * LISTS_MAX + 64 < 1 << 20);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query() -> Query {
        Query { neighbours: 10, vector: vec![1.5, -2.0, 0.0] }
    }

    #[test]
    fn a_request_comes_back() {
        let bytes = request(u64::MAX - 1, &query());
        assert_eq!(read_request(&bytes, 3), Ok((u64::MAX - 1, query())));
        for cut in 0..bytes.len() {
            assert_eq!(read_request(&bytes[..cut], 3), Err(WireError::Short), "{cut} bytes");
        }
        assert_eq!(read_request(&[&bytes[..], &[0]].concat(), 3), Err(WireError::Trailing(1)));
    }

    #[test]
    fn a_leaf_request_comes_back() {
        let mut candidates = vec![9];
        let mut read = |bytes: &[u8]| {
            let read = read_leaf_request(bytes, (20, 3), &mut candidates);
            read.map(|query| (query, candidates.clone()))
        };
        let bytes = leaf_request(&query(), &[3..5, 5..6, 19..20], &[7, u32::MAX]);
        assert_eq!(read(&bytes), Ok((query(), vec![3, 4, 5, 19, 7, u32::MAX])));
        assert_eq!(read(&bytes[..bytes.len() - 1]), Err(WireError::Trailing(3)));
        let last_range = bytes.len() - 8 - 1;
        assert_eq!(read(&bytes[..last_range]), Err(WireError::Short));
        assert_eq!(read(&leaf_request(&query(), &[], &[])), Ok((query(), vec![])));
        let refused = read(&leaf_request(&query(), &[], &vec![0; CANDIDATES_MAX + 1]));
        assert_eq!(refused, Err(WireError::Candidates(CANDIDATES_MAX + 1)));
    }

    /// Or a request of a mebibyte would have a leaf look at all its points 131,000 times.
    #[test]
    fn ranges_that_do_not_rise_or_leave_the_leaf_are_refused() {
        let read = |of_ranges: &[(u32, u32)]| {
            let bytes: Vec<u8> = (of_ranges.iter())
                .flat_map(|(start, count)| [start.to_le_bytes(), count.to_le_bytes()])
                .flatten()
                .collect();
            read_ranges(&bytes, 20, &mut Vec::new())
        };
        assert_eq!(read(&[(0, 4), (4, 1), (7, 13)]), Ok(()));
        for (first, bad) in [
            ((0, 4), (3, 2)),
            ((5, 1), (0, 1)),
            ((0, 1), (2, 0)),
            ((0, 1), (2, 19)),
            ((0, 1), (2, u32::MAX)),
        ] {
            assert_eq!(read(&[first, bad]), Err(WireError::Range(bad.0, bad.1)));
        }
        let said = WireError::Range(3, 2).to_string();
        assert!(said.starts_with("found a range of 2 candidates from 3 on;"), "{said}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let read = |query: &Query| read_request(&request(1, query), 3).expect_err("no query");
        assert_eq!(read(&Query { neighbours: 0, ..query() }), WireError::Neighbours(0));
        assert_eq!(read(&Query { neighbours: 1_001, ..query() }), WireError::Neighbours(1_001));
        let two = Query { vector: vec![1.0; 2], ..query() };
        assert_eq!(
            read(&two).to_string(),
            "found a query of 2 dimensions; those of the set, 3, are needed"
        );
        let odd = |value| read(&Query { vector: vec![0.0, value, 0.0], ..query() }).to_string();
        assert_eq!(odd(f32::NAN), "found the value NaN; a number of at most 1e15 is needed");
        assert!(odd(2e15).contains("found the value 2000000000000000;"));
    }

    #[test]
    fn answers_come_back() {
        let found =
            vec![Found { point: 9, distance: 0.5 }, Found { point: 1, distance: f32::INFINITY }];
        let said = Answer { tag: 7, candidates: 300, found };
        let bytes = answer(&said);
        assert_eq!(read_answer(&bytes), Some(said.clone()));
        assert_eq!(read_answer(&bytes[..bytes.len() - 8]), None);
        assert_eq!(read_answer(&[&bytes[..], &[0; 8]].concat()), None);
        let of_leaf = LeafAnswer { candidates: 12, found: said.found };
        let bytes = leaf_answer(&of_leaf);
        assert_eq!(read_leaf_answer(&bytes[4..]), None, "as leaves answered before they counted");
        assert_eq!(read_leaf_answer(&bytes), Some(of_leaf));
        assert_eq!((read_answer(&[]), read_leaf_answer(&[1])), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok((tag, query)) = read_request(&bytes, 2) {
                prop_assert_eq!(request(tag, &query), bytes.clone());
            }
            let (mut candidates, mut again) = (Vec::new(), Vec::new());
            if let Ok(query) = read_leaf_request(&bytes, (1_000, 2), &mut candidates) {
                let single = leaf_request(&query, &[], &candidates);
                prop_assert_eq!(read_leaf_request(&single, (0, 2), &mut again), Ok(query));
                prop_assert_eq!(again, candidates);
            }
            if let Some(said) = read_answer(&bytes) {
                prop_assert_eq!(answer(&said), bytes.clone());
            }
            if let Some(said) = read_leaf_answer(&bytes) {
                prop_assert_eq!(leaf_answer(&said), bytes);
            }
        }
    }
}
