//! The queries that clients ask.
//!
//! "Each search query typically spans fewer than ten words. We synthetically generate a query set of 10K queries, based
//! on Wikipedia's word occurrence probabilities" (thesis §2.2.3). Words that are drawn without regard to each other are
//! seldom in one document, so most such queries of several words have no answer. Here they are a share of all; of the
//! others all words are in one document, so that intersections have something to find.

use crate::collection::Collection;
use tailwater_core::Rng;

/// Most words of a query.
pub const WORDS_MAX: usize = 16;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// How many queries, at least one.
    pub queries: usize,
    /// Most words of a query, 1 to [`WORDS_MAX`]; each number up to this is drawn alike. Documents with fewer words give
    /// shorter queries.
    pub words: usize,
    /// Of a hundred queries, so many whose words know nothing of each other.
    pub independent_percent: u32,
    /// Of a hundred queries, so many are odd, by turns: one of the others with a word that no document has; words of
    /// the stop list alone; one of the others with a word twice.
    pub odd_percent: u32,
    /// Decides everything.
    pub seed: u64,
}

impl Default for Draw {
    /// That of the thesis, but for the share of queries whose words are of one document.
    fn default() -> Self {
        Self { queries: 10_000, words: 9, independent_percent: 20, odd_percent: 0, seed: 1 }
    }
}

/// Draws a word in vain so often before it is given up.
const TRIES: usize = 1_000;

impl Draw {
    /// Draws the queries: different words, by number, as often as they occur in the documents. None but odd ones consists
    /// of words of the stop list alone.
    ///
    /// # Errors
    /// A sentence when the documents have hardly a word that is not in the stop list.
    pub fn queries(&self, collection: &Collection, stop: &[u32]) -> Result<Vec<Vec<u32>>, String> {
        let mut is_stop = vec![false; collection.words()];
        stop.iter().for_each(|&word| is_stop[word as usize] = true);
        let mut rng = Rng::from_seed(self.seed).split("set algebra queries");
        let mut one = || {
            let drawn = (0..TRIES).find_map(|_| {
                let query = self.query(collection, &mut rng)?;
                query.iter().any(|&word| !is_stop[word as usize]).then_some(query)
            });
            drawn.ok_or_else(|| {
                "found hardly a word that is not in the stop list; longer documents or a shorter stop list are needed"
                    .to_owned()
            })
        };
        let mut queries: Vec<Vec<u32>> =
            (0..self.queries).map(|_| one()).collect::<Result<_, _>>()?;
        let mut odd = Rng::from_seed(self.seed).split("odd queries");
        let is_odd = |_: &&mut Vec<u32>| odd.below(100) < self.odd_percent;
        let chosen: Vec<&mut Vec<u32>> = queries.iter_mut().filter(is_odd).collect();
        for (turn, query) in chosen.into_iter().enumerate() {
            make_odd(query, turn, (stop, &is_stop), collection.stranger());
        }
        Ok(queries)
    }

    fn query(&self, collection: &Collection, rng: &mut Rng) -> Option<Vec<u32>> {
        let occurrences = collection.occurrences();
        let count = 1 + rng.below(self.words as u32) as usize;
        let first = place(rng, occurrences.len())?;
        let together = collection.document(collection.document_of(first));
        let from = if rng.below(100) < self.independent_percent { occurrences } else { together };
        let mut words = vec![occurrences[first]];
        for _ in 0..TRIES {
            if words.len() == count {
                break;
            }
            let word = from[place(rng, from.len())?];
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Some(words)
    }
}

/// Makes a query odd in the way whose turn it is. Without a stop list no query has its words alone.
fn make_odd(query: &mut Vec<u32>, turn: usize, (stop, is_stop): (&[u32], &[bool]), stranger: u32) {
    // Room for one word more.
    query.truncate(WORDS_MAX - 1);
    match turn % 3 {
        1 if !stop.is_empty() => {
            let length = query.len();
            query.clear();
            query.extend(stop.iter().cycle().skip(turn).take(length.min(stop.len())));
        }
        2 => {
            // A word that is a condition, where there is one among those left.
            let word = query.iter().copied().find(|&word| !is_stop[word as usize]);
            query.extend(word.or_else(|| query.first().copied()));
        }
        _ => query.insert(turn % (query.len() + 1), stranger),
    }
}

/// One of so many places; `None` where there is none.
fn place(rng: &mut Rng, places: usize) -> Option<usize> {
    let drawn = (u128::from(rng.u64()) * places as u128) >> 64;
    (places > 0).then_some(drawn as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailwater_data::text::generate::Text;

    fn small() -> Collection {
        let text = Text { documents: 2_000, vocabulary: 4_000, ..Text::default() };
        Collection::generated(&text, 1, &|_| Ok(())).expect("made")
    }

    #[test]
    fn first_words_are_drawn_as_often_as_they_occur() {
        let collection = small();
        let draw = Draw { queries: 40_000, words: 1, ..Draw::default() };
        let queries = draw.queries(&collection, &[]).expect("drawn");
        let all = collection.occurrences().len() as f64;
        for word in collection.stop_list(8) {
            let asked = queries.iter().filter(|query| query[0] == word).count() as f64 / 40_000.0;
            let occurs = collection.frequency(word) as f64 / all;
            assert!((asked / occurs - 1.0).abs() < 0.2, "{asked} of {occurs}");
        }
    }

    #[test]
    fn words_of_a_query_differ_and_are_of_one_document_unless_they_are_independent() {
        let collection = small();
        let sets: Vec<BTreeSet<u32>> = (0..2_000)
            .map(|number| collection.document(number).iter().copied().collect())
            .collect();
        let held =
            |query: &Vec<u32>| sets.iter().any(|set| query.iter().all(|word| set.contains(word)));
        let draw = |independent_percent| {
            let draw = Draw { queries: 300, independent_percent, ..Draw::default() };
            draw.queries(&collection, &collection.stop_list(20)).expect("drawn")
        };
        let together = draw(0);
        assert!(together.iter().all(held));
        for query in &together {
            assert!((1..=9).contains(&query.len()));
            assert_eq!(query.iter().collect::<BTreeSet<_>>().len(), query.len());
        }
        assert!((5..=9).all(|length| together.iter().any(|query| query.len() == length)));
        let apart = draw(100);
        assert!(apart.iter().filter(|query| held(query)).count() < 200);
        assert_eq!(draw(30), draw(30));
    }

    #[test]
    fn odd_queries_have_an_unknown_word_or_stop_words_alone_or_a_word_twice() {
        let collection = small();
        let stop = collection.stop_list(12);
        let draw = Draw { queries: 900, odd_percent: 10, words: 16, ..Draw::default() };
        let queries = draw.queries(&collection, &stop).expect("drawn");
        let even = Draw { odd_percent: 0, ..draw }.queries(&collection, &stop).expect("drawn");
        let odd: Vec<&Vec<u32>> = queries
            .iter()
            .zip(&even)
            .filter(|(odd, even)| odd != even)
            .map(|(odd, _)| odd)
            .collect();
        assert!((50..150).contains(&odd.len()), "{}", odd.len());
        let unknown = |query: &&&Vec<u32>| query.contains(&collection.stranger());
        let alone = |query: &&&Vec<u32>| query.iter().all(|word| stop.contains(word));
        let twice = |query: &&&Vec<u32>| query.iter().collect::<BTreeSet<_>>().len() < query.len();
        let counts = [
            odd.iter().filter(unknown).count(),
            odd.iter().filter(alone).count(),
            odd.iter().filter(twice).count(),
        ];
        assert!(counts.iter().all(|&count| count >= odd.len() / 3), "{counts:?} of {}", odd.len());
        assert!(queries.iter().all(|query| (1..=WORDS_MAX).contains(&query.len())));
        assert!(even.iter().all(|query| !query.contains(&collection.stranger())));
    }

    #[test]
    fn no_query_has_stop_words_alone() {
        let collection = small();
        let stop = collection.stop_list(30);
        let queries = Draw::default().queries(&collection, &stop).expect("drawn");
        assert_eq!(queries.len(), 10_000);
        assert!(queries.iter().all(|query| query.iter().any(|word| !stop.contains(word))));
        assert!(queries.iter().any(|query| query.iter().any(|word| stop.contains(word))));
        let all = collection.stop_list(usize::MAX);
        assert!(Draw::default().queries(&collection, &all).is_err());
    }
}
