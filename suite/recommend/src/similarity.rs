//! How alike two users are, by their rows of factors.

use crate::factors::{FitError, dot};

/// A measure; larger is more alike. The thesis names these three (§2.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Similarity {
    /// Cosine of the angle between the rows, 0 to 1 for rows that are not negative.
    Cosine,
    /// The same of the rows less their means, −1 to 1.
    Pearson,
    /// 1 / (1 + distance), above 0 and up to 1.
    Euclid,
}

impl Similarity {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 3] =
        [("cosine", Self::Cosine), ("pearson", Self::Pearson), ("euclid", Self::Euclid)];

    /// Whether it tells rows of so many numbers apart.
    ///
    /// # Errors
    /// When it says the same of all: a number less its mean is zero, and two are 1 and −1, or the reverse; the cosine of
    /// two numbers that are not negative is 1.
    pub(crate) const fn check(self, rank: usize) -> Result<(), FitError> {
        let least = match self {
            // All that there can be.
            Self::Euclid => 0,
            Self::Cosine => 2,
            Self::Pearson => 3,
        };
        if rank >= least { Ok(()) } else { Err(FitError::Similarity { rank, least }) }
    }

    /// A row as [`Similarity::of`] takes it: made once for each user.
    pub(crate) fn prepare(self, row: &mut [f32]) {
        if self == Self::Pearson {
            let mean = row.iter().map(|it| f64::from(*it)).sum::<f64>() / row.len() as f64;
            row.iter_mut().for_each(|it| *it = (f64::from(*it) - mean) as f32);
        }
        if self != Self::Euclid {
            let length = dot(row, row).sqrt();
            // A user without factors is like nobody.
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            row.iter_mut().for_each(|it| *it = (f64::from(*it) * scale) as f32);
        }
    }

    /// Of two prepared rows of the same length.
    pub(crate) fn of(self, one: &[f32], other: &[f32]) -> f32 {
        if self != Self::Euclid {
            return dot(one, other) as f32;
        }
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        let distance = one.iter().zip(other).map(square).sum::<f64>().sqrt();
        (1.0 / (1.0 + distance)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn of(similarity: Similarity, one: &[f32], other: &[f32]) -> f32 {
        let prepared = |row: &[f32]| {
            let mut row = row.to_vec();
            similarity.prepare(&mut row);
            row
        };
        similarity.of(&prepared(one), &prepared(other))
    }

    /// Of rows that are too short, no two are told apart, or by a sign alone.
    #[test]
    fn ranks_that_tell_nothing_apart_are_refused() {
        assert_eq!(Similarity::Euclid.check(1), Ok(()));
        for (similarity, least) in [(Similarity::Cosine, 2), (Similarity::Pearson, 3)] {
            assert_eq!(similarity.check(least), Ok(()));
            assert!(similarity.check(least - 1).is_err(), "{similarity:?}");
        }
        let rows = [[0.5, 2.0], [1.0, 1.5], [3.0, 1.0], [0.1, 9.0]];
        let found = |similarity, rank: usize| {
            let pairs = rows.iter().flat_map(|one| rows.iter().map(move |other| (one, other)));
            let each = pairs.map(|(one, other)| of(similarity, &one[..rank], &other[..rank]));
            // In thousandths, since lengths are rounded.
            each.map(|alike| (alike.abs() * 1e3).round() as i32).collect::<BTreeSet<_>>()
        };
        assert_eq!(found(Similarity::Pearson, 1), BTreeSet::from([0]));
        assert_eq!(found(Similarity::Pearson, 2), BTreeSet::from([1_000]));
        assert_eq!(found(Similarity::Cosine, 1), BTreeSet::from([1_000]));
        assert!(found(Similarity::Cosine, 2).len() > 1 && found(Similarity::Euclid, 1).len() > 1);
    }

    #[test]
    fn each_is_what_its_name_says() {
        let is = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-6, "{found}");
        is(of(Similarity::Cosine, &[1.0, 0.0], &[0.0, 2.0]), 0.0);
        is(of(Similarity::Cosine, &[1.0, 1.0], &[3.0, 3.0]), 1.0);
        is(of(Similarity::Cosine, &[1.0, 2.0, 2.0], &[2.0, 1.0, 2.0]), 8.0 / 9.0);
        is(of(Similarity::Pearson, &[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        is(of(Similarity::Pearson, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), 1.0);
        is(of(Similarity::Euclid, &[0.0, 0.0], &[3.0, 4.0]), 1.0 / 6.0);
        is(of(Similarity::Euclid, &[7.0], &[7.0]), 1.0);
        is(of(Similarity::Cosine, &[0.0, 0.0], &[3.0, 4.0]), 0.0);
    }
}
