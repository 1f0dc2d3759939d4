//! The parts of mid-tier and leaves as sections of a file: each process reads those of its own.

use super::learnt::read_biases;
use crate::factors::Factors;
use crate::model::{Among, Rule};
use crate::profiles::Profiles;
use crate::shard::{Rated, Shard};
use std::sync::Arc;
use tailwater_data::numbers::{
    bytes_of_f32, bytes_of_f64, bytes_of_u32, f32_of_bytes, f64_of_bytes, u32_of_bytes,
};
use tailwater_data::{Content, Data, DataError};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "recommend parts 1";

/// Whose part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    MidTier,
    Leaf(u32),
}

impl Of {
    /// The name of a section of its part.
    fn name(self, what: &str) -> String {
        match self {
            Self::MidTier => format!("{what} of the mid-tier"),
            Self::Leaf(number) => format!("{what} of leaf {number}"),
        }
    }
}

pub(super) fn fill_profiles(content: Content, of: Of, profiles: &Profiles) -> Content {
    let (rows, biases, bounds) = profiles.parts();
    let (mean, users, items) = biases.parts();
    content
        .with(of.name("rows"), bytes_of_f32(rows))
        .with(of.name("biases"), bytes_of_f64(&[&[mean], users, items].concat()))
        .with(of.name("bounds"), bytes_of_f32(&bounds))
}

pub(super) fn read_profiles(data: &mut Data, of: Of, rule: Rule) -> Result<Profiles, DataError> {
    let rows = f32_of_bytes(&data.section(&of.name("rows"))?);
    let biases = f64_of_bytes(&data.section(&of.name("biases"))?);
    let bounds = f32_of_bytes(&data.section(&of.name("bounds"))?);
    let profiles = rows.zip(biases).zip(bounds).and_then(|((rows, biases), bounds)| {
        let users = rows.len().checked_div(rule.fit.rank)?;
        let biases = Arc::new(read_biases(&biases, users)?);
        let [low, high] = bounds.try_into().ok()?;
        let is_sound = rows.len() == users * rule.fit.rank && low <= high;
        is_sound.then(|| Profiles::new(rule, rows, biases, [low, high]))
    });
    profiles.ok_or_else(|| data.damaged(format!("{} are none", of.name("profiles"))))
}

pub(super) fn fill_shard(content: Content, of: Of, shard: &Shard) -> Content {
    let (rows, Rated { starts, places, values }, factors) = shard.parts();
    let content = content
        .with(of.name("users' rows"), bytes_of_f32(rows))
        .with(of.name("starts"), bytes_of_u32(starts))
        .with(of.name("raters"), bytes_of_u32(places))
        .with(of.name("values"), bytes_of_f32(values));
    let Some((users, items)) = factors.map(Factors::parts) else { return content };
    content
        .with(of.name("factors"), bytes_of_f32(users))
        .with(of.name("items' factors"), bytes_of_f32(items))
}

/// Of the users that this part has: which they are says `place`, a number and of how many.
pub(super) fn read_shard(
    data: &mut Data,
    of: Of,
    rule: Rule,
    place: (u32, u32),
) -> Result<Shard, DataError> {
    let mut reals = |what: &str| -> Result<Option<Vec<f32>>, DataError> {
        Ok(f32_of_bytes(&data.section(&of.name(what))?))
    };
    let (rows, values) = (reals("users' rows")?, reals("values")?);
    let factors = match rule.among {
        Among::Raters => Some(None),
        Among::Everyone => reals("factors")?.zip(reals("items' factors")?).map(Some),
    };
    let starts = u32_of_bytes(&data.section(&of.name("starts"))?);
    let places = u32_of_bytes(&data.section(&of.name("raters"))?);
    let rated = starts.zip(places).zip(values);
    let rated = rated.map(|((starts, places), values)| Rated { starts, places, values });
    let shard = rows.zip(rated).zip(factors).and_then(|((rows, rated), factors)| {
        let factors = match factors {
            None => None,
            Some((users, items)) => Some(Factors::of_parts(rule.fit.rank, users, items)?),
        };
        Shard::of_parts(rule, place, rows, rated, factors)
    });
    shard.ok_or_else(|| data.damaged(format!("{} are none", of.name("users"))))
}
