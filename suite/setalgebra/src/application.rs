//! Both ends and the leaves as the application "setalgebra" of scenario files.

use crate::collection::DOCUMENTS_MAX;
use crate::inquiry::Documents;
use crate::intersect::Method;
use crate::leaf::Leaf;
use crate::midtier::{LEAF, MidTier};
use crate::prepared::{Plan, Questions};
use crate::queries::{Draw, WORDS_MAX};
use crate::wire::{Answer, HITS_MAX, INTERSECT, LEAVES_MAX};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tailwater_data::Folder;
use tailwater_data::text::{Source, WORDNET_PACKAGE, is_wordnet_in};
use tailwater_load::Application;
use tailwater_load::application::{
    Ask, BadSetting, Given, Inquiry, Kind, Node, Order, Place, Setting, Settings, Tell, Whose,
};
use tailwater_rt::Router;
use tailwater_stats::result::DataUsed;

/// Making it reads nothing: each process opens its part of what was prepared.
pub const KIND: Kind = Kind {
    name: "setalgebra",
    about: "µSuite's Set Algebra: documents with all words of a query; the tier leaf has the posting lists",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "text",
        help: "wordnet (Debian's package wordnet-base), generated, the path of a file (each paragraph a document; \
               lines:PATH: each line) or folder (each file), or auto: wordnet where it is installed or was fetched, else \
               generated",
        default: "auto",
    },
    Setting {
        name: "documents",
        help: "the first so many documents of it, 1 to 10,000,000, or all (generated: 100,000)",
        default: "all",
    },
    Setting {
        name: "stop",
        help: "how many of the commonest words are dropped when documents are indexed, 0 to 100,000",
        default: "50",
    },
    Setting {
        name: "intersect",
        help: "gallop, simd, skips, or merge as published; docs/set-algebra.md tells them apart",
        default: "gallop",
    },
    Setting { name: "queries", help: "how many there are, 1 to 1,000,000", default: "10_000" },
    Setting { name: "words", help: "most words of a query, 1 to 16", default: "9" },
    Setting {
        name: "independent",
        help: "of a hundred queries, so many whose words know nothing of each other, 0 to 100",
        default: "20",
    },
    Setting {
        name: "odd",
        help: "of a hundred queries, so many have an unknown word, stop words alone, or a word twice, 0 to 100",
        default: "3",
    },
    Setting { name: "hits", help: "most documents of an answer, 1 to 250,000", default: "65_536" },
    Setting {
        name: "least",
        help: "how many leaves must have answered, 1 to their number, or all",
        default: "all",
    },
    Setting {
        name: "patience",
        help: "how long leaves are waited for, 1us to 60s, or deadline: as long as the request's lets it",
        default: "deadline",
    },
];

const PATIENCE_MIN: Duration = Duration::from_micros(1);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

struct SetAlgebra {
    plan: Plan,
    method: Method,
    midtier: MidTier,
    questions: OnceLock<Questions>,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let leaves = given.only_tier(LEAF, LEAVES_MAX)?;
    let all = settings.text("least") == "all";
    let least = if all { leaves } else { settings.number("least", 1..=leaves)? };
    let patience = match settings.text("patience") {
        "deadline" => None,
        _ => Some(settings.duration("patience", PATIENCE_MIN..=PATIENCE_MAX)?),
    };
    let hits = settings.number("hits", 1..=HITS_MAX)?;
    Ok(Arc::new(SetAlgebra {
        plan: plan(settings, leaves, Folder::new(given.data))?,
        method: settings.choice("intersect", Method::NAMES)?,
        midtier: MidTier { leaves, least, patience, hits },
        questions: OnceLock::new(),
    }))
}

fn plan(settings: &Settings, leaves: u32, folder: Folder) -> Result<Plan, BadSetting> {
    let documents = match settings.text("documents") {
        "all" => None,
        _ => Some(settings.number("documents", 1..=DOCUMENTS_MAX)?),
    };
    let draw = Draw {
        queries: settings.number("queries", 1..=1_000_000)?,
        words: settings.number("words", 1..=WORDS_MAX)?,
        independent_percent: settings.number("independent", 0..=100)?,
        odd_percent: settings.number("odd", 0..=100)?,
        ..Draw::default()
    };
    let source = source(settings.text("text"), folder.path());
    let stop = settings.number("stop", 0..=100_000)?;
    Ok(Plan { folder, source, documents, stop, leaves, draw })
}

/// Where WordNet is missing, the generated text stands in, and the result says so.
fn source(text: &str, data: &Path) -> Source {
    let text = match text {
        "auto" if is_wordnet_in(&WORDNET_PACKAGE.place(data)) => "wordnet",
        "auto" => "generated",
        text => text,
    };
    WORDNET_PACKAGE.source(text, data, Source::WordNet)
}

impl SetAlgebra {
    fn questions(&self) -> &Questions {
        // Its callers are told to load them first.
        self.questions.get().expect("questions are loaded before they are asked")
    }
}

impl Application for SetAlgebra {
    fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        self.plan.prepare(whose, tell)
    }

    fn router(&self, _place: &Place) -> Result<Router, String> {
        Ok(self.midtier.router())
    }

    fn node(&self, at: Node<'_>, _place: &Place) -> Result<Router, String> {
        let shard = self.plan.open_shard(at.number)?;
        Ok(Leaf { shard, method: self.method, hits: self.midtier.hits }.router())
    }

    fn load_questions(&self) -> Result<(), String> {
        if self.questions.get().is_none() {
            // A second thread may have loaded the same meanwhile.
            let _ = self.questions.set(self.plan.open_questions()?);
        }
        Ok(())
    }

    fn ask(&self, order: &Order) -> Ask {
        let questions = self.questions();
        let number = order.rng().below(questions.count() as u32);
        let tag = u64::from(number) << 32 | u64::from(order.tag);
        Ask { method: INTERSECT, payload: questions.request(number as usize, tag) }
    }

    /// The answer says to which query it is one, for all that comes back with it is the tag.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some(answer) = Answer::of_bytes(payload).filter(|_| status == 0) else { return false };
        let MidTier { leaves, least, hits, .. } = self.midtier;
        let number = (answer.tag >> 32) as usize;
        answer.tag as u32 == tag
            && self.questions().is_answer(number, &answer, (leaves, least, hits))
    }

    fn is_partial(&self, payload: &[u8]) -> bool {
        Answer::of_bytes(payload).is_some_and(|answer| answer.missing != 0)
    }

    fn inquiry(&self, tell: Tell<'_>) -> Result<Option<Box<dyn Inquiry>>, String> {
        Ok(Some(Box::new(Documents::open(&self.plan, self.midtier.hits, tell)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tailwater_workload::Scenario;

    const SCENARIO: &str = r#"
slo = "1s"
clients.count = 1
demand.of_capacity = 1.0
controller = { name = "none" }
server.application = "setalgebra"
tier = [{ name = "leaf", nodes = 3, application = true }]
"#;

    fn made(text: &str, settings: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
        let scenario = Scenario::parse("x.toml", text).expect("a scenario");
        let said: Vec<_> =
            settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let server = &scenario.server;
        let of = (&server.paths[..], &scenario.tiers[..]);
        let data = Path::new("/nowhere");
        KIND.make(&said, server.service.clone(), (server.work, false), of, data)
    }

    #[test]
    fn it_is_made_without_reading_anything_and_says_what_was_not_prepared() {
        let application = made(SCENARIO, &[("text", "/nowhere/at/all")]).expect("made");
        let error = application.load_questions().expect_err("nothing is there");
        assert!(error.contains("found no prepared data in /nowhere/setalgebra/"), "{error}");
        assert!(error.contains("tailwater data make"), "{error}");
        let quiet = |_: &str| Ok(());
        let error = application.prepare(Whose::All, &quiet).expect_err("nothing is there");
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }

    /// A folder of the test's own, gone when it ends.
    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("tailwater-setalgebra-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn made(&self, settings: &[(&str, &str)]) -> Arc<dyn Application> {
            let scenario = Scenario::parse("x.toml", SCENARIO).expect("a scenario");
            let said: Vec<_> =
                settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let server = &scenario.server;
            let of = (&server.paths[..], &scenario.tiers[..]);
            let made = KIND.make(&said, server.service.clone(), (server.work, false), of, &self.0);
            made.expect("made")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn quiet(_: &str) -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn fewer_documents_than_leaves_are_refused() {
        let scratch = Scratch::new("few");
        std::fs::create_dir_all(&scratch.0).expect("a folder");
        let file = scratch.0.join("text");
        let prepare = |text: &str| {
            std::fs::write(&file, text).expect("written");
            let settings = [("text", file.to_str().expect("text")), ("stop", "0")];
            scratch.made(&settings).prepare(Whose::All, &quiet)
        };
        let error = prepare("one line\nof one document\n\nand another").expect_err("too few");
        assert!(error.contains("found 2 documents for 3 leaves"), "{error}");
        assert!(error.contains("fewer leaves, or more documents"), "{error}");
        assert_eq!(prepare("one\n\ntwo\n\nthree").map(|used| used.len()), Ok(2));
    }

    #[test]
    fn no_process_prepares_more_than_it_needs() {
        let scratch = Scratch::new("whose");
        let application = scratch.made(&[("text", "generated"), ("documents", "300")]);
        let place = Place {
            loops: 1,
            workers: 0,
            crew: 0,
            locks: None,
            spinner: tailwater_load::Spinner::of_speed(1.0),
        };
        assert_eq!(application.prepare(Whose::Front, &quiet), Ok(Vec::new()));
        assert!(!scratch.0.exists() && application.router(&place).is_ok());
        let used = application.prepare(Whose::Tier(LEAF), &quiet).expect("prepared");
        assert_eq!(used.len(), 1);
        assert!(application.node(Node { tier: LEAF, number: 2 }, &place).is_ok());
        assert!(application.load_questions().is_err(), "the answers are the generator's");
        assert_eq!(application.prepare(Whose::All, &quiet).map(|used| used.len()), Ok(2));
        assert!(application.load_questions().is_ok());
    }

    #[test]
    fn partial_answers_are_told_apart() {
        let scratch = Scratch::new("partial");
        let application = scratch.made(&[]);
        let answer = |missing| Answer { tag: 1, missing, found: 0, documents: Vec::new() };
        assert!(!application.is_partial(&answer(0).to_bytes()));
        assert!(application.is_partial(&answer(2).to_bytes()));
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        let error = |text: &str, settings: &[(&str, &str)]| {
            made(text, settings).map(drop).expect_err("refused").to_string()
        };
        assert!(error(SCENARIO, &[("least", "4")]).contains("a number from 1 to 3 is needed"));
        assert!(error(SCENARIO, &[("intersect", "fast")]).contains("gallop, simd, skips, merge"));
        assert!(error(SCENARIO, &[("patience", "0s")]).contains("a duration from 1us to 60s"));
        let bare = SCENARIO.replace("tier =", "#");
        assert!(error(&bare, &[]).contains("[[tier]] with name = \"leaf\""));
        let other = SCENARIO.replace("name = \"leaf\", nodes", "name = \"lief\", nodes");
        assert!(error(&other, &[]).contains("a tier leaf of 1 to 64 nodes is needed"));
    }
}
