//! Which set is asked for, and making it.

use super::{DIMENSIONS_MAX, Generator, GloveError, Kind, POINTS_MAX, Set, Tell, glosses, read};
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

impl Wanted {
    /// Generates or reads the set.
    ///
    /// # Errors
    /// A sentence for people; what `tell` returns.
    pub fn make(&self, tell: Tell<'_>) -> Result<Set, String> {
        match &self.source {
            Source::Generated(kind) => {
                let (points, dimensions) = self.size(*kind);
                let generator = Generator::new(kind.recipe(dimensions), self.seed);
                let all = points + self.queries;
                Set::generated(&generator, points, self.queries, |made| {
                    tell("making vectors", made, all)
                })
            }
            Source::WordNet(folder) => {
                let dimensions = self.dimensions.unwrap_or(glosses::DIMENSIONS);
                let most = self.points.map_or(POINTS_MAX, |points| points + self.queries);
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
                let most = self.points.map_or(POINTS_MAX, |points| points + self.queries);
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
            Source::WordNet(_) => {
                format!("{points} words of WordNet, by their glosses, in {dimensions} dimensions")
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
