//! Queries and the ratings that they must get, as sections of a file.

use crate::model::Query;
use crate::wire;
use tailwater_data::numbers::{bytes_of_f32, bytes_of_u32, f32_of_bytes, u32_of_bytes};
use tailwater_data::{Content, Data, DataError};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "recommend answers 1";

const USERS: &str = "users";
const ITEMS: &str = "items";
const RATINGS: &str = "ratings";

/// What a generator needs: one query at least.
#[derive(Clone, PartialEq, Debug)]
pub struct Answers(Vec<(Query, f32)>);

impl Answers {
    /// Of queries, each with its rating; `None` without any.
    #[must_use]
    pub fn new(all: Vec<(Query, f32)>) -> Option<Self> {
        (!all.is_empty()).then_some(Self(all))
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The request of a query, with this tag.
    #[must_use]
    pub fn request(&self, number: usize, tag: u64) -> Vec<u8> {
        wire::request(tag, self.0[number].0)
    }

    /// Whether this is the rating that a query must get, to the bit.
    #[must_use]
    pub fn is_answer(&self, number: usize, rating: f32) -> bool {
        self.0.get(number).is_some_and(|(_, needed)| needed.to_bits() == rating.to_bits())
    }

    pub(super) fn fill(&self, content: Content) -> Content {
        let of = |number: fn(&Query) -> u32| -> Vec<u32> {
            self.0.iter().map(|(query, _)| number(query)).collect()
        };
        let ratings: Vec<f32> = self.0.iter().map(|(_, rating)| *rating).collect();
        content
            .with(USERS, bytes_of_u32(&of(|query| query.user)))
            .with(ITEMS, bytes_of_u32(&of(|query| query.item)))
            .with(RATINGS, bytes_of_f32(&ratings))
    }

    pub(super) fn read(data: &mut Data) -> Result<Self, DataError> {
        let users = u32_of_bytes(&data.section(USERS)?);
        let items = u32_of_bytes(&data.section(ITEMS)?);
        let ratings = f32_of_bytes(&data.section(RATINGS)?);
        let all = users.zip(items).zip(ratings).and_then(|((users, items), ratings)| {
            let fits = users.len() == items.len() && users.len() == ratings.len();
            let queries = users.into_iter().zip(items).map(|(user, item)| Query { user, item });
            Self::new(queries.zip(ratings).collect()).filter(|_| fits)
        });
        all.ok_or_else(|| data.damaged("its answers are none".into()))
    }
}
