//! Which documents hold all terms that people type, with their texts; the oracle looks at every document for each.

use crate::collection::Collection;
use crate::oracle;
use crate::prepared::Plan;
use crate::queries::WORDS_MAX;
use crate::wire::{self, Answer, INTERSECT};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use tailwater_data::text::tokens::tokens;
use tailwater_load::application::{Ask, Inquiry, ShownAnswer, ShownRow, Tell};

/// The documents in memory.
pub(crate) struct Documents {
    collection: Collection,
    /// As they are written; empty where they are generated, and have no other text than their words.
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    stop: BTreeSet<u32>,
    hits: u32,
    about: String,
}

/// No more are shown.
const SHOWN_MAX: usize = 20;

/// No more words of a generated document are shown.
const WORDS_SHOWN: usize = 40;

impl Documents {
    pub(crate) fn open(plan: &Plan, hits: u32, tell: Tell<'_>) -> Result<Self, String> {
        let mut texts = Vec::new();
        let collection = plan.collection_with(tell, &mut |text| texts.push(text.to_owned()))?;
        let all = 0..collection.words() as u32;
        let numbers = all.map(|number| (collection.word(number).to_owned(), number)).collect();
        let stop = oracle::stop_list(&collection, plan.stop);
        let about = format!("{} documents, {}", collection.documents(), plan.source);
        Ok(Self { collection, texts, numbers, stop, hits, about })
    }

    /// The terms of a text, each once.
    fn terms(text: &str) -> Result<Vec<String>, String> {
        let mut found: Vec<String> = Vec::new();
        for term in tokens(text).map(Cow::into_owned) {
            if !found.contains(&term) {
                found.push(term);
            }
        }
        match found.len() {
            1..=WORDS_MAX => Ok(found),
            0 => Err("found no term; letters or digits are needed".into()),
            more => Err(format!("found {more} terms; {WORDS_MAX} at most are needed")),
        }
    }

    /// By looking at all documents, without index or service.
    fn expected(&self, terms: &[String]) -> Result<Vec<u32>, String> {
        let stranger = self.collection.stranger();
        let number = |term: &String| self.numbers.get(term).copied().unwrap_or(stranger);
        let query: Vec<u32> = terms.iter().map(number).collect();
        let most = self.collection.documents();
        let mut found = oracle::answers(&self.collection, &self.stop, &[query], most, &|_| Ok(()))?;
        Ok(found.pop().unwrap_or_default())
    }

    fn wrong(&self, terms: &[String], answer: &Answer) -> Option<String> {
        let expected = match self.expected(terms) {
            Ok(expected) => expected,
            Err(why) => return Some(why),
        };
        if answer.missing != 0 {
            return Some("found answers of some leaves; those of all are needed".into());
        }
        let first = &expected[..expected.len().min(self.hits as usize)];
        let is_right = answer.found as usize == expected.len() && answer.documents == first;
        (!is_right).then(|| {
            format!("found {} documents; by plain code there are {}", answer.found, expected.len())
        })
    }

    fn finding(&self, document: u32) -> ShownRow {
        let at = document as usize;
        let (name, text) = match self.texts.get(at) {
            Some(text) => text.split_once(": ").map_or(("", &**text), |(name, text)| (name, text)),
            None => ("", ""),
        };
        let words = || {
            let words = self.collection.document(at).iter().take(WORDS_SHOWN);
            words.map(|&word| self.collection.word(word)).collect::<Vec<_>>().join(" ")
        };
        ShownRow {
            name: name.to_owned(),
            text: if text.is_empty() { words() } else { text.to_owned() },
            measure: format!("document {document}"),
            asks: false,
        }
    }

    fn summary(&self, terms: &[String], answer: &Answer) -> String {
        let is_stop =
            |term: &&String| self.numbers.get(*term).is_some_and(|it| self.stop.contains(it));
        let dropped: Vec<&str> = terms.iter().filter(is_stop).map(String::as_str).collect();
        let stop = match dropped.is_empty() {
            true => String::new(),
            false => format!("; of the stop list, and no condition: {}", dropped.join(", ")),
        };
        format!("{} of {} documents{stop}", answer.found, self.collection.documents())
    }
}

impl Inquiry for Documents {
    fn about(&self) -> String {
        self.about.clone()
    }

    fn examples(&self) -> Vec<String> {
        const LIKELY: [&str; 4] =
            ["sailing vessel mast", "musical instrument bow", "king england", "rock metamorphic"];
        let finds = |text: &&str| {
            Self::terms(text).and_then(|terms| self.expected(&terms)).is_ok_and(|it| !it.is_empty())
        };
        let known: Vec<String> = LIKELY.iter().copied().filter(finds).map(str::to_owned).collect();
        if !known.is_empty() {
            return known;
        }
        // Two words of some documents each: what is not in the stop list.
        let of = |document: usize| {
            let words =
                self.collection.document(document).iter().filter(|it| !self.stop.contains(it));
            words.take(2).map(|&word| self.collection.word(word)).collect::<Vec<_>>().join(" ")
        };
        let parts = [1, 3, 5, 7].map(|eighths| self.collection.documents() * eighths / 8);
        parts.into_iter().map(of).filter(|text| !text.is_empty()).collect()
    }

    fn ask(&self, text: &str, tag: u64) -> Result<Ask, String> {
        let terms = Self::terms(text)?;
        let payload = wire::request(tag, terms.iter().map(String::as_str));
        Ok(Ask { method: INTERSECT, payload })
    }

    fn read(&self, text: &str, tag: u64, (status, payload): (u16, &[u8])) -> ShownAnswer {
        let answer = Answer::of_bytes(payload).filter(|answer| status == 0 && answer.tag == tag);
        match (Self::terms(text), answer) {
            (Ok(terms), Some(answer)) => ShownAnswer {
                wrong: self.wrong(&terms, &answer),
                summary: self.summary(&terms, &answer),
                // A number that is no document's is wrong already.
                rows: (answer.documents.iter().take(SHOWN_MAX))
                    .filter(|document| (**document as usize) < self.collection.documents())
                    .map(|&document| self.finding(document))
                    .collect(),
            },
            (Err(why), _) => ShownAnswer::none(why),
            (_, None) => {
                ShownAnswer::none(format!("found no answer to it, and the status {status}"))
            }
        }
    }
}
