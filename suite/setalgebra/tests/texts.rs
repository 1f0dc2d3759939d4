//! Answers against the raw texts, by a parser of this file's own: index and oracle of the service both take words from
//! one, so an error in that would be in both.

use crate::common::{HITS, World, glosses, midtier};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tailwater_data::text::generate::Text;
use tailwater_data::text::{self, Corpus, Source, WORDNET};
use tailwater_rt::client::Answer as Answered;
use tailwater_setalgebra::collection::{Builder, Collection};
use tailwater_setalgebra::intersect::Method;
use tailwater_setalgebra::wire::{Answer, read_request};

/// Letter by letter: what is a letter or a digit goes on with the word, what is none ends it. Nothing is left out but
/// words of more than 64 bytes.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word) = (Vec::new(), String::new());
    for letter in text.chars().chain([' ']) {
        if letter.is_alphabetic() || letter.is_numeric() {
            word.push(letter);
        } else if !word.is_empty() {
            let small = std::mem::take(&mut word).to_lowercase();
            all.extend((small.len() <= 64).then_some(small));
        }
    }
    all
}

/// Documents as sets of words, and the words that occur most often.
struct Raw {
    documents: Vec<BTreeSet<String>>,
    stop: BTreeSet<String>,
}

impl Raw {
    fn of(texts: &[String], stop: usize) -> Self {
        let mut counts = BTreeMap::<String, usize>::new();
        let mut documents = Vec::new();
        for text in texts {
            let found = words(text);
            for word in &found {
                *counts.entry(word.clone()).or_default() += 1;
            }
            documents.push(found.into_iter().collect());
        }
        let mut all: Vec<(String, usize)> = counts.into_iter().collect();
        all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let stop = all.into_iter().take(stop).map(|(word, _)| word).collect();
        Self { documents, stop }
    }

    fn answer(&self, query: &[&str]) -> Vec<u32> {
        let asked: Vec<&&str> = query.iter().filter(|word| !self.stop.contains(**word)).collect();
        let has_all = |set: &BTreeSet<String>| {
            !asked.is_empty() && asked.iter().all(|word| set.contains(**word))
        };
        (0..).zip(&self.documents).filter(|(_, set)| has_all(set)).map(|(at, _)| at).collect()
    }
}

/// Every query of the world, from its bytes, by leaves and by the prepared answers, against the raw texts.
fn all_agree(texts: &[String], world: &World, leaves: u32) {
    let (raw, service) = (Raw::of(texts, 10), world.leaves(leaves, Method::Gallop));
    let mut found_some = 0;
    for number in 0..world.questions.count() {
        let request = world.questions.request(number, 1);
        let (_, query) = read_request(&request).expect("a request");
        let needed = raw.answer(&query);
        assert_eq!(world.questions.answer(number), needed, "the prepared answer to {query:?}");
        let outcomes = service.iter().map(|leaf| {
            let payload = leaf.answer(&request).expect("a request").to_bytes();
            Ok(Answered { status: 0, payload, sojourn: Duration::ZERO })
        });
        let Answer { documents, .. } =
            midtier(leaves).unite(1, outcomes.collect()).expect("all have answered");
        assert_eq!(documents, needed, "the service's answer to {query:?}");
        found_some += usize::from(!needed.is_empty());
    }
    assert!(found_some > world.questions.count() / 2, "{found_some} have an answer");
    assert!(HITS as usize > texts.len(), "no answer is cut");
}

/// Signs that part words, letters of several bytes, and words that are too long.
#[test]
fn odd_texts_have_the_words_that_a_reader_sees() {
    let long = "y".repeat(65);
    let base = [
        "The well-known BOAT_3, (it's) sailing; the boat's sail".to_owned(),
        "École, école! ÉCOLE? naïve — naïveté 東京 東京".to_owned(),
        format!("{long} boat {} boat", &long[..64]),
        "it\u{a0}s ½ boat\tsail\r\nSAIL".to_owned(),
        " -- .".to_owned(),
    ];
    // Enough of each that queries have something to find.
    let texts: Vec<String> =
        (0..400).map(|at| format!("{} w{} W{}", base[at % 5], at % 7, at % 11)).collect();
    let world = World::of(Collection::of_texts(texts.iter().map(String::as_str)));
    all_agree(&texts, &world, 3);
    assert_eq!(words(&base[0])[..4], ["the", "well", "known", "boat"]);
    assert!(words(&base[2]).iter().all(|word| word.len() <= 64));
}

#[test]
fn generated_documents_have_the_words_of_their_texts() {
    let text = Text { documents: 2_000, vocabulary: 3_000, length_median: 30.0, ..Text::default() };
    let world = World::of(Collection::generated(&text, 11, &|_| Ok(())).expect("made"));
    all_agree(&text.generate(11), &world, 1);
    all_agree(&text.generate(11), &world, 4);
}

#[test]
fn glosses_have_the_words_of_their_texts() {
    let Some(Corpus { documents: texts }) = glosses(5_000) else { return };
    let mut builder = Builder::default();
    text::each(&Source::WordNet(WORDNET.into()), Some(5_000), &mut |text| {
        builder.push(text);
        Ok(())
    })
    .expect("installed");
    let world = World::of(builder.build());
    all_agree(&texts, &world, 4);
}
