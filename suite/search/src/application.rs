//! The server and its clients as the application "search" of scenario files.

use crate::index::{Index, SEGMENTS_MAX};
use crate::query::{HITS_MAX, Mode, TERMS_MAX};
use crate::service::{self, Disk};
use crate::wire;
use crate::workload::{Questions, Workload};
use std::sync::Arc;
use std::time::Duration;
use tailwater_data::text::{Corpus, Source};
use tailwater_load::Application;
use tailwater_load::application::{Ask, BadSetting, Given, Kind, Order, Place, Setting, Settings};
use tailwater_rt::Router;

/// Server and load generator each load the text and build the index, in a second or two: the generator
/// needs the answers.
pub const KIND: Kind = Kind {
    name: "search",
    about: "a search engine: segments of an index and the scores of each term, behind locks",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "text",
        help: "wordnet (Debian's package wordnet-base), generated, or the path of a file or folder",
        default: "wordnet",
    },
    Setting {
        name: "documents",
        help: "the first so many documents of it, 1 to 10,000,000, or all (generated: 100,000)",
        default: "all",
    },
    Setting { name: "segments", help: "into how many the index is divided, 1 to 64", default: "8" },
    Setting { name: "terms", help: "words of a query, 1 to 16", default: "1" },
    Setting { name: "match", help: "any or all of the words", default: "any" },
    Setting { name: "hits", help: "documents wanted, 1 to 1000", default: "100" },
    Setting {
        name: "queries",
        help: "how many different draws of a query there are, 1 to 1,000,000",
        default: "16_384",
    },
    Setting {
        name: "read",
        help: "reading 128 documents of a word takes so long, its segment locked; 0s to 100ms",
        default: "0s",
    },
];

/// Decides which queries are drawn; the scenario's seed decides which of them are asked when.
const QUERIES_SEED: u64 = 1;

const READ_MAX: Duration = Duration::from_millis(100);

struct Search {
    index: Arc<Index>,
    questions: Questions,
    disk: Disk,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let disk = Disk { read: settings.duration("read", Duration::ZERO..=READ_MAX)? };
    let segments = settings.number("segments", 1..=SEGMENTS_MAX)?;
    let workload = workload(settings)?;
    let corpus = corpus(settings)?;
    let mut index = Index::build(corpus.texts(), segments);
    // This leaves the scores of every word that will be asked for computed, as in the paper's server
    // ("the pre-computed score", LDB, NSDI '24, §5).
    let questions = Questions::draw(&corpus, &mut index, &workload, QUERIES_SEED)
        .map_err(|error| BadSetting::new("terms", settings.text("terms"), error))?;
    Ok(Arc::new(Search { index: Arc::new(index), questions, disk }))
}

fn workload(settings: &Settings) -> Result<Workload, BadSetting> {
    Ok(Workload {
        terms: settings.number("terms", 1..=TERMS_MAX)?,
        mode: settings.choice("match", &[("any", Mode::Any), ("all", Mode::All)])?,
        hits: settings.number("hits", 1..=HITS_MAX)?,
        queries: settings.number("queries", 1..=1_000_000)?,
    })
}

fn corpus(settings: &Settings) -> Result<Corpus, BadSetting> {
    let text = settings.text("text");
    let Ok(source) = text.parse::<Source>();
    let documents = match settings.text("documents") {
        "all" => None,
        _ => Some(settings.number("documents", 1..=10_000_000)?),
    };
    Corpus::load(&source, documents).map_err(|error| BadSetting {
        key: "text".into(),
        message: format!("text is \"{text}\": {error}"),
    })
}

impl Application for Search {
    fn router(&self, _place: &Place) -> Result<Router, String> {
        Ok(service::router(Arc::clone(&self.index), self.disk))
    }

    fn ask(&self, order: &Order) -> Ask {
        let questions = self.questions.all();
        let number = order.rng().below(questions.len() as u32);
        let payload = wire::request(tag(order.tag, number), &questions[number as usize].query);
        Ask { method: wire::SEARCH, payload }
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some(bytes) = payload.first_chunk::<8>().filter(|_| status == 0) else { return false };
        let whole = u64::from_le_bytes(*bytes);
        let question = self.questions.all().get((whole >> 32) as usize);
        whole as u32 == tag && question.is_some_and(|question| question.is_answer(whole, payload))
    }
}

/// An answer must say to which question it is one, for all that comes back with it is the tag.
fn tag(tag: u32, question: u32) -> u64 {
    u64::from(question) << 32 | u64::from(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: (&str, &str) = ("documents", "300");
    const GENERATED: (&str, &str) = ("text", "generated");

    #[test]
    fn an_order_decides_its_request_and_orders_differ() {
        let search = KIND.alone(&[SMALL, GENERATED]).expect("an application");
        let ask = |seed| search.ask(&Order { seed, service: Duration::ZERO, tag: 5 });
        assert_eq!(ask(1), ask(1));
        assert!((2..20).any(|seed| ask(seed) != ask(1)));
        assert!(wire::read_request(&ask(1).payload).is_ok());
    }

    #[test]
    fn an_answer_must_be_to_the_question_that_was_asked() {
        let search = KIND.alone(&[SMALL, GENERATED]).expect("an application");
        let ask = search.ask(&Order { seed: 1, service: Duration::ZERO, tag: 5 });
        let corpus = Corpus::load(&Source::Generated(1), Some(300)).expect("generated");
        let (tag, query) = wire::read_request(&ask.payload).expect("a request");
        let hits = Index::build(corpus.texts(), 3).search_alone(&query);
        let answer = wire::answer(tag, &hits);
        assert!(search.is_answer(0, &answer, 5));
        assert!(!search.is_answer(0, &answer, 6));
        assert!(!search.is_answer(1, &answer, 5));
        assert!(!search.is_answer(0, &wire::answer(tag ^ 1 << 32, &hits), 5));
        assert!(!search.is_answer(0, &wire::answer(tag, &hits[1..]), 5));
        assert!(!search.is_answer(0, &wire::answer(tag | 1 << 63, &hits), 5));
        assert!(!search.is_answer(0, &[], 5));
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        let error = |said: &[(&str, &str)]| KIND.alone(said).map(|_| ()).expect_err("refused");
        let missing = error(&[("text", "/nowhere")]);
        assert_eq!(missing.key, "text");
        assert!(missing.message.starts_with("text is \"/nowhere\": /nowhere: "), "{missing}");
        assert_eq!(error(&[("segments", "0")]).key, "segments");
        assert_eq!(error(&[("documents", "many")]).key, "documents");
        assert_eq!(error(&[("read", "1s")]).key, "read");
        assert_eq!(error(&[("match", "some")]).key, "match");
        assert_eq!(error(&[GENERATED, ("documents", "1"), ("terms", "16")]).key, "terms");
    }
}
