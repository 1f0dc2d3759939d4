//! What was found, for people and as a file with what it was taken on.

use crate::{ROUNDS, STOP};
use machine::Origin;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Before what is typed.
const PROGRAM: &str = "cargo run --release --manifest-path benches/tantivy/Cargo.toml --";

/// The documents and queries that both have.
#[derive(Serialize)]
pub(crate) struct Asked {
    /// `wordnet` or `generated`.
    pub(crate) text: &'static str,
    /// Where the documents are from.
    pub(crate) source: String,
    pub(crate) documents: usize,
    pub(crate) queries: usize,
    /// Decides the queries. Generated documents have one of their own, which their source names.
    pub(crate) seed: u64,
}

/// Both indexes.
#[derive(Serialize)]
pub(crate) struct Compared {
    pub(crate) postings: u64,
    /// So many answers of each, in every round, were those that were found without an index.
    pub(crate) equal_answers: usize,
    pub(crate) rows: [Row; 2],
}

/// What one of them takes.
#[derive(Serialize)]
pub(crate) struct Row {
    index: &'static str,
    /// Of a posting, with skips.
    bytes_each: f64,
    dictionary_bytes: u64,
    /// In one thread.
    built_s: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    /// All queries, one after the other.
    all_ms: f64,
}

#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    asked: &'a Asked,
    stop: usize,
    rounds: usize,
    command: String,
    /// Of the other, as it was built.
    versions: BTreeMap<&'static str, &'static str>,
    #[serde(flatten)]
    compared: &'a Compared,
}

impl Row {
    /// Of lists and dictionary of so many bytes, and sorted times of all queries.
    pub(crate) fn of(
        index: &'static str,
        [lists, dictionary_bytes]: [u64; 2],
        postings: u64,
        built: Duration,
        times: &[Duration],
    ) -> Self {
        let us =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3;
        Self {
            index,
            bytes_each: lists as f64 / postings as f64,
            dictionary_bytes,
            built_s: built.as_secs_f64(),
            p50_us: us(0.5),
            p99_us: us(0.99),
            p999_us: us(0.999),
            all_ms: times.iter().sum::<Duration>().as_secs_f64() * 1e3,
        }
    }
}

/// As a table.
pub(crate) fn print(Compared { postings, equal_answers, rows }: &Compared) {
    println!("{postings} postings\n");
    let [ours, theirs] = rows;
    println!("| | {} | {} |\n|---|---|---|", ours.index, theirs.index);
    let line = |name: &str, of: &dyn Fn(&Row) -> String| {
        println!("| {name} | {} | {} |", of(ours), of(theirs));
    };
    line("bytes of a posting, with skips", &|row| format!("{:.3}", row.bytes_each));
    line("bytes of the dictionary", &|row| row.dictionary_bytes.to_string());
    line("building, one thread, s", &|row| format!("{:.1}", row.built_s));
    line("a query, p50, µs", &|row| format!("{:.1}", row.p50_us));
    line("a query, p99, µs", &|row| format!("{:.1}", row.p99_us));
    line("a query, p99.9, µs", &|row| format!("{:.1}", row.p999_us));
    line("all queries, ms", &|row| format!("{:.1}", row.all_ms));
    println!(
        "\n{equal_answers} answers of each equal those found without an index, in {ROUNDS} rounds."
    );
}

/// Everything, with the machine and the command that makes it again.
pub(crate) fn write(
    path: &Path,
    (origin, typed): (Origin, &[String]),
    asked: &Asked,
    compared: &Compared,
) -> Result<(), String> {
    let found = Found {
        origin,
        asked,
        stop: STOP,
        rounds: ROUNDS,
        command: machine::result::command(PROGRAM, typed),
        versions: peers_version().map(|version| ("tantivy", version)).into_iter().collect(),
        compared,
    };
    machine::result::write(path, &found)
}

/// As it was built.
fn peers_version() -> Option<&'static str> {
    machine::result::locked(include_str!("../Cargo.lock"), "tantivy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_lock() {
        let version = peers_version().expect("tantivy is locked");
        assert!(include_str!("../Cargo.toml").contains(&format!("\"={version}\"")), "{version}");
    }

    #[test]
    fn a_row_has_bytes_of_a_posting_and_quantiles_over_queries() {
        let times: Vec<Duration> = (1..=1_000).map(Duration::from_micros).collect();
        let row = Row::of("x", [300, 7], 200, Duration::from_secs(2), &times);
        assert_eq!((row.bytes_each, row.dictionary_bytes, row.built_s), (1.5, 7, 2.0));
        assert_eq!((row.p50_us, row.p99_us, row.p999_us), (500.0, 990.0, 999.0));
        assert!((row.all_ms - 500.5).abs() < 1e-9, "{}", row.all_ms);
    }
}
