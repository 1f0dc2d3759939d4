//! The server and its clients as the application "search" of scenario files.

use crate::index::SEGMENTS_MAX;
use crate::prepared::Plan;
use crate::query::{HITS_MAX, Mode, TERMS_MAX};
use crate::service::{self, Disk};
use crate::wire;
use crate::workload::{Questions, Workload};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tailwater_data::Folder;
use tailwater_data::text::{Source, WORDNET_PACKAGE};
use tailwater_load::Application;
use tailwater_load::application::{
    Ask, BadSetting, Given, Kind, Order, Place, Setting, Settings, Tell, Whose,
};
use tailwater_rt::Router;
use tailwater_stats::result::DataUsed;

/// Making it reads nothing: each process opens its part of what was prepared.
pub const KIND: Kind = Kind {
    name: "search",
    about: "a search engine: segments of an index and the scores of each term, behind locks",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "text",
        help: "wordnet (Debian's package wordnet-base), generated, or the path of a file or folder; lines:PATH: a document a line",
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

const READ_MAX: Duration = Duration::from_millis(100);

struct Search {
    plan: Plan,
    disk: Disk,
    questions: OnceLock<Questions>,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let disk = Disk { read: settings.duration("read", Duration::ZERO..=READ_MAX)? };
    let plan = plan(settings, Folder::new(given.data))?;
    Ok(Arc::new(Search { plan, disk, questions: OnceLock::new() }))
}

fn plan(settings: &Settings, folder: Folder) -> Result<Plan, BadSetting> {
    let source = WORDNET_PACKAGE.source(settings.text("text"), folder.path(), Source::WordNet);
    let documents = match settings.text("documents") {
        "all" => None,
        _ => Some(settings.number("documents", 1..=10_000_000)?),
    };
    let segments = settings.number("segments", 1..=SEGMENTS_MAX)?;
    Ok(Plan { folder, source, documents, segments, workload: workload(settings)? })
}

fn workload(settings: &Settings) -> Result<Workload, BadSetting> {
    Ok(Workload {
        terms: settings.number("terms", 1..=TERMS_MAX)?,
        mode: settings.choice("match", &[("any", Mode::Any), ("all", Mode::All)])?,
        hits: settings.number("hits", 1..=HITS_MAX)?,
        queries: settings.number("queries", 1..=1_000_000)?,
    })
}

impl Search {
    fn questions(&self) -> &Questions {
        // Its callers are told to load them first.
        self.questions.get().expect("questions are loaded before they are asked")
    }
}

impl Application for Search {
    fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        match whose {
            Whose::All | Whose::Front => Ok(vec![self.plan.prepare(tell)?]),
            Whose::Tier(_) => Ok(Vec::new()),
        }
    }

    fn router(&self, _place: &Place) -> Result<Router, String> {
        Ok(service::router(Arc::new(self.plan.open_index()?), self.disk))
    }

    fn load_questions(&self) -> Result<(), String> {
        if self.questions.get().is_none() {
            // A second thread may have loaded the same meanwhile.
            let _ = self.questions.set(self.plan.open_questions()?);
        }
        Ok(())
    }

    fn ask(&self, order: &Order) -> Ask {
        let questions = self.questions().all();
        let number = order.rng().below(questions.len() as u32);
        let payload = wire::request(tag(order.tag, number), &questions[number as usize].query);
        Ask { method: wire::SEARCH, payload }
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some(bytes) = payload.first_chunk::<8>().filter(|_| status == 0) else { return false };
        let whole = u64::from_le_bytes(*bytes);
        let question = self.questions().all().get((whole >> 32) as usize);
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
    use crate::index::Index;
    use crate::query::Query;
    use std::path::Path;
    use tailwater_data::text::Corpus;
    use tailwater_workload::{Distribution, Service, Work};

    const SMALL: (&str, &str) = ("documents", "300");
    const GENERATED: (&str, &str) = ("text", "generated");

    fn made(data: &Path, said: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
        let said: Vec<_> =
            said.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let service = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
        KIND.make(&said, service, (Work::Spin, false), (&[], &[]), data)
    }

    fn quiet(_: &str) -> Result<(), String> {
        Ok(())
    }

    /// A folder of the test's own, gone when it ends.
    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("tailwater-search-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        /// Prepared, and with its questions.
        fn ready(&self, said: &[(&str, &str)]) -> Arc<dyn Application> {
            let search = made(&self.0, said).expect("made");
            assert_eq!(search.prepare(Whose::All, &quiet).map(|used| used.len()), Ok(1));
            search.load_questions().expect("loaded");
            search
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_order_decides_its_request_and_orders_differ() {
        let scratch = Scratch::new("orders");
        let search = scratch.ready(&[SMALL, GENERATED]);
        let ask = |seed| search.ask(&Order { seed, service: Duration::ZERO, tag: 5 });
        assert_eq!(ask(1), ask(1));
        assert!((2..20).any(|seed| ask(seed) != ask(1)));
        assert!(wire::read_request(&ask(1).payload).is_ok());
    }

    #[test]
    fn an_answer_must_be_to_the_question_that_was_asked() {
        let scratch = Scratch::new("answers");
        let search = scratch.ready(&[SMALL, GENERATED]);
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
    fn an_index_that_was_read_answers_as_the_one_that_was_built() {
        let scratch = Scratch::new("read");
        scratch.ready(&[SMALL, GENERATED, ("segments", "5"), ("terms", "2")]);
        let plan = Plan {
            folder: Folder::new(&scratch.0),
            source: Source::Generated(1),
            documents: Some(300),
            segments: 5,
            workload: Workload { terms: 2, ..Workload::default() },
        };
        let (mut read, questions) =
            (plan.open_index().expect("an index"), plan.open_questions().expect("questions"));
        let corpus = Corpus::load(&Source::Generated(1), Some(300)).expect("generated");
        let mut built = Index::build(corpus.texts(), 5);
        assert_eq!((read.terms(), read.lengths()), (built.terms(), built.lengths()));
        // Each word of the text alone: those that are not asked for have no scores yet.
        let alone = built.terms().to_vec().into_iter();
        let alone = alone.map(|term| Query::of_terms(vec![term], Mode::Any, 50).expect("a query"));
        let asked = questions.all().iter().map(|question| question.query.clone());
        for query in alone.chain(asked.take(200)) {
            assert_eq!(read.search_alone(&query), built.search_alone(&query), "{query:?}");
        }
    }

    #[test]
    fn it_is_made_without_reading_anything_and_says_what_was_not_prepared() {
        let search = made(Path::new("/nowhere"), &[("text", "/nowhere/at/all")]).expect("made");
        let error = search.load_questions().expect_err("nothing is there");
        assert!(error.contains("found no prepared data in /nowhere/search/"), "{error}");
        let error = search.prepare(Whose::All, &quiet).expect_err("nothing is there");
        assert!(error.contains("/nowhere/at/all"), "{error}");
        assert_eq!(search.prepare(Whose::Tier("any"), &quiet), Ok(Vec::new()));
    }

    #[test]
    fn a_preparation_ends_where_its_listener_says_so() {
        let scratch = Scratch::new("stopped");
        let search = made(&scratch.0, &[SMALL, GENERATED]).expect("made");
        for words in ["looking", "reading", "indexing", "asking", "writing"] {
            let tell = |what: &str| match what.starts_with(words) {
                true => Err(format!("stopped {words}")),
                false => Ok(()),
            };
            let error = search.prepare(Whose::All, &tell).expect_err("it was stopped");
            assert_eq!(error, format!("stopped {words}"));
        }
        assert!(search.load_questions().is_err(), "nothing was written");
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        let nowhere = Path::new("/nowhere");
        let error = |said: &[(&str, &str)]| made(nowhere, said).map(drop).expect_err("refused");
        assert_eq!(error(&[("segments", "0")]).key, "segments");
        assert_eq!(error(&[("documents", "many")]).key, "documents");
        assert_eq!(error(&[("read", "1s")]).key, "read");
        assert_eq!(error(&[("match", "some")]).key, "match");
        let scratch = Scratch::new("few");
        let few = made(&scratch.0, &[GENERATED, ("documents", "1"), ("terms", "16")]);
        let error = few.expect("made").prepare(Whose::All, &quiet).expect_err("too few words");
        assert!(error.contains("16 different words"), "{error}");
    }
}
