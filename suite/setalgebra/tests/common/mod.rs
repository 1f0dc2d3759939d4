//! Documents, queries and what must be found, small enough for every test.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::io::Write as _;
use tailwater_data::text::generate::Text;
use tailwater_data::text::{Corpus, Source, WORDNET, is_wordnet_in};
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::index::Shard;
use tailwater_setalgebra::intersect::Method;
use tailwater_setalgebra::leaf::Leaf;
use tailwater_setalgebra::midtier::MidTier;
use tailwater_setalgebra::oracle;
use tailwater_setalgebra::prepared::Questions;
use tailwater_setalgebra::queries::Draw;

pub(crate) const HITS: u32 = 10_000;

/// Documents with queries and the answers that these must get.
pub(crate) struct World {
    pub(crate) collection: Collection,
    pub(crate) stop: Vec<u32>,
    pub(crate) queries: Vec<Vec<u32>>,
    pub(crate) questions: Questions,
}

impl World {
    pub(crate) fn generated() -> Self {
        let text =
            Text { documents: 3_000, vocabulary: 3_000, length_median: 40.0, ..Text::default() };
        Self::of(Collection::generated(&text, 11, &|_| Ok(())).expect("made"))
    }

    pub(crate) fn of(collection: Collection) -> Self {
        let stop = collection.stop_list(10);
        let draw = Draw { queries: 600, odd_percent: 10, ..Draw::default() };
        let queries = draw.queries(&collection, &stop).expect("drawn");
        let naive = oracle::stop_list(&collection, 10);
        let answers =
            oracle::answers(&collection, &naive, &queries, usize::MAX, &|_| Ok(())).expect("found");
        let mut questions = Questions::default();
        for (query, answer) in queries.iter().zip(&answers) {
            questions.push(query.iter().map(|&word| collection.word(word)), answer);
        }
        Self { collection, stop, queries, questions }
    }

    pub(crate) fn leaves(&self, count: u32, method: Method) -> Vec<Leaf> {
        let leaf = |number| {
            let shard = Shard::build(&self.collection, &self.stop, (number, count)).expect("small");
            Leaf { shard, method, hits: HITS }
        };
        (0..count).map(leaf).collect()
    }
}

/// The first so many glosses of WordNet. Where they are not installed, a line says so: `make test` needs no data.
pub(crate) fn glosses(documents: usize) -> Option<Corpus> {
    if is_wordnet_in(WORDNET.as_ref()) {
        let source = Source::WordNet(WORDNET.into());
        return Some(Corpus::load(&source, Some(documents)).expect("installed"));
    }
    let why = "no glosses of WordNet; type: apt-get install wordnet-base";
    // Past the harness, which hides what tests that pass have printed.
    let _ = writeln!(std::io::stderr(), "PASSED OVER: {why}");
    None
}

pub(crate) const fn midtier(leaves: u32) -> MidTier {
    MidTier { leaves, least: leaves, patience: None, hits: HITS }
}
