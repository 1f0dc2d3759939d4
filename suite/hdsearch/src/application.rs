//! Both ends and the leaves as the application "hdsearch" of scenario files.

use crate::index::{Buckets, ivf, lsh};
use crate::inquiry::Nearest;
use crate::placement::Placement;
use crate::prepared::{Answers, Chosen, Plan};
use crate::service::{self, LEAVES};
use crate::vectors::{DIMENSIONS_MAX, POINTS_MAX, QUERIES_MAX, Source, Wanted};
use crate::wire::{self, NEIGHBOURS_MAX};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tailwater_data::Folder;
use tailwater_data::text::WORDNET_PACKAGE;
use tailwater_load::Application;
use tailwater_load::application::{
    Ask, BadSetting, Given, Inquiry, Kind, Node, Order, Place, Setting, Settings, Tell, Whose,
};
use tailwater_rt::Router;
use tailwater_stats::result::DataUsed;

/// Making it reads nothing: each process opens its part of what was prepared.
pub const KIND: Kind = Kind {
    name: "hdsearch",
    about: "µSuite's HDSearch: nearest neighbours of a vector; the tier leaf has the vectors of all points",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "vectors",
        help: "words (generated, like GloVe's), images (generated, like a network's last layer), wordnet (its words, by \
               their glosses), or the path of a text of GloVe",
        default: "words",
    },
    Setting {
        name: "points",
        help: "how many, 1 to 16,000,000, or usual: words 400,000, images 50,000, all of others",
        default: "usual",
    },
    Setting {
        name: "dimensions",
        help: "of made vectors, 1 to 4,096, or usual: words 50, images 2,048, wordnet 100",
        default: "usual",
    },
    Setting { name: "index", help: "lsh (hashes) or ivf (clusters)", default: "lsh" },
    Setting { name: "tables", help: "tables of hashes, 1 to 64", default: "16" },
    Setting { name: "bits", help: "bits of a hash, 1 to 24", default: "15" },
    Setting { name: "lists", help: "clusters, 1 to 65,536", default: "1_000" },
    Setting {
        name: "probes",
        help: "buckets of each table that are looked into, 1 to 4,096, or clusters",
        default: "16",
    },
    Setting { name: "neighbours", help: "how many are wanted, 1 to 1,000", default: "10" },
    Setting {
        name: "recall_min",
        help: "the least share of the neighbours wanted, of ten at most, that answers must find in the mean, 0 to 1; a \
               run with less is refused",
        default: "0.5",
    },
    Setting { name: "queries", help: "how many there are, 1 to 100,000", default: "1_000" },
    Setting { name: "seed", help: "decides generated vectors and the index", default: "1" },
];

struct HdSearch {
    plan: Plan,
    answers: OnceLock<Answers>,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let leaves = given.only_tier(LEAVES, Placement::LEAVES_MAX)?;
    let settings = &given.settings;
    let plan = Plan {
        folder: Folder::new(given.data),
        wanted: wanted(settings, given.data)?,
        index: index(settings, leaves)?,
        neighbours: settings.number("neighbours", 1..=NEIGHBOURS_MAX)?,
        leaves,
        recall_min: settings.number("recall_min", 0.0..=1.0)?,
    };
    Ok(Arc::new(HdSearch { plan, answers: OnceLock::new() }))
}

fn wanted(settings: &Settings, data: &Path) -> Result<Wanted, BadSetting> {
    let usual_or = |key: &str, most: usize| match settings.text(key) {
        "usual" => Ok(None),
        _ => settings.number(key, 1..=most).map(Some),
    };
    let source = WORDNET_PACKAGE.source(settings.text("vectors"), data, Source::WordNet);
    let wanted = Wanted {
        source,
        points: usual_or("points", POINTS_MAX)?,
        dimensions: usual_or("dimensions", DIMENSIONS_MAX)?,
        queries: settings.number("queries", 1..=QUERIES_MAX)?,
        seed: settings.number("seed", 0..=u64::MAX)?,
    };
    let fits = wanted.check();
    fits.map_err(|it| BadSetting::new("points", &it.points.to_string(), it.needed()))?;
    Ok(wanted)
}

fn index(settings: &Settings, leaves: u32) -> Result<Chosen, BadSetting> {
    let probes = settings.number("probes", 1..=lsh::PROBES_MAX)?;
    if settings.choice("index", &[("lsh", true), ("ivf", false)])? {
        let tables = settings.number("tables", 1..=lsh::TABLES_MAX)?;
        let bits = settings.number("bits", 1..=lsh::BITS_MAX)?;
        let chosen = lsh::Settings { tables, bits, probes };
        let fits = chosen.check(leaves as usize);
        return fits.map(|()| Chosen::Lsh(chosen)).map_err(|_| {
            let most = (Buckets::ENTRIES_MAX / leaves as usize).ilog2();
            let bits = bits.to_string();
            BadSetting::new("bits", &bits, format_args!("at most {most}, with {leaves} leaves,"))
        });
    }
    let lists = settings.number("lists", 1..=ivf::LISTS_MAX)?;
    if probes > lists {
        return Err(BadSetting::new(
            "probes",
            &probes.to_string(),
            format_args!("at most lists, {lists},"),
        ));
    }
    Ok(Chosen::Ivf(ivf::Settings { lists, probes }))
}

impl HdSearch {
    fn answers(&self) -> &Answers {
        // Its callers are told to load them first.
        self.answers.get().expect("questions are loaded before they are asked")
    }
}

impl Application for HdSearch {
    fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        self.plan.prepare(whose, tell)
    }

    fn router(&self, _place: &Place) -> Result<Router, String> {
        Ok(service::router(self.plan.open_midtier()?))
    }

    fn node(&self, at: Node<'_>, _place: &Place) -> Result<Router, String> {
        Ok(Arc::new(self.plan.open_leaf(at.number)?).router())
    }

    fn load_questions(&self) -> Result<(), String> {
        if self.answers.get().is_none() {
            // A second thread may have loaded the same meanwhile.
            let _ = self.answers.set(self.plan.open_answers()?);
        }
        Ok(())
    }

    fn ask(&self, order: &Order) -> Ask {
        let answers = self.answers();
        let number = order.rng().below(answers.count() as u32);
        let tag = u64::from(number) << 32 | u64::from(order.tag);
        Ask { method: wire::SEARCH, payload: answers.request(number as usize, tag) }
    }

    /// The answer says to which query it is one, for all that comes back with it is the tag.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some(answer) = wire::read_answer(payload).filter(|_| status == 0) else { return false };
        answer.tag as u32 == tag && self.answers().is_answer((answer.tag >> 32) as usize, &answer)
    }

    fn inquiry(&self, tell: Tell<'_>) -> Result<Option<Box<dyn Inquiry>>, String> {
        tell("looking up by definition")?;
        Ok(Some(Box::new(Nearest::open(&self.plan)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use tailwater_data::Checked;
    use tailwater_workload::Scenario;

    const SCENARIO: &str = r#"
slo = "1s"
clients.count = 1
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.application = "hdsearch"
tier = [{ name = "leaf", nodes = 3, application = true }]
"#;

    const SMALL: [(&str, &str); 4] =
        [("points", "2000"), ("queries", "30"), ("bits", "6"), ("dimensions", "20")];

    fn made(
        text: &str,
        settings: &[(&str, &str)],
        data: &Path,
    ) -> Result<Arc<dyn Application>, BadSetting> {
        let scenario = Scenario::parse("x.toml", text).expect("a scenario");
        let said: Vec<_> =
            settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let server = &scenario.server;
        let of = (&server.paths[..], &scenario.tiers[..]);
        KIND.make(&said, server.service.clone(), (server.work, false), of, data)
    }

    /// A folder of the test's own, gone when it ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            Self(
                std::env::temp_dir()
                    .join(format!("tailwater-hdsearch-{name}-{}", std::process::id())),
            )
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
    fn it_is_made_without_reading_anything_and_says_what_was_not_prepared() {
        let application =
            made(SCENARIO, &[("vectors", "/nowhere/at/all")], Path::new("/nowhere")).expect("made");
        let error = application.load_questions().expect_err("nothing is there");
        assert!(error.contains("found no prepared data in /nowhere/hdsearch/"), "{error}");
        let error = application.prepare(Whose::All, &quiet).expect_err("nothing is there");
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }

    #[test]
    fn the_scenario_file_has_settings_that_can_be_used() {
        let text = include_str!("../../../scenarios/hdsearch.toml");
        let scenario = Scenario::parse("hdsearch.toml", text).expect("a scenario");
        let said = scenario.server.application.as_ref().expect("an application");
        let settings: Vec<_> =
            said.settings.iter().map(|one| (one.key.as_str(), one.value.as_str())).collect();
        assert_eq!(said.name, KIND.name);
        assert!(made(text, &settings, Path::new("")).is_ok());
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        let error = |text: &str, settings: &[(&str, &str)]| {
            made(text, settings, Path::new("")).map(drop).expect_err("refused").to_string()
        };
        assert!(error(SCENARIO, &[("index", "tree")]).contains("one of lsh, ivf"));
        assert!(error(SCENARIO, &[("points", "0")]).contains("a number from 1 to 16000000"));
        let large = [("points", "16000000"), ("dimensions", "4096")];
        assert_eq!(
            error(SCENARIO, &large),
            "points is \"16000000\"; at most 523288, with 4096 dimensions and 1000 queries (8 GiB), is needed"
        );
        let few = [("index", "ivf"), ("lists", "3"), ("probes", "4")];
        assert_eq!(error(SCENARIO, &few), "probes is \"4\"; at most lists, 3, is needed");
        assert!(
            error(SCENARIO, &[("recall_min", "1.1")]).contains("a number from 0 to 1 is needed")
        );
        assert_eq!(
            error(&SCENARIO.replace("nodes = 3", "nodes = 8"), &[("bits", "24")]),
            "bits is \"24\"; at most 23, with 8 leaves, is needed"
        );
        assert!(
            error(&SCENARIO.replace("tier =", "# tier ="), &[])
                .contains("[[tier]] with name = \"leaf\"")
        );
    }

    #[test]
    fn what_is_prepared_once_is_used_again_and_says_how_good_it_is() {
        let scratch = Scratch::new("again");
        let prepare = |more: &[(&str, &str)]| {
            let settings = [&SMALL, more].concat();
            let application = made(SCENARIO, &settings, &scratch.0).expect("made");
            let said = std::cell::RefCell::new(Vec::new());
            let tell = |what: &str| {
                said.borrow_mut().push(what.split(',').next().unwrap_or_default().to_owned());
                Ok(())
            };
            let used = application.prepare(Whose::All, &tell).expect("prepared");
            (used, said.into_inner())
        };
        let (used, said) = prepare(&[]);
        assert_eq!(used.len(), 4);
        assert!(used[2].about.contains("intrinsic dimension"), "{}", used[2].about);
        assert!(used[3].about.contains("recall@1 "), "{}", used[3].about);
        assert!(said.contains(&"making vectors".to_owned()));
        let (again, said) = prepare(&[]);
        assert_eq!((&again, &said[..]), (&used, &["looking at the data".to_owned()][..]));
        let (other, said) = prepare(&[("probes", "3")]);
        assert_eq!(other[..3], used[..3]);
        assert_ne!(other[3].sha256, used[3].sha256);
        let long = ["making vectors", "making the index", "finding the true neighbours"];
        assert!(!said.iter().any(|said| long.contains(&said.as_str())), "{said:?}");
    }

    #[test]
    fn answers_that_find_too_little_are_refused_before_a_run_and_by_its_generator() {
        let scratch = Scratch::new("recall");
        let made = |least: &str| {
            let settings = [&SMALL[..], &[("tables", "1"), ("probes", "1"), ("recall_min", least)]];
            made(SCENARIO, &settings.concat(), &scratch.0).expect("made")
        };
        let error = made("0.9").prepare(Whose::All, &quiet).expect_err("too little");
        assert!(error.contains("recall_min = 0.9 is needed: more probes or tables"), "{error}");
        assert_eq!(made("0.9").load_questions(), Err(error));
        assert!(
            made("0.01").prepare(Whose::All, &quiet).is_ok(),
            "what was prepared is used again"
        );
        assert_eq!(made("0.01").load_questions(), Ok(()));
    }

    #[test]
    fn fewer_points_than_leaves_are_refused() {
        let scratch = Scratch::new("few");
        let settings = [&SMALL[..], &[("points", "2")]].concat();
        let application = made(SCENARIO, &settings, &scratch.0).expect("made");
        let error = application.prepare(Whose::All, &quiet).expect_err("too few");
        assert!(error.contains("found 2 points for 3 leaves"), "{error}");
        // Also where they were prepared for as many leaves as there are points.
        let two = SCENARIO.replace("nodes = 3", "nodes = 2");
        let enough = made(&two, &settings, &scratch.0).expect("made");
        enough.prepare(Whose::All, &quiet).expect("prepared");
        assert_eq!(application.prepare(Whose::All, &quiet).expect_err("too few"), error);
    }

    #[test]
    fn no_process_prepares_more_than_it_needs() {
        let scratch = Scratch::new("whose");
        let application = made(SCENARIO, &SMALL, &scratch.0).expect("made");
        let prepared = |whose| application.prepare(whose, &quiet).expect("prepared").len();
        assert_eq!(prepared(Whose::Tier("leaf")), 1);
        let place = Place {
            loops: 1,
            workers: 0,
            crew: 0,
            locks: None,
            spinner: tailwater_load::Spinner::of_speed(1.0),
        };
        assert!(application.node(Node { tier: "leaf", number: 2 }, &place).is_ok());
        assert!(application.router(&place).is_err(), "the index is the mid-tier's");
        assert_eq!(prepared(Whose::Front), 2);
        let truths = || {
            let files = Folder::new(&scratch.0).list().expect("listed");
            files.iter().filter(|(file, _)| file.to_string_lossy().contains("-truth")).count()
        };
        assert_eq!(truths(), 0, "what serves finds no true neighbours");
        assert!(application.router(&place).is_ok());
        assert!(application.load_questions().is_err(), "the answers are the generator's");
        assert_eq!((prepared(Whose::All), truths()), (4, 1));
        // Clusters decide in which order points lie on a leaf.
        let settings = [&SMALL[..], &[("index", "ivf"), ("lists", "20")]].concat();
        let clustered = made(SCENARIO, &settings, &scratch.0).expect("made");
        let leaf = || clustered.node(Node { tier: "leaf", number: 2 }, &place).is_ok();
        assert!(!leaf());
        assert_eq!(clustered.prepare(Whose::Tier("leaf"), &quiet).expect("prepared").len(), 2);
        assert!(leaf());
    }

    #[test]
    fn a_preparation_that_is_stopped_leaves_whole_files_alone() {
        let scratch = Scratch::new("stopped");
        let application = made(SCENARIO, &SMALL, &scratch.0).expect("made");
        let stop = |what: &str| match what.starts_with("finding the true") {
            true => Err("stopped".to_owned()),
            false => Ok(()),
        };
        assert_eq!(application.prepare(Whose::All, &stop), Err("stopped".into()));
        let left = Folder::new(&scratch.0).check().expect("listed");
        assert_eq!(left.len(), 2, "vectors and index: {left:?}");
        assert!(left.iter().all(|(_, checked)| matches!(checked, Checked::Sound(_))), "{left:?}");
        let files = std::fs::read_dir(scratch.0.join("hdsearch")).expect("a folder");
        assert_eq!(files.count(), 2, "no draft is left");
    }

    #[test]
    fn answers_must_be_to_the_query_that_was_asked() {
        let scratch = Scratch::new("asked");
        for index in ["lsh", "ivf"] {
            let settings =
                [&SMALL[..], &[("index", index), ("lists", "20"), ("probes", "3")]].concat();
            let application = made(SCENARIO, &settings, &scratch.0).expect("made");
            application.prepare(Whose::All, &quiet).expect("prepared");
            application.load_questions().expect("loaded");
            let ask = |seed| application.ask(&Order { seed, service: Duration::ZERO, tag: 5 });
            assert_eq!(ask(1), ask(1));
            assert!((2..20).any(|seed| ask(seed) != ask(1)));
            let (tag, _) = wire::read_request(&ask(1).payload, 20).expect("a request");
            let none = wire::answer(&wire::Answer { tag, candidates: 0, found: Vec::new() });
            assert!(!application.is_answer(0, &none, 5), "it has an answer");
            assert!(!application.is_answer(0, &[], 5));
        }
    }
}
