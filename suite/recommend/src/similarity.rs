//! How alike two users are, by their rows of factors.

use crate::factors::dot;

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

    fn of(similarity: Similarity, one: &[f32], other: &[f32]) -> f32 {
        let prepared = |row: &[f32]| {
            let mut row = row.to_vec();
            similarity.prepare(&mut row);
            row
        };
        similarity.of(&prepared(one), &prepared(other))
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
