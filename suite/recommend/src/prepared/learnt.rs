//! Ratings, what is held out of them, and what was learnt of the rest, as sections of a file.

use crate::baseline::Biases;
use crate::factors::Factors;
use crate::model::{Model, Rule};
use crate::ratings::{RATINGS_MAX, Rating, Ratings, Split, by_lines};
use std::sync::Arc;
use tailwater_data::numbers::{
    bytes_of_f32, bytes_of_f64, bytes_of_u32, f32_of_bytes, f64_of_bytes, u32_of_bytes,
};
use tailwater_data::{Content, Data, DataError};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "recommend model 1";

const SHAPE: &str = "users and items";
const SEEN: &str = "seen";
const HELD_OUT: &str = "held out";

/// What is known, and the models of it: one of all, or one of each slice.
pub(super) struct Learnt {
    pub(super) split: Split,
    pub(super) models: Vec<Model>,
}

impl Learnt {
    /// Learns from all, or from each of so many slices. `tell` hears of model and sweep.
    pub(super) fn of(
        split: Split,
        rule: Rule,
        slices: Option<u32>,
        tell: impl Fn(usize, usize) -> Result<(), String>,
    ) -> Result<Self, String> {
        let learn = |(number, ratings): (usize, Arc<Ratings>)| {
            let learnt = Model::learn(ratings, rule, |sweep| tell(number, sweep));
            learnt.map_err(|why| why.to_string())
        };
        let parts = parts(&split.seen, slices).into_iter().enumerate();
        let models = parts.map(learn).collect::<Result<_, _>>()?;
        Ok(Self { split, models })
    }

    pub(super) fn fill(&self, content: Content) -> Content {
        let Split { seen, held_out } = &self.split;
        let shape = [seen.users() as u32, seen.items() as u32];
        let content = content.with(SHAPE, bytes_of_u32(&shape));
        let content = fill_ratings(content, SEEN, seen.all());
        let content = fill_ratings(content, HELD_OUT, held_out);
        self.models.iter().enumerate().fold(content, |content, (number, model)| {
            let ((users, items), (mean, of_users, of_items)) =
                (model.factors().parts(), model.biases().parts());
            let biases = [&[mean], of_users, of_items].concat();
            content
                .with(format!("factors of users {number}"), bytes_of_f32(users))
                .with(format!("factors of items {number}"), bytes_of_f32(items))
                .with(format!("biases {number}"), bytes_of_f64(&biases))
        })
    }

    pub(super) fn read(
        data: &mut Data,
        rule: Rule,
        slices: Option<u32>,
    ) -> Result<Self, DataError> {
        let shape = u32_of_bytes(&data.section(SHAPE)?);
        let shape = shape.and_then(|shape| <[u32; 2]>::try_from(shape).ok());
        // Both are numbered as ratings name them; a table has a place for each.
        let is_matrix = |shape: &[u32; 2]| shape.iter().all(|&it| it as usize <= RATINGS_MAX);
        let Some([users, items]) = shape.filter(is_matrix) else {
            return Err(data.damaged("it has no users and items".into()));
        };
        let (users, items) = (users as usize, items as usize);
        let seen = Ratings::try_new(users, items, read_ratings(data, SEEN)?);
        let seen = seen.ok_or_else(|| data.damaged("its ratings are none".into()))?;
        let held_out = read_ratings(data, HELD_OUT)?;
        let is_known = |it: &Rating| (it.user as usize) < users && (it.item as usize) < items;
        if !held_out.iter().all(is_known) {
            return Err(data.damaged("its ratings held out are of other users or items".into()));
        }
        let of = |(number, ratings): (usize, Arc<Ratings>)| {
            let model = read_model(data, number, ratings, rule)?;
            model.ok_or_else(|| data.damaged(format!("its model {number} is none")))
        };
        let models =
            parts(&seen, slices).into_iter().enumerate().map(of).collect::<Result<_, _>>()?;
        Ok(Self { split: Split { seen, held_out }, models })
    }
}

/// What each model learns from.
fn parts(seen: &Ratings, slices: Option<u32>) -> Vec<Arc<Ratings>> {
    match slices {
        None => vec![Arc::new(seen.clone())],
        Some(slices) => by_lines(seen, slices as usize).into_iter().map(Arc::new).collect(),
    }
}

fn fill_ratings(content: Content, what: &str, all: &[Rating]) -> Content {
    let numbers = |of: fn(&Rating) -> u32| bytes_of_u32(&all.iter().map(of).collect::<Vec<_>>());
    let values: Vec<f32> = all.iter().map(|rating| rating.value).collect();
    content
        .with(format!("users {what}"), numbers(|rating| rating.user))
        .with(format!("items {what}"), numbers(|rating| rating.item))
        .with(format!("ratings {what}"), bytes_of_f32(&values))
}

fn read_ratings(data: &mut Data, what: &str) -> Result<Vec<Rating>, DataError> {
    let users = u32_of_bytes(&data.section(&format!("users {what}"))?);
    let items = u32_of_bytes(&data.section(&format!("items {what}"))?);
    let values = f32_of_bytes(&data.section(&format!("ratings {what}"))?);
    let all = users.zip(items).zip(values).and_then(|((users, items), values)| {
        let fits = users.len() == items.len() && users.len() == values.len();
        let each = users.into_iter().zip(items).zip(values);
        let each = each.map(|((user, item), value)| Rating { user, item, value });
        fits.then(|| each.collect())
    });
    all.ok_or_else(|| data.damaged(format!("its ratings {what} do not belong together")))
}

fn read_model(
    data: &mut Data,
    number: usize,
    ratings: Arc<Ratings>,
    rule: Rule,
) -> Result<Option<Model>, DataError> {
    let users = f32_of_bytes(&data.section(&format!("factors of users {number}"))?);
    let items = f32_of_bytes(&data.section(&format!("factors of items {number}"))?);
    let biases = f64_of_bytes(&data.section(&format!("biases {number}"))?);
    let count = ratings.users();
    Ok(users.zip(items).zip(biases).and_then(|((users, items), biases)| {
        let factors = Factors::of_parts(rule.fit.rank, users, items)?;
        Model::of_parts(ratings, rule, factors, read_biases(&biases, count)?)
    }))
}

/// The mean, then what each of so many users adds, then the items.
pub(super) fn read_biases(numbers: &[f64], users: usize) -> Option<Biases> {
    let (mean, rest) = numbers.split_first()?;
    let (of_users, of_items) = rest.split_at_checked(users)?;
    Some(Biases::of_parts(*mean, of_users.to_vec(), of_items.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_data::Origin;

    /// What is expected of them is looked up by user and item.
    #[test]
    fn ratings_held_out_of_users_and_items_that_are_not_there_are_refused() {
        let name = format!("tailwater-recommend-learnt-{}.data", std::process::id());
        let path = std::env::temp_dir().join(name);
        let read = |user: u32, item: u32, more: &dyn Fn(Content) -> Content| {
            let one = |user, item| Rating { user, item, value: 3.0 };
            let seen = Ratings::new(2, 3, vec![one(0, 0), one(1, 2)]);
            let split = Split { seen, held_out: vec![one(user, item)] };
            let text = String::new;
            let origin = Origin { about: text(), source: text(), licence: text(), stamp: text() };
            let learnt = Learnt { split, models: Vec::new() };
            // Of two sections of one name the first is read.
            learnt.fill(more(Content::new(KIND, origin))).write(&path).expect("written");
            let mut data = Data::open_as(&path, KIND).expect("its sums are right");
            let read = Learnt::read(&mut data, Rule::default(), None);
            read.map(drop).expect_err("it has no model").to_string()
        };
        for (user, item) in [(2, 0), (0, 3), (u32::MAX, u32::MAX)] {
            let why = read(user, item, &|content| content);
            assert!(why.contains("held out are of other users or items"), "{why}");
        }
        assert!(read(1, 1, &|content| content).contains("no section factors of users 0"));
        let many = bytes_of_u32(&[RATINGS_MAX as u32 + 1, 3]);
        let why = read(1, 1, &|content| content.with(SHAPE, many.clone()));
        assert!(why.contains("it has no users and items"), "{why}");
        std::fs::remove_file(path).expect("removed");
    }
}
