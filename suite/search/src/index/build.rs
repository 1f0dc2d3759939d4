//! From texts to an index, in one pass over the texts and one over the terms.

use super::{Index, SEGMENTS_MAX, divided};
use crate::bm25::Lengths;
use crate::scores::TermScores;
use crate::segment::Segment;
use std::borrow::Cow;
use std::collections::HashMap;
use tailwater_data::text::tokens::tokens;

/// A document that holds a term, and how often.
type Posting = (u32, u32);

/// Takes one text after the other.
#[derive(Default)]
pub(crate) struct Builder {
    postings: HashMap<String, Vec<Posting>>,
    lengths: Vec<u32>,
}

impl Builder {
    pub(crate) fn push(&mut self, text: &str) {
        let document = self.lengths.len() as u32;
        let mut length = 0_u32;
        for term in tokens(text) {
            length = length.saturating_add(1);
            let Some(postings) = self.postings.get_mut(&*term) else {
                self.postings.insert(Cow::into_owned(term), vec![(document, 1)]);
                continue;
            };
            match postings.last_mut() {
                Some((last, frequency)) if *last == document => {
                    *frequency = frequency.saturating_add(1);
                }
                _ => postings.push((document, 1)),
            }
        }
        self.lengths.push(length);
    }

    /// As [`Index::build`].
    pub(crate) fn build(self, segments: usize) -> Index {
        assert!(
            (1..=SEGMENTS_MAX).contains(&segments),
            "{segments} segments; 1 to 64 are possible"
        );
        let Self { postings, lengths } = self;
        // The map's order is random: what is built must not be.
        let mut terms: Vec<_> = postings.into_iter().collect();
        terms.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));

        let documents = u32::try_from(lengths.len()).expect("at most u32::MAX documents");
        let ranges: Vec<_> = divided(documents, segments).collect();
        let mut segments: Vec<_> = ranges.iter().map(|_| Segment::default()).collect();
        let mut names = Vec::with_capacity(terms.len());
        let mut scores = Vec::with_capacity(terms.len());
        for (number, (term, postings)) in terms.into_iter().enumerate() {
            let mut rest = &postings[..];
            for (range, segment) in ranges.iter().zip(&mut segments) {
                let inside = rest.partition_point(|&(document, _)| document < range.end);
                let (list, others) = rest.split_at(inside);
                if !list.is_empty() {
                    segment.push(number as u32, list.iter().map(|&(document, _)| document));
                }
                rest = others;
            }
            scores.push(TermScores::new(postings.iter().map(|&(_, frequency)| frequency)));
            names.push(term);
        }
        Index::of(names, Lengths::new(lengths), segments, scores)
    }
}
