//! With the real text, where Debian's package wordnet-base is installed: `make ci` does so, and `make test` needs no data.

use std::io::Write as _;
use tailwater_data::text::{Corpus, Source, WORDNET, is_wordnet_in};
use tailwater_search::workload::{Questions, Workload};
use tailwater_search::{Index, Mode, Query};

#[test]
fn a_sailing_boat_is_found_among_the_glosses() {
    if !is_wordnet_in(WORDNET.as_ref()) {
        // Past the harness, which hides what tests that pass have printed.
        let why = "no glosses of WordNet; type: apt-get install wordnet-base";
        return drop(writeln!(std::io::stderr(), "PASSED OVER: {why}"));
    }
    let source = Source::WordNet(WORDNET.into());
    let verdict = ", as published (wordnet-base 1:3.0-37)";
    assert!(source.to_string().ends_with(verdict), "{source}; it is another version");
    let corpus = Corpus::load(&source, None).expect("installed");
    assert_eq!(corpus.documents.len(), 117_659, "WordNet 3.0");
    let entity = "entity: that which is perceived or known or inferred to have its own distinct \
                  existence (living or nonliving)";
    assert_eq!(corpus.documents[0], entity);

    let mut index = Index::build(corpus.texts(), 8);
    let query = Query::new("small sailing boat", Mode::All, 10).expect("a query");
    let hits = index.search_alone(&query);
    assert!(!hits.is_empty());
    for hit in &hits {
        let text = corpus.documents[hit.document as usize].to_lowercase();
        assert!(query.terms().iter().all(|term| text.contains(term)), "{text}");
    }

    let workload = Workload { queries: 1_000, ..Workload::default() };
    let questions = Questions::draw(&corpus, &mut index, &workload, 1, &|_| Ok(())).expect("drawn");
    assert!(questions.all().iter().all(|one| !index.search_alone(&one.query).is_empty()));
}
