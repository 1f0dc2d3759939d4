//! V ≈ W·H with factors that are not negative (thesis, §2.2.4).

mod fit;

pub use fit::{Fit, FitError};

/// W and H, both by rows of `rank` numbers: one row for each user, one for each item.
#[derive(Clone, PartialEq, Debug)]
pub struct Factors {
    rank: usize,
    users: Vec<f32>,
    items: Vec<f32>,
}

impl Factors {
    /// From its parts; `None` where they are no whole rows.
    #[must_use]
    pub fn of_parts(rank: usize, users: Vec<f32>, items: Vec<f32>) -> Option<Self> {
        let whole = |rows: &[f32]| rank > 0 && rows.len().is_multiple_of(rank);
        (whole(&users) && whole(&items)).then_some(Self { rank, users, items })
    }

    /// All rows of users, and all of items.
    #[must_use]
    pub fn parts(&self) -> (&[f32], &[f32]) {
        (&self.users, &self.items)
    }

    /// The same with the rows of these users alone, in this order.
    #[must_use]
    pub fn with_users(&self, users: impl Iterator<Item = u32>) -> Self {
        let users = users.flat_map(|user| self.of_user(user)).copied().collect();
        Self { rank: self.rank, users, items: self.items.clone() }
    }

    /// Numbers in a row.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The row of a user.
    ///
    /// # Panics
    /// Beyond the matrix.
    #[must_use]
    pub fn of_user(&self, user: u32) -> &[f32] {
        row(&self.users, self.rank, user)
    }

    /// The row of an item.
    ///
    /// # Panics
    /// Beyond the matrix.
    #[must_use]
    pub fn of_item(&self, item: u32) -> &[f32] {
        row(&self.items, self.rank, item)
    }

    /// The cell of W·H.
    ///
    /// # Panics
    /// Beyond the matrix.
    #[must_use]
    pub fn product(&self, user: u32, item: u32) -> f64 {
        dot(self.of_user(user), self.of_item(item))
    }
}

pub(crate) fn row(of: &[f32], rank: usize, at: u32) -> &[f32] {
    let start = at as usize * rank;
    &of[start..start + rank]
}

/// In 64 bits and always in the same order: shards and the whole must agree to the bit.
pub(crate) fn dot(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
