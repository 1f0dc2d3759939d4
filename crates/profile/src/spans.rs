//! Overlapping spans of one thread, flattened: at each time the one that says most.

use crate::record::Ticks;
use std::collections::BTreeSet;

/// Something that held from one time to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span<T> {
    pub(crate) from: Ticks,
    pub(crate) to: Ticks,
    pub(crate) what: T,
}

/// Spans by time, without overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lane<T> {
    spans: Vec<Span<T>>,
}

impl<T: Copy> Lane<T> {
    /// Flattens: where several spans hold, the one with the highest rank wins; among equals the one
    /// that came last.
    pub(crate) fn new(spans: &[Span<T>], rank: impl Fn(&Span<T>) -> u64) -> Self {
        let mut edges: Vec<(Ticks, bool, usize)> = Vec::with_capacity(spans.len() * 2);
        for (at, span) in spans.iter().enumerate().filter(|(_, span)| span.to > span.from) {
            edges.push((span.from, true, at));
            edges.push((span.to, false, at));
        }
        edges.sort_unstable();
        let mut open: BTreeSet<(u64, usize)> = BTreeSet::new();
        let mut flat: Vec<(Span<T>, usize)> = Vec::new();
        let mut before = 0;
        for (time, opens, at) in edges {
            if let Some(&(_, top)) = open.last().filter(|_| time > before) {
                match flat.last_mut().filter(|(last, of)| *of == top && last.to == before) {
                    Some((last, _)) => last.to = time,
                    None => {
                        flat.push((Span { from: before, to: time, what: spans[top].what }, top));
                    }
                }
            }
            before = time;
            let key = (rank(&spans[at]), at);
            if opens {
                open.insert(key)
            } else {
                open.remove(&key)
            };
        }
        Self { spans: flat.into_iter().map(|(span, _)| span).collect() }
    }

    /// What holds at a time.
    pub(crate) fn at(&self, time: Ticks) -> Option<&T> {
        let next = self.spans.partition_point(|span| span.to <= time);
        self.spans.get(next).filter(|span| span.from <= time).map(|span| &span.what)
    }

    /// The spans that touch `[from, to)`, cut to it.
    pub(crate) fn within(&self, from: Ticks, to: Ticks) -> impl Iterator<Item = Span<T>> + '_ {
        let first = self.spans.partition_point(|span| span.to <= from);
        self.spans[first..].iter().take_while(move |span| span.from < to).map(move |span| Span {
            from: span.from.max(from),
            to: span.to.min(to),
            what: span.what,
        })
    }
}

/// Spans by time, those that touch joined.
pub(crate) fn merged(mut spans: Vec<(Ticks, Ticks)>) -> Vec<(Ticks, Ticks)> {
    spans.sort_unstable();
    let mut out: Vec<(Ticks, Ticks)> = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match out.last_mut().filter(|last| last.1 >= from) {
            Some(last) => last.1 = last.1.max(to),
            None => out.push((from, to)),
        }
    }
    out
}

/// How much time spans take: where several are, it counts once. None ends before it begins.
pub(crate) fn covered(spans: Vec<(Ticks, Ticks)>) -> Ticks {
    merged(spans).iter().map(|(from, to)| to.saturating_sub(*from)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn at_every_time_the_highest_rank_wins(
            raw in prop::collection::vec((0u64..60, 0u64..20, 0u64..5), 0..30)
        ) {
            let spans: Vec<Span<(usize, u64)>> = raw
                .iter()
                .enumerate()
                .map(|(at, &(from, len, rank))| Span { from, to: from + len, what: (at, rank) })
                .collect();
            let lane = Lane::new(&spans, |span| span.what.1);
            for time in 0..90 {
                let naive = spans
                    .iter()
                    .filter(|span| (span.from..span.to).contains(&time))
                    .max_by_key(|span| (span.what.1, span.what.0))
                    .map(|span| span.what);
                prop_assert_eq!(lane.at(time).copied(), naive, "at {}", time);
            }
            let covered = (7..40).filter(|&time| lane.at(time).is_some()).count() as u64;
            prop_assert_eq!(lane.within(7, 40).map(|span| span.to - span.from).sum::<u64>(), covered);
        }
    }

    #[test]
    fn windows_join_where_they_touch() {
        let spans = vec![(10, 20), (1, 2), (15, 30), (30, 31), (40, 41), (16, 17)];
        assert_eq!(merged(spans.clone()), [(1, 2), (10, 31), (40, 41)]);
        assert_eq!(covered(spans), 1 + 21 + 1);
    }
}
