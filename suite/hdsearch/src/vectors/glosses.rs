//! Vectors of WordNet's words, made of their glosses: words are near that are explained by terms of one field.
//!
//! Reflective random indexing (Cohen, Schvaneveldt and Widdows, Journal of Biomedical Informatics 43(2), 2010). Each term
//! begins with a random vector of signs, and a gloss adds those of its terms. Then a term's vector is made of the glosses
//! that have it, less the mean of all terms, and a gloss adds these anew. A word adds its glosses. Terms weigh by their
//! inverse document frequency (Spärck Jones 1972), and all vectors have length 1. It is no match for GloVe, which is learnt
//! from billions of words; it needs no text but the glosses.

use super::{BYTES_MAX, POINTS_MAX, Tell, Words, vectors_max};
use std::collections::HashMap;
use std::path::Path;
use tailwater_core::Rng;
use tailwater_data::text::tokens::tokens;
use tailwater_data::text::{self, Source};
use tailwater_kernels::Table;

/// By default: as many as the smaller sets of GloVe have.
pub(super) const DIMENSIONS: usize = 100;

/// Every so many glosses or words a caller hears how far it is.
const TOLD_EVERY: usize = 4_096;

/// Glosses, as numbers of terms.
#[derive(Default)]
struct Glosses {
    terms: HashMap<String, u32>,
    /// In how many glosses each term is.
    frequency: Vec<u32>,
    /// The terms of each gloss, each once, by number.
    glosses: Vec<Vec<u32>>,
    /// The words in the order in which they come first, and the glosses of each.
    words: Vec<(String, Vec<u32>)>,
    by_word: HashMap<String, usize>,
}

/// The first so many words of WordNet in this folder, in so many dimensions. The seed decides the vectors of terms.
pub(super) fn read(
    folder: &Path,
    (dimensions, most): (usize, usize),
    seed: u64,
    tell: Tell<'_>,
) -> Result<Words, String> {
    let mut glosses = Glosses::default();
    text::each(&Source::WordNet(folder.into()), None, &mut |text| {
        if glosses.glosses.len() % TOLD_EVERY == 0 {
            tell("reading glosses", glosses.glosses.len(), 0)?;
        }
        glosses.push(text, most);
        Ok(())
    })
    .map_err(|error| error.to_string())?;
    glosses.check(dimensions)?;
    glosses.vectors(dimensions, seed, tell)
}

/// What each word of WordNet in this folder means first, in lower case.
pub(crate) fn explanations(folder: &Path) -> Result<HashMap<String, String>, String> {
    let mut all = HashMap::new();
    text::each(&Source::WordNet(folder.into()), None, &mut |text| {
        let (words, gloss) = without_examples(text).split_once(": ").unwrap_or_default();
        for word in words.split(", ").filter(|word| !word.is_empty()) {
            let gloss = gloss.trim_end_matches([' ', ';']);
            all.entry(word.to_lowercase()).or_insert_with(|| gloss.to_owned());
        }
        Ok(())
    })
    .map_err(|error| error.to_string())?;
    Ok(all)
}

/// Examples stand in quotes at a text's end.
fn without_examples(text: &str) -> &str {
    text.split_once('"').map_or(text, |(before, _)| before)
}

impl Glosses {
    /// A text is "word, word: gloss". Examples explain nothing.
    fn push(&mut self, text: &str, words_max: usize) {
        let explanation = without_examples(text);
        let mut terms: Vec<u32> = tokens(explanation).map(|term| self.term(&term)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms.iter().for_each(|&term| self.frequency[term as usize] += 1);
        let gloss = self.glosses.len() as u32;
        self.glosses.push(terms);
        let words = text.split_once(": ").map_or("", |(words, _)| words);
        for word in words.split(", ").filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            if let Some(&at) = self.by_word.get(&word) {
                self.words[at].1.push(gloss);
            } else if self.words.len() < words_max {
                self.by_word.insert(word.clone(), self.words.len());
                self.words.push((word, vec![gloss]));
            }
        }
    }

    /// Whether the vectors of all glosses, of all terms and of all words fit, each for itself.
    fn check(&self, dimensions: usize) -> Result<(), String> {
        let most = self.glosses.len().max(self.frequency.len()).max(self.words.len());
        if self.words.len() > POINTS_MAX {
            return Err(format!(
                "found more than {POINTS_MAX} words; no more are held: set points, the first so many are taken then"
            ));
        }
        match most <= vectors_max(dimensions) {
            true => Ok(()),
            false => Err(format!(
                "dimensions is {dimensions}; fewer are needed with {most} glosses, terms or words, whose vectors take at most \
                 {} GiB",
                BYTES_MAX >> 30
            )),
        }
    }

    fn term(&mut self, term: &str) -> u32 {
        if let Some(&number) = self.terms.get(term) {
            return number;
        }
        let number = self.frequency.len() as u32;
        self.terms.insert(term.to_owned(), number);
        self.frequency.push(0);
        number
    }

    fn vectors(&self, dimensions: usize, seed: u64, tell: Tell<'_>) -> Result<Words, String> {
        let signs = self.signs(dimensions, seed);
        let first = self.of_glosses(&signs, tell)?;
        let second = self.of_glosses(&self.of_terms(&first), tell)?;
        let mut vectors = Table::with_capacity(dimensions, self.words.len());
        let mut sum = vec![0.0; dimensions];
        for (_, glosses) in &self.words {
            sum.fill(0.0);
            glosses.iter().for_each(|&gloss| add(&mut sum, 1.0, second.row(gloss)));
            scale(&mut sum);
            vectors.push(&sum);
        }
        Ok(Words { words: self.words.iter().map(|(word, _)| word.clone()).collect(), vectors })
    }

    /// Each gloss: the sum of its terms by their weights.
    fn of_glosses(&self, terms: &Vectors, tell: Tell<'_>) -> Result<Vectors, String> {
        let count = self.glosses.len() as f32;
        let weight = |term: u32| libm::logf(1.0 + count / self.frequency[term as usize] as f32);
        let mut made = Vectors::new(self.glosses.len(), terms.dimensions);
        for (number, gloss) in self.glosses.iter().enumerate() {
            if number % TOLD_EVERY == 0 {
                tell("making vectors", number, self.glosses.len())?;
            }
            let sum = made.row_mut(number as u32);
            gloss.iter().for_each(|&term| add(sum, weight(term), terms.row(term)));
            scale(sum);
        }
        Ok(made)
    }

    /// Each term: the sum of the glosses that have it, less the mean of all terms, which tells none from another.
    fn of_terms(&self, glosses: &Vectors) -> Vectors {
        let mut made = Vectors::new(self.frequency.len(), glosses.dimensions);
        for (number, gloss) in (0..).zip(&self.glosses) {
            gloss.iter().for_each(|&term| add(made.row_mut(term), 1.0, glosses.row(number)));
        }
        let terms = 0..self.frequency.len() as u32;
        let mut mean = vec![0.0; glosses.dimensions];
        for term in terms.clone() {
            scale(made.row_mut(term));
            add(&mut mean, 1.0 / terms.len() as f32, made.row(term));
        }
        terms.for_each(|term| add(made.row_mut(term), -1.0, &mean));
        made
    }

    /// A random vector of signs for each term. Its name decides it, not what other terms there are.
    fn signs(&self, dimensions: usize, seed: u64) -> Vectors {
        let mut signs = Vectors::new(self.frequency.len(), dimensions);
        let all = Rng::from_seed(seed).split("random indexing");
        for (term, &number) in &self.terms {
            let mut rng = all.split(term);
            for signs in signs.row_mut(number).chunks_mut(u64::BITS as usize) {
                let bits = rng.u64();
                let sign = |bit: usize| if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
                signs.iter_mut().enumerate().for_each(|(bit, one)| *one = sign(bit));
            }
        }
        signs
    }
}

/// Vectors one behind the other, all zero at first.
struct Vectors {
    dimensions: usize,
    values: Vec<f32>,
}

impl Vectors {
    fn new(count: usize, dimensions: usize) -> Self {
        Self { dimensions, values: vec![0.0; count * dimensions] }
    }

    fn row(&self, number: u32) -> &[f32] {
        &self.values[number as usize * self.dimensions..][..self.dimensions]
    }

    fn row_mut(&mut self, number: u32) -> &mut [f32] {
        &mut self.values[number as usize * self.dimensions..][..self.dimensions]
    }
}

fn add(sum: &mut [f32], weight: f32, vector: &[f32]) {
    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * value);
}

/// To length 1; terms may have cancelled each other out, and nothing is left as it is.
fn scale(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(texts: &[&str], words_max: usize) -> Words {
        let mut glosses = Glosses::default();
        texts.iter().for_each(|text| glosses.push(text, words_max));
        glosses.vectors(128, 1, &|_, _, _| Ok(())).expect("made")
    }

    fn distance(words: &Words, one: &str, other: &str) -> f32 {
        let row = |name: &str| {
            let at = words.words.iter().position(|word| word == name).expect("a word");
            words.vectors.rows().vector(at)
        };
        row(one).iter().zip(row(other)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    const TEXTS: [&str; 5] = [
        "Sloop, cutter: a sailing vessel with a single mast",
        "ketch: a sailing vessel with two masts",
        "gneiss: a laminated metamorphic rock",
        "schist: any metamorphic rock that can be split",
        "cutter: a person who carves",
    ];

    #[test]
    fn words_that_are_explained_alike_are_near() {
        let words = made(&TEXTS, usize::MAX);
        assert_eq!(words.words, ["sloop", "cutter", "ketch", "gneiss", "schist"]);
        let far = |one, other| distance(&words, one, other);
        assert!(far("sloop", "ketch") < far("sloop", "gneiss"), "vessels");
        assert!(far("gneiss", "schist") < far("ketch", "schist"), "rocks");
        let length =
            |at: usize| words.vectors.rows().vector(at).iter().map(|it| it * it).sum::<f32>();
        assert!((0..5).all(|at| (length(at) - 1.0).abs() < 1e-5));
        // Of two meanings, one of them shared.
        assert!(far("sloop", "cutter") > 0.0 && far("sloop", "cutter") < far("cutter", "gneiss"));
    }

    #[test]
    fn examples_explain_nothing() {
        let with = made(&["ketch: a sailing vessel; \"gneiss and schist\"", TEXTS[2], TEXTS[3]], 9);
        let without = made(&["ketch: a sailing vessel; ", TEXTS[2], TEXTS[3]], 9);
        assert_eq!(with.vectors.rows().vector(0), without.vectors.rows().vector(0));
    }

    #[test]
    fn the_first_words_have_the_vectors_that_they_have_among_all() {
        let (few, all) = (made(&TEXTS, 3), made(&TEXTS, usize::MAX));
        assert_eq!(few.words, all.words[..3]);
        assert!((0..3).all(|at| few.vectors.rows().vector(at) == all.vectors.rows().vector(at)));
    }
}
