//! Set Algebra's index beside tantivy's, on several sets of documents: `benches/tantivy`.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::{count, time};

#[derive(Deserialize)]
struct Found {
    text: String,
    documents: u64,
    postings: u64,
    queries: u64,
    equal_answers: u64,
    rows: [Row; 2],
}

#[derive(Deserialize)]
struct Row {
    index: String,
    bytes_each: f64,
    dictionary_bytes: u64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    all_ms: f64,
}

impl Found {
    fn of(result: &str) -> Self {
        serde_json::from_str(result).expect("what tantivy-beside-setalgebra --out writes")
    }

    fn documents(&self) -> String {
        let text = if self.text == "wordnet" { "WordNet" } else { &self.text };
        format!("{text}, {}", count(self.documents))
    }
}

/// What a posting takes, with skips, and the dictionary: a line for each set.
pub(super) fn bytes(results: &[String]) -> String {
    let heads = ["documents", "postings", "bytes of a posting", "tantivy", "dictionary", "tantivy"];
    let mut table = head(&heads.map(Into::into));
    for found in results.iter().map(|result| Found::of(result)) {
        let [ours, theirs] = &found.rows;
        let each = |row: &Row| format!("{:.3}", row.bytes_each);
        let kilobytes = |row: &Row| format!("{} kB", count(row.dictionary_bytes / 1_000));
        let (documents, postings) = (found.documents(), count(found.postings));
        let cells = [each(ours), each(theirs), kilobytes(ours), kilobytes(theirs)];
        table += &line(&[&[documents, postings][..], &cells].concat());
    }
    table
}

/// How long queries take: a line for each set and index.
pub(super) fn times(results: &[String]) -> String {
    let heads = ["documents", "index", "p50", "p99", "p99.9", "all queries"];
    let mut table = head(&heads.map(Into::into));
    for found in results.iter().map(|result| Found::of(result)) {
        for row in &found.rows {
            let times = [row.p50_us, row.p99_us, row.p999_us, row.all_ms * 1e3].map(time);
            table += &line(&[&[found.documents(), row.index.clone()][..], &times].concat());
        }
    }
    table
}

#[test]
fn each_set_has_both_indexes() {
    let result = r#"{"text":"wordnet","documents":117659,"postings":1036184,"queries":10,"equal_answers":10,"rows":[
        {"index":"tailwater","bytes_each":3.46,"dictionary_bytes":400000,"p50_us":1.5,"p99_us":20,"p999_us":40,"all_ms":31},
        {"index":"tantivy","bytes_each":1.7412,"dictionary_bytes":600000,"p50_us":2,"p99_us":30,"p999_us":60,"all_ms":41}]}"#;
    let results = [result.to_owned(), result.replace("wordnet", "generated")];
    let bytes = bytes(&results);
    let expected = "| WordNet, 117,659 | 1,036,184 | 3.460 | 1.741 | 400 kB | 600 kB |";
    assert_eq!(bytes.lines().nth(2), Some(expected));
    let times = times(&results);
    let rows: Vec<&str> = times.lines().skip(2).collect();
    assert_eq!(rows.len(), 4, "{times}");
    assert_eq!(rows[3], "| generated, 117,659 | tantivy | 2.00 µs | 30.0 µs | 60.0 µs | 41.0 ms |");
}

#[test]
fn all_answers_of_the_committed_results_were_equal() {
    for (file, text, documents) in
        [("tantivy-wordnet", "wordnet", 117_659), ("tantivy-million", "generated", 1_000_000)]
    {
        let found = Found::of(&crate::read(&format!("results/{file}.json")));
        assert_eq!((&*found.text, found.documents), (text, documents), "{file}");
        assert_eq!((found.queries, found.equal_answers), (10_000, 10_000), "{file}");
        let indexes = found.rows.map(|row| row.index);
        assert_eq!(indexes, ["tailwater", "tantivy"], "{file}");
    }
}
