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
        for term in data.numbers(SCORED)? {
            let Some(scores) = scores.get_mut(term as usize) else {
                return Err(data.damaged(format!("it has scores of term {term}, and no such term")));
            };
            documents.clear();
            for segment in &mut segments {
                documents.extend_from_slice(segment.documents(term));
            }
            scores.of(&documents, &lengths);
        }
        Ok(Self::of(terms, lengths, segments, scores))
    }
}
