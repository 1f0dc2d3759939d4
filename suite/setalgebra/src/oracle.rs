//! The answers that queries must get, found without an index: one look at each document, as a set of words.
//!
//! Nothing of the service is used: no posting list, no shard, no intersection, no stop list but one of its own.

use crate::collection::Collection;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Documents are looked at; their number is heard now and then.
pub type Tell<'a> = &'a dyn Fn(usize) -> Result<(), String>;

/// Every so many documents a caller hears how far it is.
const TOLD_EVERY: usize = 8_192;

/// The stop list, from the documents alone: of each word its occurrences are counted, and all words are sorted.
#[must_use]
pub fn stop_list(collection: &Collection, length: usize) -> BTreeSet<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for document in 0..collection.documents() {
        for &word in collection.document(document) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<_> = counts
        .into_iter()
        .map(|(word, count)| (Reverse(count), collection.word(word), word))
        .collect();
    words.sort();
    words.into_iter().take(length).map(|(_, _, word)| word).collect()
}

/// Of each query the documents that have all its words, by rising number; words of the stop list are no condition, and
/// queries without another have no answer.
///
/// # Errors
/// What `tell` returns; when all answers together have more than `most` documents. No more are kept meanwhile.
pub fn answers(
    collection: &Collection,
    stop: &BTreeSet<u32>,
    queries: &[Vec<u32>],
    most: usize,
    tell: Tell<'_>,
) -> Result<Vec<Vec<u32>>, String> {
    let asked: Vec<Vec<u32>> = queries
        .iter()
        .map(|query| query.iter().copied().filter(|word| !stop.contains(word)).collect())
        .collect();
    // A query is tried with the documents that have the least frequent of its words, which changes nothing but the time.
    let mut by_word = vec![Vec::new(); collection.words()];
    for (number, words) in asked.iter().enumerate() {
        if let Some(&rarest) = words.iter().min_by_key(|&&word| collection.frequency(word)) {
            by_word[rarest as usize].push(number);
        }
    }
    let (mut found, mut room) = (vec![Vec::new(); queries.len()], most);
    // The document in which each word was seen last, from 1.
    let mut seen_in = vec![0; collection.words()];
    for document in 0..collection.documents() {
        if document % TOLD_EVERY == 0 {
            tell(document)?;
        }
        let (words, this) = (collection.document(document), document + 1);
        words.iter().for_each(|&word| seen_in[word as usize] = this);
        for &word in words {
            for &query in &by_word[word as usize] {
                let has_all = asked[query].iter().all(|&word| seen_in[word as usize] == this);
                // A word that the document has twice tries its queries twice.
                if has_all && found[query].last() != Some(&(document as u32)) {
                    room = room.checked_sub(1).ok_or_else(|| too_many(most))?;
                    found[query].push(document as u32);
                }
            }
        }
    }
    Ok(found)
}

fn too_many(most: usize) -> String {
    format!(
        "the answers to all queries have more than {most} documents together; fewer queries, fewer documents or a longer \
         stop list are needed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::Draw;
    use tailwater_data::text::generate::Text;

    /// Sets of words and nothing else: every query with every document.
    fn by_sets(collection: &Collection, stop: &BTreeSet<u32>, query: &[u32]) -> Vec<u32> {
        let asked: BTreeSet<u32> = query.iter().copied().filter(|it| !stop.contains(it)).collect();
        let has_all = |document: &u32| {
            let words: BTreeSet<u32> =
                collection.document(*document as usize).iter().copied().collect();
            !asked.is_empty() && asked.is_subset(&words)
        };
        (0..collection.documents() as u32).filter(has_all).collect()
    }

    #[test]
    fn one_look_at_each_document_finds_what_sets_have() {
        let text = Text { documents: 400, vocabulary: 1_000, ..Text::default() };
        let collection = Collection::generated(&text, 5, &|_| Ok(())).expect("made");
        let stop = stop_list(&collection, 12);
        assert_eq!(stop, collection.stop_list(12).into_iter().collect());
        let draw =
            Draw { queries: 200, words: 4, independent_percent: 50, odd_percent: 20, seed: 2 };
        let mut queries = draw.queries(&collection, &collection.stop_list(12)).expect("drawn");
        queries.push(stop.iter().copied().take(2).collect());
        let found = answers(&collection, &stop, &queries, usize::MAX, &|_| Ok(())).expect("found");
        for (query, found) in queries.iter().zip(&found) {
            assert_eq!(*found, by_sets(&collection, &stop, query), "{query:?}");
        }
        assert!(found.iter().any(Vec::is_empty) && found.iter().any(|found| found.len() > 5));
        let ends = |_| Err("enough".to_owned());
        assert_eq!(answers(&collection, &stop, &queries, usize::MAX, &ends), Err("enough".into()));
        let all = found.iter().map(Vec::len).sum();
        let of_most = |most| answers(&collection, &stop, &queries, most, &|_| Ok(()));
        assert_eq!(of_most(all), Ok(found));
        let why = of_most(all - 1).expect_err("one too many");
        assert!(why.contains("fewer queries"), "{why}");
    }
}
