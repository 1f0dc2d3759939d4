//! A part of the index: which of its documents hold which term.

use crate::lists::Lists;
use crate::varint;
use tailwater_data::numbers::bytes_of_u32;
use tailwater_data::{Content, Data, DataError};

/// Terms and the lists of documents that hold them, compressed, with one reader.
///
/// The reader's buffer is what the segment's lock protects: a lookup decodes into it, and the request
/// copies from there what it needs before it unlocks.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// By rising number.
    terms: Vec<u32>,
    /// Of each term in turn, the distances between the numbers of its documents.
    lists: Lists,
    /// The list looked up last.
    read: Vec<u32>,
}

impl Segment {
    /// Adds a term; terms are added by rising number, and documents too.
    pub(crate) fn push(&mut self, term: u32, documents: impl Iterator<Item = u32>) {
        let mut former = 0;
        self.lists.push(|bytes| {
            for document in documents {
                varint::push(bytes, document - former);
                former = document;
            }
        });
        self.terms.push(term);
    }

    /// The documents that hold `term`, by rising number: a binary search over the segment's terms,
    /// then the decoding of a list.
    pub(crate) fn documents(&mut self, term: u32) -> &[u32] {
        self.read.clear();
        if let Ok(place) = self.terms.binary_search(&term) {
            let mut document = 0;
            self.read.extend(varint::all(self.lists.get(place)).map(|distance| {
                // Whether they rise is looked at where a file is read.
                document = u32::wrapping_add(document, distance);
                document
            }));
        }
        &self.read
    }

    /// As sections of a file, as the segment of this number.
    pub(crate) fn fill(self, number: usize, content: Content) -> Content {
        let content = content.with(terms_of(number), bytes_of_u32(&self.terms));
        self.lists.fill(&lists_of(number), content)
    }

    /// From a file.
    pub(crate) fn read(number: usize, data: &mut Data) -> Result<Self, DataError> {
        let terms = data.numbers(&terms_of(number))?;
        let lists = Lists::read(&lists_of(number), data)?;
        if lists.count() == terms.len() {
            return Ok(Self { terms, lists, read: Vec::new() });
        }
        Err(data.damaged(format!("its segment {number} has not a list for each term")))
    }
}

fn terms_of(number: usize) -> String {
    format!("terms of segment {number}")
}

fn lists_of(number: usize) -> String {
    format!("documents of segment {number}")
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
