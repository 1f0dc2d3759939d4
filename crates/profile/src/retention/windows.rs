//! The times of which all is kept.

use crate::record::Ticks;
use std::collections::BTreeMap;

/// Windows told apart. Beyond, neighbours become one, and what lies between them is kept as well.
const WINDOWS_MAX: usize = 1 << 18;

/// Spans of time, by their starts; none touches another.
#[derive(Debug, Default)]
pub(crate) struct Windows(BTreeMap<Ticks, Ticks>);

impl Windows {
    /// Adds one, its ends included.
    pub(crate) fn add(&mut self, from: Ticks, to: Ticks) {
        let (mut from, mut to) = (from, to.max(from));
        while let Some((start, end)) = self.last_until(to).filter(|(_, end)| *end >= from) {
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
        if self.0.len() > WINDOWS_MAX {
            self.join_neighbours();
        }
    }

    /// Whether one has a moment in common with this span, ends included.
    pub(crate) fn touch(&self, from: Ticks, to: Ticks) -> bool {
        self.last_until(to.max(from)).is_some_and(|(_, end)| end >= from)
    }

    fn last_until(&self, to: Ticks) -> Option<(Ticks, Ticks)> {
        self.0.range(..=to).next_back().map(|(start, end)| (*start, *end))
    }

    /// Each second one is joined to the one before.
    fn join_neighbours(&mut self) {
        let mut all = std::mem::take(&mut self.0).into_iter();
        while let Some((start, end)) = all.next() {
            self.0.insert(start, all.next().map_or(end, |(_, end)| end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_span_touches_what_any_window_has(
            windows in prop::collection::vec((0u64..100, 0u64..10), 0..30),
            asked in prop::collection::vec((0u64..120, 0u64..10), 20),
        ) {
            let mut all = Windows::default();
            windows.iter().for_each(|&(from, length)| all.add(from, from + length));
            for (from, length) in asked {
                let to = from + length;
                let naive = windows.iter().any(|&(start, long)| start <= to && start + long >= from);
                prop_assert_eq!(all.touch(from, to), naive, "{}..={}", from, to);
            }
        }
    }

    #[test]
    fn beyond_the_bound_no_window_is_forgotten() {
        let mut all = Windows::default();
        let count = WINDOWS_MAX as u64 * 2;
        for n in 0..count {
            all.add(n * 10, n * 10 + 1);
            assert!(all.0.len() <= WINDOWS_MAX);
        }
        assert!((0..count).step_by(997).all(|n| all.touch(n * 10, n * 10)));
    }
}
