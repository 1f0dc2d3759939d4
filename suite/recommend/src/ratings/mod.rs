//! Which user rated which item how: the known cells of the utility matrix V of µSuite (Sriraman's thesis,
//! §2.2.4), by user and by item.

mod csv;
mod generate;
mod split;

pub use self::csv::{CsvError, Named, open_csv, read_csv};
pub use generate::Generated;
pub use split::{Split, by_lines};

/// Most ratings of one set: their positions are 32-bit numbers.
pub const RATINGS_MAX: usize = 1 << 28;

/// A known cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rating {
    /// Which row.
    pub user: u32,
    /// Which column.
    pub item: u32,
    /// Finite, and not negative: factors without negative parts have no negative product.
    pub value: f32,
}

/// The known cells of a matrix, at most one rating each.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    users: usize,
    items: usize,
    /// By user, then by item.
    all: Vec<Rating>,
    /// Where each user's begin; one more than users.
    rows: Vec<u32>,
    /// Positions in `all` by item, then by user.
    by_item: Vec<u32>,
    /// Where each item's begin in `by_item`.
    columns: Vec<u32>,
}

impl Ratings {
    /// Of these cells, in any order, in a matrix of so many rows and columns.
    ///
    /// # Panics
    /// When there are more than [`RATINGS_MAX`] or two ratings have one cell. When a cell lies outside of the matrix,
    /// or a value is negative or not finite. Readers of files find these before and name the line.
    #[must_use]
    pub fn new(users: usize, items: usize, all: Vec<Rating>) -> Self {
        let what = "ratings lie in the matrix, are not negative, and each has a cell for itself";
        Self::try_new(users, items, all).expect(what)
    }

    /// The same; `None` instead of a panic.
    #[must_use]
    pub fn try_new(users: usize, items: usize, mut all: Vec<Rating>) -> Option<Self> {
        all.sort_unstable_by_key(|rating| (rating.user, rating.item));
        let is_sound = |rating: &Rating| {
            let is_inside = (rating.user as usize) < users && (rating.item as usize) < items;
            is_inside && rating.value.is_finite() && rating.value >= 0.0
        };
        let cell = |rating: &Rating| (rating.user, rating.item);
        let are_single = all.windows(2).all(|two| cell(&two[0]) != cell(&two[1]));
        if all.len() > RATINGS_MAX || !all.iter().all(is_sound) || !are_single {
            return None;
        }
        let rows = starts(users, all.iter().map(|rating| rating.user));
        let columns = starts(items, all.iter().map(|rating| rating.item));
        let mut next = columns.clone();
        let mut by_item = vec![0; all.len()];
        for (position, rating) in (0..).zip(&all) {
            let place = &mut next[rating.item as usize];
            by_item[*place as usize] = position;
            *place += 1;
        }
        Some(Self { users, items, all, rows, by_item, columns })
    }

    /// Rows of the matrix.
    #[must_use]
    pub const fn users(&self) -> usize {
        self.users
    }

    /// Columns of the matrix.
    #[must_use]
    pub const fn items(&self) -> usize {
        self.items
    }

    /// The ratings by user, then by item.
    #[must_use]
    pub fn all(&self) -> &[Rating] {
        &self.all
    }

    /// What one user rated, by item.
    #[must_use]
    pub fn of_user(&self, user: u32) -> &[Rating] {
        &self.all[self.row(user)]
    }

    /// The positions in [`Ratings::all`] of one user's.
    pub(crate) fn row(&self, user: u32) -> std::ops::Range<usize> {
        range(&self.rows, user)
    }

    /// The positions in [`Ratings::all`] of one item's ratings, by user.
    pub(crate) fn column(&self, item: u32) -> &[u32] {
        &self.by_item[range(&self.columns, item)]
    }

    /// What one item got, by user.
    pub fn of_item(&self, item: u32) -> impl ExactSizeIterator<Item = &Rating> {
        self.column(item).iter().map(|&position| &self.all[position as usize])
    }

    /// Whether the cell is known.
    #[must_use]
    pub fn has(&self, user: u32, item: u32) -> bool {
        self.of_user(user).binary_search_by_key(&item, |rating| rating.item).is_ok()
    }

    /// The mean of all; zero without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean(self.all.iter().map(|rating| rating.value)).unwrap_or(0.0)
    }

    /// The smallest and the largest value; zeros without any.
    #[must_use]
    pub fn bounds(&self) -> [f32; 2] {
        let values = || self.all.iter().map(|rating| rating.value);
        let bounds = values().reduce(f32::min).zip(values().reduce(f32::max));
        bounds.map_or([0.0; 2], |(low, high)| [low, high])
    }
}

/// `None` of nothing.
pub(crate) fn mean(values: impl ExactSizeIterator<Item = f32>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.map(f64::from).sum::<f64>() / count as f64)
}

fn range(starts: &[u32], of: u32) -> std::ops::Range<usize> {
    let at = of as usize;
    starts[at] as usize..starts[at + 1] as usize
}

/// Where the entries of each group begin, when entries are ordered by group.
fn starts(groups: usize, of: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut starts = vec![0; groups + 1];
    for group in of {
        starts[group as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_hold_the_same_cells() {
        let cells = [(2, 1, 3.0), (0, 1, 4.0), (2, 0, 1.0), (0, 3, 2.0)];
        let all = cells.map(|(user, item, value)| Rating { user, item, value }).to_vec();
        let ratings = Ratings::new(3, 4, all);
        let items = |user| ratings.of_user(user).iter().map(|it| it.item).collect::<Vec<_>>();
        let users = |item| ratings.of_item(item).map(|it| it.user).collect::<Vec<_>>();
        assert_eq!([items(0), items(1), items(2)], [vec![1, 3], vec![], vec![0, 1]]);
        assert_eq!(
            [users(0), users(1), users(2), users(3)],
            [vec![2], vec![0, 2], vec![], vec![0]]
        );
        assert!(ratings.has(2, 0) && !ratings.has(0, 0) && !ratings.has(1, 1));
        assert_eq!((ratings.mean(), ratings.bounds()), (2.5, [1.0, 4.0]));
    }

    #[test]
    fn what_is_no_matrix_is_none() {
        let one = |user, value| Rating { user, item: 0, value };
        assert!(Ratings::try_new(1, 1, vec![one(0, 1.0)]).is_some());
        for wrong in
            [vec![one(0, 1.0); 2], vec![one(1, 1.0)], vec![one(0, -1.0)], vec![one(0, f32::NAN)]]
        {
            assert_eq!(Ratings::try_new(1, 1, wrong), None);
        }
    }
}
