//! Text that nobody wrote, for where no real text is at hand: what results from it says so.
//!
//! Words are drawn by Zipf and Mandelbrot's law (Mandelbrot, "An informational theory of the statistical
//! structure of language", 1953): the word of rank r with weight (r + q)^−s. Half of a document's words
//! come from its topic, which has every n-th word of the vocabulary to itself, so that words occur
//! together; words that know nothing of each other would make intersections empty. Lengths are
//! log-normal. The commonest words are English stop words, the others are made of syllables. Pure: a document
//! is a function of the seed and its number.

use super::tokens::STOP_WORDS;
use tailwater_core::Rng;

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// How many documents.
    pub documents: usize,
    /// How many different words there are at most, stop words included.
    pub vocabulary: usize,
    /// s of the law, about 1 for languages: how much commoner the common words are.
    pub exponent: f64,
    /// q of the law: how much the very commonest resemble each other.
    pub offset: f64,
    /// How many topics, at least one.
    pub topics: usize,
    /// The share of words that come from the topic, 0 to 1.
    pub topical: f64,
    /// Words of the middle document, about.
    pub length_median: f64,
    /// Standard deviation of the logarithm of the length.
    pub length_spread: f64,
}

impl Text {
    /// 100,000 documents as long as WordNet's glosses, of as many different words.
    pub const GLOSSES: Self = Self {
        documents: 100_000,
        vocabulary: 60_000,
        exponent: 1.0,
        offset: 2.7,
        topics: 64,
        topical: 0.5,
        length_median: 12.0,
        length_spread: 0.6,
    };
}

impl Default for Text {
    fn default() -> Self {
        Self::GLOSSES
    }
}

/// No document is longer.
const WORDS_MAX: f64 = 1_000.0;

impl Text {
    /// All documents: the same for the same seed.
    ///
    /// # Panics
    /// As [`Generator::new`].
    #[must_use]
    pub fn generate(&self, seed: u64) -> Vec<String> {
        let generator = Generator::new(*self, seed);
        (0..self.documents).map(|number| generator.document(number)).collect()
    }
}

/// Makes any document of a text, without those before it.
#[derive(Debug)]
pub struct Generator {
    text: Text,
    seed: u64,
    all: Ranks,
    topical: Ranks,
}

impl Generator {
    /// Of a text; `seed` decides everything.
    ///
    /// # Panics
    /// Without topics, or with fewer words than stop words and topics together.
    #[must_use]
    pub fn new(text: Text, seed: u64) -> Self {
        let needed = STOP_WORDS.len() + text.topics;
        assert!(text.topics > 0 && text.vocabulary >= needed, "at least {needed} words are needed");
        let of_topic = (text.vocabulary - STOP_WORDS.len()) / text.topics;
        let (all, topical) = (text.ranks(text.vocabulary), text.ranks(of_topic));
        let seed = Rng::from_seed(seed).split("text").seed();
        Self { text, seed, all, topical }
    }

    /// The words of a document by rank, in their order.
    pub fn ranks(&self, number: usize) -> impl Iterator<Item = usize> {
        // An odd factor keeps seeds of different documents different.
        let own = self.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rng = Rng::from_seed(own);
        let topic = rng.below(self.text.topics as u32) as usize;
        let length = self.text.length(&mut rng);
        (0..length).map(move |_| {
            if rng.chance(self.text.topical) {
                STOP_WORDS.len() + self.topical.draw(&mut rng) * self.text.topics + topic
            } else {
                self.all.draw(&mut rng)
            }
        })
    }

    /// A document as text.
    #[must_use]
    pub fn document(&self, number: usize) -> String {
        let mut text = String::new();
        for rank in self.ranks(number) {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(&word(rank));
        }
        text
    }
}

impl Text {
    fn ranks(&self, count: usize) -> Ranks {
        let mut sum = 0.0;
        let sums = (1..=count).map(|rank| {
            sum += (rank as f64 + self.offset).powf(-self.exponent);
            sum
        });
        Ranks(sums.collect())
    }

    /// Log-normal, by Box and Muller's transformation; at least one word.
    fn length(&self, rng: &mut Rng) -> usize {
        let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * rng.unit()).cos();
        let length = self.length_median * (self.length_spread * normal).exp();
        length.round().clamp(1.0, WORDS_MAX) as usize
    }
}

/// The sums of the weights up to each rank.
#[derive(Debug)]
struct Ranks(Vec<f64>);

impl Ranks {
    /// A rank from zero.
    fn draw(&self, rng: &mut Rng) -> usize {
        let drawn = rng.unit() * self.0.last().copied().unwrap_or(0.0);
        self.0.partition_point(|&sum| sum <= drawn).min(self.0.len() - 1)
    }
}

/// The word of a rank: a stop word, or two syllables and more, each a consonant and a vowel.
#[must_use]
pub fn word(rank: usize) -> String {
    const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    const VOWELS: &[u8; 5] = b"aeiou";
    let Some(mut rest) = rank.checked_sub(STOP_WORDS.len()) else {
        return STOP_WORDS[rank].to_owned();
    };
    let mut word = String::new();
    while word.len() < 4 || rest > 0 {
        word.push(CONSONANTS[rest % 20].into());
        word.push(VOWELS[rest / 20 % 5].into());
        rest /= 100;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokens::{is_stop_word, tokens};
    use std::collections::{BTreeMap, BTreeSet};

    fn small() -> Text {
        Text { documents: 2_000, vocabulary: 5_000, topics: 8, ..Text::default() }
    }

    #[test]
    fn words_differ_and_are_terms() {
        let words: BTreeSet<String> = (0..60_000).map(word).collect();
        assert_eq!(words.len(), 60_000);
        assert!(words.iter().all(|word| tokens(word).eq([word.as_str()])));
    }

    #[test]
    fn a_document_needs_none_before_it() {
        let generator = Generator::new(small(), 7);
        let documents = small().generate(7);
        for number in [1_999, 3, 0] {
            assert_eq!(generator.document(number), documents[number]);
        }
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(small().generate(7), small().generate(7));
        assert_ne!(small().generate(7), small().generate(8));
    }

    /// Zipf and Mandelbrot's law for those words that no topic has.
    #[test]
    fn stop_words_fall_off_as_the_law_says() {
        let text = Text { documents: 20_000, ..small() };
        let documents = text.generate(1);
        let count = |word: &str| {
            let all = documents.iter().flat_map(|text| tokens(text));
            all.filter(|term| term == word).count() as f64
        };
        let (first, tenth) = (count(STOP_WORDS[0]), count(STOP_WORDS[9]));
        let expected = (10.0 + text.offset) / (1.0 + text.offset);
        assert!((first / tenth / expected - 1.0).abs() < 0.1, "{} for {expected}", first / tenth);
    }

    /// Two words of a topic meet far more often than two of different ones.
    #[test]
    fn words_of_a_topic_occur_together() {
        let documents = small().generate(1);
        let mut holding = BTreeMap::<&str, BTreeSet<usize>>::new();
        for (number, document) in documents.iter().enumerate() {
            for word in document.split(' ').filter(|word| !is_stop_word(word)) {
                holding.entry(word).or_default().insert(number);
            }
        }
        let first = STOP_WORDS.len();
        let [one, same, other] =
            [first, first + 8, first + 9].map(|rank| &holding[word(rank).as_str()]);
        let (together, apart) = (one.intersection(same).count(), one.intersection(other).count());
        assert!(together > 3 * apart.max(1), "{together} and {apart}");
    }

    #[test]
    fn lengths_have_their_median() {
        let mut lengths: Vec<_> =
            small().generate(3).iter().map(|text| text.split(' ').count()).collect();
        lengths.sort_unstable();
        assert!((11..=13).contains(&lengths[1_000]), "{}", lengths[1_000]);
        assert!(lengths[1_999] > 3 * lengths[1_000]);
    }
}
