//! What is done with an item: nothing, or a step of one of the thesis' four services (§5.3.2).

use clap::ValueEnum;
use rust_stemmers::{Algorithm, Stemmer};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Arc;
use tailwater_hdsearch::index::lsh::{Hashed, Lsh, Settings};
use tailwater_hdsearch::index::{Candidates, Index};
use tailwater_hdsearch::placement::Placement;
use tailwater_hdsearch::vectors::{Generator, Kind as Resembling};
use tailwater_kernels::Table;
use tailwater_recommend::factors::Fit;
use tailwater_recommend::model::{Model, Query, Rule, Whole};
use tailwater_recommend::ratings::Generated;
use tailwater_router::spooky;

/// Bytes that a polluting handler reads for each item: the thesis' L2.
const POLLUTION: usize = 1 << 20;
/// Different requests, gone through in a circle.
const REQUESTS: usize = 1_024;
const SEED: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Nothing.
    None,
    /// A look-up of candidates in an LSH index: 20,000 points of 64 dimensions, 4 tables of 10 bits, 2 buckets of each.
    Lsh,
    /// SpookyHash of a key of 32 bytes, and the node that it names.
    Spooky,
    /// Porter's second stemmer on a word.
    Stem,
    /// A prediction from the 30 nearest of those who rated an item; 20,000 ratings.
    Knn,
}

/// Work that is prepared once for all cases.
#[derive(Clone)]
enum Work {
    None,
    Lsh(Arc<(Lsh, Table, Placement)>),
    Spooky(Arc<Vec<String>>),
    Stem(Arc<Stemmer>),
    Knn(Arc<(Whole, Vec<Query>)>),
}

/// Words with the endings that Porter's rules are about (M. F. Porter, "An algorithm for suffix stripping", 1980).
const WORDS: [&str; 48] = [
    "caresses",
    "ponies",
    "ties",
    "caress",
    "cats",
    "feed",
    "agreed",
    "plastered",
    "bled",
    "motoring",
    "sing",
    "conflated",
    "troubled",
    "sized",
    "hopping",
    "tanned",
    "falling",
    "hissing",
    "fizzed",
    "failing",
    "filing",
    "happy",
    "sky",
    "relational",
    "conditional",
    "rational",
    "valency",
    "hesitancy",
    "digitizer",
    "conformably",
    "radically",
    "differently",
    "vilely",
    "analogously",
    "vietnamization",
    "predication",
    "operator",
    "feudalism",
    "decisiveness",
    "hopefulness",
    "callousness",
    "formality",
    "sensitivity",
    "sensibility",
    "triplicate",
    "formative",
    "electricity",
    "generalizations",
];

/// A consumer's handler.
pub(crate) struct Handler {
    work: Work,
    candidates: Option<Candidates>,
    pollution: Vec<u64>,
}

/// Makes handlers of one kind.
#[derive(Clone)]
pub(crate) struct Maker {
    pub(crate) kind: Kind,
    work: Work,
}

impl Maker {
    pub(crate) fn new(kind: Kind) -> Result<Self, String> {
        let work = match kind {
            Kind::None => Work::None,
            Kind::Lsh => Work::Lsh(Arc::new(lsh()?)),
            Kind::Spooky => {
                let key = |number| format!("key-{number:028}");
                Work::Spooky(Arc::new((0..REQUESTS).map(key).collect()))
            }
            Kind::Stem => Work::Stem(Arc::new(Stemmer::create(Algorithm::English))),
            Kind::Knn => Work::Knn(Arc::new(knn()?)),
        };
        Ok(Self { kind, work })
    }

    pub(crate) fn handler(&self, pollutes: bool) -> Handler {
        let candidates = match &self.work {
            Work::Lsh(lsh) => Some(Candidates::new(lsh.2)),
            _ => None,
        };
        let pollution = vec![1; if pollutes { POLLUTION / 8 } else { 0 }];
        Handler { work: self.work.clone(), candidates, pollution }
    }
}

impl Handler {
    pub(crate) fn handle(&mut self, item: u64) {
        let request = item as usize % REQUESTS;
        match &self.work {
            Work::None => {}
            Work::Lsh(lsh) => {
                let (index, queries, _) = &**lsh;
                let candidates = self.candidates.as_mut().expect("made for this work");
                candidates.clear();
                index.look_up(queries.rows().row(request), candidates);
                black_box(candidates.of_leaf(0).len());
            }
            Work::Spooky(keys) => {
                black_box(spooky::hash128(keys[request].as_bytes(), [0; 2])[0] % 16);
            }
            Work::Stem(stemmer) => {
                black_box(stemmer.stem(WORDS[request % WORDS.len()]));
            }
            Work::Knn(knn) => {
                black_box(knn.0.predict(knn.1[request]));
            }
        }
        // One word of each line.
        black_box(self.pollution.iter().step_by(8).fold(item, |sum, word| sum.wrapping_add(*word)));
    }
}

fn lsh() -> Result<(Lsh, Table, Placement), String> {
    const POINTS: u32 = 20_000;
    const DIMENSIONS: usize = 64;
    let generator = Generator::new(Resembling::Words.recipe(DIMENSIONS), SEED);
    let mut points = Table::with_capacity(DIMENSIONS, POINTS as usize);
    (0..u64::from(POINTS)).for_each(|number| points.push(&generator.vector(number)));
    let mut queries = Table::with_capacity(DIMENSIONS, REQUESTS);
    let after = u64::from(POINTS)..u64::from(POINTS) + REQUESTS as u64;
    after.for_each(|number| queries.push(&generator.vector(number)));
    let settings = Settings { tables: 4, bits: 10, probes: 2 };
    let placement = Placement::new(POINTS, 1);
    let index = Hashed::new(points.rows(), settings, SEED)
        .and_then(|hashed| Lsh::new(&hashed, placement, settings))
        .map_err(|error| error.to_string())?;
    Ok((index, queries, placement))
}

fn knn() -> Result<(Whole, Vec<Query>), String> {
    let ratings = Arc::new(Generated { ratings: 20_000, ..Generated::default() }.make(SEED));
    let rule = Rule { fit: Fit { sweeps: 5, ..Fit::default() }, ..Rule::default() };
    let queries = tailwater_recommend::queries::draw(&ratings, REQUESTS, SEED)
        .map_err(|error| format!("{error:?}"))?;
    let model = Model::learn(ratings, rule, |_| Ok(())).map_err(|error| error.to_string())?;
    Ok((model.whole(), queries))
}
