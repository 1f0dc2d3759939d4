//! The best few of many, and the merging of terms before it.

use itertools::Itertools as _;
use std::cmp::Ordering;

/// A document found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its number in the corpus, from zero.
    pub document: u32,
    /// Its BM25 score; above zero, larger is better.
    pub score: f32,
}

impl Hit {
    /// Less is better: by falling score, then by rising number, so that no two hits tie.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.document.cmp(&other.document))
    }
}

/// Documents found so far, by rising number, each with the sum of its scores so far.
#[derive(Debug, Default)]
pub(crate) struct Matches(Vec<Hit>);

impl Matches {
    /// Those that hold one term, by rising number, with their scores.
    pub(crate) fn of(documents: &[u32], scores: &[f32]) -> Self {
        Self(hits(documents, scores).collect())
    }

    /// Those that hold either.
    #[must_use]
    pub(crate) fn or(self, documents: &[u32], scores: &[f32]) -> Self {
        let mut merged = Vec::with_capacity(self.0.len() + documents.len());
        let mut left = self.0.into_iter().peekable();
        for right in hits(documents, scores) {
            while let Some(hit) = left.next_if(|hit| hit.document < right.document) {
                merged.push(hit);
            }
            let both = left.next_if(|hit| hit.document == right.document);
            let score = both.map_or(right.score, |hit| hit.score + right.score);
            merged.push(Hit { document: right.document, score });
        }
        merged.extend(left);
        Self(merged)
    }

    /// Those that hold both.
    #[must_use]
    pub(crate) fn and(mut self, documents: &[u32], scores: &[f32]) -> Self {
        let mut other = hits(documents, scores).peekable();
        self.0.retain_mut(|hit| {
            while other.next_if(|other| other.document < hit.document).is_some() {}
            let both = other.next_if(|other| other.document == hit.document);
            both.inspect(|other| hit.score += other.score).is_some()
        });
        self
    }

    /// The best `count`, the best first.
    pub(crate) fn best(&self, count: usize) -> Vec<Hit> {
        self.0.iter().copied().k_smallest_by(count, Hit::order).collect()
    }
}

fn hits(documents: &[u32], scores: &[f32]) -> impl Iterator<Item = Hit> {
    documents.iter().zip(scores).map(|(&document, &score)| Hit { document, score })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn of_equal_scores_the_smaller_number_comes_first() {
        let best = Matches::of(&[1, 2, 3, 4], &[1.0, 2.0, 1.0, 2.0]).best(3);
        assert_eq!(best.iter().map(|hit| hit.document).collect::<Vec<_>>(), [2, 4, 1]);
        assert!(Matches::of(&[1], &[1.0]).best(0).is_empty());
    }

    /// Few documents and few scores, so that they meet and tie.
    fn list() -> impl Strategy<Value = BTreeMap<u32, u8>> {
        prop::collection::btree_map(0_u32..40, 1_u8..4, 0..30)
    }

    fn columns(list: &BTreeMap<u32, u8>) -> (Vec<u32>, Vec<f32>) {
        list.iter().map(|(&document, &score)| (document, f32::from(score))).unzip()
    }

    fn sorted(matches: impl Iterator<Item = (u32, f32)>, count: usize) -> Vec<Hit> {
        let mut hits: Vec<_> = matches.map(|(document, score)| Hit { document, score }).collect();
        hits.sort_by(Hit::order);
        hits.truncate(count);
        hits
    }

    proptest! {
        #[test]
        fn agrees_with_merging_maps_and_sorting(left in list(), right in list(), count in 0_usize..50) {
            let ((documents, scores), (others, theirs)) = (columns(&left), columns(&right));
            let start = || Matches::of(&documents, &scores);
            let value = |list: &BTreeMap<u32, u8>, document| list.get(&document).copied().map(f32::from);
            let union = (0..40).filter_map(|document| match (value(&left, document), value(&right, document)) {
                (None, None) => None,
                (one, other) => Some((document, one.unwrap_or(0.0) + other.unwrap_or(0.0))),
            });
            prop_assert_eq!(start().or(&others, &theirs).best(count), sorted(union, count));
            let both = (0..40).filter_map(|document| {
                Some((document, value(&left, document)? + value(&right, document)?))
            });
            prop_assert_eq!(start().and(&others, &theirs).best(count), sorted(both, count));
        }
    }
}
