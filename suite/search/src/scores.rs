//! What a term adds to the score of each document that holds it.

use crate::bm25::Lengths;
use crate::varint;

/// How often each document holds the term, compressed; and, from the first time somebody asks, the
/// scores that follow from it: one number a document, kept. That cache is what the lock protects.
#[derive(Debug, Default)]
pub(crate) struct TermScores {
    /// One number a document, by rising number of the documents of all segments.
    frequencies: Vec<u8>,
    /// In the same order; empty until somebody asks.
    scores: Vec<f32>,
}

impl TermScores {
    pub(crate) fn new(frequencies: impl Iterator<Item = u32>) -> Self {
        let mut bytes = Vec::new();
        frequencies.for_each(|frequency| varint::push(&mut bytes, frequency));
        bytes.shrink_to_fit();
        Self { frequencies: bytes, scores: Vec::new() }
    }

    /// The same, of what [`Self::frequencies`] gave.
    pub(crate) fn of_frequencies(bytes: &[u8]) -> Self {
        Self { frequencies: bytes.to_vec(), scores: Vec::new() }
    }

    /// How often each document holds the term, compressed.
    pub(crate) fn frequencies(&self) -> &[u8] {
        &self.frequencies
    }

    /// How many documents hold the term.
    pub(crate) fn count(&self) -> usize {
        varint::all(&self.frequencies).count()
    }

    /// Whether somebody has asked.
    pub(crate) const fn are_kept(&self) -> bool {
        !self.scores.is_empty()
    }

    /// The scores of `documents`, which are all that hold the term.
    pub(crate) fn of(&mut self, documents: &[u32], lengths: &Lengths) -> &[f32] {
        if self.scores.is_empty() {
            let rarity = lengths.rarity(documents.len());
            let counted = documents.iter().zip(varint::all(&self.frequencies));
            self.scores = counted
                .map(|(&document, frequency)| lengths.score(rarity, document, frequency))
                .collect();
        }
        debug_assert_eq!(self.scores.len(), documents.len(), "every segment was asked");
        &self.scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_answer_is_the_first_kept() {
        let lengths = Lengths::new(vec![4, 4, 8]);
        let mut scores = TermScores::new([3, 200].into_iter());
        let rarity = lengths.rarity(2);
        let expected = [lengths.score(rarity, 0, 3), lengths.score(rarity, 2, 200)];
        assert_eq!(scores.of(&[0, 2], &lengths), expected);
        assert_eq!(scores.of(&[0, 2], &lengths), expected);
    }
}
