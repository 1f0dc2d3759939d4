//! A leaf's part of a model: the rows of its users, and what these rated.

use crate::baseline::Biases;
use crate::factors::{Factors, row};
use crate::neighbours::{Nearest, Neighbour};
use crate::profiles::Probe;
use crate::ratings::{Rating, Ratings};
use crate::rule::{Among, Query, Rule};

/// The users `number`, `number + of`, `number + 2 of` and so on, each by its place in this row.
#[derive(Clone, Debug)]
pub struct Shard {
    rule: Rule,
    number: u32,
    of: u32,
    /// Prepared, by place.
    rows: Vec<f32>,
    rated: Rated,
    /// For [`Among::Everyone`]: the factors of its users, by place, and of all items.
    factors: Option<Factors>,
}

/// Ratings by item: the entries of an item lie side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Rated {
    /// Where each item's entries begin; then where all end.
    pub starts: Vec<u32>,
    /// The places of those that rated it.
    pub places: Vec<u32>,
    /// What their ratings exceed their biases by.
    pub values: Vec<f32>,
}

impl Rated {
    /// Of these ratings, each with its user's place.
    fn of(
        items: usize,
        all: impl Iterator<Item = (u32, Rating)> + Clone,
        value: impl Fn(&Rating) -> f32,
    ) -> Self {
        let mut starts = vec![0; items + 1];
        let mut count = 0;
        for (_, rating) in all.clone() {
            starts[rating.item as usize + 1] += 1;
            count += 1;
        }
        for item in 0..items {
            starts[item + 1] += starts[item];
        }
        let mut next = starts.clone();
        let (mut places, mut values) = (vec![0; count], vec![0.0; count]);
        for (place, rating) in all {
            let at = &mut next[rating.item as usize];
            places[*at as usize] = place;
            values[*at as usize] = value(&rating);
            *at += 1;
        }
        Self { starts, places, values }
    }

    fn items(&self) -> usize {
        self.starts.len() - 1
    }

    /// Those that rated an item; nobody for one that is not known.
    fn raters(&self, item: u32) -> impl ExactSizeIterator<Item = (u32, f32)> {
        let at = item as usize;
        let range = match self.starts.get(at..at + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        };
        self.places[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    fn is_sound(&self, users: usize) -> bool {
        let Self { starts, places, values } = self;
        starts.is_sorted()
            && starts.first() == Some(&0)
            && starts.last().is_some_and(|&end| end as usize == places.len())
            && places.len() == values.len()
            && places.iter().all(|&place| (place as usize) < users)
    }
}

impl Shard {
    /// Its part of what was learnt; `rows` are those of its users, prepared.
    pub(crate) fn of(
        rule: Rule,
        (number, of): (u32, u32),
        ratings: &Ratings,
        biases: &Biases,
        factors: &Factors,
        rows: Vec<f32>,
    ) -> Self {
        let own = || (number..ratings.users() as u32).step_by(of as usize);
        let value = |rating: &Rating| {
            let bias = biases.predict(rating.user, rating.item);
            (f64::from(rating.value) - bias) as f32
        };
        let of_one = |(place, user): (u32, u32)| {
            ratings.of_user(user).iter().map(move |&rating| (place, rating))
        };
        let rated = Rated::of(ratings.items(), (0..).zip(own()).flat_map(of_one), value);
        let factors = (rule.among == Among::Everyone).then(|| factors.with_users(own()));
        Self { rule, number, of, rows, rated, factors }
    }

    /// From its parts; `None` where they do not belong together.
    #[must_use]
    pub fn of_parts(
        rule: Rule,
        (number, of): (u32, u32),
        rows: Vec<f32>,
        rated: Rated,
        factors: Option<Factors>,
    ) -> Option<Self> {
        let (rank, items) = (rule.fit.rank, rated.starts.len().checked_sub(1)?);
        let users = rows.len().checked_div(rank)?;
        let fits = |factors: &Factors| {
            let (of_users, of_items) = factors.parts();
            factors.rank() == rank && (of_users.len(), of_items.len()) == (rows.len(), items * rank)
        };
        let has_factors = match rule.among {
            Among::Raters => factors.is_none(),
            Among::Everyone => factors.as_ref().is_some_and(fits),
        };
        // Users are numbered in 32 bits.
        let last = (users as u64).saturating_sub(1) * u64::from(of) + u64::from(number);
        let is_sound = number < of
            && last <= u64::from(u32::MAX)
            && rows.len() == users * rank
            && rated.is_sound(users)
            && has_factors;
        is_sound.then_some(Self { rule, number, of, rows, rated, factors })
    }

    /// Its prepared rows, who rated what, and its factors where it needs them.
    #[must_use]
    pub fn parts(&self) -> (&[f32], &Rated, Option<&Factors>) {
        (&self.rows, &self.rated, self.factors.as_ref())
    }

    /// Numbers in the row of a [`Probe`].
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rule.fit.rank
    }

    /// How many users it has.
    #[must_use]
    pub fn users(&self) -> usize {
        self.rows.len() / self.rank()
    }

    /// Whether one of its users rated the item.
    #[must_use]
    pub fn has_item(&self, item: u32) -> bool {
        self.rated.raters(item).len() > 0
    }

    /// Of each of its users, by place, whether that one has rated something.
    #[must_use]
    pub fn has_rated(&self) -> Vec<bool> {
        let mut rated = vec![false; self.users()];
        self.rated.places.iter().for_each(|&place| rated[place as usize] = true);
        rated
    }

    /// The best neighbours that it has; none for an item that it does not know.
    ///
    /// # Panics
    /// When the probe's row is not of this length: readers of bytes check that.
    #[must_use]
    pub fn nearest(&self, probe: Probe<'_>) -> Vec<Neighbour> {
        let rank = self.rank();
        assert_eq!(probe.row.len(), rank, "rows have as many numbers as the model has factors");
        let Query { user: asking, item } = probe.query;
        let mut nearest = Nearest::new(self.rule.neighbours);
        let mut offer = |place: u32, value: f32| {
            let user = place * self.of + self.number;
            if user != asking {
                let similarity = self.rule.similarity.of(probe.row, row(&self.rows, rank, place));
                nearest.offer(Neighbour { user, similarity, value });
            }
        };
        match &self.factors {
            None => self.rated.raters(item).for_each(|(place, value)| offer(place, value)),
            Some(factors) if (item as usize) < self.rated.items() => {
                (0..self.users() as u32)
                    .for_each(|place| offer(place, factors.product(place, item) as f32));
            }
            Some(_) => {}
        }
        nearest.into_best()
    }
}
