//! Set Algebra's kernel on a million documents: `benches/setalgebra`.

use super::{head, line};
use serde::Deserialize;
use std::collections::BTreeMap;
use tailwater_report::{count, time};

#[derive(Deserialize)]
struct Found {
    documents: u64,
    postings: Vec<Postings>,
    lists: Vec<Lists>,
    queries: Queries,
}

#[derive(Deserialize)]
struct Postings {
    of: String,
    words_each: f64,
    postings: u64,
    bytes_each: f64,
}

#[derive(Deserialize)]
struct Lists {
    ratio: u64,
    ns: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Queries {
    count: u64,
    without_answer: u64,
    documents: f64,
    us: BTreeMap<String, f64>,
}

const METHODS: [&str; 4] = ["merge", "skips", "gallop", "simd"];

fn found(result: &str) -> Found {
    serde_json::from_str(result).expect("what setalgebra --out writes")
}

/// What a posting takes, by the length of documents.
pub(super) fn postings(result: &str) -> String {
    let heads = ["documents", "postings", "bytes of a posting, with skips"];
    let mut table = head(&heads.map(Into::into));
    for Postings { of, words_each, postings, bytes_each } in found(result).postings {
        table += &line(&[
            format!("{of}, {words_each:.0} words each"),
            count(postings),
            format!("{bytes_each:.3}"),
        ]);
    }
    table
}

/// Intersections by each method, by how much longer the second list is.
pub(super) fn lists(result: &str) -> String {
    let heads = ["lists"].into_iter().chain(METHODS).chain(["the fastest is faster than merge"]);
    let mut table = head(&heads.map(Into::into).collect::<Vec<String>>());
    for Lists { ratio, ns } in found(result).lists {
        let of = |method: &str| ns[method];
        let fastest = METHODS.into_iter().map(of).min_by(f64::total_cmp).expect("four methods");
        let mut cells = vec![format!("1:{}", count(ratio))];
        cells.extend(METHODS.map(|method| time(of(method) / 1e3)));
        cells.push(format!("{:.1} ×", of("merge") / fastest));
        table += &line(&cells);
    }
    table
}

/// The service's queries by each method: the mean of all.
pub(super) fn queries(result: &str) -> String {
    let Queries { count: all, without_answer, documents, us } = found(result).queries;
    let heads = ["queries", "without an answer", "documents in an answer"];
    let heads: Vec<String> = heads.into_iter().chain(METHODS).map(Into::into).collect();
    let mut cells = vec![count(all), count(without_answer), count(documents.round() as u64)];
    cells.extend(METHODS.map(|method| time(us[method])));
    head(&heads) + &line(&cells)
}

#[test]
fn postings_and_lists_are_told_with_how_much_is_gained() {
    let result = r#"{"documents":1000000,"postings":[{"of":"the service's","words_each":77.3,"postings":58866353,"bytes_each":1.4944}],
        "lists":[{"ratio":1000,"ns":{"merge":144000,"skips":8700,"gallop":4000,"simd":5000}}],
        "queries":{"count":10000,"without_answer":1234,"documents":56.7,
            "us":{"merge":90,"skips":40,"gallop":30,"simd":25.5}}}"#;
    assert!(postings(result).ends_with("| the service's, 77 words each | 58,866,353 | 1.494 |\n"));
    let lists = lists(result);
    assert!(
        lists.ends_with("| 1:1,000 | 144 µs | 8.70 µs | 4.00 µs | 5.00 µs | 36.0 × |\n"),
        "{lists}"
    );
    let queries = queries(result);
    assert!(
        queries.ends_with("| 10,000 | 1,234 | 57 | 90.0 µs | 40.0 µs | 30.0 µs | 25.5 µs |\n"),
        "{queries}"
    );
}

/// What `docs/set-algebra.md` says is wanted. No answer was wrong: the bench ends with the first.
#[test]
fn the_committed_result_is_what_was_wanted() {
    let Found { documents, postings, lists, queries } =
        found(&crate::read("results/setalgebra.json"));
    assert_eq!((documents, queries.count), (1_000_000, 10_000));
    let Postings { of, bytes_each, .. } = &postings[0];
    assert_eq!(of, "the service's");
    assert!(*bytes_each <= 1.6, "{bytes_each} bytes");
    let skewed: Vec<&Lists> = lists.iter().filter(|lists| lists.ratio >= 100).collect();
    assert!(skewed.len() >= 2, "1:100 and 1:1,000");
    for Lists { ratio, ns } in skewed {
        let faster = ns["merge"] / ns["gallop"].min(ns["simd"]);
        assert!(faster >= 2.0, "1:{ratio}: {faster} times");
    }
}
