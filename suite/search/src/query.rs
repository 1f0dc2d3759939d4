//! What is asked.

use std::borrow::Cow;
use std::fmt;
use tailwater_data::text::tokens::tokens;

/// More terms than this are refused: each costs a list of documents.
pub const TERMS_MAX: usize = 16;
/// More hits than this are refused.
pub const HITS_MAX: u16 = 1_000;

/// Which documents answer a query of several terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Those with at least one of them.
    Any,
    /// Those with all of them.
    All,
}

/// Up to [`TERMS_MAX`] terms, which of them a document must hold, and how many hits are wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Query {
    terms: Vec<String>,
    mode: Mode,
    hits: u16,
}

/// A query that cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// No term in it.
    Empty,
    /// So many different terms.
    TooManyTerms(usize),
    /// So many hits wanted.
    Hits(u16),
}

impl Query {
    /// The terms of `text` in alphabetical order, each once.
    pub fn new(text: &str, mode: Mode, hits: u16) -> Result<Self, QueryError> {
        Self::of_terms(tokens(text).map(Cow::into_owned).collect(), mode, hits)
    }

    /// With these terms, as [`tokens`] yields them.
    pub fn of_terms(mut terms: Vec<String>, mode: Mode, hits: u16) -> Result<Self, QueryError> {
        // Scores are rounded as they are summed: one order of terms, one order of hits.
        terms.sort_unstable();
        terms.dedup();
        match terms.len() {
            0 => Err(QueryError::Empty),
            1..=TERMS_MAX if (1..=HITS_MAX).contains(&hits) => Ok(Self { terms, mode, hits }),
            1..=TERMS_MAX => Err(QueryError::Hits(hits)),
            many => Err(QueryError::TooManyTerms(many)),
        }
    }

    /// In alphabetical order, each once.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Which documents answer it.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// How many hits at most, 1 to [`HITS_MAX`].
    #[must_use]
    pub const fn hits(&self) -> u16 {
        self.hits
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("found a query without a word; letters or digits are needed")
            }
            Self::TooManyTerms(terms) => {
                write!(
                    f,
                    "found a query of {terms} different words; at most {TERMS_MAX} are looked up"
                )
            }
            Self::Hits(hits) => write!(f, "found {hits} hits wanted; 1 to {HITS_MAX} are possible"),
        }
    }
}

impl std::error::Error for QueryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_and_distinct() {
        let query = Query::new("Two boats, two Men", Mode::Any, 10).expect("a query");
        assert_eq!(query.terms(), ["boats", "men", "two"]);
    }

    #[test]
    fn limits_are_kept() {
        assert_eq!(Query::new(" -- ", Mode::Any, 10), Err(QueryError::Empty));
        assert_eq!(Query::new("a", Mode::Any, 0), Err(QueryError::Hits(0)));
        assert_eq!(Query::new("a", Mode::Any, HITS_MAX + 1), Err(QueryError::Hits(1_001)));
        let many = (0..17).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
        assert_eq!(Query::new(&many, Mode::All, 1), Err(QueryError::TooManyTerms(17)));
        assert!(Query::new(&many.replace("w16", "w0"), Mode::All, HITS_MAX).is_ok());
    }
}
