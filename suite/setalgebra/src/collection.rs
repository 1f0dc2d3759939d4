//! Documents as numbers: what is indexed, drawn from and looked at by the oracle.

use std::collections::{BTreeSet, HashMap};
use tailwater_data::text::generate::{Generator, Text, word};
use tailwater_data::text::tokens::{TERM_BYTES_MAX, tokens};

/// Documents, each a row of words in its order, and how often each word occurs in all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collection {
    /// Each word's text, by number.
    words: Vec<String>,
    /// How often each occurs: its collection frequency.
    frequency: Vec<u64>,
    /// The words of all documents, one document behind the other.
    occurrences: Vec<u32>,
    /// Where each document ends there.
    ends: Vec<usize>,
    /// A word that no document has.
    stranger: u32,
}

/// Makes a collection of texts, one after the other: none of them is kept.
#[derive(Debug, Default)]
pub struct Builder {
    made: Collection,
    numbers: HashMap<String, u32>,
}

/// More documents than this are not taken.
pub const DOCUMENTS_MAX: usize = 10_000_000;

/// More words than this are not generated: 2 GiB. The most text that is read of files has no more, a letter and a space each.
const OCCURRENCES_MAX: usize = 1 << 29;

/// Every so many documents a caller hears how far it is.
const TOLD_EVERY: usize = 8_192;

impl Collection {
    /// Of texts.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut builder = Builder::default();
        texts.into_iter().for_each(|text| builder.push(text));
        builder.build()
    }

    /// Of a generated text. `tell` hears how many documents are made.
    ///
    /// # Errors
    /// What `tell` returns; when they have more than 2^29 words.
    pub fn generated(
        text: &Text,
        seed: u64,
        tell: &dyn Fn(usize) -> Result<(), String>,
    ) -> Result<Self, String> {
        Self::generated_within(text, seed, OCCURRENCES_MAX, tell)
    }

    fn generated_within(
        text: &Text,
        seed: u64,
        occurrences_max: usize,
        tell: &dyn Fn(usize) -> Result<(), String>,
    ) -> Result<Self, String> {
        let generator = Generator::new(*text, seed);
        let mut found = Self { words: (0..text.vocabulary).map(word).collect(), ..Self::default() };
        found.frequency = vec![0; text.vocabulary];
        for document in 0..text.documents {
            if document % TOLD_EVERY == 0 {
                tell(document)?;
            }
            for rank in generator.ranks(document) {
                found.frequency[rank] += 1;
                found.occurrences.push(rank as u32);
            }
            if found.occurrences.len() > occurrences_max {
                return Err(format!(
                    "found more than {occurrences_max} words in {} generated documents; fewer are needed: set documents to \
                     {document}",
                    document + 1
                ));
            }
            found.ends.push(found.occurrences.len());
        }
        found.add_stranger();
        Ok(found)
    }

    fn push(&mut self, word: u32) {
        if word as usize == self.frequency.len() {
            self.frequency.push(0);
        }
        self.frequency[word as usize] += 1;
        self.occurrences.push(word);
    }

    /// Queries may have words that no document has. This one is of a length that no word of one letter alone has.
    fn add_stranger(&mut self) {
        const LETTER: &str = "x";
        let is_it = |word: &&String| word.chars().all(|letter| letter == 'x');
        let taken: BTreeSet<usize> = self.words.iter().filter(is_it).map(String::len).collect();
        // The longest that is free; a text that has all of them has a word "xx…x" of every length.
        let free = (1..=TERM_BYTES_MAX).rev().find(|length| !taken.contains(length));
        self.stranger = self.words.len() as u32;
        self.words.push(LETTER.repeat(free.unwrap_or(TERM_BYTES_MAX + 1)));
        self.frequency.push(0);
    }

    /// A word that no document has.
    #[must_use]
    pub const fn stranger(&self) -> u32 {
        self.stranger
    }

    /// How many documents there are.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.ends.len()
    }

    /// The words of a document in their order, repeated as often as they occur.
    #[must_use]
    pub fn document(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |former| self.ends[former]);
        &self.occurrences[start..self.ends[number]]
    }

    /// The words of all documents, one document behind the other.
    #[must_use]
    pub fn occurrences(&self) -> &[u32] {
        &self.occurrences
    }

    /// The document in which an occurrence lies.
    #[must_use]
    pub fn document_of(&self, occurrence: usize) -> usize {
        self.ends.partition_point(|&end| end <= occurrence)
    }

    /// How many different words there are, those that no document has included.
    #[must_use]
    pub const fn words(&self) -> usize {
        self.words.len()
    }

    /// The text of a word.
    #[must_use]
    pub fn word(&self, number: u32) -> &str {
        &self.words[number as usize]
    }

    /// How often a word occurs in all documents.
    #[must_use]
    pub fn frequency(&self, number: u32) -> u64 {
        self.frequency[number as usize]
    }

    /// The stop list: so many words of the highest collection frequency, the commonest first; of equals the one that
    /// comes first by its text (thesis §2.2.3). Words that do not occur are in no list.
    #[must_use]
    pub fn stop_list(&self, length: usize) -> Vec<u32> {
        let occurring = |number: &u32| self.frequency(*number) > 0;
        let mut by_frequency: Vec<u32> = (0..self.words() as u32).filter(occurring).collect();
        by_frequency.sort_unstable_by(|&one, &other| {
            let frequency = self.frequency(other).cmp(&self.frequency(one));
            frequency.then_with(|| self.word(one).cmp(self.word(other)))
        });
        by_frequency.truncate(length);
        by_frequency
    }
}

impl Builder {
    /// How many documents there are so far.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.made.documents()
    }

    /// Adds a document.
    pub fn push(&mut self, text: &str) {
        for term in tokens(text) {
            let next = self.numbers.len() as u32;
            let number = match self.numbers.get(&*term) {
                Some(&number) => number,
                None => *self.numbers.entry(term.into_owned()).or_insert(next),
            };
            self.made.push(number);
        }
        self.made.ends.push(self.made.occurrences.len());
    }

    /// The collection.
    #[must_use]
    pub fn build(self) -> Collection {
        let Self { mut made, numbers } = self;
        made.words = vec![String::new(); numbers.len()];
        for (word, number) in numbers {
            made.words[number as usize] = word;
        }
        made.add_stranger();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stranger_is_in_no_document() {
        let long = "x".repeat(TERM_BYTES_MAX);
        let found = Collection::of_texts(["the boat", &long, "x"]);
        let stranger = found.stranger();
        assert_eq!(found.word(stranger), "x".repeat(TERM_BYTES_MAX - 1));
        assert_eq!(found.frequency(stranger), 0);
        assert!(!found.stop_list(usize::MAX).contains(&stranger));
        let text = Text { documents: 20, vocabulary: 2_000, ..Text::default() };
        let found = Collection::generated(&text, 3, &|_| Ok(())).expect("made");
        assert!(!found.occurrences().contains(&found.stranger()));
    }

    #[test]
    fn documents_keep_their_words() {
        let found = Collection::of_texts(["the boat, the sail", "", "a boat"]);
        assert_eq!(found.documents(), 3);
        let text = |number: usize| -> Vec<&str> {
            found.document(number).iter().map(|&word| found.word(word)).collect()
        };
        assert_eq!(text(0), ["the", "boat", "the", "sail"]);
        assert_eq!(text(1), [""; 0]);
        assert_eq!(text(2), ["a", "boat"]);
        let of: Vec<usize> = (0..6).map(|place| found.document_of(place)).collect();
        assert_eq!(of, [0, 0, 0, 0, 2, 2]);
    }

    #[test]
    fn the_stop_list_has_the_commonest_words_of_the_collection() {
        // "x" is in more documents than "the", and "the" occurs more often.
        let found = Collection::of_texts(["the the the the x", "x a", "x b", "the"]);
        let stop = |length| -> Vec<&str> {
            found.stop_list(length).into_iter().map(|word| found.word(word)).collect()
        };
        assert_eq!(stop(1), ["the"]);
        assert_eq!(stop(4), ["the", "x", "a", "b"]);
        assert_eq!(stop(9).len(), 4);
        assert_eq!(stop(0), [""; 0]);
    }

    #[test]
    fn generated_words_have_a_bound_and_the_error_a_number_that_is_within() {
        let text = |documents| Text { documents, vocabulary: 2_000, ..Text::default() };
        let quiet = |_| Ok(());
        let seven = Collection::generated(&text(7), 3, &quiet).expect("made");
        let most = seven.occurrences().len();
        let within = |documents| Collection::generated_within(&text(documents), 3, most, &quiet);
        assert_eq!(within(7), Ok(seven));
        let error = within(8).expect_err("more words");
        assert!(error.ends_with("set documents to 7"), "{error}");
    }

    #[test]
    fn generated_documents_are_those_of_the_text() {
        let text = Text { documents: 300, vocabulary: 2_000, ..Text::default() };
        let quiet = |_| Ok(());
        let found = Collection::generated(&text, 3, &quiet).expect("made");
        let documents = text.generate(3);
        let by_text = Collection::of_texts(documents.iter().map(String::as_str));
        assert_eq!(
            (found.documents(), found.occurrences().len()),
            (300, by_text.occurrences().len())
        );
        let words = |of: &Collection, number: usize| -> Vec<String> {
            of.document(number).iter().map(|&word| of.word(word).to_owned()).collect()
        };
        for number in 0..300 {
            assert_eq!(words(&found, number), words(&by_text, number));
        }
        let stop = |of: &Collection| -> Vec<String> {
            of.stop_list(40).into_iter().map(|word| of.word(word).to_owned()).collect()
        };
        assert_eq!(stop(&found), stop(&by_text));
        let ends = |_| Err("enough".to_owned());
        assert_eq!(Collection::generated(&text, 3, &ends), Err("enough".into()));
    }
}
