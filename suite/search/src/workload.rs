//! The queries that clients ask, and the answers that they must get.
//!
//! "The search term is sampled from the word distribution in the data set excluding stop words"
//! (Protego §5.2, single terms; the top 100 documents are asked for, says the profiler's paper of the same
//! group, LDB, NSDI '24, §5): a word is drawn as often as it occurs. How queries of several words would
//! be drawn the paper does not say, for it has none; here the others are words of the same document,
//! so that some document has them all.

use crate::index::Index;
use crate::lists::Lists;
use crate::query::{HITS_MAX, Mode, Query, TERMS_MAX};
use crate::wire;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use tailwater_core::Rng;
use tailwater_core::fnv::{START, fnv1a};
use tailwater_data::numbers::{bytes_of_u32, bytes_of_u64, u64_of_bytes};
use tailwater_data::text::Corpus;
use tailwater_data::text::tokens::{is_stop_word, tokens};
use tailwater_data::{Content, Data, DataError};
use tailwater_load::application::Tell;

/// Every so many queries a caller hears how far it is.
const TOLD_EVERY: usize = 1_024;

const REQUESTS: &str = "requests";
const ANSWER_BYTES: &str = "answer bytes";
const ANSWER_SUMS: &str = "answer sums";

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Words of a query, 1 to [`TERMS_MAX`].
    pub terms: usize,
    /// Which documents answer a query of several words.
    pub mode: Mode,
    /// How many hits are wanted, 1 to [`HITS_MAX`].
    pub hits: u16,
    /// How many queries are drawn beforehand, at least one; clients repeat them. Too few make a
    /// distribution of words that is the sample's rather than the text's.
    pub queries: usize,
}

impl Default for Workload {
    /// That of the paper, from 16,384 queries.
    fn default() -> Self {
        Self { terms: 1, mode: Mode::Any, hits: 100, queries: 16_384 }
    }
}

/// A query and its answer.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked.
    pub query: Query,
    /// How many documents the answer has, and a checksum of them with their scores.
    answer: (usize, u64),
}

/// The questions of a run.
#[derive(Debug)]
pub struct Questions(Vec<Question>);

/// A workload that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadError {
    /// So many words, hits or queries: beyond a bound.
    Bounds,
    /// Hardly a document has so many different words besides stop words.
    TooFewWords(usize),
    /// The receiver of what is told meanwhile had enough, and said this.
    Stopped(String),
}

impl Questions {
    /// Draws them from the text and looks up each answer in the text's index. The seed decides.
    ///
    /// # Errors
    /// When there are none of this kind; what `tell` returns.
    pub fn draw(
        corpus: &Corpus,
        index: &mut Index,
        workload: &Workload,
        seed: u64,
        tell: Tell<'_>,
    ) -> Result<Self, WorkloadError> {
        let bounded = (1..=TERMS_MAX).contains(&workload.terms)
            && (1..=HITS_MAX).contains(&workload.hits)
            && workload.queries > 0;
        if !bounded {
            return Err(WorkloadError::Bounds);
        }
        let mut rng = Rng::from_seed(seed).split("queries");
        let draw = Draw::new(corpus, index);
        let mut known = BTreeMap::new();
        let mut questions = Vec::with_capacity(workload.queries);
        for number in 0..workload.queries {
            if number.is_multiple_of(TOLD_EVERY) {
                tell(&format!("asking queries, {number} of {}", workload.queries))
                    .map_err(WorkloadError::Stopped)?;
            }
            let query = draw.query(workload, &mut rng)?;
            let look_up = || checksum(0, &wire::answer(0, &index.search_alone(&query)));
            let answer = *known.entry(query.clone()).or_insert_with(look_up);
            questions.push(Question { query, answer });
        }
        Ok(Self(questions))
    }

    /// All of them, one at least.
    #[must_use]
    pub fn all(&self) -> &[Question] {
        &self.0
    }

    /// As sections of a file.
    pub(crate) fn fill(&self, content: Content) -> Content {
        let (mut requests, mut bytes, mut sums) = (Lists::default(), Vec::new(), Vec::new());
        for Question { query, answer } in &self.0 {
            requests.push(|list| list.extend_from_slice(&wire::request(0, query)));
            bytes.push(answer.0 as u32);
            sums.push(answer.1);
        }
        let content =
            content.with(ANSWER_BYTES, bytes_of_u32(&bytes)).with(ANSWER_SUMS, bytes_of_u64(&sums));
        requests.fill(REQUESTS, content)
    }

    /// From a file.
    pub(crate) fn read(data: &mut Data) -> Result<Self, DataError> {
        let requests = Lists::read(REQUESTS, data)?;
        let bytes = data.numbers(ANSWER_BYTES)?;
        let sums = u64_of_bytes(&data.section(ANSWER_SUMS)?).unwrap_or_default();
        let is_whole = bytes.len() == requests.count() && sums.len() == requests.count();
        let read = (0..requests.count()).zip(bytes).zip(sums).map(|((number, bytes), sum)| {
            let (_, query) = wire::read_request(requests.get(number)).ok()?;
            Some(Question { query, answer: (bytes as usize, sum) })
        });
        let questions = read.collect::<Option<Vec<_>>>();
        let whole = questions.filter(|questions| is_whole && !questions.is_empty());
        whole
            .map(Self)
            .ok_or_else(|| data.damaged("its queries and answers do not belong together".into()))
    }
}

impl Question {
    /// Whether these bytes are the answer to this question when it was asked with this tag.
    #[must_use]
    pub fn is_answer(&self, tag: u64, bytes: &[u8]) -> bool {
        bytes.len() >= 10 && checksum(tag, bytes) == self.answer
    }
}

/// The length of an answer, and a checksum (FNV-1a) of all of it, with its tag taken out: another tag than
/// this one gives another sum.
fn checksum(tag: u64, answer: &[u8]) -> (usize, u64) {
    let (found, rest) = answer.split_at(8);
    let tag = tag.to_le_bytes();
    let bytes = found.iter().zip(tag).map(|(found, tag)| found ^ tag).chain(rest.iter().copied());
    (answer.len(), fnv1a(START, bytes))
}

/// A text to draw from.
struct Draw<'a> {
    corpus: &'a Corpus,
    /// How many tokens each document and those before it have.
    tokens: Vec<u64>,
}

impl<'a> Draw<'a> {
    fn new(corpus: &'a Corpus, index: &Index) -> Self {
        let tokens = index.lengths().iter().scan(0, |sum, &tokens| {
            *sum += u64::from(tokens);
            Some(*sum)
        });
        Self { corpus, tokens: tokens.collect() }
    }

    /// A random token, and other words of its document; anew if it is a stop word or words are missing.
    fn query(&self, workload: &Workload, rng: &mut Rng) -> Result<Query, WorkloadError> {
        const TRIES: usize = 10_000;
        let drawn = (0..TRIES).find_map(|_| {
            let terms = self.terms(workload.terms, rng)?;
            Query::of_terms(terms, workload.mode, workload.hits).ok()
        });
        drawn.ok_or(WorkloadError::TooFewWords(workload.terms))
    }

    fn terms(&self, count: usize, rng: &mut Rng) -> Option<Vec<String>> {
        let all = *self.tokens.last()?;
        let drawn = ((u128::from(rng.u64()) * u128::from(all)) >> 64) as u64;
        let document = self.tokens.partition_point(|&sum| sum <= drawn);
        let before = document.checked_sub(1).map_or(0, |former| self.tokens[former]);
        let mut words: Vec<_> =
            tokens(&self.corpus.documents[document]).map(Cow::into_owned).collect();
        let first = words[(drawn - before) as usize].clone();
        if is_stop_word(&first) {
            return None;
        }
        words.sort_unstable();
        words.dedup();
        words.retain(|word| !is_stop_word(word) && *word != first);
        let mut terms = vec![first];
        while terms.len() < count {
            if words.is_empty() {
                return None;
            }
            terms.push(words.swap_remove(rng.below(words.len() as u32) as usize));
        }
        Some(terms)
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bounds => write!(
                f,
                "a workload needs 1 to {TERMS_MAX} terms, 1 to {HITS_MAX} hits, and a query at least"
            ),
            Self::TooFewWords(terms) => write!(
                f,
                "found hardly a document with {terms} different words besides stop words; \
                 longer documents or fewer terms are needed"
            ),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WorkloadError {}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_data::text::generate::Text;

    fn quiet(_: &str) -> Result<(), String> {
        Ok(())
    }

    fn small() -> (Corpus, Index) {
        let text = Text { documents: 2_000, vocabulary: 5_000, ..Text::default() };
        let corpus = Corpus { documents: text.generate(1) };
        let index = Index::build(corpus.texts(), 8);
        (corpus, index)
    }

    #[test]
    fn words_are_asked_as_often_as_they_occur() {
        let (corpus, mut index) = small();
        let workload = Workload { queries: 40_000, ..Workload::default() };
        let questions = Questions::draw(&corpus, &mut index, &workload, 1, &quiet).expect("drawn");
        let (mut counts, mut all) = (BTreeMap::new(), 0_u32);
        for word in corpus.texts().flat_map(tokens).filter(|word| !is_stop_word(word)) {
            *counts.entry(word).or_insert(0_u32) += 1;
            all += 1;
        }
        let asked = |term: &str| {
            let these = questions.all().iter().filter(|one| one.query.terms()[0] == term);
            these.count() as f64 / 40_000.0
        };
        // The ten commonest words that are no stop words.
        let counted = counts.into_iter();
        let mut common: Vec<_> =
            counted.map(|(word, count)| (f64::from(count) / f64::from(all), word)).collect();
        common.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (share, term) in &common[..10] {
            assert!((asked(term) / share - 1.0).abs() < 0.25, "{term}: {} of {share}", asked(term));
        }
        assert!(questions.all().iter().all(|one| !is_stop_word(&one.query.terms()[0])));
    }

    #[test]
    fn words_of_one_document_have_an_answer_together() {
        let (corpus, mut index) = small();
        let workload = Workload { terms: 3, mode: Mode::All, queries: 200, ..Workload::default() };
        let questions = Questions::draw(&corpus, &mut index, &workload, 1, &quiet).expect("drawn");
        for question in questions.all() {
            assert_eq!(question.query.terms().len(), 3);
            assert!(!index.search_alone(&question.query).is_empty());
        }
    }

    #[test]
    fn only_the_right_answer_with_the_right_tag_is_one() {
        let (corpus, mut index) = small();
        let questions =
            Questions::draw(&corpus, &mut index, &Workload::default(), 1, &quiet).expect("drawn");
        let question = &questions.all()[0];
        let mut hits = index.search_alone(&question.query);
        let bytes = wire::answer(7, &hits);
        assert!(question.is_answer(7, &bytes));
        assert!(!question.is_answer(8, &bytes));
        assert!(!question.is_answer(7, &bytes[..bytes.len() - 8]));
        assert!(!question.is_answer(7, &bytes[..5]));
        hits[0].document ^= 1;
        assert!(!question.is_answer(7, &wire::answer(7, &hits)));
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let corpus = Corpus { documents: vec!["the boat of the man".to_owned()] };
        let mut index = Index::build(corpus.texts(), 8);
        let mut draw = |terms| {
            let workload = Workload { terms, ..Workload::default() };
            Questions::draw(&corpus, &mut index, &workload, 1, &quiet).err()
        };
        assert_eq!(draw(2), None);
        assert_eq!(draw(3), Some(WorkloadError::TooFewWords(3)));
        assert_eq!(draw(0), Some(WorkloadError::Bounds));
        assert_eq!(draw(TERMS_MAX + 1), Some(WorkloadError::Bounds));
    }
}
