//! Times added up by key, in bounded memory.

use crate::hash::Map;
use crate::record::Ticks;
use std::cmp::Reverse;
use std::hash::Hash;

/// Keys told apart; times of further ones are counted as beyond bounds.
const KEYS_MAX: usize = 65_536;

/// Sums by key, each with the longest that is in it.
pub(super) struct Sums<K, T> {
    by_key: Map<K, Sum<T>>,
    beyond: u64,
}

pub(super) struct Sum<T> {
    pub(super) count: u64,
    pub(super) total: Ticks,
    pub(super) max: Ticks,
    pub(super) longest: T,
}

impl<K, T> Default for Sums<K, T> {
    fn default() -> Self {
        Self { by_key: Map::default(), beyond: 0 }
    }
}

impl<K: Copy + Ord + Hash, T: Copy> Sums<K, T> {
    pub(super) fn add(&mut self, key: K, one: T, length: Ticks) {
        if self.by_key.len() >= KEYS_MAX && !self.by_key.contains_key(&key) {
            self.beyond += 1;
            return;
        }
        let fresh = || Sum { count: 0, total: 0, max: length, longest: one };
        let sum = self.by_key.entry(key).or_insert_with(fresh);
        sum.count += 1;
        sum.total = sum.total.saturating_add(length);
        if length > sum.max {
            (sum.max, sum.longest) = (length, one);
        }
    }

    /// Those beyond the bound.
    pub(super) const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The most time first.
    pub(super) fn sorted(self) -> Vec<(K, Sum<T>)> {
        let mut sums: Vec<(K, Sum<T>)> = self.by_key.into_iter().collect();
        sums.sort_by_key(|(key, sum)| (Reverse(sum.total), *key));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_ones_outrank_a_long_one_and_the_longest_stands_for_all() {
        let mut sums = Sums::default();
        (0..100).for_each(|_| sums.add('a', "short", 30));
        sums.add('a', "longest", 40);
        sums.add('b', "long", 2_000);
        let brief: Vec<_> = sums
            .sorted()
            .into_iter()
            .map(|(key, sum)| (key, sum.count, sum.total, sum.max, sum.longest))
            .collect();
        assert_eq!(brief, [('a', 101, 3_040, 40, "longest"), ('b', 1, 2_000, 2_000, "long")]);
    }

    #[test]
    fn keys_beyond_the_bound_are_counted() {
        let mut sums = Sums::default();
        (0..70_000u64).for_each(|key| sums.add(key, (), 1));
        assert_eq!(sums.beyond(), 70_000 - KEYS_MAX as u64);
        assert_eq!(sums.sorted().len(), KEYS_MAX);
    }
}
