//! The answers that queries must get: every user compared, all of them sorted, by the definitions and plain code.
//!
//! Nothing of the service is used but the numbers that were learnt: no shard, no list by item, no bounded heap, no merge.
//! Both round at the same places, so answers are equal to the bit: a row when its mean is taken off and when it is
//! scaled, a similarity, a neighbour's value, and the prediction. All sums are of 64 bits, in the order of the numbers.

use crate::model::{Among, Model, Query, Rule};
use crate::ratings::Ratings;
use crate::similarity::Similarity;
use std::collections::BTreeSet;

/// What is known of one model.
#[derive(Debug)]
pub struct Oracle<'a> {
    model: &'a Model,
    rows: Vec<Vec<f32>>,
    /// Users with a rating, and items with one.
    users: BTreeSet<u32>,
    items: BTreeSet<u32>,
}

impl<'a> Oracle<'a> {
    /// Of a model.
    #[must_use]
    pub fn of(model: &'a Model) -> Self {
        let (ratings, similarity) = (model.ratings(), model.rule().similarity);
        let row = |user| prepared(similarity, model.factors().of_user(user));
        Self {
            model,
            rows: (0..ratings.users() as u32).map(row).collect(),
            users: ratings.all().iter().map(|rating| rating.user).collect(),
            items: ratings.all().iter().map(|rating| rating.item).collect(),
        }
    }

    /// What must be answered to this query.
    ///
    /// # Panics
    /// For a user that is not in the model.
    #[must_use]
    pub fn predict(&self, query: Query) -> f32 {
        let (ratings, biases) = (self.model.ratings(), self.model.biases());
        let Rule { among, neighbours, .. } = self.model.rule();
        let others = (0..ratings.users() as u32).filter(|&user| user != query.user);
        let mut all: Vec<(f32, u32, f32)> = others
            .filter_map(|user| Some((user, self.value(user, query.item)?)))
            .map(|(user, value)| (self.similarity(query.user, user), user, value))
            .collect();
        all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        all.truncate(neighbours);
        let alone = biases.predict(query.user, query.item);
        let exact = match (among, weighted(&all, among.shrinkage())) {
            (_, None) => alone,
            (Among::Raters, Some(mean)) => alone + mean,
            (Among::Everyone, Some(mean)) => mean,
        };
        let [low, high] = ratings.bounds();
        (exact as f32).clamp(low, high)
    }

    /// What a user would bring into the average; `None` for one that is no neighbour for this item.
    fn value(&self, user: u32, item: u32) -> Option<f32> {
        let (ratings, factors) = (self.model.ratings(), self.model.factors());
        if self.model.rule().among == Among::Everyone {
            let known = (item as usize) < ratings.items();
            return known.then(|| products(factors.of_user(user), factors.of_item(item)) as f32);
        }
        let own = ratings.of_user(user);
        let at = own.binary_search_by_key(&item, |rating| rating.item).ok()?;
        Some((f64::from(own[at].value) - self.model.biases().predict(user, item)) as f32)
    }

    fn similarity(&self, one: u32, other: u32) -> f32 {
        let (one, other) = (&self.rows[one as usize], &self.rows[other as usize]);
        if self.model.rule().similarity != Similarity::Euclid {
            return products(one, other) as f32;
        }
        let squares = one.iter().zip(other).map(|(a, b)| f64::from(*a) - f64::from(*b));
        let distance = squares.map(|difference| difference * difference).sum::<f64>().sqrt();
        (1.0 / (1.0 + distance)) as f32
    }

    /// Whether a rating of the user and one of the item are known.
    fn knows(&self, query: Query) -> bool {
        self.users.contains(&query.user) && self.items.contains(&query.item)
    }
}

/// What must be answered where each leaf learns from a slice: the average of those that know user and item, or the mean
/// of all ratings.
#[must_use]
pub fn averaged(slices: &[Oracle<'_>], all: &Ratings, query: Query) -> f32 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for slice in slices.iter().filter(|slice| slice.knows(query)) {
        sum += f64::from(slice.predict(query));
        count += 1;
    }
    let mean = if count > 0 { sum / f64::from(count) } else { all.mean() };
    mean as f32
}

/// Less its mean where that is the measure, and of length 1 but for distances.
fn prepared(similarity: Similarity, row: &[f32]) -> Vec<f32> {
    let mean = row.iter().map(|&number| f64::from(number)).sum::<f64>() / row.len() as f64;
    let centred = row.iter().map(|&number| match similarity {
        Similarity::Pearson => (f64::from(number) - mean) as f32,
        Similarity::Cosine | Similarity::Euclid => number,
    });
    let centred: Vec<f32> = centred.collect();
    if similarity == Similarity::Euclid {
        return centred;
    }
    let length = products(&centred, &centred).sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    centred.iter().map(|&number| (f64::from(number) * scale) as f32).collect()
}

fn products(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// The average of values, weighted by similarities that are not negative; `None` without neighbours.
fn weighted(all: &[(f32, u32, f32)], shrinkage: f64) -> Option<f64> {
    if all.is_empty() {
        return None;
    }
    let weights = all.iter().map(|&(similarity, _, _)| f64::from(similarity.max(0.0)));
    let sum = shrinkage + weights.clone().sum::<f64>();
    if sum > 0.0 {
        let values = all.iter().map(|&(_, _, value)| f64::from(value));
        return Some(weights.zip(values).map(|(weight, value)| weight * value).sum::<f64>() / sum);
    }
    let values: f64 = all.iter().map(|&(_, _, value)| f64::from(value)).sum();
    Some(values / all.len() as f64)
}
