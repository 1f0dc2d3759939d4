//! Both ends and the leaves as the application "recommend" of scenario files.

use crate::factors::Fit;
use crate::model::{Among, Rule};
use crate::prepared::{Answers, Plan, Sharding, Source};
use crate::service::{self, LEAVES};
use crate::similarity::Similarity;
use crate::wire::{PREDICT, read_answer};
use std::sync::{Arc, OnceLock};
use tailwater_data::Folder;
use tailwater_load::Application;
use tailwater_load::application::{
    Ask, BadSetting, Given, Kind, Node, Order, Place, Setting, Settings, Tell, Whose,
};
use tailwater_rt::Router;
use tailwater_stats::result::DataUsed;

/// Making it reads nothing: each process opens its part of what was prepared.
pub const KIND: Kind = Kind {
    name: "recommend",
    about: "µSuite's Recommend: what would a user rate an item; the tier leaf has the users",
    settings: SETTINGS,
    build,
};

const LEAVES_MAX: u32 = 64;
const RATINGS: std::ops::RangeInclusive<usize> = 1_000..=10_000_000;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "ratings",
        help: "about so many generated ratings, 1,000 to 10,000,000, or the path of a file: user,item,rating in each line",
        default: "100_000",
    },
    Setting {
        name: "held_out",
        help: "of a hundred ratings, so many are not learnt from, and predictions are judged by them: 1 to 50",
        default: "10",
    },
    Setting {
        name: "sharding",
        help: "users (exact, whatever the number of leaves), or lines: as published, leaves learn from slices and their \
               predictions are averaged",
        default: "users",
    },
    Setting {
        name: "among",
        help: "raters of the item, or everyone as published, whose factors are multiplied",
        default: "raters",
    },
    Setting { name: "similarity", help: "pearson, cosine or euclid", default: "pearson" },
    Setting { name: "neighbours", help: "most of a prediction, 1 to 1,000", default: "30" },
    Setting { name: "rank", help: "numbers for each user and item, 1 to 128", default: "16" },
    Setting {
        name: "sweeps",
        help: "how often all factors are improved, 1 to 1,000",
        default: "20",
    },
    Setting {
        name: "regularisation",
        help: "factors are drawn to those that predict the mean, as by so many ratings: 0.001 to 1,000",
        default: "50",
    },
    Setting { name: "queries", help: "how many there are, 1 to 1,000,000", default: "10_000" },
    Setting {
        name: "seed",
        help: "decides generated ratings, what is held out, where factors begin, and the queries",
        default: "1",
    },
];

struct Recommend {
    plan: Plan,
    answers: OnceLock<Answers>,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let plan = Plan {
        leaves: given.only_tier(LEAVES, LEAVES_MAX)?,
        folder: Folder::new(given.data),
        source: source(settings)?,
        held_out_percent: settings.number("held_out", 1..=50)?,
        rule: rule(settings)?,
        sharding: settings.choice("sharding", &Sharding::ALL)?,
        queries: settings.number("queries", 1..=1_000_000)?,
    };
    Ok(Arc::new(Recommend { plan, answers: OnceLock::new() }))
}

/// What is no path is meant as a number.
fn source(settings: &Settings) -> Result<Source, BadSetting> {
    let text = settings.text("ratings");
    let is_path = text.contains(|letter: char| !letter.is_ascii_digit() && letter != '_');
    match is_path && !text.is_empty() {
        true => Ok(Source::File(text.into())),
        false => settings.number("ratings", RATINGS).map(Source::Generated),
    }
}

fn rule(settings: &Settings) -> Result<Rule, BadSetting> {
    Ok(Rule {
        fit: Fit {
            rank: settings.number("rank", 1..=Fit::RANK_MAX)?,
            sweeps: settings.number("sweeps", 1..=1_000)?,
            regularisation: settings.number("regularisation", 0.001..=1_000.0)?,
            seed: settings.number("seed", 0..=u64::MAX)?,
        },
        similarity: settings.choice("similarity", &Similarity::ALL)?,
        among: settings.choice("among", &Among::ALL)?,
        neighbours: settings.number("neighbours", 1..=Rule::NEIGHBOURS_MAX)?,
    })
}

impl Recommend {
    fn answers(&self) -> &Answers {
        // Its callers are told to load them first.
        self.answers.get().expect("questions are loaded before they are asked")
    }
}

impl Application for Recommend {
    fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        self.plan.prepare(whose, tell)
    }

    fn router(&self, _place: &Place) -> Result<Router, String> {
        Ok(service::router(self.plan.open_midtier()?))
    }

    fn node(&self, at: Node<'_>, _place: &Place) -> Result<Router, String> {
        Ok(self.plan.open_leaf(at.number)?.router())
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
        Ask { method: PREDICT, payload: answers.request(number as usize, tag) }
    }

    /// The answer says to which query it is one, for all that comes back with it is the tag.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some((whole, rating)) = read_answer(payload).filter(|_| status == 0) else {
            return false;
        };
        whole as u32 == tag && self.answers().is_answer((whole >> 32) as usize, rating)
    }
}
