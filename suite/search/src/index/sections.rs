//! An index as sections of a file.

use super::Index;
use crate::bm25::Lengths;
use crate::lists::Lists;
use crate::scores::TermScores;
use crate::segment::Segment;
use tailwater_data::numbers::bytes_of_u32;
use tailwater_data::{Content, Data, DataError};
use tailwater_sync::task::Mutex;

const TERMS: &str = "terms";
const LENGTHS: &str = "lengths";
const FREQUENCIES: &str = "frequencies";
const SCORED: &str = "scored";

impl Index {
    /// Its sections, and which terms' scores are kept.
    pub(crate) fn fill(self, content: Content) -> Content {
        let scores: Vec<TermScores> = self.scores.into_iter().map(Mutex::into_inner).collect();
        let mut frequencies = Lists::default();
        for scores in &scores {
            frequencies.push(|bytes| bytes.extend_from_slice(scores.frequencies()));
        }
        let kept = (0..).zip(&scores).filter(|(_, scores)| scores.are_kept());
        let kept: Vec<u32> = kept.map(|(term, _)| term).collect();
        // No term has a line's end in it.
        let content = content
            .with(TERMS, self.terms.join("\n").into_bytes())
            .with(LENGTHS, bytes_of_u32(self.lengths.tokens()))
            .with(SCORED, bytes_of_u32(&kept));
        let segments = self.segments.into_iter().map(Mutex::into_inner).enumerate();
        segments.fold(frequencies.fill(FREQUENCIES, content), |content, (number, segment)| {
            segment.fill(number, content)
        })
    }

    /// From a file, of so many segments. The scores that were kept are computed again.
    pub(crate) fn read(segments: usize, data: &mut Data) -> Result<Self, DataError> {
        let terms = String::from_utf8(data.section(TERMS)?)
            .map_err(|_| data.damaged("its terms are no text".into()))?;
        let terms: Vec<String> = terms.lines().map(str::to_owned).collect();
        let frequencies = Lists::read(FREQUENCIES, data)?;
        if frequencies.count() != terms.len() {
            return Err(data.damaged("it has not frequencies for each term".into()));
        }
        let scores = (0..terms.len()).map(|term| TermScores::of_frequencies(frequencies.get(term)));
        let mut scores: Vec<TermScores> = scores.collect();
        let lengths = Lengths::new(data.numbers(LENGTHS)?);
        let segments = (0..segments).map(|number| Segment::read(number, data));
        let mut segments = segments.collect::<Result<Vec<Segment>, _>>()?;
        let mut documents = Vec::new();
        // Everything that could make a search go astray is looked at here, once.
        for (term, scores) in (0..).zip(&scores) {
            of_all(&mut segments, term, &mut documents);
            let rise = documents.is_sorted_by(|one, next| one < next);
            let last = documents.last().map_or(0, |&last| last as usize);
            let are_there = documents.is_empty() || last < lengths.tokens().len();
            if !(rise && are_there && scores.count() == documents.len()) {
                return Err(data.damaged(format!("the documents of its term {term} are none")));
            }
        }
        for term in data.numbers(SCORED)? {
            let Some(scores) = scores.get_mut(term as usize) else {
                return Err(data.damaged(format!("it has scores of term {term}, and no such term")));
            };
            of_all(&mut segments, term, &mut documents);
            scores.of(&documents, &lengths);
        }
        Ok(Self::of(terms, lengths, segments, scores))
    }
}

/// The documents of all segments that hold a term.
fn of_all(segments: &mut [Segment], term: u32, documents: &mut Vec<u32>) {
    documents.clear();
    for segment in segments {
        documents.extend_from_slice(segment.documents(term));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_data::Origin;

    /// As another program may have written it, with sums that are right.
    #[test]
    fn documents_that_would_lead_a_search_astray_are_refused() {
        let name = format!("tailwater-search-sections-{}.data", std::process::id());
        let path = std::env::temp_dir().join(name);
        let read = |instead: Option<(&str, [u8; 5])>| {
            let text = String::new;
            let origin = Origin { about: text(), source: text(), licence: text(), stamp: text() };
            // Of two sections of one name the first is read.
            let content = Content::new("test", origin);
            let content = instead
                .into_iter()
                .fold(content, |content, (name, bytes)| content.with(name, bytes.to_vec()));
            let index = Index::build(["boat sail", "boat", "sail boat sail"], 1);
            index.fill(content).write(&path).expect("written");
            let mut data = Data::open_as(&path, "test").expect("its sums are right");
            Index::read(1, &mut data).map(drop).map_err(|why| why.to_string())
        };
        assert_eq!(read(None), Ok(()));
        let (lists, counts) = ("documents of segment 0", FREQUENCIES);
        // Of the first term documents 0, 1 and 2, by their distances, and of the second 0 and 2.
        assert_eq!(read(Some((lists, [0, 1, 1, 0, 2]))), Ok(()));
        for (name, bytes) in [
            (lists, [0, 1, 0, 0, 2]),
            (lists, [0, 1, 2, 0, 2]),
            (lists, [0, 1, 1, 0, 0x80]),
            (lists, [0, 1, 1, 0x80, 2]),
            (counts, [1, 1, 1, 0x81, 2]),
            (counts, [0x80, 0x80, 0x80, 1, 2]),
        ] {
            let why = read(Some((name, bytes))).expect_err("it leads astray");
            assert!(why.contains("the documents of its term"), "{bytes:?}: {why}");
        }
        std::fs::remove_file(path).expect("removed");
    }
}
