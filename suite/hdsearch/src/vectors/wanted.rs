//! Which set is asked for, and making it.

use super::{
    BYTES_MAX, DIMENSIONS_MAX, Generator, GloveError, Kind, POINTS_MAX, Set, Tell, glosses, read,
    vectors_max,
};
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use tailwater_data::text;

/// Where vectors come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// They are generated.
    Generated(Kind),
    /// Words of WordNet in this folder, by their glosses: see `glosses`.
    WordNet(PathBuf),
    /// A text of GloVe.
    Text(PathBuf),
}

/// A set that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Where vectors come from.
    pub source: Source,
    /// How many points; of a text, the first so many. `None`: all of a text, or as many as there are by default.
    pub points: Option<usize>,
    /// Of generated vectors; `None`: as many as are usual.
    pub dimensions: Option<usize>,
    /// How many queries.
    pub queries: usize,
    /// Decides generated vectors.
    pub seed: u64,
}

impl Kind {
    /// How many points there are by default, and of how many dimensions: GloVe's smallest set, and a tenth of
    /// the thesis' images with as many dimensions.
    #[must_use]
    pub const fn usual(self) -> (usize, usize) {
        match self {
            Self::Words => (400_000, 50),
            Self::Images => (50_000, 2_048),
        }
    }
}

/// A generated set that takes more than [`BYTES_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// So many points were asked for.
    pub points: usize,
    /// So many may be.
    pub points_max: usize,
    /// Of so many dimensions.
    pub dimensions: usize,
    /// Beside so many queries.
    pub queries: usize,
}

impl TooLarge {
    /// For people: what may be instead.
    #[must_use]
    pub fn needed(&self) -> String {
        let Self { points_max, dimensions, queries, .. } = self;
        format!(
            "at most {points_max}, with {dimensions} dimensions and {queries} queries ({} GiB),",
            BYTES_MAX >> 30
        )
    }
}

impl Wanted {
    /// Whether a set that is generated fits into [`BYTES_MAX`]; how large others are is found when they are read.
    ///
    /// # Errors
    /// How many points it may have.
    pub fn check(&self) -> Result<(), TooLarge> {
        let Source::Generated(kind) = self.source else { return Ok(()) };
        let (points, dimensions) = self.size(kind);
        let points_max = vectors_max(dimensions).saturating_sub(self.queries);
        if points <= points_max {
            return Ok(());
        }
        Err(TooLarge { points, points_max, dimensions, queries: self.queries })
    }

    /// Generates or reads the set.
    ///
    /// # Errors
    /// A sentence for people; what `tell` returns.
    pub fn make(&self, tell: Tell<'_>) -> Result<Set, String> {
        match &self.source {
            Source::Generated(kind) => {
                self.check()
                    .map_err(|it| format!("points is {}; {} is needed", it.points, it.needed()))?;
                let (points, dimensions) = self.size(*kind);
                let generator = Generator::new(kind.recipe(dimensions), self.seed);
                let all = points + self.queries;
                Set::generated(&generator, points, self.queries, |made| {
                    tell("making vectors", made, all)
                })
            }
            Source::WordNet(folder) => {
                let dimensions = self.dimensions.unwrap_or(glosses::DIMENSIONS);
                let most = self.points.map_or(usize::MAX, |points| points + self.queries);
                let words =
                    glosses::read(folder, (dimensions.min(DIMENSIONS_MAX), most), self.seed, tell)?;
                Ok(Set::held_out(words, self.queries))
            }
            Source::Text(path) => {
                if self.dimensions.is_some() {
                    return Err(format!(
                        "found a number of dimensions beside {}, which has its own; leave it out",
                        path.display()
                    ));
                }
                let most = self.points.map_or(usize::MAX, |points| points + self.queries);
                let words =
                    read(path, most, |read| tell("reading vectors", read, 0).map_err(Stopped::By));
                let words = words.map_err(|stopped| stopped.to_string())?;
                if words.words.len() < 2 {
                    return Err(format!(
                        "{}: found one vector; two at least are needed",
                        path.display()
                    ));
                }
                Ok(Set::held_out(words, self.queries))
            }
        }
    }

    /// Points and dimensions of a generated set.
    fn size(&self, kind: Kind) -> (usize, usize) {
        let (points, dimensions) = kind.usual();
        (
            self.points.unwrap_or(points).min(POINTS_MAX),
            self.dimensions.unwrap_or(dimensions).min(DIMENSIONS_MAX),
        )
    }

    /// For people: what the set is.
    #[must_use]
    pub fn about(&self, set: &Set) -> String {
        let rows = set.points.rows();
        let (points, dimensions) = (rows.count(), rows.dimensions());
        match &self.source {
            Source::Generated(Kind::Words) => {
                format!("{points} generated words of {dimensions} dimensions")
            }
            Source::Generated(Kind::Images) => {
                format!("{points} generated images of {dimensions} dimensions")
            }
            Source::WordNet(folder) => {
                let name = text::wordnet_name(folder);
                format!("{points} words of {name}, by their glosses, in {dimensions} dimensions")
            }
            Source::Text(_) => format!("{points} words of {dimensions} dimensions"),
        }
    }

    /// For people: where it is from.
    #[must_use]
    pub fn from(&self) -> String {
        match &self.source {
            Source::Generated(_) => format!("generated from seed {}", self.seed),
            Source::WordNet(folder) => text::Source::WordNet(folder.clone()).to_string(),
            Source::Text(path) => path.display().to_string(),
        }
    }
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "words" => Self::Generated(Kind::Words),
            "images" => Self::Generated(Kind::Images),
            "wordnet" => Self::WordNet(text::WORDNET.into()),
            path => Self::Text(path.into()),
        })
    }
}

/// Why a text was not read to its end.
enum Stopped {
    /// It is none.
    Glove(GloveError),
    /// The hearer wanted it.
    By(String),
}

impl From<GloveError> for Stopped {
    fn from(error: GloveError) -> Self {
        Self::Glove(error)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glove(error) => error.fmt(f),
            Self::By(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest that both bounds allow would be 262 GB.
    #[test]
    fn a_generated_set_has_a_bound_in_bytes_and_the_error_a_number_that_is_within() {
        let wanted = |points, dimensions| Wanted {
            source: Source::Generated(Kind::Words),
            points: Some(points),
            dimensions: Some(dimensions),
            queries: 1_000,
            seed: 1,
        };
        // The thesis' images, GloVe's largest set, and as many words as may be.
        for (points, dimensions) in [(500_000, 2_048), (2_200_000, 300), (POINTS_MAX, 50)] {
            assert_eq!(wanted(points, dimensions).check(), Ok(()), "{points} x {dimensions}");
        }
        let error = wanted(POINTS_MAX, DIMENSIONS_MAX).check().expect_err("too large");
        assert_eq!((error.points, error.points_max), (POINTS_MAX, (8 << 30) / (4 * 4_096) - 1_000));
        assert_eq!(wanted(error.points_max, DIMENSIONS_MAX).check(), Ok(()));
        assert!(wanted(error.points_max + 1, DIMENSIONS_MAX).check().is_err());
        // Rows are padded: 33 dimensions take as much as 64.
        assert_eq!(vectors_max(33), vectors_max(64));
        let told = wanted(POINTS_MAX, DIMENSIONS_MAX).make(&|_, _, _| Ok(())).expect_err("none");
        assert_eq!(
            told,
            "points is 16000000; at most 523288, with 4096 dimensions and 1000 queries (8 GiB), is needed"
        );
    }
}
