//! Queries and the answers that they must get, as the generator has them.

use crate::wire::{self, Answer, LEAVES_MAX};
use tailwater_data::numbers::bytes_of_u32;
use tailwater_data::{Content, Data, DataError};

/// Queries, and of each the documents that have all its words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Questions {
    /// Requests with the tag 0, one behind the other, and where each ends.
    requests: Vec<u8>,
    request_ends: Vec<u32>,
    /// Documents by rising number, one answer behind the other, and where each ends.
    documents: Vec<u32>,
    document_ends: Vec<u32>,
}

impl Questions {
    /// Adds a query and its answer.
    pub fn push<'w>(&mut self, words: impl ExactSizeIterator<Item = &'w str>, answer: &[u32]) {
        self.requests.extend_from_slice(&wire::request(0, words));
        self.request_ends.push(self.requests.len() as u32);
        self.documents.extend_from_slice(answer);
        self.document_ends.push(self.documents.len() as u32);
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.request_ends.len()
    }

    /// How many have no answer.
    #[must_use]
    pub fn empty(&self) -> usize {
        (0..self.count()).filter(|&number| self.answer(number).is_empty()).count()
    }

    /// How many documents all answers have together.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.documents.len()
    }

    /// The request for a query with this tag.
    ///
    /// # Panics
    /// When there are not so many.
    #[must_use]
    pub fn request(&self, number: usize, tag: u64) -> Vec<u8> {
        let mut request = part(&self.requests, &self.request_ends, number).to_vec();
        request[..8].copy_from_slice(&tag.to_le_bytes());
        request
    }

    /// The documents that a query must get.
    ///
    /// # Panics
    /// When there are not so many.
    #[must_use]
    pub fn answer(&self, number: usize) -> &[u32] {
        part(&self.documents, &self.document_ends, number)
    }

    /// Whether this is what a query must get from `leaves` leaves of which `least` must have answered, of no more than
    /// `hits` documents. Where leaves are missing, it must be exactly what the others have.
    #[must_use]
    pub fn is_answer(
        &self,
        number: usize,
        answer: &Answer,
        (leaves, least, hits): (u32, u32, u32),
    ) -> bool {
        if number >= self.count() {
            return false;
        }
        let expected = self.answer(number);
        let is = |found: usize, first: &mut dyn Iterator<Item = u32>| {
            found == answer.found as usize && answer.documents.iter().copied().eq(first)
        };
        if answer.missing == 0 {
            let first = &expected[..expected.len().min(hits as usize)];
            return expected.len() == answer.found as usize && answer.documents == first;
        }
        let is_missing = |leaf: u32| answer.missing >> leaf & 1 == 1;
        let unknown = (leaves..LEAVES_MAX).any(is_missing);
        if unknown || leaves - answer.missing.count_ones() < least {
            return false;
        }
        // Documents are dealt to the leaves in turn.
        let others = || expected.iter().copied().filter(|document| !is_missing(document % leaves));
        is(others().count(), &mut others().take(hits as usize))
    }

    /// As sections of a file.
    #[must_use]
    pub fn fill(&self, content: Content) -> Content {
        content
            .with("requests", self.requests.clone())
            .with("request ends", bytes_of_u32(&self.request_ends))
            .with("documents", bytes_of_u32(&self.documents))
            .with("document ends", bytes_of_u32(&self.document_ends))
    }

    /// From a file.
    ///
    /// # Errors
    /// When it cannot be read, or has something else.
    pub fn read(data: &mut Data) -> Result<Self, DataError> {
        let requests = data.section("requests")?;
        let request_ends = data.numbers("request ends")?;
        let (documents, document_ends) =
            (data.numbers("documents")?, data.numbers("document ends")?);
        let questions = Self { requests, request_ends, documents, document_ends };
        if questions.is_sound() {
            Ok(questions)
        } else {
            Err(data.damaged("its queries and answers do not belong together".into()))
        }
    }

    fn is_sound(&self) -> bool {
        let Self { requests, request_ends, documents, document_ends } = self;
        let covers = |ends: &[u32], all: usize| {
            ends.is_sorted() && ends.last().is_some_and(|&end| end as usize == all)
        };
        request_ends.len() == document_ends.len()
            && covers(request_ends, requests.len())
            && covers(document_ends, documents.len())
            && (0..self.count())
                .all(|number| wire::read_request(part(requests, request_ends, number)).is_ok())
    }
}

fn part<'a, T>(all: &'a [T], ends: &[u32], number: usize) -> &'a [T] {
    let start = number.checked_sub(1).map_or(0, |former| ends[former] as usize);
    &all[start..ends[number] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> Questions {
        let mut questions = Questions::default();
        questions.push(["small", "boat"].into_iter(), &[0, 1, 4, 6, 7]);
        questions.push(["mast"].into_iter(), &[]);
        questions
    }

    fn answer(missing: u64, found: u32, documents: &[u32]) -> Answer {
        Answer { tag: 0, missing, found, documents: documents.to_vec() }
    }

    #[test]
    fn an_answer_must_have_exactly_the_documents() {
        let questions = questions();
        assert_eq!((questions.count(), questions.empty(), questions.documents()), (2, 1, 5));
        let is = |number, answer: &Answer| questions.is_answer(number, answer, (4, 4, 100));
        assert!(is(0, &answer(0, 5, &[0, 1, 4, 6, 7])));
        assert!(is(1, &answer(0, 0, &[])));
        for wrong in [
            answer(0, 5, &[0, 1, 4, 6, 8]),
            answer(0, 4, &[0, 1, 4, 6]),
            answer(0, 5, &[0, 1, 4, 6]),
            answer(0, 6, &[0, 1, 4, 6, 7]),
            answer(0, 0, &[]),
        ] {
            assert!(!is(0, &wrong), "{wrong:?}");
        }
        assert!(!is(1, &answer(0, 1, &[0])));
        assert!(!is(2, &answer(0, 0, &[])), "there is no such query");
    }

    #[test]
    fn no_more_documents_than_wanted_are_needed_but_all_are_counted() {
        let is = |answer: &Answer| questions().is_answer(0, answer, (4, 4, 2));
        assert!(is(&answer(0, 5, &[0, 1])));
        assert!(!is(&answer(0, 2, &[0, 1])));
        assert!(!is(&answer(0, 5, &[0, 1, 4])));
    }

    #[test]
    fn with_missing_leaves_exactly_the_documents_of_the_others_are_needed() {
        let is = |least, answer: &Answer| questions().is_answer(0, answer, (4, least, 100));
        // Leaf 0 has the documents 0 and 4.
        assert!(is(3, &answer(1, 3, &[1, 6, 7])));
        assert!(!is(3, &answer(1, 5, &[0, 1, 4, 6, 7])), "what is missing cannot be there");
        assert!(!is(3, &answer(2, 3, &[1, 6, 7])), "another leaf");
        assert!(!is(4, &answer(1, 3, &[1, 6, 7])), "all must have answered");
        assert!(!is(1, &answer(1 << 4, 5, &[0, 1, 4, 6, 7])), "there is no such leaf");
    }

    #[test]
    fn a_request_has_its_tag() {
        let request = questions().request(0, 9);
        assert_eq!(wire::read_request(&request), Ok((9, vec!["small", "boat"])));
    }
}
