//! A part of the index: which of its documents hold which term.

use crate::varint;

/// Terms and the lists of documents that hold them, compressed, with one reader.
///
/// The reader's buffer is what the segment's lock protects: a lookup decodes into it, and the request
/// copies from there what it needs before it unlocks.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// By rising number.
    terms: Vec<u32>,
    /// Where each term's list ends in `lists`.
    ends: Vec<usize>,
    /// Of each term in turn, the distances between the numbers of its documents.
    lists: Vec<u8>,
    /// The list looked up last.
    read: Vec<u32>,
}

impl Segment {
    /// Adds a term; terms are added by rising number, and documents too.
    pub(crate) fn push(&mut self, term: u32, documents: impl Iterator<Item = u32>) {
        let mut former = 0;
        for document in documents {
            varint::push(&mut self.lists, document - former);
            former = document;
        }
        self.terms.push(term);
        self.ends.push(self.lists.len());
    }

    /// The documents that hold `term`, by rising number: a binary search over the segment's terms,
    /// then the decoding of a list.
    pub(crate) fn documents(&mut self, term: u32) -> &[u32] {
        self.read.clear();
        if let Ok(place) = self.terms.binary_search(&term) {
            let start = place.checked_sub(1).map_or(0, |former| self.ends[former]);
            let mut document = 0;
            self.read.extend(varint::all(&self.lists[start..self.ends[place]]).map(|distance| {
                document += distance;
                document
            }));
        }
        &self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_has_its_own_list() {
        let mut segment = Segment::default();
        segment.push(3, [70_000, 70_001, 90_000].into_iter());
        segment.push(9, [0, 5].into_iter());
        assert_eq!(segment.documents(9), [0, 5]);
        assert_eq!(segment.documents(3), [70_000, 70_001, 90_000]);
        for absent in [0, 4, 10] {
            assert!(segment.documents(absent).is_empty());
        }
    }
}
