//! Against a search that has no index: it reads every document for every query.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tailwater_data::text::Corpus;
use tailwater_data::text::generate::Text;
use tailwater_data::text::tokens::tokens;
use tailwater_search::bm25::{B, K1};
use tailwater_search::workload::{Questions, Workload};
use tailwater_search::{Hit, Index, Memory, Mode, Query, wire};

/// Every document counted anew; scores by the formula, in the order of operations that the index uses,
/// so that roundings agree too.
fn by_reading(documents: &[String], query: &Query) -> Vec<Hit> {
    let counted: Vec<BTreeMap<String, u32>> = documents
        .iter()
        .map(|text| {
            let mut counts = BTreeMap::new();
            for term in tokens(text) {
                *counts.entry(term.into_owned()).or_default() += 1;
            }
            counts
        })
        .collect();
    let length = |counts: &BTreeMap<String, u32>| f64::from(counts.values().sum::<u32>());
    let all = counted.len() as f64;
    let mean = counted.iter().map(length).sum::<f64>() / all;
    let score = |counts: &BTreeMap<String, u32>, term: &String| {
        let with = counted.iter().filter(|counts| counts.contains_key(term)).count() as f64;
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let frequency = f64::from(*counts.get(term)?);
        let damped = frequency + K1 * (1.0 - B + B * length(counts) / mean);
        Some((rarity * (frequency * (K1 + 1.0)) / damped) as f32)
    };
    let mut hits: Vec<Hit> = counted
        .iter()
        .enumerate()
        .filter_map(|(number, counts)| {
            let scores: Vec<f32> =
                query.terms().iter().filter_map(|term| score(counts, term)).collect();
            let needed = if query.mode() == Mode::All { query.terms().len() } else { 1 };
            let sum = scores.iter().copied().reduce(|sum, score| sum + score)?;
            (scores.len() >= needed).then_some(Hit { document: number as u32, score: sum })
        })
        .collect();
    hits.sort_by(Hit::order);
    hits.truncate(query.hits().into());
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Few words, so that documents hold several, tie, and hold none.
    #[test]
    fn finds_what_reading_finds(
        documents in prop::collection::vec("[abcde ]{0,12}", 1..40),
        text in "[abcdef]( [abcdef]){0,4}",
        all: bool,
        hits in 1_u16..12,
        segments in 1_usize..6,
    ) {
        let mode = if all { Mode::All } else { Mode::Any };
        let query = Query::new(&text, mode, hits).expect("a query");
        let mut index = Index::build(documents.iter().map(String::as_str), segments);
        let expected = by_reading(&documents, &query);
        prop_assert_eq!(index.search_alone(&query), &expected[..]);
        prop_assert_eq!(index.search_alone(&query), &expected[..], "from kept scores");
    }
}

#[test]
fn finds_what_reading_finds_in_generated_text() {
    let text = Text { documents: 400, vocabulary: 2_000, ..Text::default() };
    let corpus = Corpus { documents: text.generate(5) };
    let mut index = Index::build(corpus.texts(), 8);
    for (terms, mode) in [(1, Mode::Any), (3, Mode::Any), (2, Mode::All)] {
        let workload = Workload { terms, mode, hits: 20, queries: 12 };
        let questions =
            Questions::draw(&corpus, &mut index, &workload, 1, &|_| Ok(())).expect("drawn");
        for question in questions.all() {
            let expected = by_reading(&corpus.documents, &question.query);
            assert_eq!(index.search_alone(&question.query), expected, "{:?}", question.query);
            assert!(question.is_answer(3, &wire::answer(3, &expected)));
        }
    }
}

#[test]
fn an_empty_index_finds_nothing() {
    let mut index = Index::build([], 8);
    let query = Query::new("word", Mode::Any, 10).expect("a query");
    assert!(index.search_alone(&query).is_empty());
}

/// Scores are kept from first uses that run at the same time, buffers are shared: nobody may see
/// another's.
#[test]
fn threads_that_search_at_the_same_time_find_the_same() {
    let text = Text { documents: 3_000, vocabulary: 3_000, ..Text::default() };
    let corpus = Corpus { documents: text.generate(9) };
    let workload = Workload { terms: 2, mode: Mode::Any, hits: 50, queries: 600 };
    let mut judge = Index::build(corpus.texts(), 3);
    let questions = Questions::draw(&corpus, &mut judge, &workload, 2, &|_| Ok(())).expect("drawn");
    let index = Index::build(corpus.texts(), 3);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for question in questions.all() {
                    let found = wait(index.search(&question.query, &Memory));
                    let hits = found.expect("without a budget nothing is refused");
                    assert!(question.is_answer(1, &wire::answer(1, &hits)));
                }
            });
        }
    });
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        thread::park();
    }
}
