//! The one way to the kernels: a value that stands for instructions that are there.

use crate::level::Level;
use crate::table::{NoSuchRow, Rows};
use crate::{distance, intersect};

/// The kernels for one [`Level`], which this processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernels {
    /// Is here: both constructors have asked.
    level: Level,
}

impl Kernels {
    /// Those with the widest registers that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::up_to(Level::Avx512)
    }

    /// Those with the widest registers that this processor has, up to `level`.
    #[must_use]
    pub fn up_to(level: Level) -> Self {
        let here = Level::ALL.into_iter().rev().find(|other| *other <= level && other.is_here());
        Self { level: here.unwrap_or(Level::Scalar) }
    }

    /// Their level.
    #[must_use]
    pub const fn level(self) -> Level {
        self.level
    }

    /// The sum of the squares of the differences of two vectors.
    ///
    /// With `n` dimensions the relative error is at most `(n / 32 + 9) · 2⁻²⁴` to the first order, as long as nothing
    /// overflows or is subnormal: a lane adds n / 32 terms, five more additions join 32 lanes, and a term is rounded
    /// thrice. Every level gives the same bits.
    ///
    /// # Panics
    /// When the vectors differ in length: a mistake of the program.
    #[must_use]
    pub fn squared_distance(self, a: &[f32], b: &[f32]) -> f32 {
        same_length(a, b);
        distance::squared_distance(self.level, a, b)
    }

    /// The sum of the products of two vectors. Its error is at most (n / 32 + 7) · 2⁻²⁴ of the sum of the
    /// absolute products, to the first order. Every level gives the same bits.
    ///
    /// # Panics
    /// When the vectors differ in length: a mistake of the program.
    #[must_use]
    pub fn dot(self, a: &[f32], b: &[f32]) -> f32 {
        same_length(a, b);
        distance::dot(self.level, a, b)
    }

    /// Appends the squared distance of `query` to each of these rows, in their order. Rows are asked for ahead,
    /// so that one comes from memory while others are computed.
    ///
    /// # Errors
    /// When there is no such row; `distances` is as before.
    ///
    /// # Panics
    /// When `query` is not as long as a row: see [`Rows::padded`].
    pub fn distances_of(
        self,
        query: &[f32],
        rows: Rows<'_>,
        numbers: &[u32],
        distances: &mut Vec<f32>,
    ) -> Result<(), NoSuchRow> {
        rows.fits(query);
        rows.has_all(numbers)?;
        distances.reserve(numbers.len());
        distance::distances_of(self.level, query, rows, numbers, distances);
        Ok(())
    }

    /// Appends the squared distance of `query` to every row.
    ///
    /// # Panics
    /// When `query` is not as long as a row.
    pub fn distances(self, query: &[f32], rows: Rows<'_>, distances: &mut Vec<f32>) {
        rows.fits(query);
        distances.reserve(rows.count());
        distance::distances(self.level, query, rows, distances);
    }

    /// Appends the dot product of `query` with every row.
    ///
    /// # Panics
    /// When `query` is not as long as a row.
    pub fn dots(self, query: &[f32], rows: Rows<'_>, dots: &mut Vec<f32>) {
        rows.fits(query);
        dots.reserve(rows.count());
        distance::dots(self.level, query, rows, dots);
    }

    /// Appends what both lists hold, in order. Each must rise strictly; otherwise the result is some of the
    /// numbers of both.
    ///
    /// Compares blocks of both lists, each with each; where one list is 32 times as long as the other, it
    /// gallops.
    pub fn intersect(self, a: &[u32], b: &[u32], both: &mut Vec<u32>) {
        intersect::intersect(self.level, a, b, both);
    }
}

fn same_length(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len(), "two vectors of one length are needed");
}
