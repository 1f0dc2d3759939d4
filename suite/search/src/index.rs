//! The index: segments with their locks, the scores of every term with theirs.

mod build;
mod sections;

pub(crate) use build::Builder;

use crate::bm25::Lengths;
use crate::query::{Mode, Query};
use crate::scores::TermScores;
use crate::segment::Segment;
use crate::top::{Hit, Matches};
use std::future::{Future, ready};
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tailwater_sync::Refused;
use tailwater_sync::budget::exempt;
use tailwater_sync::task::Mutex;

/// More segments than this are of no use: the last ones of so many would be empty.
pub const SEGMENTS_MAX: usize = 64;

/// Documents that can be searched, by many tasks at a time.
///
/// A search visits every segment, the largest first, each under its lock ("segment"); then, for each
/// term, the scores of the documents found, under the term's lock ("score"). It holds one lock at a
/// time. Documents are numbered from zero in the order they were given.
#[derive(Debug)]
pub struct Index {
    /// Sorted; a term's place is its number. Fixed, hence without a lock, and so are the lengths.
    terms: Vec<String>,
    lengths: Lengths,
    segments: Vec<Mutex<Segment>>,
    scores: Vec<Mutex<TermScores>>,
}

impl Index {
    /// Of these texts, in their order, in 1 to [`SEGMENTS_MAX`] segments: each is half as large as the one
    /// before it, as in an index that merges its small segments now and then. If there are too few
    /// texts, the last segments are empty. A text counts as at most `u32::MAX` tokens.
    ///
    /// # Panics
    /// With another number of segments, and with more than `u32::MAX` texts.
    #[must_use]
    pub fn build<'a>(texts: impl IntoIterator<Item = &'a str>, segments: usize) -> Self {
        let mut builder = Builder::default();
        texts.into_iter().for_each(|text| builder.push(text));
        builder.build(segments)
    }

    fn of(
        terms: Vec<String>,
        lengths: Lengths,
        segments: Vec<Segment>,
        scores: Vec<TermScores>,
    ) -> Self {
        let segments = segments.into_iter().map(|segment| Mutex::named("segment", segment));
        let scores = scores.into_iter().map(|scores| Mutex::named("score", scores));
        Self { terms, lengths, segments: segments.collect(), scores: scores.collect() }
    }

    /// How many documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.lengths.tokens().len()
    }

    /// The different terms of all documents, sorted.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The length of every document in tokens.
    #[must_use]
    pub fn lengths(&self) -> &[u32] {
        self.lengths.tokens()
    }

    /// The best documents, the best first: by falling score, then by rising number.
    ///
    /// [`Refused`] when a lock's queue does not fit the request's budget. There is no partial answer,
    /// which Lucene would allow and the paper does not either (§5.2); nothing has to be undone.
    pub async fn search(&self, query: &Query, store: &impl Store) -> Result<Vec<Hit>, Refused> {
        let terms = self.numbers(query);
        let mut found = vec![Vec::new(); terms.len()];
        for segment in &self.segments {
            let mut segment = segment.lock_within_budget().await?;
            for (&term, found) in terms.iter().zip(&mut found) {
                let documents = segment.documents(term);
                store.read(documents.len()).await;
                found.extend_from_slice(documents);
            }
        }
        let mut matches: Option<Matches> = None;
        for (&term, documents) in terms.iter().zip(&found) {
            let mut scores = self.scores[term as usize].lock_within_budget().await?;
            let scores = scores.of(documents, &self.lengths);
            matches = Some(match (matches, query.mode()) {
                (None, _) => Matches::of(documents, scores),
                (Some(matches), Mode::Any) => matches.or(documents, scores),
                (Some(matches), Mode::All) => matches.and(documents, scores),
            });
        }
        Ok(matches.unwrap_or_default().best(usize::from(query.hits())))
    }

    /// The same where nobody else searches: nothing is waited for, nothing refused.
    ///
    /// # Panics
    /// When a search was forgotten (`mem::forget`) in the middle: its lock is held for ever.
    pub fn search_alone(&mut self, query: &Query) -> Vec<Hit> {
        let search = pin!(self.search(query, &Memory));
        let polled = exempt(|| search.poll(&mut Context::from_waker(Waker::noop())));
        match polled {
            Poll::Ready(Ok(hits)) => hits,
            Poll::Ready(Err(refused)) => unreachable!("without a budget: {refused}"),
            Poll::Pending => panic!("a search that was forgotten holds a lock"),
        }
    }

    /// Those of the query's terms that occur; none if all are wanted and one does not.
    fn numbers(&self, query: &Query) -> Vec<u32> {
        let place = |term: &String| self.terms.binary_search(term).ok();
        let known: Vec<_> =
            query.terms().iter().filter_map(place).map(|place| place as u32).collect();
        match query.mode() {
            Mode::All if known.len() < query.terms().len() => Vec::new(),
            _ => known,
        }
    }
}

/// What lists of documents are read from, while their segment is locked.
pub trait Store {
    /// Ready when a list of so many documents has been read; zero when the term does not occur, which
    /// the segment knows without reading.
    fn read(&self, documents: usize) -> impl Future<Output = ()>;
}

/// Everything is in memory, as in the paper (Lucene's RAMDirectory): reading takes no time of its own.
#[derive(Clone, Copy, Debug)]
pub struct Memory;

impl Store for Memory {
    fn read(&self, _documents: usize) -> impl Future<Output = ()> {
        ready(())
    }
}

/// The documents of each segment: half of what is left, the last one all of it.
fn divided(documents: u32, segments: usize) -> impl Iterator<Item = Range<u32>> {
    let mut start = 0;
    (1..=segments).map(move |segment| {
        let left = documents - start;
        let end = start + if segment == segments { left } else { left.div_ceil(2) };
        std::mem::replace(&mut start, end)..end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_halve_and_cover_everything() {
        let sizes = |documents, segments| -> Vec<_> {
            divided(documents, segments).map(|range| range.len()).collect()
        };
        assert_eq!(sizes(100, 4), [50, 25, 13, 12]);
        assert_eq!(sizes(100, 1), [100]);
        assert_eq!(sizes(2, 4), [1, 1, 0, 0]);
        let ranges: Vec<_> = divided(1_000, 7).collect();
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((ranges[0].start, ranges[6].end), (0, 1_000));
    }
}
