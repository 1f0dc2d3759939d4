//! What clients ask: cells without a rating ("the load generator always picks queries from the 'empty' cells",
//! thesis §2.2.4).
//!
//! The user is any that has rated something. The item is that of any rating, so that popular ones are asked for
//! as often as they are rated; of which items the thesis' queries are, it does not say.

use crate::model::Query;
use crate::ratings::Ratings;
use std::fmt;
use tailwater_core::Rng;

/// Hardly any cell is empty, or there are no ratings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoEmptyCells;

impl fmt::Display for NoEmptyCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("found hardly a user and an item without a rating between them; such cells are asked for")
    }
}

impl std::error::Error for NoEmptyCells {}

/// So many queries; the seed decides which.
///
/// # Errors
/// When empty cells are too rare to be found by chance.
pub fn draw(ratings: &Ratings, count: usize, seed: u64) -> Result<Vec<Query>, NoEmptyCells> {
    const TRIES: usize = 10_000;
    let mut rng = Rng::from_seed(seed).split("queries");
    let users: Vec<u32> =
        (0..ratings.users() as u32).filter(|user| !ratings.of_user(*user).is_empty()).collect();
    let mut one = || {
        let user = *users.get(rng.below(users.len() as u32) as usize)?;
        let rating = ratings.all().get(rng.below(ratings.all().len() as u32) as usize)?;
        (!ratings.has(user, rating.item)).then_some(Query { user, item: rating.item })
    };
    (0..count).map(|_| (0..TRIES).find_map(|_| one()).ok_or(NoEmptyCells)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratings::{Generated, Rating};

    #[test]
    fn queries_are_empty_cells_of_known_users_and_items() {
        let ratings = Generated { ratings: 3_000, ..Generated::default() }.make(2);
        let queries = draw(&ratings, 1_000, 1).expect("nearly all cells are empty");
        assert_eq!(queries.len(), 1_000);
        for query in &queries {
            assert!(!ratings.has(query.user, query.item), "{query:?}");
            assert!(!ratings.of_user(query.user).is_empty());
            assert!(ratings.of_item(query.item).len() > 0);
        }
        assert_eq!(draw(&ratings, 1_000, 1), Ok(queries));
    }

    #[test]
    fn a_matrix_without_empty_cells_is_told() {
        let full = vec![Rating { user: 0, item: 0, value: 1.0 }];
        assert_eq!(draw(&Ratings::new(1, 1, full), 1, 1), Err(NoEmptyCells));
        assert_eq!(draw(&Ratings::new(0, 0, vec![]), 1, 1), Err(NoEmptyCells));
        assert_eq!(draw(&Ratings::new(0, 0, vec![]), 0, 1), Ok(vec![]));
    }
}
