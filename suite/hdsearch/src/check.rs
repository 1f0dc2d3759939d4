//! Whether an answer is right, and if not, what is wrong with it.

use crate::nearest::Found;
use crate::wire::Answer;
use std::collections::BTreeSet;
use std::fmt;

/// The answer that a query must get: bit by bit, since every machine computes the same distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// How many points leaves must look at.
    pub candidates: u32,
    /// The nearest of these, by plain code.
    pub found: Vec<Found>,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wrong {
    /// Other than so many neighbours.
    Count {
        /// In the answer.
        found: usize,
        /// As many as are wanted, or as there are candidates if that is less.
        needed: usize,
    },
    /// A point that is not in the set.
    NoSuchPoint(u32),
    /// A point that is there twice.
    Twice(u32),
    /// Neighbours are not in order from this place on.
    Order(usize),
    /// A point whose distance is another one.
    Distance {
        /// Which point.
        point: u32,
        /// In the answer.
        found: f32,
        /// By plain code.
        needed: f32,
    },
    /// A point that is none of the nearest candidates.
    NotNearest(u32),
    /// Leaves looked at so many points, and should have at so many.
    Candidates {
        /// In the answer.
        found: u32,
        /// By the index.
        needed: u32,
    },
}

impl Expected {
    /// Whether the answer is this one.
    #[must_use]
    pub fn is(&self, answer: &Answer) -> bool {
        let same = |(one, other): (&Found, &Found)| {
            one.point == other.point && one.distance.to_bits() == other.distance.to_bits()
        };
        answer.candidates == self.candidates
            && answer.found.len() == self.found.len()
            && answer.found.iter().zip(&self.found).all(same)
    }

    /// What is wrong with an answer, the plainest fault first. `distance` computes that of a point of the set from
    /// the query; `None` where there is no such point.
    ///
    /// # Errors
    /// When it is wrong.
    pub fn check(
        &self,
        answer: &Answer,
        distance: impl Fn(u32) -> Option<f32>,
    ) -> Result<(), Wrong> {
        let (found, needed) = (answer.found.len(), self.found.len());
        if found != needed {
            return Err(Wrong::Count { found, needed });
        }
        let mut seen = BTreeSet::new();
        for &Found { point, distance: found } in &answer.found {
            let needed = distance(point).ok_or(Wrong::NoSuchPoint(point))?;
            if !seen.insert(point) {
                return Err(Wrong::Twice(point));
            }
            if needed.to_bits() != found.to_bits() {
                return Err(Wrong::Distance { point, found, needed });
            }
        }
        let in_order = |pair: &[Found]| pair[0].order(&pair[1]).is_lt();
        if let Some(place) = answer.found.windows(2).position(|pair| !in_order(pair)) {
            return Err(Wrong::Order(place));
        }
        let is_needed = |one: &Found| self.found.iter().any(|needed| needed.point == one.point);
        if let Some(one) = answer.found.iter().find(|one| !is_needed(one)) {
            return Err(Wrong::NotNearest(one.point));
        }
        if answer.candidates != self.candidates {
            return Err(Wrong::Candidates { found: answer.candidates, needed: self.candidates });
        }
        Ok(())
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found, needed } => {
                write!(f, "found {found} neighbours; {needed} are needed")
            }
            Self::NoSuchPoint(point) => write!(f, "found point {point}, which is not in the set"),
            Self::Twice(point) => write!(f, "found point {point} twice"),
            Self::Order(place) => {
                write!(f, "found neighbours out of order, at places {place} and {}", place + 1)
            }
            Self::Distance { point, found, needed } => {
                write!(f, "found distance {found} of point {point}; it is {needed}")
            }
            Self::NotNearest(point) => {
                write!(f, "found point {point}, which is none of the nearest candidates")
            }
            Self::Candidates { found, needed } => {
                write!(f, "found {found} candidates; the index has {needed}")
            }
        }
    }
}

impl std::error::Error for Wrong {}
