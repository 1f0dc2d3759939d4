//! What needs no neighbours and no factors: the mean, and what each user and item adds to it. A model that is not
//! better than this is not worth its time.

use crate::ratings::{Rating, Ratings};

/// Mean plus the user's part plus the item's (Koren, "Factor in the neighbors", TKDD 2010, §2.1).
#[derive(Clone, PartialEq, Debug)]
pub struct Biases {
    mean: f64,
    users: Vec<f64>,
    items: Vec<f64>,
}

/// Sweeps and weights of scikit-surprise's `BaselineOnly`, so that results compare.
const SWEEPS: usize = 10;
const ITEM_WEIGHT: f64 = 10.0;
const USER_WEIGHT: f64 = 15.0;

impl Biases {
    /// By alternating least squares, items first.
    #[must_use]
    pub fn fit(ratings: &Ratings) -> Self {
        let (users, items) = (vec![0.0; ratings.users()], vec![0.0; ratings.items()]);
        let mut it = Self { mean: ratings.mean(), users, items };
        for _ in 0..SWEEPS {
            for item in 0..it.items.len() {
                let left = ratings.of_item(item as u32).map(|rating| {
                    f64::from(rating.value) - it.mean - it.users[rating.user as usize]
                });
                it.items[item] = shrunken(left, ITEM_WEIGHT);
            }
            for user in 0..it.users.len() {
                let own = ratings.of_user(user as u32).iter();
                let left = own.map(|rating: &Rating| {
                    f64::from(rating.value) - it.mean - it.items[rating.item as usize]
                });
                it.users[user] = shrunken(left, USER_WEIGHT);
            }
        }
        it
    }

    /// From its parts: the mean, then what each user and each item adds.
    #[must_use]
    pub const fn of_parts(mean: f64, users: Vec<f64>, items: Vec<f64>) -> Self {
        Self { mean, users, items }
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> (f64, &[f64], &[f64]) {
        (self.mean, &self.users, &self.items)
    }

    /// The prediction for a cell. What nothing is known of adds nothing.
    #[must_use]
    pub fn predict(&self, user: u32, item: u32) -> f64 {
        let of = |parts: &[f64], at: u32| parts.get(at as usize).copied().unwrap_or(0.0);
        self.mean + of(&self.users, user) + of(&self.items, item)
    }
}

fn shrunken(values: impl ExactSizeIterator<Item = f64>, weight: f64) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / (count + weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users and items that only add: the residue shrinks to what the weights keep.
    #[test]
    fn it_finds_what_users_and_items_add() {
        let cell = |user: u32, item: u32| {
            let value = 3.0 + f32::from((user % 3) as u8) * 0.5 - f32::from((item % 2) as u8);
            Rating { user, item, value }
        };
        let all = (0..60).flat_map(|user| (0..80).map(move |item| cell(user, item))).collect();
        let biases = Biases::fit(&Ratings::new(60, 80, all));
        for (user, item) in [(0, 0), (1, 1), (2, 0), (59, 79)] {
            let off = biases.predict(user, item) - f64::from(cell(user, item).value);
            assert!(off.abs() < 0.2, "{off}");
        }
        assert!((biases.predict(1_000, 1_000) - 3.0).abs() < 1e-9, "the mean: nothing is known");
    }
}
