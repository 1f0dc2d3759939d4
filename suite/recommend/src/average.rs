//! The sharding of the thesis as its published code does it: each leaf learns from a slice of the ratings by
//! itself, and the mid-tier averages what the leaves predict (thesis, §2.2.4).
//!
//! It is here to be compared with. An average of predictions from slices is not the prediction from all ratings,
//! and it changes with the number of leaves.

use crate::factors::FitError;
use crate::model::{Model, Query, Rule, Whole};
use crate::profiles::Profiles;
use crate::ratings::{Ratings, by_lines};
use crate::shard::Shard;
use std::sync::Arc;

/// A leaf: a model of its slice.
#[derive(Clone, Debug)]
pub struct Slice {
    whole: Whole,
    /// Of each user, whether the slice has a rating.
    has_rated: Vec<bool>,
}

/// Leaves, and what is answered where none can predict.
#[derive(Clone, Debug)]
pub struct Averaged {
    /// The leaves.
    pub slices: Vec<Slice>,
    mean: f32,
}

impl Slice {
    /// Of both parts of one model.
    #[must_use]
    pub fn new(profiles: Profiles, shard: Shard) -> Self {
        let has_rated = shard.has_rated();
        Self { whole: Whole { profiles, shards: vec![shard] }, has_rated }
    }

    /// Learns from a slice.
    ///
    /// # Errors
    /// When the rule's settings find no factors.
    pub fn learn(slice: Ratings, rule: Rule) -> Result<Self, FitError> {
        let model = Model::learn(Arc::new(slice), rule, |_| Ok(()))?;
        Ok(Self::new(model.profiles(), model.shard(0, 1)))
    }

    /// Its prediction; `None` where its slice has no rating of the user, or none of the item.
    #[must_use]
    pub fn predict(&self, query: Query) -> Option<f32> {
        let has_rated = self.has_rated.get(query.user as usize).is_some_and(|&has| has);
        let has_item = self.whole.shards.iter().any(|shard| shard.has_item(query.item));
        (has_rated && has_item).then(|| self.whole.predict(query))?
    }
}

impl Averaged {
    /// So many leaves, each of which learns from a slice by lines.
    ///
    /// # Errors
    /// When the rule's settings find no factors.
    pub fn learn(ratings: &Ratings, slices: usize, rule: Rule) -> Result<Self, FitError> {
        let learn = |slice| Slice::learn(slice, rule);
        let slices = by_lines(ratings, slices).into_iter().map(learn).collect::<Result<_, _>>()?;
        Ok(Self { slices, mean: ratings.mean() as f32 })
    }

    /// The average of the leaves that can predict; the mean of all ratings if none can.
    #[must_use]
    pub fn predict(&self, query: Query) -> f32 {
        average(self.slices.iter().map(|slice| slice.predict(query))).unwrap_or(self.mean)
    }
}

/// The mean of what was predicted, in order; `None` of nothing.
#[must_use]
pub fn average(predictions: impl IntoIterator<Item = Option<f32>>) -> Option<f32> {
    let predicted: Vec<f32> = predictions.into_iter().flatten().collect();
    crate::ratings::mean(predicted.into_iter()).map(|mean| mean as f32)
}
