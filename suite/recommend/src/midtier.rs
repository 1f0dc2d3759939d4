//! The mid-tier: what it asks every leaf, and the prediction that follows from what they answer.

use crate::average::average;
use crate::model::Query;
use crate::neighbours::Neighbour;
use crate::profiles::Profiles;
use crate::wire::{self, NEIGHBOURS, SLICE, WireError};
use std::fmt;
use tailwater_core::MethodId;

/// What the mid-tier has.
#[derive(Debug)]
pub struct MidTier {
    /// How its leaves share the work.
    pub part: Part,
    /// How many there are.
    pub leaves: u32,
}

/// Its part, by how leaves share the work.
#[derive(Debug)]
pub enum Part {
    /// By user: it merges neighbours.
    Users(Profiles),
    /// By line, as published: it averages predictions.
    Lines {
        /// Of all ratings: what is answered where no leaf can predict.
        mean: f32,
    },
}

/// A leaf answered something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotALeafsAnswer {
    /// Which leaf.
    pub leaf: usize,
}

impl fmt::Display for NotALeafsAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaf = self.leaf;
        write!(f, "found no answer of a leaf from leaf {leaf}; is it of the same data and version?")
    }
}

impl std::error::Error for NotALeafsAnswer {}

impl MidTier {
    /// What every leaf is asked: the method and its bytes.
    ///
    /// # Errors
    /// When the user is not known.
    pub fn plan(&self, query: Query) -> Result<(MethodId, Vec<u8>), WireError> {
        match &self.part {
            Part::Users(profiles) => {
                let unknown = WireError::User(query.user, profiles.users());
                let row = profiles.probe(query).ok_or(unknown)?.row;
                Ok((NEIGHBOURS, wire::neighbours_request(query, row)))
            }
            Part::Lines { .. } => Ok((SLICE, wire::slice_request(query))),
        }
    }

    /// The prediction, from the answers of all leaves in their order.
    ///
    /// # Errors
    /// When one of them is none, or names a user of another leaf.
    pub fn merge<'a>(
        &self,
        query: Query,
        answers: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<f32, NotALeafsAnswer> {
        let each = answers.into_iter().enumerate();
        match &self.part {
            Part::Users(profiles) => {
                let read = |(leaf, bytes): (usize, &[u8])| {
                    let found = wire::read_neighbours_answer(bytes);
                    let is_own = |it: &Neighbour| it.user % self.leaves == leaf as u32;
                    let is_sound = |found: &Vec<Neighbour>| {
                        found.len() <= profiles.neighbours() && found.iter().all(is_own)
                    };
                    found.filter(is_sound).ok_or(NotALeafsAnswer { leaf })
                };
                let found: Vec<_> = each.map(read).collect::<Result<_, _>>()?;
                Ok(profiles.predict(query, found))
            }
            Part::Lines { mean } => {
                let read = |(leaf, bytes): (usize, &[u8])| {
                    wire::read_slice_answer(bytes).ok_or(NotALeafsAnswer { leaf })
                };
                let found: Vec<_> = each.map(read).collect::<Result<_, _>>()?;
                Ok(average(found).unwrap_or(*mean))
            }
        }
    }
}
