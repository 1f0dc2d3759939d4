//! What is searched: points, and queries that are none of them.

mod dimension;
mod generate;
mod glosses;
mod glove;
mod names;
mod wanted;

pub use dimension::{Shape, shape};
pub use generate::{Generator, Kind, Recipe};
pub(crate) use glosses::explanations;
pub use glove::{GloveError, Words, read};
pub use names::Names;
pub use wanted::{Source, TooLarge, Wanted};

use crate::parts::each;
use tailwater_kernels::{BLOCK, Table};

/// Hears what is being made, how much of it is done, and of how much (0: unknown). Its error ends the work.
pub type Tell<'a> = &'a dyn Fn(&str, usize, usize) -> Result<(), String>;

/// Most points of a set.
pub const POINTS_MAX: usize = 16_000_000;

/// What the vectors of a set take in memory at most, each with the zeros behind it: 8 GiB. The thesis' images take 4.1 GB. While
/// a set is prepared it stands there twice.
pub const BYTES_MAX: u64 = 8 << 30;

/// How many vectors of so many dimensions take [`BYTES_MAX`].
#[must_use]
pub const fn vectors_max(dimensions: usize) -> usize {
    // A table's rows are whole blocks.
    let row = size_of::<f32>() * dimensions.next_multiple_of(BLOCK);
    (BYTES_MAX / row as u64) as usize
}

/// Most dimensions of a vector.
pub const DIMENSIONS_MAX: usize = 4_096;

/// Most queries that are kept out of a set.
pub const QUERIES_MAX: usize = 100_000;

/// Points and queries.
#[derive(Debug)]
pub struct Set {
    /// What the leaves hold.
    pub points: Table,
    /// What is asked. None of them is a point: the published generator asks for rows that are indexed, whose
    /// nearest neighbour is themselves.
    pub queries: Table,
    /// What points and queries are called; empty where they are generated.
    pub names: Names,
}

impl Set {
    /// Generated points, and as queries the vectors after them. `tell` hears how many are made.
    ///
    /// # Errors
    /// What `tell` returns.
    pub fn generated<E>(
        generator: &Generator,
        points: usize,
        queries: usize,
        tell: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Self, E> {
        let dimensions = generator.dimensions();
        let mut set = Self {
            points: Table::with_capacity(dimensions, points),
            queries: Table::with_capacity(dimensions, queries),
            names: Names::default(),
        };
        let all = points + queries;
        for first in (0..all).step_by(TOLD_EVERY) {
            tell(first)?;
            let make = |at: usize| generator.vector((first + at) as u64);
            let vectors = each(TOLD_EVERY.min(all - first), make);
            for (number, vector) in (first..).zip(&vectors) {
                if number < points { &mut set.points } else { &mut set.queries }.push(vector);
            }
        }
        Ok(set)
    }

    /// Of these vectors, every so many is taken out as a query, evenly through all: GloVe's file is sorted by how
    /// common a word is.
    #[must_use]
    pub fn held_out(words: Words, queries: usize) -> Self {
        let rows = words.vectors.rows();
        let (all, queries) = (rows.count(), queries.min(rows.count() / 2));
        let (points, held) = (Table::new(rows.dimensions()), Table::new(rows.dimensions()));
        let mut set = Self { points, queries: held, names: Names::default() };
        let mut taken = 0;
        for (number, word) in words.words.into_iter().enumerate() {
            // The query of number n is the row in the middle of the n-th part.
            let is_query = taken < queries && number == (2 * taken + 1) * all / (2 * queries);
            taken += usize::from(is_query);
            let Names { points, queries } = &mut set.names;
            if is_query { queries } else { points }.push(word);
            if is_query { &mut set.queries } else { &mut set.points }.push(rows.vector(number));
        }
        set
    }
}

/// Every so many vectors a caller hears how far it is.
const TOLD_EVERY: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_no_points() {
        let words = || {
            let mut vectors = Table::new(1);
            (0..1_003).for_each(|number| vectors.push(&[number as f32]));
            Words { words: (0..1_003).map(|number| number.to_string()).collect(), vectors }
        };
        let set = Set::held_out(words(), 100);
        let values = |table: &Table| -> Vec<f32> {
            (0..table.rows().count()).map(|row| table.rows().vector(row)[0]).collect()
        };
        let (points, queries) = (values(&set.points), values(&set.queries));
        assert_eq!((points.len(), queries.len()), (903, 100));
        assert!(points.iter().all(|point| !queries.contains(point)));
        // Evenly: no two are nearer than nine rows.
        assert!(queries.windows(2).all(|pair| pair[1] - pair[0] >= 9.0));
        assert_eq!(Set::held_out(words(), 5_000).queries.rows().count(), 501);
        // Each keeps its own name.
        let named = |names: &[String]| -> Vec<f32> {
            names.iter().map(|name| name.parse().expect("a number")).collect()
        };
        assert_eq!((named(&set.names.points), named(&set.names.queries)), (points, queries));
    }

    #[test]
    fn generated_queries_come_after_the_points() {
        let generator = Generator::new(Kind::Words.recipe(20), 1);
        let quiet = |_| Ok::<_, ()>(());
        let set = Set::generated(&generator, 30, 5, quiet).expect("made");
        assert_eq!(set.points.rows().vector(29), generator.vector(29));
        assert_eq!(set.queries.rows().vector(0), generator.vector(30));
        assert_eq!((set.points.rows().count(), set.queries.rows().count()), (30, 5));
    }
}
