//! A shard of the documents, indexed: what a leaf searches.

use crate::collection::Collection;
use crate::intersect::{Method, Scratch};
use crate::lists::{List, Lists};
use fst::{Map, MapBuilder};
use std::fmt;

/// The inverted index of every `shards`th document, of which this is the `number`th part. Within it documents are
/// numbered one behind the other, so that distances stay small.
pub struct Shard {
    number: u32,
    shards: u32,
    /// Of a word: 0 for one of the stop list, else its list's number and 1.
    words: Map<Vec<u8>>,
    lists: Lists,
}

/// In `words`, for words that were dropped when documents were indexed.
const STOP: u64 = 0;

/// Why there is no index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexError(String);

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for IndexError {}

impl Shard {
    /// Indexes the `number`th of `shards` parts of the documents, but for the words of `stop`.
    ///
    /// # Errors
    /// When the lists of a shard would be too large for positions of 32 bits: more shards are needed.
    pub fn build(
        collection: &Collection,
        stop: &[u32],
        (number, shards): (u32, u32),
    ) -> Result<Self, IndexError> {
        let own = || (number as usize..collection.documents()).step_by(shards as usize);
        let mut postings = Postings::count(collection, stop, own());
        postings.fill(collection, own());
        let mut lists = Lists::default();
        let mut words = MapBuilder::memory();
        let failed = |why: fst::Error| IndexError(format!("the words of a shard: {why}"));
        for word in by_text(collection) {
            let documents = postings.of(word);
            let value = if postings.is_stop(word) {
                STOP
            } else if documents.is_empty() {
                continue;
            } else {
                let too_large = |_| {
                    let why = "the posting lists of one shard take more than 4 GiB; more leaves are needed";
                    IndexError(why.into())
                };
                lists.push(documents).map_err(too_large)?;
                lists.count() as u64
            };
            words.insert(collection.word(word), value).map_err(failed)?;
        }
        let words = words.into_inner().and_then(Map::new).map_err(failed)?;
        Ok(Self { number, shards, words, lists })
    }

    /// From its parts as bytes; `None` where they are no index.
    #[must_use]
    pub fn of_bytes((number, shards): (u32, u32), words: Vec<u8>, lists: &[u8]) -> Option<Self> {
        let (words, lists) = (Map::new(words).ok()?, Lists::of_bytes(lists)?);
        // What fails its checksum makes the map panic.
        words.as_fst().verify().ok()?;
        // Numbers among all documents are of 32 bits, too.
        let of_all = |last: u32| last.checked_mul(shards)?.checked_add(number);
        if lists.greatest().is_some_and(|last| of_all(last).is_none()) {
            return None;
        }
        let mut values = words.values();
        while let Some(value) = fst::Streamer::next(&mut values) {
            if value > lists.count() as u64 {
                return None;
            }
        }
        Some(Self { number, shards, words, lists })
    }

    /// Its words and its lists as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        (self.words.as_fst().as_bytes().to_vec(), self.lists.to_bytes())
    }

    /// Its posting lists.
    #[must_use]
    pub const fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The posting list of a word; `None` where no document of the shard has it, or it is in the stop list.
    #[must_use]
    pub fn list(&self, word: &str) -> Option<List<'_>> {
        match self.words.get(word)? {
            STOP => None,
            number => Some(self.lists.list(number as usize - 1)),
        }
    }

    /// The documents that have all of these words, by rising number among all documents, and how many there are; of
    /// them no more than `most`. Words of the stop list are left out; without any other word there are none.
    pub fn find<'w>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
        (method, scratch): (Method, &mut Scratch),
        most: usize,
    ) -> (usize, Vec<u32>) {
        let mut lists = Vec::new();
        for word in words {
            match self.words.get(word) {
                None => return (0, Vec::new()),
                Some(STOP) => {}
                Some(number) => lists.push(self.lists.list(number as usize - 1)),
            }
        }
        let found = method.intersect(&mut lists, scratch);
        let global = found.iter().take(most).map(|local| local * self.shards + self.number);
        (found.len(), global.collect())
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, shards, words, lists } = self;
        let mut it = f.debug_struct("Shard");
        it.field("number", number).field("shards", shards).field("words", &words.len());
        it.field("lists", &lists.count()).finish()
    }
}

/// All words by their text, which the map needs.
fn by_text(collection: &Collection) -> Vec<u32> {
    let mut words: Vec<u32> = (0..collection.words() as u32).collect();
    words.sort_unstable_by_key(|&word| collection.word(word));
    words
}

/// The documents of each word, one word behind the other.
struct Postings {
    is_stop: Vec<bool>,
    /// Where each word's documents begin; then where all end.
    starts: Vec<usize>,
    documents: Vec<u32>,
}

impl Postings {
    /// Makes room for the words of these documents.
    fn count(collection: &Collection, stop: &[u32], own: impl Iterator<Item = usize>) -> Self {
        let mut is_stop = vec![false; collection.words()];
        stop.iter().for_each(|&word| is_stop[word as usize] = true);
        let mut counts = vec![0; collection.words() + 1];
        each_once(collection, own, |word, _| {
            counts[word as usize + 1] += usize::from(!is_stop[word as usize]);
        });
        for word in 1..counts.len() {
            counts[word] += counts[word - 1];
        }
        let all = counts.last().copied().unwrap_or(0);
        Self { is_stop, starts: counts, documents: vec![0; all] }
    }

    fn fill(&mut self, collection: &Collection, own: impl Iterator<Item = usize>) {
        let mut next = self.starts.clone();
        each_once(collection, own, |word, local| {
            if !self.is_stop[word as usize] {
                self.documents[next[word as usize]] = local;
                next[word as usize] += 1;
            }
        });
    }

    fn is_stop(&self, word: u32) -> bool {
        self.is_stop[word as usize]
    }

    fn of(&self, word: u32) -> &[u32] {
        &self.documents[self.starts[word as usize]..self.starts[word as usize + 1]]
    }
}

/// Each word of each of these documents once, with the document's place among them.
fn each_once(
    collection: &Collection,
    own: impl Iterator<Item = usize>,
    mut each: impl FnMut(u32, u32),
) {
    let mut seen = vec![u32::MAX; collection.words()];
    for (local, document) in (0..).zip(own) {
        for &word in collection.document(document) {
            if seen[word as usize] != local {
                seen[word as usize] = local;
                each(word, local);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] =
        ["the small boat", "the sail of the boat", "a sail", "the boat has a sail", "small sail"];

    fn find(shard: &Shard, words: &[&str]) -> Vec<u32> {
        let mut scratch = Scratch::default();
        let (count, found) =
            shard.find(words.iter().copied(), (Method::Gallop, &mut scratch), usize::MAX);
        assert_eq!(count, found.len());
        found
    }

    #[test]
    fn shards_have_every_other_document_by_its_number_among_all() {
        let collection = Collection::of_texts(TEXTS);
        let whole = Shard::build(&collection, &[], (0, 1)).expect("small");
        assert_eq!(find(&whole, &["boat"]), [0, 1, 3]);
        assert_eq!(find(&whole, &["sail", "boat"]), [1, 3]);
        let halves = [0, 1].map(|half| Shard::build(&collection, &[], (half, 2)).expect("small"));
        assert_eq!(find(&halves[0], &["boat"]), [0]);
        assert_eq!(find(&halves[1], &["boat"]), [1, 3]);
        assert_eq!(find(&halves[0], &["boat", "sail"]), [0; 0]);
        let postings: u64 = halves.iter().map(|half| half.lists().postings()).sum();
        assert_eq!(postings, whole.lists().postings());
    }

    #[test]
    fn words_of_the_stop_list_are_dropped_and_unknown_words_are_in_no_document() {
        let collection = Collection::of_texts(TEXTS);
        let stop = collection.stop_list(2);
        let shard = Shard::build(&collection, &stop, (0, 1)).expect("small");
        // "the" and "sail" occur four times each.
        assert!(shard.list("the").is_none() && shard.list("sail").is_none());
        assert_eq!(find(&shard, &["the", "boat"]), [0, 1, 3]);
        assert_eq!(find(&shard, &["the"]), [0; 0]);
        assert_eq!(find(&shard, &["boat", "mast"]), [0; 0]);
        assert_eq!(find(&shard, &["boat", "boat"]), [0, 1, 3]);
        let plain = Shard::build(&collection, &[], (0, 1)).expect("small");
        assert!(shard.lists().postings() < plain.lists().postings());
    }

    #[test]
    fn an_index_comes_back_from_its_bytes() {
        let collection = Collection::of_texts(TEXTS);
        let shard = Shard::build(&collection, &collection.stop_list(1), (1, 2)).expect("small");
        let (words, lists) = shard.to_bytes();
        let again = Shard::of_bytes((1, 2), words.clone(), &lists).expect("its own bytes");
        assert_eq!(find(&again, &["boat"]), [1, 3]);
        let none = Lists::default().to_bytes();
        assert!(Shard::of_bytes((1, 2), words.clone(), &none).is_none(), "words without lists");
        assert!(Shard::of_bytes((1, 2), vec![1; 9], &lists).is_none());
        assert!(Shard::of_bytes((1, u32::MAX), words, &lists).is_none(), "numbers too large");
    }

    #[test]
    fn every_changed_byte_of_the_words_is_refused() {
        let collection = Collection::of_texts(TEXTS);
        let shard = Shard::build(&collection, &[], (0, 1)).expect("small");
        let (words, lists) = shard.to_bytes();
        for at in 0..words.len() {
            let mut changed = words.clone();
            changed[at] ^= 0x55;
            assert!(Shard::of_bytes((0, 1), changed, &lists).is_none(), "byte {at}");
        }
    }

    #[test]
    fn no_more_documents_are_given_than_wanted_and_all_are_counted() {
        let collection = Collection::of_texts(TEXTS);
        let shard = Shard::build(&collection, &[], (0, 1)).expect("small");
        let mut scratch = Scratch::default();
        let found = shard.find(["sail"], (Method::Merge, &mut scratch), 2);
        assert_eq!(found, (4, vec![1, 2]));
    }
}
